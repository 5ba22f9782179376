// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Order and need among units of different nodes (dependencies.h), from the tables as they are.
//
// What a dependency holds back is an order: a start is not sent yet, a unit that runs without what it is
// bound to is sent an order to be down, a stop is not sent yet. Nothing of this is in the log: the records
// say what is wanted, hosts say what is, and what is held back follows from both, so a new leader holds back
// the same.
//
// A unit that a host holds already gets an order in any case, since a Welcome without one means that it is
// to go: one to be down while its start waits, one to stay as it is while its stop waits, or the stop that
// its restart begins with. Neither has a revision: the answer to the former answers no change, and the
// latter is not answered at all.
//
// Whatever is seen of a unit, or changes its record, ends in ordering_mark(): at the end of the turn those
// are looked at who depend on it, and those on whom it depends if their stop waits for it; of thousands
// limits.drained_units in each turn, since an order that goes out asks for itself (ordering_hold()). Units
// without dependencies cost one look into a table that has no entry for them.
//
// A start is held back in the same way while units that it replaces are still on its node (replacers.c).
#include <errno.h>

#include "batch-builder.h"
#include "dependencies.h"
#include "dependency-cycles.h"
#include "host-marks.h"
#include "image-moves.h"
#include "ordering.h"
#include "orders.h"
#include "recovering.h"
#include "registry.h"
#include "replacers.h"
#include "rollout-content.h"
#include "str.h"
#include "tables.h"
#include "turn.h"
#include "unit-file.h"
#include "unit-marks.h"
#include "unit-on-node-work.h"
#include "unit-on-node.h"
#include "unit-record.h"
#include "unit-state.h"
#include "unit-wanted.h"
#include "unit-work.h"

// ------------------------------------------------------------------------------------------------ standing

enum { TOLD_OTHERWISE = UINT8_MAX }; // UnitOrdering.standing: not all who depend on it were told the same

static uint64_t restart_revision(const Leader *l, const UnitEntry *e, const UnitOnNode *s) {
        return rollout_content(l, e, s->node->number).restart_rev;
}

static uint64_t start_revision(const Leader *l, const UnitEntry *e, const UnitOnNode *s) {
        return MAX_OF(e->record->start_rev, restart_revision(l, e, s));
}

// Its host holds it, and has not said yet what it does.
static bool is_unseen(const UnitOnNode *s) {
        return s->active == ARGOSY__ACTIVE_STATE__ACTIVE_UNKNOWN;
}

static Standing standing_when_down(const Leader *l, const UnitOnNode *s, const UnitEntry *e) {
        if (s->hold == HOLD_BLOCKED)
                return STANDING_BLOCKED;
        if (s->revision < start_revision(l, e, s))
                return STANDING_COMING;
        // A unit that begins now would rely on an end that another leader does not know.
        return unit_on_node_is_unsettled(s, e) ? STANDING_COMING : STANDING_DOWN;
}

static Standing standing_of_outcome(const Argosy__Outcome *o) {
        return o->kind == ARGOSY__OUTCOME__KIND__DONE      ? STANDING_FINISHED
               : o->kind == ARGOSY__OUTCOME__KIND__UNKNOWN ? STANDING_OUTCOME_UNKNOWN
                                                           : STANDING_DOWN;
}

static Standing standing_on(const Leader *l, const UnitOnNode *s, const UnitEntry *e) {
        const Argosy__Outcome *o = record_final_outcome(e->record, s->node->number);

        if (o)
                return standing_of_outcome(o);
        if (!s->node->host->attached)
                return STANDING_UNKNOWN;
        if (!unit_on_node_is_reported(s))
                return s->hold == HOLD_BLOCKED ? STANDING_BLOCKED : STANDING_COMING;
        if (unit_on_node_is_down(s))
                return standing_when_down(l, s, e);
        if (s->hold == HOLD_BOUND || s->hold == HOLD_STOP)
                return STANDING_ENDING;
        if (is_unseen(s))
                return s->hold == HOLD_BLOCKED                 ? STANDING_BLOCKED
                       : s->revision < start_revision(l, e, s) ? STANDING_COMING
                                                               : STANDING_UNKNOWN;
        if (s->active == ARGOSY__ACTIVE_STATE__ACTIVE_DEACTIVATING)
                return STANDING_CHANGING;
        if (active_state_is_up(s->active))
                return s->revision < start_revision(l, e, s) ? STANDING_CHANGING : STANDING_UP;
        return s->revision < start_revision(l, e, s) ? STANDING_COMING : STANDING_RETRYING;
}

