// SPDX-License-Identifier: LGPL-2.1-or-later

// The store's decisions as functions of plain structs (judgement.h): role, stuck progress, handover,
// compaction.
//
//      raft-store.c fills a view -> plan_role(), progress_is_stuck(), plan_handover(), compaction_is_due()
//
// Times are in ms, sizes in bytes. Nothing allocates or fails. Test: store/judgement.

#include "judgement.h"

#include <limits.h>

#include "macro.h"

StoreRole plan_role(const RoleView *view) {
        switch (view->state) {
        case VIEW_CANDIDATE:
                return STORE_CANDIDATE;
        case VIEW_LEADER:
                // Won, but what was committed before has not been applied yet.
                return view->applied_index < view->lead_index ? STORE_CANDIDATE : STORE_LEADER;
        default:
                return STORE_FOLLOWER;
        }
}

bool progress_is_stuck(Progress *p, uint64_t at, uint64_t target, uint64_t now_ms) {
        uint64_t elapsed = now_ms > p->checked_ms ? now_ms - p->checked_ms : 0;

        if (at != p->at || at >= target)
                p->waited_ms = 0;
        else
                p->waited_ms += MIN_OF(elapsed, (uint64_t) STORE_STUCK_STEP_MS);
        p->at = at;
        p->checked_ms = now_ms;
        return p->waited_ms >= STORE_STUCK_MS;
}

uint32_t plan_handover(const StoreStats *stats, uint32_t self, uint64_t stored) {
        uint32_t best = 0;

        if (stats->role != STORE_LEADER)
                return 0;
        for (size_t i = 0; i < stats->n_members; i++) {
                const StoreMember *m = &stats->members[i];

                if (m->voter && m->raft_id != self && m->match_index > stored) {
                        best = m->raft_id;
                        stored = m->match_index;
                }
        }
        return best;
}

void compaction_add(Compaction *c, uint64_t bytes) {
        c->bytes += bytes;
}

void compaction_ask(Compaction *c) {
        c->asked++;
}

bool compaction_is_due(const Compaction *c) {
        return c->asked > 0 || c->bytes >= MAX_OF((uint64_t) STORE_SNAPSHOT_BYTES, c->snapshot_bytes);
}

void compaction_done(Compaction *c, const Compaction *at, uint64_t snapshot_bytes) {
        c->bytes -= at->bytes;
        c->asked -= at->asked;
        c->snapshot_bytes = snapshot_bytes;
}

static void drop_oldest(TrailingLog *t) {
        t->bytes -= t->sizes[t->first];
        t->first = (t->first + 1) % STORE_TRAILING_MAX;
        t->n--;
}

void trailing_log_add(TrailingLog *t, uint32_t bytes) {
        if (t->n == STORE_TRAILING_MAX)
                drop_oldest(t);
        t->sizes[(t->first + t->n++) % STORE_TRAILING_MAX] = bytes;
        t->bytes += bytes;
        while (t->bytes > STORE_TRAILING_BYTES && t->n > 1)
                drop_oldest(t);
}

unsigned trailing_log_entries(const TrailingLog *t) {
        return MAX_OF(t->n, 1U);
}
