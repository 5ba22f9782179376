// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What follows from a change, and in which order. This is the only place that knows everybody who has to
// hear of it.
//
// The tables (view/) note facts and set marks, and so does everybody else; nobody calls a file of a folder
// above. A mark says that something is to be looked at, not what was seen, so however often it is set in a
// turn its follower looks once, at the facts as they are then. Cost: what is marked, never what exists.
//
//      comes in                     notes                                     is followed
//      an entry of the log          cluster_state_next_dirty(), the records   at once:
//                                                                             reconcile_on_applied()
//      what hosts say, time         marks (Leader.touched and those beside)   at the beginning of the turn
//      a request                    a pending request in the queue            in the turn, by decide_next()
//
// Records are followed at once since a batch is only borrowed until the next. A follower that others decide
// by comes before them: the marks are pulled before decide_next(), so that no unit is placed and no budget
// is spent by old counts, and again before orders are held back and before waits are judged, since what
// stands before these marks more. What a Scheduler has to know of refusals and nodes is pulled whenever one
// is made (scheduler_new()), so that questions between two turns are answered by the same tables.
//
// No turn is long: who begins to lead follows limits.build_records records in each, and leads when the
// tables are whole (reconcile_build_some()). Of units that were touched, thousands when a host attaches or
// is lost, limits.pulled_units are pulled at a time, and nobody decides before the last of them. Who leads
// no more gives all tables to the pool as they are (retired-tables.c): nobody is told of the end of each
// unit.
//
// Out of memory while following a record ends the process: tables that miss one would decide wrongly, and it
// is better to begin again from the log. Without authority nothing is said that lasts; its marks stay for
// the turn that has it.
#include "reconcile.h"

#include <errno.h>

#include "activation-affinity.h"
#include "authorization.h"
#include "budget-dependents.h"
#include "companion-orders.h"
#include "decide.h"
#include "disruption-budget.h"
#include "due.h"
#include "event-marks.h"
#include "event-stream.h"
#include "file-pieces.h"
#include "held-jobs.h"
#include "host-clocks.h"
#include "host-leases.h"
#include "host-marks.h"
#include "host-removal.h"
#include "job-show.h"
#include "listings.h"
#include "mass-loss-controller.h"
#include "node-calls.h"
#include "node-lists.h"
#include "node-questions.h"
#include "nodes.h"
#include "older-secrets.h"
#include "oom.h"
#include "open-jobs.h"
#include "ordering.h"
#include "orders.h"
#include "own-jobs.h"
#include "pending.h"
#include "previous-nodes.h"
#include "queue-subject.h"
#include "rebalances.h"
#include "recovering.h"
#include "registry.h"
#include "replacers.h"
#include "retry-controller.h"
#include "rollout-controller.h"
#include "rollout-sharers.h"
#include "scheduler-roles.h"
#include "scheduler.h"
#include "secret-orders.h"
#include "sessions.h"
#include "tables.h"
#include "term-tables.h"
#include "pending-requests.h"
#include "tombstones.h"
#include "turn.h"
#include "unit-event.h"
#include "unit-marks.h"
#include "unit-record.h"
#include "unit-work.h"
#include "voters.h"
#include "wait-seen.h"
#include "waiters.h"
#include "walks.h"
#include "waits.h"
#include "watchers.h"
#include "why.h"

// ------------------------------------------------------------------------------------------------ ends

static void drop_unit(Leader *l, Unit *u) {
        listings_on_unit(l, u->name);
        unit_event(l, u, LIFE_IS_UNWANTED);
        retry_controller_forget(l, u);
        disruption_budget_leave(l, u);
        rollout_sharers_on_unit_gone(l, u);
        pending_forget(l, u);
        wait_walk_over(l, u);
        job_shows_on_unit_gone(l, u);
        scheduler_on_unit_freed(l, u);
        event_stream_on_unit_gone(l, u);
        unit_free(l, u);
}

static void drop_node(Leader *l, Node *n) {
        node_calls_on_node_lost(l, n);
        scheduler_on_node_freed(l, n);
        event_stream_on_node_gone(l, n);
        node_free(l, n);
}

// ------------------------------------------------------------------------------------------------ marks

static void spend(size_t *left, size_t n) {
        *left -= MIN_OF(*left, n);
}

