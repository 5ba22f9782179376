// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Units with RestartElsewhere= that systemd has given up: they are started again, where they are or on
// another node, as retry-policy.h says.
//
// Units with RestartElsewhere= that systemd restarts by itself and that fail again each time are started
// elsewhere too.
//
// What counts is a report of such a unit on its node, from after its last start, that it is `failed`, and
// will not be tried again by systemd itself, or that systemd has restarted it after a failure once more.
// Reports are told apart by the time since which it has failed, so one that is repeated, by the agent or
// with a new session, counts once. Whether the unit still has failed, or fails still, belongs there and is
// nobody else's business is asked again when its back-off is over:
//
//      its host is lost or away         NodeLost= decides; when it is back, what it says then counts
//      it is wanted elsewhere by now    the move has started it there
//      a rollout of its budget           judges it, and may take its content back: looked at when that ends
//      MaxUnavailable=                  is not asked, since the unit is down already; but it counts as down
//
// The points are in this leader's memory only. A new one finds, from what the agents say when they attach,
// the units that have failed, counts each as one failure, and begins anew with them: at worst they are tried
// so many times more. What was done, a new start or another node, is in the unit's record. An explicit
// start, or new content, forgets them.
//
// A Retry lives from a unit's first failure until its record is gone, or one of these.
#include "retry-controller.h"

#include <errno.h>

#include "activation-affinity.h"
#include "activators.h"
#include "batch-builder.h"
#include "clock.h"
#include "deadline-heap.h"
#include "due.h"
#include "oom.h"
#include "pending.h"
#include "retry-bars.h"
#include "retry-policy.h"
#include "scheduler.h"
#include "str.h"
#include "tables.h"
#include "turn.h"
#include "unit-file.h"
#include "unit-on-node.h"
#include "unit-record.h"
#include "unit-state.h"
#include "unit-work.h"

enum {
        NODE_PENALTY = 16, // load of a node because a unit has left it for its failures: that of 8 units
};

// It is to run there, and its last start was carried out.
static bool is_launched_there(const Unit *u, const UnitEntry *e, const UnitOnNode *s) {
        const Argosy__UnitRecord *r = e ? e->record : NULL;

        return r && !e->removed && r->target == ARGOSY__TARGET__TARGET_LAUNCHED && !r->global && u->node &&
               s && s->node == u->node && unit_on_node_is_reported(s) && s->revision >= r->start_rev &&
               !record_final_outcome(r, r->node);
}

static bool has_failed(const Unit *u, const UnitEntry *e, const UnitOnNode *s) {
        return is_launched_there(u, e, s) && s->active == ARGOSY__ACTIVE_STATE__ACTIVE_FAILED &&
               !strstr(unit_on_node_sub(s), "auto-restart");
}

// systemd restarts it, and it has failed there as often as it may.
static bool keeps_failing(const Leader *l, const Unit *u, const UnitEntry *e, const UnitOnNode *s) {
        return is_launched_there(u, e, s) && s->active != ARGOSY__ACTIVE_STATE__ACTIVE_FAILED &&
               unit_work_seen(u)->retry && unit_work_seen(u)->retry->restarted_on == s->node->number &&
               retry_failures_on(l, u, e, s->node->number) >= failing_options_of(e)->restart_elsewhere;
}

// As it is reported now: systemd has restarted it, and that has helped.
static bool has_recovered(const Leader *l, const Unit *u, const UnitOnNode *s) {
        return active_state_is_up(s->active) &&
               leader_now(l) >= unit_work_seen(u)->retry->failed_us + RETRY_RECOVERED_SEC * USEC_PER_SEC;
}

static Retry *retry_get(Leader *l, Unit *u, const UnitEntry *e) {
        Retry *t = unit_work_seen(u)->retry;

        if (t)
                return t;
        t = oom_checked(calloc(1, sizeof(*t)));
        t->leader = l;
        t->unit = u;
        t->spec = e->spec->hash;
        t->start_rev = e->record->start_rev;
        list_init(&t->queue);
        list_init(&t->flying);
        pending_mark(l, u);
        return unit_work(l, u)->retry = t;
}

