// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// What a cluster is asked, of every kind that there is: a test compares the table with the kinds of requests
// that a leader answers. How a request gets there, and what becomes of it, is the program's (AsksPort).
// Messages are made in Asks.arena, which is empty again when the request has been handed over. There is one
// story at a time.
//
//      step -> draw who, whether anew, what -> AskKind.make -> AsksPort.send ... AsksPort.last_response ->
//      what is asked next

#include "arena.h"
#include "argosy.pb-c.h"
#include "cluster-state.h"
#include "macro.h"
#include "swarm.h"
#include "world-units.h"

enum { WORLD_ASKED_MAX = 8192, WORLD_AUTHORS = 5 };

typedef enum WorldAuthor {
        AUTHOR_ROOT,
        AUTHOR_ALICE,
        AUTHOR_CAROL,
        AUTHOR_STRANGER,
        AUTHOR_TOKEN
} WorldAuthor;

// Why it cannot be; it was asked for all the same.
typedef enum WorldWrong {
        WRONG_NOTHING,
        WRONG_KEY,   // its key is that of another request (WorldAsked.wrong_of)
        WRONG_NAME,  // the unit's name is the machine's
        WRONG_PROOF, // the token's proof is what the log has of it
        WRONG_CONTENT, // no unit can have that file
        WRONG_WORD,  // a name or a reason that is none
} WorldWrong;

typedef struct WorldAsked {
        Argosy__Request *request; // as it was asked
        WorldAuthor author;
        struct RigAnswer *answer; // of a leader in its rig
        struct SimAsk *at_host;   // or of whole hosts
        size_t again_of; // 1 + the first one of those that it repeats; 0: it is the first
        // 1 + the one from whose answer it goes on: an apply from its plan, a wait from its change; 0: none
        size_t follows;
        unsigned token;  // of AUTHOR_TOKEN: its number, from 1
        WorldWrong wrong;
        size_t wrong_of; // WRONG_KEY: 1 + the one that had it first; `request` has one of its own by now
        size_t n_seen;   // of the answer's responses, by the checks
        bool called_off;
        uint64_t asked_us, asked_at; // asked_at: behind so many entries
} WorldAsked;

// What the program has for those who ask.
typedef struct AsksPort {
        uint64_t (*now_us)(void), (*wall_us)(void);
        const ClusterState *(*state)(void); // as somebody knows it
        void (*send)(WorldAsked *a, Draw *d);
        void (*call_off)(WorldAsked *a); // nobody hears more of it
        // What became of it: a negative errno of who could not ask; whether nothing more comes; NULL:
        // nothing yet.
        int (*error)(const WorldAsked *a);
        bool (*is_final)(const WorldAsked *a);
        const Argosy__Response *(*last_response)(const WorldAsked *a);
        uint64_t (*job)(const WorldAsked *a); // that its first response names; 0: none
        bool (*leaves_out)(Argosy__Request__WhatCase what); // NULL: nothing
        bool no_tokens; // nobody can show one
        uint32_t (*host)(uint32_t number); // as the log knows it, 0: as none; NULL: by the same number
} AsksPort;

typedef struct Asks {
        const AsksPort *port;
        Swarm swarm; // of the story
        Arena arena; // of the request that is being made
        WorldContent contents[WORLD_CONTENTS_MAX];
        size_t n_contents;
        uint32_t by_hash[WORLD_CONTENT_BUCKETS]; // contents of one bucket are a list, from 1; 0: none
        WorldUnit units[WORLD_UNITS_MAX];
        size_t n_units;
        WorldUnit crowd[WORLD_CROWD_MAX]; // swarm.crowd of them
        WorldAsked asked[WORLD_ASKED_MAX];
        size_t n_asked;
        // Of the burst that is being asked, or of a trial: units, and the host, that most of it is about; 0:
        // any.
        unsigned focus_first, focus_n, focus_host;
        unsigned n_tokens; // that anybody asked for
        bool unpinned;     // somebody has brought a container that is to have no digest
        uint64_t n_ids;
} Asks;