static void follow_node(Leader *l, Node *n) {
        list_foreach (i, &n->placed) {
                Unit *u = CONTAINER_OF(i, Unit, placed);

                disruption_budget_refresh(l, u); // down, as long as nobody knows more
                rollout_sharers_on_touched(l, u);
                recovering_on_touched(l, u);
                replacers_on_touched(l, u);
        }
        listings_on_node(l, n);
        event_mark(l, &n->event);
        event_mark_units_of(l, n);
}

static void follow_touched(Leader *l, Unit *u) {
        disruption_budget_refresh(l, u); // budgets
        rollout_sharers_on_touched(l, u); // updates that it has to do with
        budget_dependents_refresh(l, u); // and those of units that go down with it
        recovering_on_touched(l, u);
        replacers_on_touched(l, u); // those who wait for others of its budget
        ordering_mark(l, u);        // those who come after it
        ordering_release_move(l, u); // where it was before
        waiters_on_unit(l, u); // those who wait for it
        listings_on_touched(l, u); // lists that show it
        event_mark(l, &u->event); // those who watch
        if (!unit_is_used(u))
                unit_mark_unused(l, u);
}

static void pull_nodes(Leader *l, size_t *left) {
        for (Node *n; *left > 0 && (n = node_take_marked(l, NODE_TOUCHED));) {
                spend(left, 1 + n->n_placed + n->n_units_on_node);
                follow_node(l, n);
        }
}

static void pull_units(Leader *l, size_t *left) {
        // it may be time for a placement round, too
        for (; *left > 0 && !list_is_empty(&l->released); (*left)--) {
                Unit *u = CONTAINER_OF(l->released.next, UnitWork, released)->unit;

                list_unlink(&unit_work(l, u)->released);
                orders_release(l, u);
        }
        for (; *left > 0 && !list_is_empty(&l->touched); (*left)--) {
                Unit *u = CONTAINER_OF(l->touched.next, UnitWork, touched)->unit;

                list_unlink(&unit_work(l, u)->touched);
                l->n_pulled++;
                follow_touched(l, u);
        }
        if (list_is_empty(&l->touched))
                unit_marks_forget_hosts(l);
}

static void drop_unused(Leader *l, size_t *left) {
        for (; *left > 0 && !list_is_empty(&l->unused); (*left)--) {
                Unit *u = CONTAINER_OF(l->unused.next, UnitWork, unused)->unit;

                list_unlink(&unit_work(l, u)->unused);
                if (!unit_is_used(u))
                        drop_unit(l, u);
        }
}

static bool have_marks(const Leader *l) {
        return !list_is_empty(&l->released) || !list_is_empty(&l->touched) || !list_is_empty(&l->unused) ||
               nodes_have_mark(l, NODE_TOUCHED);
}

bool reconcile_pull(Leader *l) {
        LeaderWalk *walk = &l->walks.of[WALK_MARKS];
        size_t left;

        node_calls_on_sessions_ended(l);
        if (!have_marks(l))
                return true;
        left = walk_slice(walk, l->limits.pulled_units);
        pull_nodes(l, &left);
        pull_units(l, &left);
        drop_unused(l, &left); // last: who has a mark now is asked about again when that is pulled
        walk_sliced(l, walk, left);
        if (!have_marks(l))
                return true;
        leader_mark(l);
        return false;
}

// ------------------------------------------------------------------------------------------------ the log

// What of the record decides where the unit is, before others look at it there.
static int follow_place(Leader *l, Unit *u, UnitEntry *e) {
        // There may be room now, or a conflict is gone; or room was kept for it.
        if ((u->node || (unit_life_is_queued(u->life) && !unit_has_place(e))) && l->n_pending > 0)
                leader_set_due(l, DUE_PLACEMENT);
        registry_on_unit(l, u, e);
        if (!e->removed)
                previous_nodes_on_unit(l, u, e);
        return pending_on_unit(l, u, e);
}

static Unit *unit_of(Leader *l, const UnitEntry *e) {
        return oom_checked(unit_get(l, e->record->name));
}

// There is no other reason for it.
static void must(int r) {
        if (r < 0)
                oom_end();
}

// NULL: it has none any more, or they cannot be had.
static UnitOptions *options_of(const UnitEntry *e) {
        UnitOptions *options = NULL;

        return !e->removed && oom_check(unit_options_of(e, &options)) >= 0 ? options : NULL;
}

