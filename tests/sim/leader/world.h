// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// One story: a leader with everything around it (leader-rig.h), who asks it for what, what breaks, and what is known about it
// all without asking the leader. There is one at a time.
//
//      plan (choices.h, swarm.h) -> world_step() -> asks.c, faults.c, time -> the rig
//                                                                              | entries, messages, responses
//                                               checks.c <- story.c <- hooks <-+

#include "arena.h"
#include "choices.h"
#include "hash.h"
#include "leader-rig.h"
#include "plan.h"
#include "story.h"
#include "swarm.h"

enum { WORLD_UNITS_MAX = 32, WORLD_CONTENTS_MAX = 1024, WORLD_ASKED_MAX = 8192, WORLD_AUTHORS = 5, WORLD_HOSTS_MAX = 16 };
enum { WORLD_FILES_MAX = 2, WORLD_BODIES = 4, WORLD_CPU_MILLI = 4000, WORLD_MEMORY_MIB = 8192 }; // of each host

typedef struct WorldUnit {
        char name[48], file[48]; // file: itself, or its template
} WorldUnit;

// A content of a unit, and what is known of it because it was made so: the product has no part in this.
typedef struct WorldContent {
        char *text;
        Hash hash;
        bool bad;               // units with it fail
        bool global;
        bool picky;             // it has any demand on a node, or another unit
        bool careless;          // its author may have written what excludes each other: then it is refused
        bool oneshot, machine, stays, cut_off_stop, rerun_unknown; // machine: `hosts` is by MachineID=; stays: Rebalance=no
        unsigned hosts;         // Host=, MachineID=: bit N-1 of each that may have it; 0: any
        const char *zone;       // RequireLabel=zone=, MachineMetadata=zone=; NULL: any
        // Each NULL or 0 if nothing is said.
        const char *other_label, *pool, *managers, *spread, *role, *node_lost, *secret, *file_change;
        unsigned conflicts, replaces, same_node, after, before, requires, binds_to, wants, part_of; // bit of each unit
        unsigned spread_skew, cpu_milli, memory_mib, gpus, max_unavailable, delay_sec, restart_elsewhere;
        int priority, preemptible;        // preemptible: 1 is yes, -1 is no
        unsigned files[WORLD_FILES_MAX], n_files; // numbers of bodies (world_body()) of what it carries
        const WorldUnit *of; // whose file it is, if it is of no use to others; NULL: of any
} WorldContent;

typedef enum WorldAuthor { AUTHOR_ROOT, AUTHOR_ALICE, AUTHOR_CAROL, AUTHOR_STRANGER, AUTHOR_TOKEN } WorldAuthor;

typedef struct WorldAsked {
        Argosy__Request *request; // as it was asked
        WorldAuthor author;
        RigAnswer *answer;
        size_t again_of; // 1 + the first one of those that it repeats; 0: it is the first
        size_t follows;  // 1 + the one from whose answer it goes on: an apply from its plan, a wait from its change; 0: none
        unsigned token;  // of AUTHOR_TOKEN: its number, from 1
        size_t n_seen;   // of the answer's responses, by the checks
        bool called_off;
        uint64_t asked_us;
} WorldAsked;

typedef struct World {
        Rig rig;
        StoryPlan plan;
        Swarm swarm;
        size_t step;
        Arena arena; // of the request that is being made
        WorldContent contents[WORLD_CONTENTS_MAX];
        size_t n_contents;
        WorldUnit units[WORLD_UNITS_MAX];
        size_t n_units;
        WorldAsked asked[WORLD_ASKED_MAX];
        size_t n_asked;
        unsigned n_tokens; // that anybody asked for
        bool is_failing; // the log takes nothing
        uint64_t n_transitions; // of units on hosts
} World;

extern World world;
extern const char *const world_authors[WORLD_AUTHORS];
// Names that requests and contents of units have in common.
extern const char *const world_zones[2], *const world_roles[3], *const world_pools[2], *const world_secrets[2];

// The whole story: returns when it has ended well. A check that fails ends the process (cmocka's fail_msg()).
void world_play(const StoryPlan *plan, StoryOutput output);

// world-units.c
void world_units_begin(Draw *d);
const WorldUnit *world_unit_draw(Draw *d);
const WorldContent *world_content_draw(Draw *d, const WorldUnit *u);
const WorldContent *world_content_find(const uint8_t hash[HASH_SIZE]); // NULL: none of ours
ProtobufCBinaryData world_body(unsigned number);                    // of a file that units carry
int world_unit_index(const char *name);                             // -1: none of ours

// asks.c
uint32_t world_author_host(WorldAuthor who); // where the requests of that one come in
bool world_author_is_in(WorldAuthor who, const char *group);
void asks_begin(Draw *d); // what is asked before anything else
void asks_step(Draw *d);

// disks.c
void disks_begin(void);
void disks_on_host_message(uint32_t host, const Argosy__ToHost *m);
void disks_on_turn(void);
void disks_end(void);

// faults.c
void faults_step(Draw *d);
void faults_heal(void); // everything works again
void faults_healed(void); // and all of that has been heard of
void faults_begin(void);
void faults_end(void);
void faults_on_entry(void);
void faults_on_turn(void);
void faults_on_voter_message(uint32_t host, const Argosy__ToVoter *m);
// What it says need not be true, and what is said of it and its units follows from that.
bool world_host_lies(uint32_t host);

// lies.c
Argosy__ToVoter *lies_draw(Draw *d, const RigHost *h); // from the heap
// The log can take what comes, and somebody leads.
bool world_is_well(void);
// The host was not removed from the cluster. One that was does what its agent did before, and hears of nothing.
bool world_is_member(uint32_t host);