void retry_controller_forget(Leader *l, Unit *u) {
        Retry *t = unit_work_seen(u)->retry;

        if (!t)
                return;
        retry_bars_set(l, u, RETRY_BAR_NONE);
        deadline_heap_clear(&l->retry_deadlines, &t->deadline);
        list_unlink(&t->queue);
        list_unlink(&t->flying);
        unit_work(l, u)->retry = NULL;
        free(t);
}

// ------------------------------------------------------------------------------------------------ events

static void look_again(Leader *l, Retry *t, const UnitEntry *e) {
        uint64_t now = leader_now(l);

        t->stuck = false;
        list_unlink(&t->queue);
        oom_check(deadline_heap_set(
                &l->retry_deadlines, &t->deadline,
                now + retry_policy_delay_us(retry_policy_total(&t->log, retry_half_us(e), now))));
}

static bool waits_already(const Retry *t) {
        return deadline_is_set(&t->deadline) || list_is_linked(&t->queue) || list_is_linked(&t->flying);
}

// systemd has restarted it after failures.
static void note_restarts(Leader *l, Unit *u, const UnitOnNode *s) {
        const UnitEntry *e = s->new_failures > 0 ? cluster_state_find_unit(l->state, u->name) : NULL;
        unsigned n = s->new_failures;
        Retry *t;

        if (!e || !failing_options_of(e)->restart_elsewhere || !is_launched_there(u, e, s))
                return;
        t = retry_get(l, u, e);
        // systemd says `failed` for a moment also of what it is about to restart
        n -= t->failed_on == s->node->number;
        t->failed_on = 0;
        t->restarted_on = s->node->number;
        t->failed_us = leader_now(l);
        if (n > 0)
                retry_policy_add(&t->log, s->node->number, n, retry_half_us(e), leader_now(l));
        if (!keeps_failing(l, u, e, s)) {
                t->ripe = false;
                return;
        }
        if (waits_already(t))
                return;
        if (t->ripe) {
                t->ripe = false;
                list_append(&l->retries, &t->queue);
                leader_mark(l);
        } else
                look_again(l, t, e);
}

void retry_controller_on_report(Leader *l, Unit *u, const UnitOnNode *s) {
        const UnitEntry *e = s->active == ARGOSY__ACTIVE_STATE__ACTIVE_FAILED
                                     ? cluster_state_find_unit(l->state, u->name)
                                     : NULL;
        bool waits;
        Retry *t;

        note_restarts(l, u, s);
        if (!e || !failing_options_of(e)->restart_elsewhere || !has_failed(u, e, s))
                return;
        t = retry_get(l, u, e);
        t->failed_us = leader_now(l);
        waits = deadline_is_set(&t->deadline) && !t->stuck;
        if (retry_policy_note(&t->log, s->node->number, s->since_us ?: e->record->start_rev,
                              retry_half_us(e), leader_now(l)))
                t->failed_on = s->node->number;
        else if (waits_already(t))
                return;
        if (!waits) // else what systemd restarts again and again would put off its move for ever
                look_again(l, t, e);
}

void retry_controller_on_record(Leader *l, Unit *u, const UnitEntry *e) {
        const Argosy__UnitRecord *r = e->record;
        Retry *t = unit_work_seen(u)->retry;

        if (!t)
                return;
        if (e->removed || r->target != ARGOSY__TARGET__TARGET_LAUNCHED || r->global ||
            !hash_equal(&t->spec, &e->spec->hash) ||
            (r->start_rev != t->start_rev && !list_is_linked(&t->flying))) {
                retry_controller_forget(l, u);
                return;
        }
        t->start_rev = r->start_rev;
        list_unlink(&t->flying);
}

void retry_controller_on_time(Leader *l) {
        Deadline *d;

        while ((d = deadline_heap_pop(&l->retry_deadlines, leader_now(l)))) {
                Retry *t = CONTAINER_OF(d, Retry, deadline);

                list_unlink(&t->queue);
                list_append(&l->retries, &t->queue);
        }
}

static bool is_a_rollouts(const Unit *u) {
        return u->budget && u->budget->rollout;
}