static void follow_unit(Leader *l, Unit *u, UnitEntry *e) {
        UnitOptions *options = options_of(e); // made once for all: they may be those of this name alone

        must(follow_place(l, u, e));
        retry_controller_on_record(l, u, e);
        must(budget_dependents_on_unit(l, e));
        must(disruption_budget_on_unit(l, u, e));
        must(ordering_on_unit(l, u, e, options));
        queue_names_on_unit(l, e);
        unit_touch(l, u);
        scheduler_on_unit(l, u, e->removed ? NULL : e, options);
        scheduler_drive_out(l, u, e);
        ordering_release_beside(l, u, e);
        scheduler_reconsider_colocated(l, u); // of others, by its new file; or another leader moved those
        must(activation_affinity_on_unit(l, e));
        must(companion_orders_on_unit(l, e));
        must(secret_orders_on_unit(l, e));
        unit_options_unref(options);
}

// Global units may have to go from where it is, or come back to where it was.
static void mark_globals_beside(Leader *l, const Unit *u) {
        if (u->node && scheduler_may_conflict(l, u))
                host_mark_now(l, u->node->host, HOST_GLOBALS);
}

static void follow_units(Leader *l) {
        UnitEntry *e;

        while ((e = cluster_state_next_dirty(l->state))) {
                Unit *u = unit_of(l, e);
                bool replaced = e->node_before && replacer_is(l, u); // until its record is followed
                Node *before;

                mark_globals_beside(l, u); // units that gave way to it
                follow_unit(l, u, e);
                mark_globals_beside(l, u);
                if (e->record->global || e->global_before)
                        leader_set_due(l, DUE_GLOBALS);
                before = e->node_before ? node_find(l, e->node_before) : NULL;
                orders_on_unit(l, e->removed ? NULL : e, u, before);
                replacers_on_unit(l, before, replaced);
                unit_mark_unused(l, u);
                cluster_state_dirty_done(l->state, e);
        }
}

static void follow_hosts(Leader *l) {
        uint64_t pools = cluster_state_pools_revision(l->state);
        Node *n;

        registry_sync_hosts(l);
        if (pools != l->pools_revision) // which hosts are in them is said by their labels
                scheduler_relabel(l);
        l->pools_revision = pools;
        host_clocks_on_hosts(l);
        while ((n = node_take_marked(l, NODE_RENAMED)))
                event_stream_on_node_renamed(l, n);
        while ((n = node_take_marked(l, NODE_GONE)))
                drop_node(l, n);
        l->drain_due_us = nodes_next_deadline(l);
        leader_set_due(l, DUE_OF_CLUSTER_RECORD);
}

static void follow_one_early(Leader *l, UnitEntry *e) {
        Unit *u = unit_of(l, e);

        follow_unit(l, u, e);
        unit_mark_unused(l, u);
}

// A unit that changed while the tables are made, whether that has come to it or not: nobody is in session.
// Before all nodes are there it is left to the walk.
static void follow_early(Leader *l) {
        UnitEntry *e;

        while ((e = cluster_state_next_dirty(l->state))) {
                if (l->hosts_known)
                        follow_one_early(l, e);
                cluster_state_dirty_done(l->state, e);
        }
        open_jobs_on_applied(l);
}

void reconcile_on_applied(Leader *l) {
        uint64_t hosts = cluster_state_hosts_revision(l->state);

        l->n_followed++;
        leader_set_due(l, DUE_EVENTS);
        if (hosts != l->hosts_revision) {
                l->hosts_revision = hosts;
                follow_hosts(l);
        }
        host_clocks_on_applied(l);
        authorization_on_applied(l);
        held_jobs_on_applied(l);
        (void) oom_check(scheduler_on_roles(l)); // before units that name them
        if (l->building) {
                follow_early(l);
                return;
        }
        follow_units(l);
        term_tables_on_applied(l); // after the units that they are about
        (void) reconcile_pull(l);
        leader_mark(l);
}

// ------------------------------------------------------------------------------------------------ the turn

// What time alone moves, by that time.
static void follow_wall(Leader *l) {
        (void) leader_take_due(l, DUE_WALL);
        nodes_on_wall(l);
        if (cluster_state_access(l->state).n_tokens > 0)
                authorization_on_wall(l);
}

// A step of a turn: when it has work, and what it does then.
typedef struct TurnStep {
        DueWhen when;
        void (*step)(Leader *l);
        bool (*walk)(Leader *l); // instead; false: there is more for the next turn, and nobody decides yet
} TurnStep;

