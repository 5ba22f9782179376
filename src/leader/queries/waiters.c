// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Clients that wait for units. A wait is judged when it begins and whenever something about one of its units
// was seen or changed; what got there since is told once per turn. One for thousands of units begins with
// limits.waits_begun of them in each turn; those that have not begun are open, and nobody looks at them. Of
// many that were touched limits.waits_judged are judged in each turn; what a unit on thousands of nodes is
// like is found out in turns, too (wait-seen.h).
#include <errno.h>

#include "array.h"
#include "batch-builder.h"
#include "due.h"
#include "host-marks.h"
#include "may-run.h"
#include "missing-unit.h"
#include "node-loss-controller.h"
#include "nodes.h"
#include "ordering.h"
#include "previous-nodes.h"
#include "registry.h"
#include "response.h"
#include "scheduler.h"
#include "str.h"
#include "tables.h"
#include "pending-requests.h"
#include "tombstones.h"
#include "turn.h"
#include "unit-event.h"
#include "unit-marks.h"
#include "unit-on-node.h"
#include "unit-record.h"
#include "unit-state.h"
#include "unit-wanted.h"
#include "unit-work.h"
#include "wait-condition.h"
#include "wait-seen.h"
#include "waiters.h"
#include "walks.h"

enum {
        NODES_OF_LOOK = 128,    // of what was seen are as much for who is told of it
};

struct Waiter {
        RequestWork work;
        PendingRequest *pending;
        ListNode all; // in Leader.waiters
        ListNode due; // in Leader.waiters_due: not all of it has begun, or there is something to be said
        Argosy__UnitGoal goal;
        Argosy__Verb verb; // with a goal: the one that would bring it about
        size_t n_items, n_open;
        size_t n_begun;         // the items before that are looked at
        Argosy__Response *news; // Progress since the last one; NULL: none
        bool failed;            // out of memory on the way
        WaiterItem items[];
};

void waiter_item_end(Leader *l, WaiterItem *item) {
        UnitWork *w = unit_work_if_any(l, item->unit); // which may be all that was in it

        list_unlink(&item->by_unit);
        if (w && list_is_empty(&w->waiters))
                list_unlink(&w->waited);
        list_unlink(&item->probation);
        item->unit = NULL;
}

static void waiter_free(PendingRequest *t, RequestWork *work) {
        Waiter *w = CONTAINER_OF(work, Waiter, work);
        Leader *l = t->leader;

        for (size_t i = 0; i < w->n_items; i++) {
                Unit *u = w->items[i].unit;

                if (!u)
                        continue;
                waiter_item_end(l, &w->items[i]);
                unit_mark_unused(l, u);
        }
        l->n_wait_items -= w->n_items;
        list_unlink(&w->all);
        list_unlink(&w->due);
        message_free(w->news);
        free(w);
}

static const RequestWorkKind waiter_kind = {waiter_free};

static int name_left_out(const Leader *l, const Unit *u, const UnitEntry *e,
                         Argosy__Response__UnitResult *result) {
        char why[REASON_MAX];

        map_foreach (slot, &l->nodes) {
                const Node *n = slot->value;

                if (unit_left_out(l, u, e, n, why, sizeof(why)) &&
                    FIELD_APPEND(result->refusals, result->n_refusals, refusal_new(n->name, why)) < 0)
                        return -ENOMEM;
        }
        return 0;
}

// What a unit is waited for to have reached.
typedef struct Awaited {
        Argosy__UnitGoal goal;
        Argosy__Verb verb;
        uint64_t revision;
        bool was_known; // as in WaitView
} Awaited;

// Without a record a tombstone tells of a unit that was destroyed; an older one, of a former unit of that
// name.
static bool was_destroyed_since(const Leader *l, const char *name, uint64_t revision) {
        const ListNode *tombs = cluster_state_tombstones_of(l->state, name);

        if (tombs)
                list_foreach (i, tombs)
                        if (CONTAINER_OF(i, const Tombstone, by_name)->revision > revision)
                                return true;
        return false;
}

