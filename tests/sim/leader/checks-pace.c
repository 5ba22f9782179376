// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Checks of limits (leader-limits.h): how much a turn of the leader does, what its messages hold, and how
// much it keeps and takes on. Most stories draw some of these, so that few units reach them. What is counted
// is what the leader itself counts, and what hosts are sent.
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "checks-private.h"
#include "event-core.h"
#include "leader-private.h"
#include "macro.h"
#include "nodes.h"
#include "test.h"
#include "pending-requests.h"

// ------------------------------------------------------------------------------------------------ a turn

// A figure of the leader that only grows, by no more in one turn of the loop than a limit says: as often as
// a turn does some of it, and what the last thing has more.
typedef struct Paced {
        const char *what;
        size_t counter, limit; // offsets in Leader and LeaderLimits
        unsigned times, more;
} Paced;

#define PACED(what, counter, limit, times, more) \
        {what, offsetof(Leader, counter), offsetof(LeaderLimits, limit), times, more}
static const Paced paced[] = {
        PACED("units followed", n_pulled, pulled_units, 6, 0),
        PACED("global units judged", n_globals_judged, globals_judged, 1, WORLD_UNITS_MAX),
        PACED("names listed", n_listed, rows_listed, 1, 0),
        PACED("looks for whoever asks why", n_why_looks, why_looks, 1, 2 * WORLD_HOSTS_MAX),
        PACED("held jobs judged", n_held_judged, held_judged, 1, 0),
};

static struct {
        uint64_t before[ELEMENTSOF(paced)];
        size_t n_orders, n_pieces; // that hosts were sent in this turn
        size_t n_ops;              // of entries that were applied in it
        size_t n_records;          // of the tables of a leader that begins, before it; SIZE_MAX: it does not
        bool builds;               // it was so
} pace;

static uint64_t figure(size_t counter) {
        return *(const uint64_t *) ((const char *) world.rig.leader + counter);
}

static unsigned limit_of(const Paced *p) {
        return *(const unsigned *) ((const char *) &world.rig.leader->limits + p->limit);
}

// What hosts say of units that nobody has looked at yet is no record.
static size_t n_records(const Leader *l) {
        size_t n = 0;

        name_table_foreach(unit, &l->units)
                n += ((const Unit *) unit)->recorded;
        map_foreach (slot, &l->hosts)
                n += ((const Host *) slot->value)->recorded;
        return n;
}

// What it does as soon as it is elected is as much as a turn does, and the first turn may be over.
static void begins_with_few(const Leader *l) {
        if (l->building && !pace.builds && n_records(l) > 2 * l->limits.build_records + pace.n_ops)
                check_fail("turns-are-bounded", "who begins to lead has followed %zu records at once, of %u",
                           n_records(l), l->limits.build_records);
        pace.builds = l->building;
}

void pace_on_turn_begin(void) {
        begins_with_few(world.rig.leader);
        for (size_t i = 0; i < ELEMENTSOF(paced); i++)
                pace.before[i] = figure(paced[i].counter);
        pace.n_orders = pace.n_pieces = pace.n_ops = 0;
        pace.n_records = world.rig.leader->building ? n_records(world.rig.leader) : SIZE_MAX;
}

// Of a request, which may be one about many units that are not to be told apart.
static bool is_asked_for(const Argosy__LogBatch *batch) {
        for (size_t i = 0; i < batch->n_ops; i++)
                if (batch->ops[i]->op_case == ARGOSY__LOG_OP__OP_JOB &&
                    batch->ops[i]->job->job->own == ARGOSY__OWN_CAUSE__OWN_NONE)
                        return true;
        return false;
}

static bool any_rollout(void) {
        for (size_t i = 0; i < log_truth.n_rollouts; i++)
                if (*log_truth.rollouts[i].name || *log_truth.rollouts_before[i].name)
                        return true;
        return false;
}

// What the leader does by itself is some units in each entry, and those that go along with the last one:
// these are bound by their contents.
static void entry_is_bounded(const Argosy__LogBatch *batch) {
        enum { ALONG_MAX = 2 };
        size_t along = asks.swarm.loads[LOAD_options] ? WORLD_UNITS_MAX : ALONG_MAX, n = 0;
        unsigned max = world.rig.leader->limits.entry_units;

        if (is_asked_for(batch) || any_rollout())
                return;
        for (size_t i = 0; i < batch->n_ops; i++)
                n += batch->ops[i]->op_case == ARGOSY__LOG_OP__OP_UNIT;
        if (n > max + along)
                check_fail("turns-are-bounded", "an entry of the leader's own changes %zu units, of %u", n,
                           max);
        if (n >= max)
                check_says("turns-are-bounded");
}