// for reconcile_pull(): what its parts pull
#define UNPULLED                                                                                     \
        DUE_LIST(released), DUE_LIST(touched), DUE_LIST(unused), DUE_LIST(node_marks[NODE_TOUCHED]),  \
                MARKED_HOSTS(HOST_SESSION_ENDED)

static void expire_some(Leader *l) {
        (void) sessions_expire_some(l);
}

static bool pull_all(Leader *l) {
        bool pulled = reconcile_pull(l);

        return pulled && l->leases_due_us == 0;
}

static void pull_some(Leader *l) {
        (void) reconcile_pull(l);
}

static void step_voters(Leader *l) {
        voters_step(l, NULL);
}

static const TurnStep before_decisions[] = {
        {MARKED(DUE_WALL), follow_wall},
        {WHEN(DUE_SET(grants_due)), authorization_tell_some},
        {WHEN(DUE_SET(leases_due_us)), expire_some},
        {WHEN(DUE_SET(secret_users.due)), older_secrets_step},
        {WHEN(UNPULLED, DUE_SET(leases_due_us)), .walk = pull_all},
        {MARKED_OR_WHEN(DUE_LABELS, DUE_LIST(node_marks[NODE_NEW])), .walk = scheduler_label_step},
        {WHEN(DUE_LIST(nodes_emptying)), .walk = nodes_empty_step},
        {WHEN(DUE_LIST(row_walks)), .walk = orders_rows_step},
        // What is listed is compared with labels, too.
        {WHEN(DUE_LIST(listings)), listings_step},
        {WHEN(DUE_LIST(calls_over), DUE_LIST(verifies.waiting), DUE_LIST(asking)), node_questions_turn},
        {WHEN(DUE_LIST(whys_due)), why_turn},
        {WHEN(DUE_LIST(node_lists)), node_lists_turn},
        {WHEN(DUE_LIST(job_shows)), job_shows_turn},
        {MARKED_OR_WHEN(DUE_GLOBALS, MARKED_HOSTS(HOST_GLOBALS)), .walk = orders_globals},
        {WHEN(MARKED_HOSTS(HOST_PLACE), DUE_LIST(node_marks[NODE_NEW])), .walk = scheduler_sync_nodes_step},
        {MARKED_OR_WHEN(DUE_DATA, DUE_LIST(refusals_due)), .walk = scheduler_sync_refusals_step},
        {MARKED(DUE_MASS_LOSS), mass_loss_controller_judge},
        // Before requests are decided: those that may go are among them.
        {WHEN(DUE_SET(queue_retired), DUE_LIST(queue_changed), DUE_SET(held_due.n),
              DUE_SET(held_put_back_due)),
         held_jobs_step},
};

// None goes out before it is known who is blocked no longer, since others come after those.
static void send_orders(Leader *l) {
        if (list_is_empty(&l->ordering_new))
                orders_flush(l);
}

// What says something that lasts. Without authority it stays noted until leader_on_authority(), or the end.
static const TurnStep with_authority[] = {
        {WHEN(MARKED_HOSTS(HOST_BEAT)), sessions_acknowledge},
        {MARKED_OR_WHEN(DUE_VOTERS | DUE_MEMBERS, MARKED_HOSTS(HOST_VOTERS)), step_voters},
        {WHEN(MARKED_HOSTS(HOST_BARRIER)), sessions_start_barrier},
        {MARKED(DUE_PREVIOUS_NODES), orders_mark_awaiting},
        {WHEN(UNPULLED), pull_some}, // what was touched since
        {WHEN(DUE_LIST(recovering_walks), DUE_LIST(replacing_due), DUE_LIST(ordering),
              DUE_LIST(ordering_new)),
         ordering_drain},
        {WHEN(MARKED_HOSTS(HOST_ORDERS)), send_orders},
        {WHEN(MARKED_HOSTS(HOST_FILE_QUESTION)), file_pieces_turn},
        {WHEN(MARKED_HOSTS(HOST_SESSION_BEGUN)), node_calls_on_sessions_begun},
        {WHEN(UNPULLED), pull_some}, // what is held back, and what has ended
        {MARKED_OR_WHEN(DUE_WAITS, MARKED_HOSTS(HOST_LIVED), DUE_LIST(waiters_due), DUE_LIST(waited),
                        DUE_LIST(wait_walks)),
         waiters_drain},
        {WHEN(DUE_LIST(jobs_watched), DUE_LIST(jobs_reported)), open_jobs_turn},
        {WHEN(DUE_LIST(waits)), waits_turn},
        {WHEN(DUE_LIST(removals)), host_removals_notify},
        {WHEN(DUE_SET(rebalance)), rebalance_notify},
        {MARKED_OR_WHEN(DUE_EVENTS, DUE_SET(event_news.due.n), DUE_LIST(event_news.rows_gone),
                        DUE_LIST(event_news.nodes), DUE_SET(event_news.rows.n), DUE_SET(event_news.n_jobs),
                        DUE_SET(event_news.kept), DUE_LIST(watchers.due), DUE_LIST(watchers.behind)),
         watchers_turn},
        {WHEN(DUE_SET(ops.present)), watchers_tell_present},
        {WHEN(DUE_LIST(outbox)), responses_flush},
};