// `unheard`: hosts that this leader has never heard count, too.
static WaitVerdict judge_seen(const WaitSeen *seen, bool unheard, const Awaited *awaited) {
        const Leader *l = seen->l;
        const Unit *u = seen->unit;
        const UnitEntry *e = seen->entry;
        WaitView v = {.record = e ? e->record : NULL,
                      .nodes = seen->nodes,
                      .n_nodes = seen->n - (unheard ? 0 : seen->n_unheard),
                      .n_refused = seen->n_refused,
                      .n_gave_way = seen->n_gave_way,
                      .stranded = seen->stranded,
                      .unscheduled = unit_is_being_placed(u),
                      .hosts_unattached = l->n_hosts.unattached > 0,
                      .was_known =
                              awaited->was_known ||
                              (!e && !awaited->goal && was_destroyed_since(l, u->name, awaited->revision))};

        if (seen->failed)
                return (WaitVerdict){.message = ""};
        return awaited->goal ? wait_condition_judge_goal(awaited->goal, &v)
                             : wait_condition_judge(awaited->verb, awaited->revision, &v);
}

static WaitDue due_of(const WaitSeen *seen) {
        return (WaitDue){seen->due_at_us, seen->due_host ? host_find(seen->l, seen->due_host) : NULL,
                         seen->due_lived_ms};
}

// `seen`: what was looked at for somebody else who waits for the unit; NULL: nothing yet.
static WaitVerdict judge(const Leader *l, const Awaited *awaited, const Unit *u, const WaitSeen *seen,
                         WaitDue *ret_due) {
        bool unheard = awaited->verb == ARGOSY__VERB__VERB_STOP &&
                       (!seen || (seen->entry && seen->entry->record->global));
        WaitVerdict verdict;
        WaitSeen own;

        if (seen && (!unheard || seen->keeps)) {
                *ret_due = due_of(seen);
                return judge_seen(seen, unheard, awaited);
        }
        wait_seen_init(&own, l, u);
        if (unheard)
                wait_seen_add_unheard(&own);
        verdict = judge_seen(&own, unheard, awaited);
        *ret_due = due_of(&own);
        wait_seen_done(&own);
        return verdict;
}

WaitVerdict waiter_judge(const Leader *l, Argosy__Verb verb, uint64_t revision, const Unit *u,
                         const WaitSeen *seen, WaitDue *ret_due) {
        const Awaited awaited = {
                .verb = verb, .revision = revision, .was_known = true}; // its job has changed it

        return judge(l, &awaited, u, seen, ret_due);
}

bool waiter_is_to_revert(const Leader *l, const Unit *u, const WaitVerdict *v) {
        const UnitEntry *e;

        if (!v->done || v->status == 0 || v->reverted || v->unplaced || v->blocked || v->silent ||
            v->left_out || v->status == ECANCELED)
                return false;
        e = cluster_state_find_unit(l->state, u->name);
        if (!e || !record_is_on_trial(e->record))
                return false;
        list_foreach (i, &unit_work_seen(u)->waiters) {
                const WaiterItem *item = CONTAINER_OF(i, WaiterItem, by_unit);

                if (!item->waiter && item->reverts)
                        return true;
        }
        return false;
}

static void describe_wait(Leader *l, const Unit *u, Argosy__Response__UnitResult *result) {
        char why[256];

        list_foreach (i, &u->on_nodes)
                if (ordering_why(l, CONTAINER_OF(i, UnitOnNode, by_unit), why, sizeof(why))) {
                        (void) field_set(&result->message, why);
                        return;
                }
}

static void describe_skip(const Unit *u, const char *node, Argosy__Response__UnitResult *result) {
        char phrase[DOWN_PHRASE_SIZE];
        const char *by = NULL;

        list_foreach (i, &u->on_nodes) {
                const UnitOnNode *s = CONTAINER_OF(i, UnitOnNode, by_unit);

                if (node && streq(s->node->name, node) && unit_on_node_is_skipped(s))
                        by = unit_on_node_down_by(s);
        }
        down_cause_phrase(ARGOSY__DOWN_CAUSE__DOWN_SKIPPED, by, phrase);
        (void) field_set(&result->message, phrase);
}

static void describe_revert(const WaitVerdict *v, Argosy__Response__UnitResult *result) {
        result->reverted = true;
        if (v->reverted_along && !*v->message)
                (void) field_set(&result->node, NULL);
        (void) field_printf(&result->message,
                            *v->message ? "%s; it has the file of before again, and with that: %s"
                                        : "%s; it has the file of before again",
                            v->reverted, v->message);
}