void retry_controller_on_rollout_end(Leader *l) {
        list_splice(&l->retries, &l->retries_held);
        leader_mark(l);
}

void retry_controller_take_back(Leader *l) {
        while (!list_is_empty(&l->retries_flying)) {
                Retry *t = CONTAINER_OF(l->retries_flying.next, Retry, flying);

                list_unlink(&t->flying);
                oom_check(deadline_heap_set(&l->retry_deadlines, &t->deadline, l->pause_us));
        }
}

// ------------------------------------------------------------------------------------------------ placing

bool retry_controller_hold(const Leader *l, const Unit *u) {
        const UnitEntry *e = unit_work_seen(u)->retry ? cluster_state_find_unit(l->state, u->name) : NULL;

        return e && retry_policy_total(&unit_work_seen(u)->retry->log, retry_half_us(e), leader_now(l)) > 0;
}

// ------------------------------------------------------------------------------------------------ deciding

// Nothing more is to be done before one of its nodes counts as good again.
static void stay(Leader *l, Retry *t, const UnitEntry *e) {
        uint64_t now = leader_now(l),
                 at = retry_policy_forgiven_us(&t->log, failing_options_of(e)->restart_elsewhere,
                                               retry_half_us(e), now);

        t->stuck = true;
        list_append(&l->retries_stuck, &t->queue);
        if (at != RETRY_NEVER)
                oom_check(deadline_heap_set(&l->retry_deadlines, &t->deadline,
                                  MAX_OF(at, now + RETRY_DELAY_MIN_SEC * USEC_PER_SEC)));
}

// 0 and *ret, 0 there if none takes it.
static int find_node(Leader *l, BatchBuilder *b, Retry *t, const UnitEntry *e, Scheduler **scheduler,
                     uint32_t *ret) {
        Unit *u = t->unit;
        UnitOptions *options = NULL;
        SchedulerAnswer place = {};
        int r = unit_options_of(e, &options);

        *ret = 0;
        if (r < 0)
                return r == -EINVAL ? 0 : r;
        // What is activated by another one is where that is.
        if (!activation_affinity_node(l, b, u->name, activators_activated(&l->activators, u->name),
                                      options)) {
                *scheduler = *scheduler ?: scheduler_new(l, 0);
                t->asking = true;
                r = scheduler_place(*scheduler, u->name, options, false, &place);
                t->asking = false;
                *ret = r < 0 ? 0 : place.node;
        }
        unit_options_unref(options);
        return r == -ENOSPC || r == -EINVAL ? 0 : r;
}

static int start_elsewhere(Leader *l, BatchBuilder *b, Retry *t, const UnitEntry *e, Scheduler **scheduler) {
        Argosy__UnitRecord next = *e->record;
        uint32_t node;
        int r = find_node(l, b, t, e, scheduler, &node);

        if (r < 0)
                return r;
        if (!node || node == e->record->node) {
                stay(l, t, e);
                return 0;
        }
        scheduler_penalise(l, t->unit->node, NODE_PENALTY, retry_half_us(e));
        next.node = node;
        list_append(&l->retries_flying, &t->flying);
        activation_affinity_refresh(l, t->unit->name);
        return batch_builder_put_unit(b, &next, 0, e->record->revision);
}

static int start_here(Leader *l, BatchBuilder *b, Retry *t, const UnitEntry *e) {
        Argosy__UnitRecord next = *e->record;

        list_append(&l->retries_flying, &t->flying);
        t->failed_on = 0;
        return batch_builder_put_unit(b, &next, BATCH_BUMP_START, e->record->revision);
}

// Its back-off is over, and there is nothing to be done about it now.
static bool may_stay(const Leader *l, Retry *t, const UnitEntry *e) {
        const UnitOnNode *s = unit_on_node_find(t->unit, t->unit->node);

        if (!keeps_failing(l, t->unit, e, s) || !has_recovered(l, t->unit, s))
                return false;
        t->stuck = false;
        t->ripe = true;
        return true;
}

static int take_turn(Leader *l, BatchBuilder *b, Retry *t, const UnitEntry *e, Scheduler **scheduler) {
        unsigned n = retry_failures_on(l, t->unit, e, t->unit->node->number);

        t->stuck = false;
        return n < failing_options_of(e)->restart_elsewhere ? start_here(l, b, t, e)
                                                            : start_elsewhere(l, b, t, e, scheduler);
}