// A global unit is up when it is up somewhere and nowhere on its way.
static Standing standing_of_global(const Leader *l, const Unit *u, const UnitEntry *e) {
        Standing result = STANDING_NOWHERE;

        list_foreach (i, &u->on_nodes) {
                const UnitOnNode *s = CONTAINER_OF(i, UnitOnNode, by_unit);
                Standing one;

                if (unit_on_node_is_to_go(s) || host_is_lost(s->node->host) || s->node->reason)
                        continue;
                one = standing_on(l, s, e);
                if (one == STANDING_COMING || one == STANDING_UNKNOWN || one == STANDING_CHANGING ||
                    one == STANDING_ENDING)
                        return one;
                if (one == STANDING_UP || one == STANDING_FINISHED || result == STANDING_NOWHERE)
                        result = one;
        }
        return result;
}

// The next batch, or the next round, looks for another node.
static bool is_on_its_way(const Unit *u) {
        return unit_life_is_moving(u->life) ||
               (u->life == LIFE_STRANDED && list_is_linked(&unit_work_seen(u)->unscheduled));
}

Standing ordering_standing(const Leader *l, const char *name) {
        const Unit *u = unit_find(l, name);
        const UnitEntry *e = u ? cluster_state_find_unit(l->state, name) : NULL;
        const Argosy__Outcome *o;
        const UnitOnNode *s;

        if (!e || e->record->target != ARGOSY__TARGET__TARGET_LAUNCHED)
                return STANDING_OFF;
        if (e->record->global)
                return standing_of_global(l, u, e);
        o = record_final_outcome(e->record, e->record->node);
        if (o)
                return standing_of_outcome(o);
        if (!u->node || host_is_lost(u->node->host) || unit_exclusion(u, u->node->number))
                return is_on_its_way(u) ? STANDING_COMING : STANDING_NOWHERE;
        if (u->node->reason)
                return STANDING_NOWHERE;
        if (!u->node->host->attached)
                return STANDING_UNKNOWN;
        s = unit_on_node_find(u, u->node);
        return s ? standing_on(l, s, e) : STANDING_COMING;
}

// As ordering_standing(). Should it be new to us, those who depend on the unit are looked at, too, even if
// it is as before when its turn has come: one of them was told this one meanwhile.
static Standing refresh_standing(Leader *l, const char *name) {
        Unit *u = unit_find(l, name);
        Standing standing = ordering_standing(l, name);

        if (u && standing != u->ordering.standing && u->ordering.standing != TOLD_OTHERWISE) {
                u->ordering.standing = TOLD_OTHERWISE;
                ordering_mark(l, u);
        }
        return standing;
}

// ------------------------------------------------------------------------------------------------ holding

typedef struct Judging {
        Leader *leader;
        DependencyVerdict start;
        bool ends;
} Judging;

static bool judge_one(const DependencyPeer *peer, void *userdata) {
        Judging *j = userdata;
        Standing standing = refresh_standing(j->leader, peer->name);

        j->start = MAX_OF(j->start, dependency_judge_start(peer->kinds, standing));
        j->ends |= dependency_judge_run(peer->kinds, standing);
        return false;
}

bool ordering_lets_start(Leader *l, const char *name) {
        Judging j = {.leader = l};

        dependencies_each_of(&l->dependencies, name, judge_one, &j);
        return j.start == DEPENDENCY_GO;
}

// The order to start it anew has not gone out.
static bool is_unreleased(const Leader *l, const UnitOnNode *s, const UnitEntry *e) {
        return !unit_on_node_is_to_have(s) || s->hold != HOLD_NOT ||
               s->ordered_revision < start_revision(l, e, s);
}

// It runs, and is to be restarted.
static bool is_to_restart(const Leader *l, const UnitOnNode *s, const UnitEntry *e) {
        return unit_on_node_is_reported(s) && !unit_on_node_is_down(s) &&
               s->revision < restart_revision(l, e, s);
}

// Its host has it, and was not told to let go of it: one that is to go there has ended, whatever its host
// has said by now, when the next order comes.
static bool is_there(const UnitOnNode *s) {
        return unit_on_node_is_reported(s) && !unit_on_node_is_to_go(s);
}

// Its start has not gone out, and nobody has seen it there since.
static bool is_to_begin(const Leader *l, const UnitOnNode *s, const UnitEntry *e) {
        if (!is_unreleased(l, s, e) || record_final_outcome(e->record, s->node->number))
                return false;
        return !is_there(s) ||
               (s->revision < start_revision(l, e, s) && (unit_on_node_is_down(s) || is_unseen(s)));
}