static void describe_where_it_may_run(const Leader *l, Argosy__Response__UnitResult *result,
                                      Argosy__Verb verb) {
        _cleanup_free_ char *phrase = NULL;

        if (tombstones_fill(l, result, verb, previous_node_only_host_reports) == 0 && result->n_may_run_on)
                phrase = may_run_phrase(result->may_run_on, result->n_may_run_on);
        (void) field_set(&result->message, phrase ?: "may still run on a host that is not heard");
}

Argosy__Response__UnitResult *waiter_result(Leader *l, Argosy__Verb verb, uint64_t revision, const Unit *u,
                                            const WaitVerdict *v) {
        Argosy__Response__UnitResult *result = unit_result_new(u->name);
        const UnitEntry *e = cluster_state_find_unit(l->state, u->name);
        char reason[256], failure[2 * REASON_MAX];
        const char *message = v->message;

        if (!result)
                return NULL;
        result->status = v->status;
        result->revision = revision;
        if (v->status == EIO && v->node && !v->reverted) {
                str_fit(failure, sizeof(failure), "%s", v->message);
                missing_unit_explain(l, u->name, v->node, failure, sizeof(failure));
                message = failure;
        }
        (void) field_set(&result->message, message); // the status says the essential
        (void) field_set(&result->node, v->node ? v->node : u->node ? u->node->name : NULL);
        if (v->reverted)
                describe_revert(v, result);
        if (v->blocked)
                describe_wait(l, u, result);
        if (v->skipped)
                describe_skip(u, v->node, result);
        if (v->left_out && e)
                (void) name_left_out(l, u, e, result);
        if (v->silent)
                describe_where_it_may_run(l, result, verb);
        if (v->unplaced && e && node_loss_why(l, u, e, reason, sizeof(reason)))
                (void) field_set(&result->message, reason); // others would take it
        else if (v->unplaced && e) {
                _cleanup_free_ char *why = NULL;

                if (unit_why(l, e, &why, &result->refusals, &result->n_refusals) >= 0)
                        (void) field_set(&result->message, why);
        }
        return result;
}

static void waiter_mark(Leader *l, Waiter *w) {
        if (!list_is_linked(&w->due))
                list_append(&l->waiters_due, &w->due);
}

// What got there since the last time, or nothing more than that there is nothing to wait for.
static void notify(Waiter *w) {
        Argosy__Response *news = TAKE_PTR(w->news);

        if (!news && w->n_open)
                return;
        if (!news)
                news = response_new(ARGOSY__RESPONSE__WHAT_PROGRESS);
        if (news)
                news->progress->remaining = (uint32_t) w->n_open;
        if (w->n_open)
                request_send(w->pending, news);
        else
                request_settle(w->pending, news);
}

// They come nearly in the order in which they began.
static void wait_for_mark(WaiterItem *item, const WaitDue *due) {
        ListNode *at;

        list_unlink(&item->probation); // it may be the last one there
        item->probation_ms = due->lived_ms;
        at = due->host->probations.prev;
        while (at != &due->host->probations &&
               CONTAINER_OF(at, WaiterItem, probation)->probation_ms > due->lived_ms)
                at = at->prev;
        list_insert_before(at->next, &item->probation);
}

int waiter_item_judge_again(Leader *l, WaiterItem *item, const WaitDue *due) {
        if (due->host)
                wait_for_mark(item, due);
        return due->at_us ? previous_node_ends_at(l, item->unit, due->at_us) : 0;
}

// Hosts have said that processes have lived long enough.
static void take_marks(Leader *l) {
        Host *h;

        while ((h = host_take_marked(l, HOST_LIVED))) {
                while (!list_is_empty(&h->probations)) {
                        WaiterItem *item = CONTAINER_OF(h->probations.next, WaiterItem, probation);

                        if (item->probation_ms > h->lived_ms)
                                break;
                        list_unlink(&item->probation);
                        waiters_on_unit(l, item->unit);
                }
        }
}

// It is in Leader.waited, and not in .waiting; in which of the two is not written where all have moved at
// once.
static bool is_due(const Leader *l, const UnitWork *w) {
        return list_is_linked(&w->waited) && w->judged_round != l->wait_round;
}

