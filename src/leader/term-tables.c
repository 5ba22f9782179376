// SPDX-License-Identifier: LGPL-2.1-or-later
//
// See term-tables.h. One row for each table, in the order in which they act; a row says only what its table
// has to do.
//
// A term ends in two steps. First whoever looks at units, nodes or jobs to let go of them does so
// (`let_go`). Then these go to the pool by their heads, and each table begins anew (`retire`): its lists are
// made empty, and nothing that was in them is looked at.
#include "term-tables.h"

#include <stddef.h>

#include "access-tokens.h"
#include "authorization.h"
#include "ca-controller.h"
#include "preview-turns.h"
#include "decide-moves.h"
#include "due.h"
#include "event-marks.h"
#include "event-stream.h"
#include "fleet-units.h"
#include "held-jobs.h"
#include "host-clocks.h"
#include "host-leases.h"
#include "host-marks.h"
#include "macro.h"
#include "mass-loss-controller.h"
#include "node-calls.h"
#include "node-loss-controller.h"
#include "nodes.h"
#include "older-secrets.h"
#include "open-jobs.h"
#include "ordering.h"
#include "orders.h"
#include "own-jobs.h"
#include "pending.h"
#include "previous-nodes.h"
#include "rebalances.h"
#include "recovering.h"
#include "registry.h"
#include "replacers.h"
#include "request-deadlines.h"
#include "retired-tables.h"
#include "retry-controller.h"
#include "rollout-controller.h"
#include "row-walks.h"
#include "schedule-queue.h"
#include "scheduler.h"
#include "secrets-key-controller.h"
#include "sessions.h"
#include "tallies.h"
#include "tombstones.h"
#include "turn.h"
#include "unit-deadlines.h"
#include "unit-event.h"
#include "unit-marks.h"
#include "unit-work.h"
#include "voter-secrets-controller.h"
#include "voters.h"
#include "wait-seen.h"
#include "waiters.h"

typedef struct TermTable {
        DueWhen when; // next_deadline() has one
        void (*begin)(Leader *l);
        void (*on_applied)(Leader *l);
        void (*on_time)(Leader *l);
        size_t due_us;     // where in Leader its deadline is, which ends with the term; 0: it has none, or
                           // next_deadline() says it
        bool later;        // that one counts only as long as it is to come
        unsigned sets_due; // then: of LeaderDue; and it has no deadline any more
        uint64_t (*next_deadline)(const Leader *l);
        void (*let_go)(Leader *l);
        void (*retire)(Leader *l);
} TermTable;

#define DUE_AT(field) .due_us = offsetof(Leader, field)
#define DUE_LATER(field) DUE_AT(field), .later = true

// --------------------------------------------------------------------------------------------- some of them

static uint64_t retries_next_deadline(const Leader *l) {
        return deadline_heap_next(&l->retry_deadlines);
}