// A unit that replaces others on its node begins when those have left that may leave only a few at a time.
static OrderHold hold_of_replacer(Leader *l, const UnitOnNode *s, const UnitEntry *e) {
        const UnitFile *file;
        const Unit *other;

        if (spec_entry_file(e->spec, &file) < 0 || !file->replaces || s->unit->node != s->node ||
            !is_to_begin(l, s, e))
                return HOLD_NOT;
        other = replacer_waits_for(l, s->unit);
        if (!other)
                return HOLD_NOT;
        return other->life != LIFE_HELD || recovering_any(l, unit_work_seen(other)->held_by) ? HOLD_START
                                                                                             : HOLD_BLOCKED;
}

bool ordering_waits_for_replaced(const Leader *l, const UnitOnNode *s) {
        return (s->hold == HOLD_START || s->hold == HOLD_BLOCKED) && replacer_waits_for(l, s->unit);
}

// A unit that is to be up on this node. A restart that has to wait begins with a stop.
static OrderHold hold_of_launched(Leader *l, const UnitOnNode *s, const UnitEntry *e) {
        bool reported = is_there(s),
             answered = reported && s->revision >= start_revision(l, e, s),
             released = !is_unreleased(l, s, e),
             // it may not have begun
                down = !reported || unit_on_node_is_down(s) || (is_unseen(s) && !answered);
        Judging j = {.leader = l};

        if (record_final_outcome(e->record, s->node->number) || (down && answered))
                return HOLD_NOT;
        if (!down && answered && s->hold == HOLD_BOUND)
                return HOLD_BOUND; // what it was told takes its course
        dependencies_each_of(&l->dependencies, s->unit->name, judge_one, &j);
        if (!down && !released && is_to_restart(l, s, e) && j.start == DEPENDENCY_WAIT)
                return HOLD_START;
        if (!down || released)
                return j.ends ? HOLD_BOUND : HOLD_NOT;
        return j.start == DEPENDENCY_GO ? HOLD_NOT : j.start == DEPENDENCY_WAIT ? HOLD_START : HOLD_BLOCKED;
}

// Whether this run of a unit is being stopped, as far as that is known, or will be as it is `bound` to what
// is.
static bool is_ending(const Leader *l, const UnitOnNode *s, const UnitEntry *e, bool bound) {
        if (!s->node->host->attached || s->node->reason || !unit_on_node_is_reported(s) ||
            unit_on_node_is_down(s) || *unit_on_node_error(s))
                return false;
        if (!unit_wanted_on(l, s->unit, e, s->node))
                return true;
        if (s->stays) // it is as it was told to be, or runs by other hands
                return e->record->target != ARGOSY__TARGET__TARGET_LAUNCHED;
        if (e->record->target == ARGOSY__TARGET__TARGET_LAUNCHED)
                return is_to_restart(l, s, e) ||
                       ((bound || s->hold == HOLD_BOUND) && s->revision >= e->record->start_rev);
        return s->revision < e->record->revision;
}

// Whether it may run there and have its restart still before it, as far as was seen.
static bool may_be_to_restart(const Leader *l, const Unit *u, const UnitEntry *e) {
        const UnitOnNode *s = unit_on_node_find(u, u->node);
        uint64_t restart_rev = rollout_content(l, e, u->node->number).restart_rev;

        return restart_rev > 0 && !(s && unit_on_node_is_reported(s) &&
                                    (unit_on_node_is_down(s) || s->revision >= restart_rev));
}

// A leader that has not heard a host yet does not know what is still to be stopped there.
static bool may_be_ending(const Leader *l, const Unit *u, const UnitEntry *e) {
        const Host *h = u->node ? u->node->host : NULL;

        if (!h || h->attached || host_is_lost(h) || !e)
                return false;
        return e->record->target == ARGOSY__TARGET__TARGET_LOADED ||
               (e->record->target == ARGOSY__TARGET__TARGET_LAUNCHED && may_be_to_restart(l, u, e));
}

// Whether it runs where the log wants it, which is elsewhere: this is what a host that was lost has kept.
static bool runs_elsewhere(const UnitOnNode *s) {
        const Node *n = s->unit->node;
        const UnitOnNode *there = n && n != s->node ? unit_on_node_find(s->unit, n) : NULL;

        return there && unit_on_node_is_heard(there) && !is_unseen(there) && !unit_on_node_is_down(there);
}