void waiters_on_unit(Leader *l, Unit *u) {
        UnitWork *w = unit_work_if_any(l, u);

        if (!w || list_is_empty(&w->waiters) || is_due(l, w))
                return;
        list_unlink(&w->waited);
        list_append(&l->waited, &w->waited);
        w->judged_round = 0;
}

// All waiters of the unit were told how it is.
static void rest(Leader *l, Unit *u) {
        UnitWork *w = unit_work_if_any(l, u);

        if (!w || list_is_empty(&w->waiters) || list_is_linked(&w->waited))
                return;
        list_append(&l->waiting, &w->waited);
        w->judged_round = l->wait_round;
}

// However many they are.
static void mark_all(Leader *l) {
        list_splice(&l->waited, &l->waiting);
        l->wait_round++;
}

// -ENOMEM: the pending request is to be ended.
static int judge_item(Leader *l, WaiterItem *item, const WaitSeen *seen) {
        Waiter *w = item->waiter;
        Unit *u = item->unit;
        Awaited awaited = {w->goal, w->verb, item->revision, item->known};
        WaitDue due;
        WaitVerdict v = judge(l, &awaited, u, seen, &due);
        Argosy__Response__UnitResult *result;

        l->n_waiters_judged++;
        item->known = true;
        if (!v.done || (!w->goal && waiter_is_to_revert(l, u, &v)))
                return waiter_item_judge_again(l, item, &due);
        waiter_mark(l, w);
        if (!w->news && !(w->news = response_new(ARGOSY__RESPONSE__WHAT_PROGRESS)))
                return -ENOMEM;
        result = waiter_result(l, w->verb, item->revision, u, &v);
        if (FIELD_APPEND(w->news->progress->done, w->news->progress->n_done, result) < 0)
                return -ENOMEM;
        waiter_item_end(l, item);
        w->n_open--;
        unit_mark_unused(l, u);
        return 0;
}

static Argosy__Verb verb_of_goal(Argosy__UnitGoal goal) {
        return goal == ARGOSY__UNIT_GOAL__GOAL_GONE       ? ARGOSY__VERB__VERB_DESTROY
               : goal == ARGOSY__UNIT_GOAL__GOAL_INACTIVE ? ARGOSY__VERB__VERB_STOP
                                                          : ARGOSY__VERB__VERB_START;
}

int waiter_start(Leader *l, PendingRequest *t) {
        const Argosy__Request__Wait *m = t->request->wait;
        Waiter *w;

        if (l->n_wait_items + m->n_items > l->limits.wait_items)
                return -EBUSY;
        w = calloc(1, sizeof(*w) + m->n_items * sizeof(*w->items));
        if (!w)
                return -ENOMEM;
        w->pending = t;
        w->goal = m->goal;
        w->verb = m->goal ? verb_of_goal(m->goal) : m->verb;
        w->n_items = w->n_open = m->n_items;
        l->n_wait_items += m->n_items;
        list_append(&l->waiters, &w->all);
        request_add_work(t, &waiter_kind, &w->work);
        waiter_mark(l, w);
        leader_mark(l);
        return 0;
}

static int begin_item(Leader *l, Waiter *w) {
        const Argosy__Request__Wait__Item *m = w->pending->request->wait->items[w->n_begun];
        WaiterItem *item = &w->items[w->n_begun++];

        item->waiter = w;
        item->revision = m->revision;
        item->unit = unit_get(l, m->name);
        if (!item->unit)
                return -ENOMEM;
        list_append(&unit_work(l, item->unit)->waiters, &item->by_unit);
        // With who waits for it already, above all its job: that has ended when this has.
        if (wait_seen_is_wide(l, item->unit) || is_due(l, unit_work_seen(item->unit))) {
                waiters_on_unit(l, item->unit);
                return 0;
        }
        if (judge_item(l, item, NULL) < 0)
                return -ENOMEM;
        if (item->unit)
                rest(l, item->unit);
        return 0;
}