static bool is_our_business(const Leader *l, const Unit *u, const UnitEntry *e) {
        const UnitOnNode *s = u->node ? unit_on_node_find(u, u->node) : NULL;

        return (has_failed(u, e, s) || keeps_failing(l, u, e, s)) && !unit_on_node_is_unreachable(s) &&
               failing_options_of(e)->restart_elsewhere;
}

int retry_controller_decide(Leader *l, BatchBuilder *b, Scheduler **scheduler) {
        ListNode later = LIST_INIT(later);
        int r = 0;

        if (leader_is_due(l, DUE_PLACEMENT)) // a node may have come, or have got room
                list_splice(&l->retries, &l->retries_stuck);
        while (r >= 0 && !list_is_empty(&l->retries) && batch_builder_takes_more(b)) {
                Retry *t = CONTAINER_OF(l->retries.next, Retry, queue);
                const UnitEntry *e = cluster_state_find_unit(l->state, t->unit->name);

                list_unlink(&t->queue);
                if (!is_our_business(l, t->unit, e) || may_stay(l, t, e))
                        continue;
                if (is_a_rollouts(t->unit))
                        list_append(&l->retries_held, &t->queue);
                else if (batch_builder_has_unit(b, t->unit->name))
                        list_append(&later, &t->queue);
                else
                        r = take_turn(l, b, t, e, scheduler);
                if (r < 0)
                        list_append(&later, &t->queue);
        }
        list_splice(&l->retries, &later);
        return r;
}

bool retry_controller_takes(const Unit *u) {
        const Retry *t = unit_work_seen(u)->retry;

        return t && list_is_linked(&t->flying);
}

// ------------------------------------------------------------------------------------------------ why

static void in_how_long(uint64_t us, char buf[static 32]) {
        uint64_t sec = (us + USEC_PER_SEC - 1) / USEC_PER_SEC;

        if (sec < 120)
                snprintf(buf, 32, "%llus", (unsigned long long) sec);
        else
                snprintf(buf, 32, "%llumin", (unsigned long long) ((sec + 59) / 60));
}

bool retry_controller_phrase(const Leader *l, const Unit *u, char *ret, size_t size) {
        const UnitEntry *e = unit_work_seen(u)->retry ? cluster_state_find_unit(l->state, u->name) : NULL;
        uint64_t now = leader_now(l), due;
        unsigned n, limit;
        char when[48] = "", span[32];

        if (!e || !is_our_business(l, u, e) || unit_work_seen(u)->retry->ripe)
                return false;
        n = retry_failures_on(l, u, e, u->node->number);
        limit = failing_options_of(e)->restart_elsewhere;
        due = deadline_is_set(&unit_work_seen(u)->retry->deadline)
                      ? unit_work_seen(u)->retry->deadline.at_us
                      : now;
        if (due > now) {
                in_how_long(due - now, span);
                snprintf(when, sizeof(when), " in %s", span);
        }
        if (list_is_linked(&unit_work_seen(u)->retry->queue) && is_a_rollouts(u))
                snprintf(ret, size, "the update under way decides about it");
        else if (unit_work_seen(u)->retry->stuck)
                snprintf(ret, size,
                         "no other node takes it (RestartElsewhere=%u), it is tried again%s; `start` does "
                         "at once",
                         limit, when);
        else if (n < limit)
                snprintf(ret, size, "failure %u of %u here, it is started again%s", n, limit, when);
        else if (n == limit)
                snprintf(ret, size, "failure %u of %u here, it is started on another node%s", n, limit,
                         when);
        else // systemd restarts it meanwhile
                snprintf(ret, size,
                         "%u failures here (RestartElsewhere=%u), it is started on another node%s", n, limit,
                         when);
        return true;
}

void retry_controller_retire(Leader *l) {
        list_init(&l->retries);
        list_init(&l->retries_flying);
        list_init(&l->retries_held);
        list_init(&l->retries_stuck);
        deadline_heap_done(&l->retry_deadlines);
}
