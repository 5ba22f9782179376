// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// The store's decisions, as functions of plain numbers: which role to announce, whether the disk is stuck,
// when to take a snapshot. Pure; the time is an argument.

#include <stdbool.h>
#include <stdint.h>

#include "store.h"

enum {
        STORE_STUCK_MS = 30 * 1000, // entries that wait for the disk so long, or a member that answers but
                                    // does not advance
        STORE_FULL_MS = 3 * 1000,   // entries that wait so long on a full disk: it is said, and not led from
        STORE_STUCK_STEP_MS =
                1000, // at most so much is counted per look: a suspended machine is not a stuck disk
        STORE_SNAPSHOT_ENTRIES = 16384, // a snapshot is taken after so many entries, however small
        // Bytes of log that are kept behind a snapshot, for followers that are a little late; in memory as
        // well as on the disk.
        STORE_TRAILING_BYTES = STORE_SNAPSHOT_BYTES / 2,
        STORE_TRAILING_MAX = 4096, // entries
};

// ---- Role

typedef struct RoleView {
        enum { VIEW_FOLLOWER, VIEW_CANDIDATE, VIEW_LEADER } state; // libraft's
        uint64_t applied_index;
        uint64_t lead_index; // last index of the log when we became leader
} RoleView;

StoreRole plan_role(const RoleView *view);

// ---- Progress: something that ought to advance while there is work for it

typedef struct Progress {
        uint64_t at;
        uint64_t checked_ms;
        uint64_t waited_ms;
} Progress;

// Looks at a counter that is at `at` and ought to reach `target`. True once it has not moved for
// STORE_STUCK_MS of counted time.
bool progress_is_stuck(Progress *p, uint64_t at, uint64_t target, uint64_t now_ms);

// ---- Handover

// To whom a leader that has written its log only up to `stored`, because its disk is full, leaves the lead:
// the voter that has written most, if that is more. 0: nobody, or we do not lead.
uint32_t plan_handover(const StoreStats *stats, uint32_t self, uint64_t stored);

// ---- Compaction

typedef struct Compaction {
        uint64_t bytes; // of log since the last snapshot
        uint64_t snapshot_bytes; // size of the last snapshot
        unsigned asked;          // how often one was asked for that is not there yet
} Compaction;

void compaction_add(Compaction *c, uint64_t bytes);
void compaction_ask(Compaction *c); // whatever came until now is to be in a snapshot soon
// Whether a snapshot is due, by bytes, since libraft counts entries only. A big state is written less often,
// so that a snapshot never costs more than the log before it.
bool compaction_is_due(const Compaction *c);
// A snapshot was written that was taken when it was `*at`; what came later counts for the next.
void compaction_done(Compaction *c, const Compaction *at, uint64_t snapshot_bytes);

// ---- What is kept behind a snapshot

// The last entries, as far back as they are to be kept.
typedef struct TrailingLog { // zero-initialised: none
        uint32_t sizes[STORE_TRAILING_MAX]; // a ring
        unsigned first, n;
        uint64_t bytes; // of these
} TrailingLog;

void trailing_log_add(TrailingLog *t, uint32_t bytes);
// How many entries libraft, which counts nothing else, is to keep: those that have STORE_TRAILING_BYTES
// together. Never none, which would tell its disk code that a snapshot was installed.
unsigned trailing_log_entries(const TrailingLog *t);