extern Asks asks;
extern const char *const world_authors[WORLD_AUTHORS];

// Nothing was asked, and units are drawn.
void asks_begin(const AsksPort *port, const Swarm *swarm, Draw *d);
void asks_ask_first(Draw *d); // what is asked before anything else
void asks_step(Draw *d);
// A request of that kind, with a job of its own if it has one, that nobody holds; from the heap. NULL: there
// is nothing to ask of that kind now.
Argosy__Request *asks_make(Draw *d, Argosy__Request__WhatCase what, bool (*make)(Draw *d, void *message));
// A start of that unit with that content.
Argosy__Request *asks_make_start(const WorldUnit *u, const WorldContent *c);
// Root asks that; `request` is the story's from now on.
WorldAsked *asks_ask_as_root(Argosy__Request *request);
WorldAsked *asks_ask_as(Argosy__Request *request, WorldAuthor author, unsigned token);
// The same once more. Returns its place in Asks.asked.
size_t asks_ask_again(size_t of);
void asks_look(Draw *d); // somebody looks, waits or watches
void asks_end(void); // what was asked is given back

typedef struct AskKind {
        Argosy__Request__WhatCase what;
        SwarmLoad load;
        unsigned weight; // among those of its load
        // The message, which asks_new() made; false: there is nothing to ask of that kind now.
        bool (*make)(Draw *d, void *message);
} AskKind;

extern const AskKind ask_kinds[];
extern const size_t n_ask_kinds;

// What a host or the leader may be asked, and no row makes; NULL: everything has its row.
const char *asks_missing(void);

// ---- who asks

#define WORLD_UID(author) (1000u + (unsigned) (author))
uint32_t world_author_host(WorldAuthor who); // where the requests of that one come in
size_t world_author_groups(WorldAuthor who, char ***ret); // borrowed
bool world_author_is_in(WorldAuthor who, const char *group);
// One that shows a token has its number in WorldAsked.token, and with it its proof.
Hash asks_token_proof(unsigned number);

// ---- for those who make messages

// Zeroed, and gone with the request.
void *asks_alloc(size_t size);
char *asks_printf(const char *format, ...) __attribute__((format(printf, 1, 2)));
#define ASKS_NEW(type, init)                                   \
        ({                                                     \
                type *new_message_ = asks_alloc(sizeof(type)); \
                init(new_message_);                            \
                new_message_;                                  \
        })
ProtobufCBinaryData asks_id(void); // a new one
Argosy__NamedFile *asks_file(Draw *d, const WorldUnit *u);
Argosy__NamedFile *asks_file_of(const WorldUnit *u, const WorldContent *c);
const char *asks_node(Draw *d);
uint32_t asks_host(Draw *d); // its number
const char *asks_unit(Draw *d); // most often of one that the story has
uint64_t asks_job(Draw *d); // a number, of any job or of none that there is
uint64_t asks_held_job(Draw *d); // likewise; of one that is held, if there is any
// Several words, each made by that; NULL: none.
char **asks_words(Draw *d, size_t *ret_n, unsigned max, const char *(*make)(Draw *d));
const char *asks_pattern(Draw *d);  // of units
const char *asks_rev(Draw *d);      // hash of a content, or its beginning
const char *asks_role(Draw *d);
const char *asks_pool(Draw *d);
const char *asks_secret(Draw *d);
Argosy__Label *asks_label(Draw *d);
Argosy__Label **asks_labels(Draw *d, size_t *ret_n, unsigned max);
Argosy__Right asks_right(Draw *d);
// What was asked last of that kind, was answered well, and fits; NULL: nothing. Noted as what the request
// goes on from.
const WorldAsked *asks_go_on(Argosy__Request__WhatCase what, bool (*fits)(const WorldAsked *a));
const Argosy__Response *asks_last_response(const WorldAsked *a); // NULL: none yet
const Argosy__UnitRecord *asks_record(const char *name); // as AsksPort.state() has it; NULL: there is none