bool ordering_ends_first(const DependencyPeer *peer, void *userdata) {
        const OrderingStop *stop = userdata;
        const Leader *l = stop->leader;
        bool bound = peer->kinds & UNIT_BINDS_TO && !stop->runs_elsewhere;
        const Unit *u = peer->kinds & UNIT_AFTER ? unit_find(l, peer->name) : NULL;
        const UnitEntry *e = u ? cluster_state_find_unit(l->state, u->name) : NULL;

        if (!u)
                return false;
        list_foreach (i, &u->on_nodes)
                if (is_ending(l, CONTAINER_OF(i, UnitOnNode, by_unit), e, bound))
                        return true;
        return may_be_ending(l, u, e);
}

OrderingStop ordering_stop(const Leader *l, const UnitOnNode *s) {
        return (OrderingStop){.leader = l, .runs_elsewhere = runs_elsewhere(s)};
}

// Whether the stop of what runs on this node waits for those who come after it.
static bool stop_waits(Leader *l, const UnitOnNode *s) {
        OrderingStop stop = ordering_stop(l, s);

        return s->node->host->attached && unit_on_node_is_reported(s) && !unit_on_node_is_down(s) &&
               dependencies_each_on(&l->dependencies, s->unit->name, ordering_ends_first, &stop);
}

// What the order for the unit on the node has to wait for now. `wanted`: the unit is to be there at all;
// else `e` may be NULL.
static OrderHold judge_order(Leader *l, const UnitOnNode *s, const UnitEntry *e, bool wanted) {
        bool launched = wanted && e->record->target == ARGOSY__TARGET__TARGET_LAUNCHED;
        OrderHold hold = launched ? hold_of_replacer(l, s, e) : HOLD_NOT;

        if (!wanted && image_move_waits(l, s, e))
                return HOLD_STOP;
        if (hold != HOLD_NOT || l->dependencies.names.count == 0)
                return hold;
        if (launched) {
                hold = hold_of_launched(l, s, e);
                if (hold == HOLD_NOT && !(is_to_restart(l, s, e) && is_unreleased(l, s, e)))
                        return HOLD_NOT;
        }
        return stop_waits(l, s) ? HOLD_STOP : hold; // only of what runs
}

bool ordering_hold(Leader *l, UnitOnNode *s, const UnitEntry *e, bool wanted) {
        OrderHold hold = judge_order(l, s, e, wanted);

        if (hold != s->hold) {
                s->hold = hold;
                unit_touch_itself(l, s->unit);
                // Its new node gets the image for it now (image-moves.h), also while its start there waits.
                if (hold == HOLD_STOP && s->unit->node && s->unit->node != s->node)
                        orders_mark(l, s->unit, s->unit->node);
        }
        // A Welcome names everything that the host is to keep.
        return hold == HOLD_STOP
                       ? s->node->host->welcomed || !e
                       : (hold == HOLD_START || hold == HOLD_BLOCKED) && !is_there(s);
}

bool ordering_keeps(const UnitOnNode *s) {
        return s->hold == HOLD_STOP;
}

bool ordering_ends(const UnitOnNode *s) {
        return s->hold != HOLD_NOT && s->hold != HOLD_STOP && unit_on_node_is_reported(s) &&
               !unit_on_node_is_down(s);
}

// The answer to this order is no answer to a change.
void ordering_adjust(const UnitOnNode *s, Argosy__UnitOrder *o) {
        if (s->hold == HOLD_NOT || ordering_keeps(s))
                return;
        o->target = ARGOSY__TARGET__TARGET_LOADED;
        o->stay = true;
        o->revision = 0;
}

// ------------------------------------------------------------------------------------------------ changes

void ordering_mark(Leader *l, Unit *u) {
        if (l->dependencies.names.count == 0 || !dependencies_knows(&l->dependencies, u->name))
                return;
        list_unlink(&unit_work(l, u)->order_due);
        list_append(&l->ordering_new, &unit_work(l, u)->order_due);
        leader_mark(l);
}

void ordering_on_first_report(Leader *l, UnitOnNode *s) {
        if (s->hold == HOLD_START || s->hold == HOLD_BLOCKED)
                orders_mark(l, s->unit, s->node);
}