// What an entry changes is followed with it, at once.
void pace_on_entry(const Argosy__LogBatch *batch) {
        pace.n_ops += batch->n_ops;
        entry_is_bounded(batch);
}

void pace_on_turn(void) {
        const Leader *l = world.rig.leader;

        for (size_t i = 0; i < ELEMENTSOF(paced); i++) {
                uint64_t did = figure(paced[i].counter) - pace.before[i];

                if (did > paced[i].times * limit_of(&paced[i]) + paced[i].more)
                        check_fail("turns-are-bounded",
                                   "%" PRIu64 " %s in one turn, of %u", did, paced[i].what,
                                   limit_of(&paced[i]));
                if (did >= limit_of(&paced[i]))
                        check_says("turns-are-bounded");
        }
        if (pace.n_orders > l->limits.orders_made)
                check_fail("turns-are-bounded",
                           "%zu orders in one turn, of %u", pace.n_orders, l->limits.orders_made);
        if (pace.n_pieces > l->limits.file_pieces)
                check_fail("turns-are-bounded",
                           "%zu pieces of files in one turn, of %u", pace.n_pieces, l->limits.file_pieces);
        if (pace.n_records != SIZE_MAX &&
            n_records(l) > pace.n_records + l->limits.build_records + pace.n_ops)
                check_fail("turns-are-bounded",
                           "who begins to lead has followed %zu records in one turn, of %u",
                           n_records(l) - pace.n_records,
                           l->limits.build_records);
}

// -------------------------------------------------------------------------------------------------- at rest

#define LOOKED(what, counter) \
        { what, offsetof(Leader, counter) }
static const struct {
        const char *what;
        size_t counter; // offset in Leader
} looked[] = {
        LOOKED("units followed", n_pulled),
        LOOKED("units looked at that may have to leave", n_considered),
        LOOKED("units looked at that wait for a node", n_pending_judged),
        LOOKED("waits judged", n_waiters_judged),
        LOOKED("global units judged", n_globals_judged),
        LOOKED("names listed", n_listed),
        LOOKED("names planned", n_planned),
        LOOKED("units planned because of others", n_plan_dues),
        LOOKED("units that a rebalance may move", n_searched),
        LOOKED("held jobs judged", n_held_judged),
        LOOKED("refusals told to the Placement", n_refusals_reported),
        LOOKED("nodes looked for", n_placements),
};

// Hosts beat, and nobody asks for anything. Something may still happen once (a guard ends, a pause is over);
// what goes on all the time costs what exists.
void pace_at_rest(void) {
        enum { PERIODS = 4 };
        uint64_t before[ELEMENTSOF(looked)], least[ELEMENTSOF(looked)];

        memset(least, 0xff, sizeof(least));
        for (unsigned n = 0; n < PERIODS; n++) {
                for (size_t i = 0; i < ELEMENTSOF(looked); i++)
                        before[i] = figure(looked[i].counter);
                rig_pass_ms(&world.rig, asks.swarm.lease_ms / 2);
                for (size_t i = 0; i < ELEMENTSOF(looked); i++)
                        least[i] = MIN_OF(least[i], figure(looked[i].counter) - before[i]);
        }
        check_says("rest-costs-nothing");
        for (size_t i = 0; i < ELEMENTSOF(looked); i++)
                if (least[i] > 0)
                        check_fail("rest-costs-nothing",
                                   "nothing happens, and each half of a lease there are %" PRIu64 " %s",
                                   least[i], looked[i].what);
}

// ------------------------------------------------------------------------------------------------ a message

// All but the last were within it.
static void orders_fit(uint32_t host, const Argosy__ToHost__Orders *m) {
        size_t bytes = 0, max = world.rig.leader->limits.orders_bytes;

        pace.n_orders += m->n_orders;
        for (size_t i = 0; i + 1 < m->n_orders; i++)
                bytes += argosy__unit_order__get_packed_size(m->orders[i]);
        if (bytes > max)
                check_fail("turns-are-bounded",
                           "n%u is sent %zu orders of more than %zu bytes, of %zu", host, m->n_orders,
                           bytes, max);
}

// What would only come to the end of what the host has still to take.
static bool can_wait(const Argosy__ToHost *m) {
        return m->msg_case == ARGOSY__TO_HOST__MSG_ORDERS || m->msg_case == ARGOSY__TO_HOST__MSG_BEAT_ACK ||
               m->msg_case == ARGOSY__TO_HOST__MSG_WELCOME || m->msg_case == ARGOSY__TO_HOST__MSG_FILE_PIECE;
}