// False: a walk has more.
static bool take_steps(Leader *l, const TurnStep *steps, size_t n) {
        due_foreach (i, l, steps, n) {
                if (steps[i].step)
                        steps[i].step(l);
                else if (!steps[i].walk(l))
                        return false;
        }
        return true;
}

// Others go on in the next turn, before anybody decides by what they keep.
static bool decide_nothing(Leader *l) {
        if (leader_has_authority(l))
                sessions_acknowledge(l);
        return true;
}

bool reconcile_turn(Leader *l) {
        if (!take_steps(l, before_decisions, ELEMENTSOF(before_decisions)))
                return decide_nothing(l);
        decide_next(l); // needs no authority: the log takes it from nobody but who leads
        if (!leader_has_authority(l))
                return false;
        return take_steps(l, with_authority, ELEMENTSOF(with_authority));
}

// ------------------------------------------------------------------------------------------------ life

void reconcile_build_begin(Leader *l) {
        cluster_state_drop_dirty(l->state); // all of it is looked at
        l->hosts_revision = cluster_state_hosts_revision(l->state);
        l->pools_revision = cluster_state_pools_revision(l->state);
        term_tables_begin(l);
        l->hosts_walked = 0;
        l->hosts_known = false;
}

static void end_build(Leader *l) {
        (void) oom_check(rollout_controller_build(l)); // after the units that they are about
        tombstones_on_applied(l);
        held_jobs_build(l); // after the jobs that run, which count for their limits
        own_jobs_begin(l);
        host_leases_renew(l); // no beats were taken meanwhile
        leader_set_due(l, DUE_VOTERS | DUE_VOTER_SECRETS | DUE_OF_CLUSTER_RECORD);
        l->drain_due_us = nodes_next_deadline(l);
        leader_mark(l);
}

// One kind of the build's walks, with a slice of its own: a look at a unit may take longer than one at a
// host. True: it is at its end.
static bool build_of(Leader *l, LeaderWalkKind kind, bool (*some)(Leader *l, size_t *left), size_t *left) {
        LeaderWalk *walk = &l->walks.of[kind];
        size_t slice = walk_slice(walk, l->limits.build_records), most = MIN_OF(*left, slice), rest = most;
        bool all = some(l, &rest);

        walk_sliced(l, walk, most < slice ? 1 : rest);
        *left -= most - rest;
        return all;
}

static bool build_hosts(Leader *l, size_t *left) {
        if (l->hosts_known)
                return true;
        if (!build_of(l, WALK_HOSTS, registry_build_hosts, left) ||
            !build_of(l, WALK_NODES, scheduler_build_nodes, left))
                return false;
        l->hosts_known = true;
        cluster_state_walk_begin(l->state); // from here on what changes is followed
        return true;
}

static bool build_units(Leader *l, size_t *left) {
        UnitEntry *e;

        for (; *left > 0; (*left)--) {
                e = cluster_state_walk_next(l->state);
                if (!e)
                        return true;
                follow_unit(l, unit_of(l, e), e);
        }
        return false;
}

bool reconcile_build_some(Leader *l) {
        size_t left = l->limits.build_records;
        // Hosts, and then the nodes that these have, before the units that are there.
        bool units = build_hosts(l, &left) && build_of(l, WALK_UNITS, build_units, &left);

        (void) reconcile_pull(l);
        if (!units || !open_jobs_build_some(l)) { // units before the jobs that are about them
                leader_mark(l);
                return false;
        }
        end_build(l);
        (void) reconcile_pull(l);
        return true;
}