// Those that reconcile.c follows record by record act after the records; those of `begin` are made before
// the first record.
static const TermTable tables[] = {
        {.let_go = event_marks_let_go, .retire = event_marks_retire},
        {.begin = event_stream_begin, .let_go = event_stream_retire},
        {.on_time = sessions_on_time, DUE_LATER(barriers_pause_us), .retire = sessions_retire},
        {.on_time = node_loss_on_time},
        {.on_time = previous_nodes_on_time},
        {.on_time = retry_controller_on_time,
         WHEN(DUE_SET(retry_deadlines.n)),
         .next_deadline = retries_next_deadline,
         .retire = retry_controller_retire},
        {.on_time = nodes_on_time, DUE_AT(drain_due_us), .retire = nodes_retire},
        {.on_time = voters_on_time, DUE_AT(voters_wait_us), .retire = voters_retire},
        {DUE_LATER(voters_pause_us)},
        {DUE_LATER(pause_us)},
        {.begin = authorization_begin},
        {.begin = open_jobs_build_begin},
        {.begin = scheduler_open},
        {.begin = older_secrets_begin, .on_applied = older_secrets_follow},
        {.on_applied = open_jobs_on_applied,
         WHEN(DUE_SET(jobs_due_us), DUE_LIST(jobs_watched)),
         .next_deadline = open_jobs_next_deadline,
         .retire = open_jobs_retire},
        {.on_applied = tombstones_on_applied},
        {.on_applied = rollout_controller_sync, // after the units and the jobs that rollouts are about
         .on_time = rollout_controller_on_time,
         DUE_AT(rollout_due_us),
         .let_go = rollout_controller_retire},
        {.on_time = rebalance_on_time, DUE_AT(rebalance_due_us), .let_go = rebalance_retire},
        {.on_time = tombstones_on_time, DUE_AT(tombstones_due_us), .retire = tombstones_retire},
        {.on_time = authorization_on_time, DUE_AT(token_expiry_us)},
        {.on_time = previews_on_time,
         WHEN(DUE_LIST(previews_asking)),
         .next_deadline = previews_next_deadline},
        {.on_time = request_deadlines_on_time,
         WHEN(DUE_SET(request_deadlines.n)),
         .next_deadline = request_deadlines_next,
         .retire = request_deadlines_retire},
        {DUE_AT(ca_due_us), .sets_due = DUE_CA, .retire = ca_controller_retire},
        {DUE_AT(voter_secrets_due_us), .sets_due = DUE_VOTER_SECRETS,
         .retire = voter_secrets_controller_retire},
        {DUE_LATER(own_leads_due_us), .retire = own_jobs_retire},
        {DUE_LATER(host_news_due_us)},
        {WHEN(DUE_SET(unit_deadlines[UNIT_MOVES].n), DUE_SET(unit_deadlines[UNIT_ENDS].n)),
         .next_deadline = unit_deadlines_next,
         .retire = unit_deadlines_retire},
        {.let_go = node_calls_retire},
        {.let_go = wait_walks_retire},
        {.retire = secrets_key_controller_retire},
        {.retire = access_tokens_retire},
        {.retire = mass_loss_controller_retire},
        {.retire = held_jobs_retire},
        {.retire = waiters_retire},
        {.retire = decide_pending_retire},
        {.retire = orders_retire},
        {.retire = recovering_retire},
        {.retire = ordering_retire},
        {.retire = replacers_retire},
        {.retire = pending_retire},
        {.retire = fleet_units_retire},
        {.retire = row_walks_retire},
        {DUE_LATER(lease_change_us), .retire = host_leases_retire},
        {.begin = host_clocks_begin, .retire = host_clocks_retire},
        {.retire = host_marks_retire},
        {.retire = tallies_retire},
        {.retire = unit_lives_retire},
        {.retire = schedule_retire},
        {.retire = unit_marks_retire},
        {.retire = unit_works_retire},
        {.retire = registry_retire}, // hosts go that nobody needs
};

void term_tables_begin(Leader *l) {
        for (size_t i = 0; i < ELEMENTSOF(tables); i++)
                if (tables[i].begin)
                        tables[i].begin(l);
}

void term_tables_on_applied(Leader *l) {
        for (size_t i = 0; i < ELEMENTSOF(tables); i++)
                if (tables[i].on_applied)
                        tables[i].on_applied(l);
}

static uint64_t *deadline_at(Leader *l, const TermTable *t) {
        return (uint64_t *) ((char *) l + t->due_us);
}

static void on_time(Leader *l, const TermTable *t) {
        if (t->on_time)
                t->on_time(l);
        if (t->sets_due == 0 || *deadline_at(l, t) == 0 || *deadline_at(l, t) > leader_now(l))
                return;
        *deadline_at(l, t) = 0;
        leader_set_due(l, t->sets_due);
}

void term_tables_on_time(Leader *l) {
        for (size_t i = 0; i < ELEMENTSOF(tables); i++)
                on_time(l, &tables[i]);
}

// Of two deadlines, of which 0 is none.
static uint64_t earlier(uint64_t a, uint64_t b) {
        return a == 0 || (b > 0 && b < a) ? b : a;
}

uint64_t term_tables_next_deadline(Leader *l, uint64_t now_us) {
        uint64_t first = lease_table_next(&l->leases);

        for (size_t i = 0; i < ELEMENTSOF(tables); i++)
                if (tables[i].due_us > 0 && (!tables[i].later || *deadline_at(l, &tables[i]) > now_us))
                        first = earlier(first, *deadline_at(l, &tables[i]));
        due_foreach (i, l, tables, ELEMENTSOF(tables))
                first = earlier(first, tables[i].next_deadline(l));
        return first;
}

void term_tables_retire(Leader *l) {
        for (size_t i = 0; i < ELEMENTSOF(tables); i++)
                if (tables[i].let_go)
                        tables[i].let_go(l);
        if (l->places) // else it has not begun to make any
                retired_tables_take(l);
        for (size_t i = 0; i < ELEMENTSOF(tables); i++) {
                if (tables[i].due_us > 0)
                        *deadline_at(l, &tables[i]) = 0;
                if (tables[i].retire)
                        tables[i].retire(l);
        }
}