void pace_on_order(uint32_t host, const Argosy__ToHost *m) {
        const LeaderLimits *limits = &world.rig.leader->limits;

        if (rig_host(&world.rig, host)->full) {
                check_says("full-hosts-wait");
                if (can_wait(m))
                        check_fail("full-hosts-wait",
                                   "n%u has much to take yet, and is sent a message of kind %d", host,
                                   (int) m->msg_case);
        }
        if (m->msg_case == ARGOSY__TO_HOST__MSG_ORDERS)
                orders_fit(host, m->orders);
        else if (m->msg_case == ARGOSY__TO_HOST__MSG_FILE_PIECE) {
                pace.n_pieces += m->file_piece->piece.len > 0;
                if (m->file_piece->piece.len > limits->file_piece_bytes)
                        check_fail("turns-are-bounded",
                                   "a piece of a file has %zu bytes, of %u", m->file_piece->piece.len,
                                   limits->file_piece_bytes);
        } else if (m->msg_case == ARGOSY__TO_HOST__MSG_CALL && m->call->names &&
                   m->call->names->n_units > limits->call_names)
                check_fail("turns-are-bounded",
                           "n%u is asked about %zu names at once, of %u", host, m->call->names->n_units,
                           limits->call_names);
}

// ------------------------------------------------------------------------------------------------ room

static void is_within(const char *what, size_t n, size_t max) {
        if (n > max)
                check_fail("room-is-bounded", "there are %zu %s, of %zu", n, what, max);
        if (n == max)
                check_says("room-is-bounded");
}

static size_t n_listeners(const Leader *l) {
        size_t n = 0;

        map_foreach (slot, &l->nodes)
                n = MAX_OF(n, ((const Node *) slot->value)->questions.n_listeners);
        return n;
}

// Of one author and of one kind, the most.
static size_t n_begun(const Leader *l) {
        size_t most = 0;

        list_foreach (i, &l->pending_requests) {
                const PendingRequest *t = CONTAINER_OF(i, PendingRequest, all);
                size_t n = 0;

                if (!t->begun)
                        continue;
                list_foreach (k, &l->pending_requests) {
                        const PendingRequest *other = CONTAINER_OF(k, PendingRequest, all);

                        n += other->turn == t->turn && other->begun == t->begun;
                }
                most = MAX_OF(most, n);
        }
        return most;
}

// Those that wait for what hosts say about images hold up no other one until they have heard it: sixteen for
// each that goes on.
static size_t held_jobs_max(const LeaderLimits *limits) {
        enum { ASKING = 16 };

        return asks.swarm.containers > 0 ? (1 + ASKING) * limits->held_going : limits->held_going;
}

void room_on_turn(void) {
        const Leader *l = world.rig.leader;
        const LeaderLimits *limits = &l->limits;

        // Held jobs that go on have a limit of their own, and come in though there is no room for others.
        is_within("open requests", l->n_pending_requests - l->n_held_going, limits->pending_requests);
        is_within("units that are waited for", l->n_wait_items, limits->wait_items);
        is_within("who watch", l->watchers.n, limits->watchers);
        is_within("lists that are kept", l->n_listings_kept, limits->listings_kept);
        is_within("held jobs that go on", l->n_held_going, held_jobs_max(limits));
        is_within("units whose working memory is kept", l->n_works_spare, limits->spare_works);
        is_within("plans of others that wait for nodes", l->n_plans_asking, limits->plans_asking_others);
        is_within("requests of one author that have begun", n_begun(l), limits->begun);
        is_within("questions to a node", n_listeners(l), limits->node_listeners);
        if (!l->events)
                return;
        is_within("objects that are gone and remembered", l->events->n_gone, limits->events_gone);
        if (l->events->ring.n > 1 && l->events->ring.bytes > l->events->ring.bytes_max)
                check_fail("room-is-bounded",
                           "events have %zu bytes, of %zu", l->events->ring.bytes,
                           l->events->ring.bytes_max);
}

// ------------------------------------------------------------------------------------------------ answers

// One object is given whole.
void pace_on_answer(const WorldAsked *a, const Argosy__Response *r) {
        if (r->what_case != ARGOSY__RESPONSE__WHAT_EVENTS || r->events->n_events < 2)
                return;
        if (argosy__response__get_packed_size(r) > EVENTS_BYTES_MAX)
                check_fail("turns-are-bounded",
                           "whoever watches is told %zu bytes at once",
                           argosy__response__get_packed_size(r));
}