void ordering_release_move(Leader *l, Unit *u) {
        if (u->node && u->on_nodes.next == u->on_nodes.prev)
                return; // it is on one node
        list_foreach_safe (i, &u->on_nodes) {
                UnitOnNode *s = CONTAINER_OF(i, UnitOnNode, by_unit);

                if (s->hold == HOLD_STOP && s->node != u->node &&
                    !image_move_waits(l, s, cluster_state_find_unit(l->state, u->name)))
                        orders_mark(l, u, s->node);
        }
}

void ordering_release_beside(Leader *l, const Unit *u, const UnitEntry *e) {
        const UnitFile *file;

        if (!u->node || l->n_pending == 0 || e->removed || spec_entry_file(e->spec, &file) < 0 ||
            !file->networks)
                return;
        list_foreach_safe (i, &u->node->units_on_node) {
                const UnitOnNode *s = CONTAINER_OF(i, UnitOnNode, by_node);

                if (s->hold == HOLD_STOP && !s->unit->node)
                        orders_mark(l, s->unit, s->node);
        }
}

static void reconsider(Leader *l, Unit *u) {
        const UnitEntry *e = cluster_state_find_unit(l->state, u->name);

        list_foreach_safe (i, &u->on_nodes) {
                UnitOnNode *s = CONTAINER_OF(i, UnitOnNode, by_unit);

                if (judge_order(l, s, e, unit_wanted_on(l, u, e, s->node)) != s->hold)
                        orders_mark(l, u, s->node);
        }
}

static bool reconsider_peer(const DependencyPeer *peer, void *userdata) {
        Leader *l = userdata;
        Unit *u = unit_find(l, peer->name);

        if (u)
                reconsider(l, u);
        return false;
}

static bool release_stop(const DependencyPeer *peer, void *userdata) {
        Leader *l = userdata;
        Unit *u = unit_find(l, peer->name);

        if (!u)
                return false;
        list_foreach_safe (i, &u->on_nodes) {
                UnitOnNode *s = CONTAINER_OF(i, UnitOnNode, by_unit);

                if (s->hold == HOLD_STOP)
                        orders_mark(l, u, s->node);
        }
        return false;
}

static void reconsider_replacers(Leader *l) {
        UnitOnNode *s;

        for (size_t left = l->limits.drained_looks; left > 0 && (s = replacers_next(l));) {
                size_t looks = 1 + s->node->n_placed;

                left -= MIN_OF(left, looks);
                reconsider(l, s->unit);
        }
        if (!list_is_empty(&l->replacing_due))
                leader_mark(l);
}

// Its start goes out, or waits, from now on. True if it was blocked until now.
static bool unblock(Leader *l, Unit *u) {
        const UnitEntry *e = cluster_state_find_unit(l->state, u->name);
        bool was_blocked = false;

        list_foreach (i, &u->on_nodes) {
                UnitOnNode *s = CONTAINER_OF(i, UnitOnNode, by_unit);

                if (s->hold != HOLD_BLOCKED ||
                    judge_order(l, s, e, unit_wanted_on(l, u, e, s->node)) == HOLD_BLOCKED)
                        continue;
                s->hold = HOLD_START;
                was_blocked = true;
        }
        if (was_blocked)
                unit_touch_itself(l, u);
        return was_blocked;
}

static bool unblock_peer_next(const DependencyPeer *peer, void *userdata) {
        Leader *l = userdata;
        Unit *u = unit_find(l, peer->name);

        if (u) {
                list_unlink(&unit_work(l, u)->order_due);
                list_append(&l->ordering_new, &unit_work(l, u)->order_due);
        }
        return false;
}

// Nobody waits for a unit that is blocked. So that nothing begins before a unit that is blocked no longer,
// all these are known before any start is let go. Each is looked at once since something of it has changed.
// False: there are more for the next turn.
static bool unblock_new(Leader *l) {
        for (size_t left = l->limits.drained_looks; left > 0 && !list_is_empty(&l->ordering_new); left--) {
                ListNode *first = l->ordering_new.next;
                Unit *u = CONTAINER_OF(first, UnitWork, order_due)->unit;

                list_unlink(first);
                list_append(&l->ordering, first);
                if (unblock(l, u))
                        dependencies_each_on(&l->dependencies, u->name, unblock_peer_next, l);
        }
        return list_is_empty(&l->ordering_new);
}