static void begin_some(Leader *l) {
        LeaderWalk *walk = &l->walks.of[WALK_WAITS];
        size_t left = walk_slice(walk, l->limits.waits_begun);

        list_foreach (i, &l->waiters_due) {
                Waiter *w = CONTAINER_OF(i, Waiter, due);

                for (; !w->failed && w->n_begun < w->n_items && left > 0; left--)
                        w->failed = begin_item(l, w) < 0;
        }
        walk_sliced(l, walk, left);
}

static void note_failure(Leader *l, Waiter *w) {
        w->failed = true;
        waiter_mark(l, w);
}

static void judge_for(Leader *l, WaiterItem *item, const WaitSeen *seen) {
        if (!item->waiter)
                l->on_job_waited(l, item, seen);
        else if (judge_item(l, item, seen) < 0)
                note_failure(l, item->waiter);
}

static void judge_unit(Leader *l, Unit *u, size_t *left) {
        WaitSeen seen;

        wait_seen_init(&seen, l, u);
        list_foreach_safe (i, &unit_work_seen(u)->waiters) {
                judge_for(l, CONTAINER_OF(i, WaiterItem, by_unit), &seen);
                *left -= MIN_OF(*left, (size_t) 1);
        }
        wait_seen_done(&seen);
        rest(l, u);
}

// A waiter that was judged goes behind the others, so the first is always the next one, also if waiters come
// or go meanwhile.
static void judge_wide_unit(Leader *l, Unit *u, const WaitSeen *seen, size_t *left) {
        size_t *untold = wait_walk_untold(l, u);

        for (; *untold > 0 && *left > 0 && !list_is_empty(&unit_work_seen(u)->waiters); (*untold)--) {
                WaiterItem *item = CONTAINER_OF(unit_work_seen(u)->waiters.next, WaiterItem, by_unit);

                list_unlink(&item->by_unit);
                list_append(&unit_work(l, u)->waiters, &item->by_unit);
                judge_for(l, item, seen);
                *left -= MIN_OF(*left, 1 + seen->n / NODES_OF_LOOK);
        }
        if (*untold == 0 || list_is_empty(&unit_work_seen(u)->waiters))
                wait_walk_over(l, u);
}

static void judge_wide(Leader *l) {
        size_t left = l->limits.wait_looks;
        const WaitSeen *seen;
        Unit *u;

        while (left > 0 && (u = wait_walk_next(l, &left, &seen)))
                judge_wide_unit(l, u, seen, &left);
        if (!list_is_empty(&l->wait_walks))
                leader_mark(l);
}

static bool is_for_a_walk(const Leader *l, const Unit *u) {
        size_t n = 0;

        list_foreach (i, &unit_work_seen(u)->waiters)
                if (++n > l->limits.waits_reported)
                        return true;
        return wait_seen_is_wide(l, u);
}

static void judge_waited(Leader *l) {
        LeaderWalk *walk = &l->walks.of[WALK_WAITED];
        size_t left = walk_slice(walk, l->limits.waits_judged);

        while (left > 0 && !list_is_empty(&l->waited)) {
                Unit *u = CONTAINER_OF(l->waited.next, UnitWork, waited)->unit;

                list_unlink(&unit_work(l, u)->waited);
                if (!is_for_a_walk(l, u)) {
                        judge_unit(l, u, &left);
                        continue;
                }
                left--;
                wait_walk_begin(l, u);
                rest(l, u);
        }
        walk_sliced(l, walk, left);
        if (!list_is_empty(&l->waited))
                leader_mark(l);
        judge_wide(l);
}

// Judges what is new and what was touched, then says each wait's news.
void waiters_drain(Leader *l) {
        ListNode later = LIST_INIT(later);

        if (leader_take_due(l, DUE_WAITS))
                mark_all(l);
        take_marks(l);
        begin_some(l);
        judge_waited(l);
        while (!list_is_empty(&l->waiters_due)) {
                Waiter *w = CONTAINER_OF(l->waiters_due.next, Waiter, due);

                list_unlink(&w->due);
                if (w->failed)
                        request_settle(w->pending, NULL);
                else {
                        if (w->n_begun < w->n_items)
                                list_append(&later, &w->due);
                        notify(w);
                }
        }
        if (list_is_empty(&later))
                return;
        list_splice(&l->waiters_due, &later);
        leader_mark(l);
}

void waiters_retire(Leader *l) {
        list_init(&l->waited);
        list_init(&l->waiting);
        l->wait_round = 1;
}
