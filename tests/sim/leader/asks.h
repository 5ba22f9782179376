// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// What the leader is asked, of every kind that there is: the test of this table compares it with the kinds of requests that a
// leader answers. Messages are made in World.arena, which is empty again when the request has been handed over.

#include "argosy.pb-c.h"
#include "swarm.h"
#include "world.h"

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
// What was asked last of that kind, was answered well, and fits; NULL: nothing. Noted as what the request goes on from.
const WorldAsked *asks_go_on(Argosy__Request__WhatCase what, bool (*fits)(const WorldAsked *a));
const Argosy__Response *asks_last_response(const WorldAsked *a); // NULL: none yet