void ordering_drain(Leader *l) {
        ListNode due = LIST_INIT(due);

        recovering_step(l);
        reconsider_replacers(l);
        if (!unblock_new(l)) {
                leader_mark(l);
                return;
        }
        list_splice(&due, &l->ordering);
        for (unsigned n = 0; n < l->limits.drained_units && !list_is_empty(&due); n++) {
                Unit *u = CONTAINER_OF(due.next, UnitWork, order_due)->unit;
                Standing before = u->ordering.standing;

                list_unlink(&unit_work(l, u)->order_due);
                u->ordering.standing = ordering_standing(l, u->name);
                reconsider(l, u);
                if (u->ordering.standing != before)
                        dependencies_each_on(&l->dependencies, u->name, reconsider_peer, l);
                dependencies_each_of(&l->dependencies, u->name, release_stop, l);
                if (!u->recorded &&
                    list_is_empty(&u->on_nodes)) // what it said held until it had ended everywhere
                        dependencies_forget(&l->dependencies, u->name);
                unit_mark_unused(l, u);
        }
        if (list_is_empty(&due))
                return;
        list_splice_front(&l->ordering, &due); // new units stand behind the rest
        leader_mark(l);
}

static bool mark_peer(const DependencyPeer *peer, void *userdata) {
        Unit *u = unit_find(userdata, peer->name);

        if (u)
                ordering_mark(userdata, u);
        return false;
}

static void mark_peers(Leader *l, const char *name) {
        dependencies_each_of(&l->dependencies, name, mark_peer, l);
        dependencies_each_on(&l->dependencies, name, mark_peer, l);
}

int ordering_on_unit(Leader *l, Unit *u, const UnitEntry *e, const UnitOptions *options) {
        int r;

        if (e->removed) {
                ordering_mark(l, u);
                return 0;
        }
        if (!options) // refused when it was submitted
                return 0;
        if (!options->n_dependencies && !dependencies_has(&l->dependencies, u->name))
                return 0;
        mark_peers(l, u->name); // units that it does not name any more
        r = dependencies_set(&l->dependencies, u->name, options->dependencies, options->n_dependencies);
        mark_peers(l, u->name);
        return r;
}

typedef struct OrderCheck {
        const BatchBuilder *batch; // NULL: no other unit is planned
        const char *name, *path;
        char *why;
} OrderCheck;

static bool is_planned(const char *name, void *userdata) {
        const OrderCheck *c = userdata;

        return streq(name, c->name) || (c->batch && batch_builder_has_order(c->batch, name));
}

static int refuse_cycle(const Cycle *cycle, void *userdata) {
        OrderCheck *c = userdata;
        char text[512];

        cycle_describe(cycle, " after ", text, sizeof(text));
        c->why = str_printf("%s:%u: the order goes in a cycle: %s", c->path, cycle->line, text);
        return c->why ? -EINVAL : -ENOMEM;
}

static int check(const Leader *l, Dependencies *planned, OrderCheck *c, const UnitOptions *options) {
        DependencyCycleSearch s = {.current = &l->dependencies,
                                   .planned = planned,
                                   .counts = is_planned,
                                   .userdata = c,
                                   .found = refuse_cycle,
                                   .found_data = c};
        int r = dependencies_set(planned, c->name, options->dependencies, options->n_dependencies);

        return r < 0 || options->n_dependencies == 0 ? r : dependency_cycles_find(&s, &c->name, 1);
}

int ordering_check(const Leader *l, const char *name, const char *path, const UnitOptions *options,
                   char **ret_why) {
        OrderCheck context = {NULL, name, path, NULL};
        Dependencies planned = {};
        int r = check(l, &planned, &context, options);

        dependencies_done_all(&planned);
        *ret_why = context.why;
        return r;
}

int ordering_judge(const Leader *l, Dependencies *planned, BatchBuilder *b, const char *name,
                   SpecEntry *spec, char **ret_why) {
        OrderCheck context = {b, name, name, NULL};
        UnitOptions *options = NULL;
        const UnitFile *file;
        int r = spec_entry_file(spec, &file);

        if (r >= 0)
                r = unit_file_expand(file, name, name, &options, NULL);
        if (r < 0)
                return r == -EINVAL ? 0 : r;
        r = check(l, planned, &context, options);
        unit_options_unref(options);
        if (ret_why)
                *ret_why = TAKE_PTR(context.why);
        free(context.why);
        return r < 0 ? r : 0;
}

int ordering_take(const Leader *l, Dependencies *planned, BatchBuilder *b, const char *name, SpecEntry *spec,
                  char **ret_why) {
        int r = ordering_judge(l, planned, b, name, spec, ret_why);

        return r < 0 ? r : batch_builder_note_order(b, name);
}

void ordering_retire(Leader *l) {
        list_init(&l->ordering);
        list_init(&l->ordering_new);
}
