// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// What the files about rebalances share: rebalances.c (the plan and its moves) and rebalance-requests.c (who
// asks, and what is told).

#include "leader-core.h"
#include "name-patterns.h"
#include "queue-subject.h"
#include "rebalances.h"
#include "scheduler-rebalance.h"
#include "scheduler.h"

enum {
        REBALANCE_HEALTH_MAX_SEC = 3600,
        REBALANCE_MOVES_MAX = 1000,    // by one request
        REBALANCE_PATTERNS_MAX = 1000, // in one request
        REBALANCE_FAILURE_SIZE = 512,
        REBALANCE_ID_LEN = 16,
};

typedef enum Phase {
        PLANNED,
        FLYING, // in a batch, or ordered, and not up for long enough
        ENDED,  // well, or failed, or somebody else has decided about it
} Phase;

typedef struct Move {
        char *unit, *why, *error; // owned; error NULL: none
        uint32_t from, to;        // node numbers; from 0: it was moved before, and who listened was told
        Phase phase;
        uint64_t up_us;           // since when it is up there, as this leader saw it; 0: it is not
} Move;

struct Rebalance {
        char **patterns; // NULL-terminated
        size_t n_patterns, max_moves;
        NamePatterns meant; // by these
        uint64_t health_us;
        uint64_t if_revision; // after which nothing that the first plan looks at may have changed; 0: it may
        uint64_t newest;      // revision of what was looked at
        PendingRequest *asker; // of a preview; NULL: the rebalance moves units
        SchedulerRebalance *search; // for the next plan; NULL: nobody searches
        bool planned; // the moves that are PLANNED are a plan
        bool more;    // max_moves ended the last one
        bool aborted;
        // nothing more is moved, and nobody was told yet; Leader.rebalance_job says whether the log was
        bool over;
        bool changed; // something has, after if_revision
        char failure[REBALANCE_FAILURE_SIZE]; // "": none
        // that of the leader, if somebody moves by it; its request is there as long as the rebalance
        RebalanceJob job;
        // In the order of their beginning, then the planned ones. Those that have ended stand in the order
        // of their end before those that fly.
        Move *moves;
        size_t n_moves, n_begun, n_ended, allocated;
        size_t n_former; // of those that have begun: another rebalance's, which are only watched
};

// 0 or -ENOMEM.
int rebalance_new(const Argosy__Request__Rebalance *m, Rebalance **ret);
Rebalance *rebalance_free(Rebalance *o);
DEFINE_CLEANUP(Rebalance *, rebalance_free)
// Takes the moves of the record over from a former leader: each is watched until it is well, counts against
// the limit of moves (but for n_former), and ends the rebalance if it fails. 0 or -ENOMEM.
int rebalance_resume(const Leader *l, Rebalance *o, const Argosy__JobRecord *record);
// A host is away for a moment, as with a restart of its argosyd, or this leader is too young to have heard
// it: what it has can neither be seen nor moved until it is back or lost.
bool rebalance_has_to_wait(const Leader *l);
// Goes on with the next plan, or begins it. 0: there is none yet, and the leader is marked when it can go
// on; -ENOMEM.
typedef enum RebalanceOutcome { REBALANCE_PLANNED = 1 } RebalanceOutcome; // the planned moves are it
int rebalance_advance(Leader *l, Rebalance *o, Scheduler **scheduler);
// Whether something that its first plan has looked at has changed after the revision that it is bound to.
bool rebalance_is_outdated(const Leader *l, const Rebalance *o);
const char *rebalance_node_name(const Leader *l, uint32_t node); // "-": it is gone
