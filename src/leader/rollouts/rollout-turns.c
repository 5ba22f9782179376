// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Whose turn it is in a rollout gets the content, or the restart: nodes of a global unit by one record for
// all of them, units by their own records, each with a node that takes the content and the order that it
// says. What shares networks that change, on the same node, goes along.
//
// What has to wait for others that would go down with it is held, and judged again with the next look.
// Failures: a unit that no node takes with the content, whose order goes in a cycle with it, or that runs
// and would not start again for want of what it needs, fails the rollout. -EBUSY: the entry has one of these
// records already.
#include <errno.h>

#include "batch-builder.h"
#include "budget-dependents.h"
#include "disruption-budget.h"
#include "due.h"
#include "registry.h"
#include "rollout-content.h"
#include "rollout-networks.h"
#include "rollout-nodes.h"
#include "rollout-order.h"
#include "rollout-private.h"
#include "rollout-sharers.h"
#include "rollout-turns.h"
#include "scheduler.h"
#include "tables.h"
#include "unit-file.h"

// ------------------------------------------------------------------------------------- nodes of one unit

// Its node has failed with the new content, and runs it still with the content of before.
static bool has_kept_content(const Argosy__RolloutRecord *r, const RolloutItem *i) {
        return rollout_is_returning(r) && i->up && i->failure;
}

// Whether others that go down with it there cannot now (MaxUnavailable=): its turn comes when they can. Not
// asked when the rollout goes back: they may be down because of what has gone wrong.
static bool is_held(const Leader *l, const Argosy__RolloutRecord *r, const Unit *u, const Node *n,
                    const char *networks) {
        return !rollout_is_returning(r) && budget_dependents_with_networks_in_the_way(l, u, n, networks);
}

static int by_node(const void *a, const void *b) {
        const Argosy__RolloutNode *x = *(Argosy__RolloutNode *const *) a,
                                  *y = *(Argosy__RolloutNode *const *) b;

        return (x->node > y->node) - (x->node < y->node);
}

// Those of before and the fresh ones, both sorted; of one node the fresh one. Returns how many.
static size_t merge(const Argosy__RolloutRecord *r, Argosy__RolloutNode **fresh, size_t n_fresh,
                    Argosy__RolloutNode **ret) {
        size_t n = 0, i = 0, k = 0;

        while (i < r->n_nodes || k < n_fresh)
                if (k == n_fresh || (i < r->n_nodes && r->nodes[i]->node < fresh[k]->node))
                        ret[n++] = r->nodes[i++];
                else {
                        i += i < r->n_nodes && r->nodes[i]->node == fresh[k]->node;
                        ret[n++] = fresh[k++];
                }
        return n;
}

// What runs is not taken down if it would not start again: its start waits for what the record's content
// needs, and in the end that is what it gets now. 0; ROLLOUT_BLOCKED, and *ret is the first such node;
// -ENOMEM.
static int judge_nodes(const Leader *l, const BatchBuilder *b, const Rollout *o,
                       const Argosy__RolloutRecord *r, const Unit *u, const size_t *chosen, size_t n_chosen,
                       const Node **ret, char why[static ROLLOUT_REASON_SIZE]) {
        const RolloutItem *items = o->nodes->items;
        size_t first = 0;
        int k;

        while (first < n_chosen && !(items[chosen[first]].up && items[chosen[first]].wanted_up))
                first++;
        if (first == n_chosen || o->in_place || rollout_is_returning(r))
                return 0;
        *ret = node_find(l, o->nodes->nodes[chosen[first]]);
        k = rollout_order_blocks(l, b, u->name, NULL, why, ROLLOUT_REASON_SIZE);
        return k == 0 && rollout_is_update(r)
                       ? rollout_order_blocks(l, b, u->name, rollout_spec(l, &r->spec), why,
                                              ROLLOUT_REASON_SIZE)
                       : k;
}

// The same of those that go along with it on any of the nodes.
static int judge_others(const Leader *l, const BatchBuilder *b, const Rollout *o,
                        const Argosy__RolloutRecord *r, Unit *u, const size_t *chosen, size_t n_chosen,
                        const Unit **ret, char why[static ROLLOUT_REASON_SIZE]) {
        int k = 0;

        for (size_t c = 0; c < n_chosen && k == 0 && o->sharers && !rollout_is_returning(r); c++)
                k = rollout_networks_judge(l, b, &o->sharers->change, u, false,
                                           node_find(l, o->nodes->nodes[chosen[c]]), ret, why);
        return k;
}

int rollout_change_nodes(Leader *l, BatchBuilder *b, Rollout *o, const Argosy__RolloutRecord *r,
                         Unit *u, const size_t *chosen, size_t n_chosen, Scheduler **scheduler) {
        _cleanup_free_ Argosy__RolloutNode *fresh = calloc(n_chosen + 1, sizeof(*fresh));
        _cleanup_free_ Argosy__RolloutNode **turns = calloc(n_chosen + 1, sizeof(*turns));
        _cleanup_free_ Argosy__RolloutNode **nodes = calloc(r->n_nodes + n_chosen + 1, sizeof(*nodes));
        const NetworkChange *networks = o->sharers ? &o->sharers->change : NULL;
        _cleanup_free_ char *words = networks ? network_change_names(networks, " ") : NULL;
        char why[ROLLOUT_REASON_SIZE];
        Argosy__RolloutRecord next = *r;
        const Unit *blocked = u;
        const Node *where;
        size_t n = 0;
        int k = judge_nodes(l, b, o, r, u, chosen, n_chosen, &where, why);

        if (k == 0) {
                k = judge_others(l, b, o, r, u, chosen, n_chosen, &blocked, why);
                where = blocked->node;
        }
        if (k == ROLLOUT_BLOCKED)
                return rollout_fail(l, b, r, blocked->name, where, why);
        if (k < 0 || !fresh || !turns || !nodes || (networks && !words))
                return -ENOMEM;
        for (size_t c = 0; c < n_chosen && k == 0; c++) {
                const size_t at = chosen[c];
                const Node *node = node_find(l, o->nodes->nodes[at]);

                if (is_held(l, r, u, node, words)) {
                        o->held = true;
                        continue;
                }
                budget_dependents_take(l, u, node);
                if (networks)
                        k = rollout_networks_put_others(l, b, scheduler, networks, u, node,
                                                        rollout_is_returning(r));
                argosy__rollout_node__init(&fresh[n]);
                fresh[n].node = node->number;
                fresh[n].back = rollout_is_returning(r);
                fresh[n].kept =
                        (o->in_place && o->nodes->items[at].up) || has_kept_content(r, &o->nodes->items[at]);
                turns[n] = &fresh[n];
                n++;
        }
        if (n == 0 || k < 0)
                return k;
        qsort(turns, n, sizeof(*turns), by_node);
        next.nodes = nodes;
        next.n_nodes = merge(r, turns, n, nodes);
        return batch_builder_put_rollout(b, &next);
}

// ------------------------------------------------------------------------------------------------ units

// A node that has another file of a network to which the unit comes does not take it either.
int rollout_place(Leader *l, const Unit *u, SpecEntry *spec, Scheduler **scheduler,
                  Argosy__UnitRecord *next) {
        UnitOptions *options = NULL;
        SchedulerAnswer place = {};
        const UnitFile *file;
        int r, met;

        if (next->target == ARGOSY__TARGET__TARGET_INACTIVE || !u->node)
                return 0; // the scheduler places it later
        r = spec_entry_file(spec, &file);
        if (r >= 0)
                r = unit_file_expand(file, u->name, u->name, &options, NULL);
        if (r < 0)
                return r == -EINVAL ? ROLLOUT_NO_NODE : r;
        met = node_admits(l, u->node, options) ? rollout_networks_meet(l, u, file, spec) : 1;
        r = MIN_OF(met, 0);
        if (r == 0)
                *scheduler = *scheduler ?: scheduler_new(l, 0);
        if (met == 0)
                scheduler_put(*scheduler, u->name, options, next->node);
        if (met > 0) {
                r = scheduler_place(*scheduler, u->name, options, false, &place);
                next->node = place.node;
        }
        unit_options_unref(options);
        return r < 0 ? r : next->node == 0 ? ROLLOUT_NO_NODE : 0;
}

typedef struct TurnOfUnit {
        Leader *l;
        BatchBuilder *b;
        Dependencies *planned;
        Rollout *o;
        const Argosy__RolloutRecord *r;
        Scheduler **scheduler;
        const NetworkChange *networks;
        RolloutSums *sums;
        char why[ROLLOUT_REASON_SIZE]; // the words of ROLLOUT_IN_CYCLE and ROLLOUT_BLOCKED
        const Unit *blocked;           // of the latter
} TurnOfUnit;

// With the node that it gets, and the order that it says. 0, ROLLOUT_NO_NODE, ROLLOUT_IN_CYCLE, or a
// negative errno.
static int take_content(TurnOfUnit *t, const Unit *u, SpecEntry *spec, Argosy__UnitRecord *next) {
        int k = rollout_place(t->l, u, spec, t->scheduler, next);

        next->spec = hash_field(&spec->hash);
        if (k == 0 || (k == ROLLOUT_NO_NODE && rollout_is_returning(t->r)))
                k = rollout_order_take(t->l, t->planned, t->b, u->name, spec, t->why, sizeof(t->why));
        if (k != 0 && *t->scheduler) // others of the entry may be in conflict with what it keeps
                scheduler_take_back(*t->scheduler, u->name);
        return k;
}

// The same.
static int change_unit(TurnOfUnit *t, Unit *u, const RolloutItem *item) {
        Leader *l = t->l;
        const Argosy__RolloutRecord *r = t->r;
        const UnitEntry *e = cluster_state_find_unit(l->state, u->name);
        Argosy__UnitRecord next = *e->record;
        Argosy__UnitExtra extra;
        SpecEntry *spec = rollout_spec(l, rollout_is_returning(r) ? &r->spec_before : &r->spec);
        bool in_place = rollout_is_update(r) && item->up && rollout_changes_in_place(e->spec, spec);
        unsigned bump = !item->wanted_up                        ? 0
                        : in_place || has_kept_content(r, item) ? BATCH_BUMP_START
                                                                : BATCH_BUMP_START | BATCH_BUMP_RESTART;
        int k;

        next.extra = unit_extra_with_trial(&extra, e->record, NULL);
        bump |= in_place ? 0 : rollout_secrets_bump(e, r, spec);
        if (rollout_is_update(r) && spec) {
                k = take_content(t, u, spec, &next);
                if (k != 0)
                        return k;
        }
        if (!u->node) // the other content may have a node
                leader_set_due(l, DUE_PLACEMENT);
        disruption_budget_take(l, u);
        return batch_builder_put_unit(t->b, &next, bump, e->record->revision);
}

static bool has_turn_too(const TurnOfUnit *t, const Unit *v, const RolloutItem *item) {
        return v->budget == t->o->budget && item->mine && item->changed == rollout_is_returning(t->r);
}

// It is on the node of a unit that has its turn, and has one of the networks that change.
static int change_sharer(Unit *v, void *userdata) {
        TurnOfUnit *t = userdata;
        RolloutItem item = rollout_item(t->l, t->r, v, false);

        if (batch_builder_has_unit(t->b, v->name))
                return -EBUSY;
        if (!has_turn_too(t, v, &item))
                return rollout_networks_put(t->l, t->b, t->scheduler, t->networks, v,
                                            rollout_is_returning(t->r));
        t->sums->down += item.wanted_up && item.up;
        t->sums->on_way += item.wanted_up;
        return change_unit(t, v, &item);
}

// With all on its node that share networks which change. As change_unit().
static int change_with_sharers(TurnOfUnit *t, Unit *u) {
        const Node *n = u->node; // where it is: it may get another one
        RolloutItem item = rollout_item(t->l, t->r, u, false);
        int k = change_unit(t, u, &item);

        return k == 0 && t->networks->n > 0
                       ? rollout_networks_each(t->l, t->networks, u, n, change_sharer, t)
                       : k;
}

// What runs is not taken down if it would not start again. 0 or ROLLOUT_BLOCKED, or -ENOMEM.
static int judge_start(Unit *v, void *userdata) {
        TurnOfUnit *t = userdata;
        const UnitEntry *e = cluster_state_find_unit(t->l->state, v->name);
        RolloutItem item = rollout_item(t->l, t->r, v, false);
        SpecEntry *spec = rollout_is_update(t->r) && has_turn_too(t, v, &item)
                                  ? rollout_spec(t->l, &t->r->spec)
                                  : NULL;

        if (rollout_is_returning(t->r) || !item.wanted_up || !item.up ||
            rollout_changes_in_place(e->spec, spec))
                return 0;
        t->blocked = v;
        return rollout_order_blocks(t->l, t->b, v->name, spec, t->why, sizeof(t->why));
}

// The unit, and all that go along with it.
static int judge_starts(TurnOfUnit *t, Unit *u, const NetworkChange *networks) {
        int k = judge_start(u, t);

        return k == 0 && networks->n > 0 ? rollout_networks_each(t->l, networks, u, u->node, judge_start, t)
                                         : k;
}

// As change_unit(), and ROLLOUT_BLOCKED; *ret_held: it has to wait, and nothing is changed.
static int take_turn(TurnOfUnit *t, Unit *u, RolloutSums then, bool *ret_held) {
        const Argosy__RolloutRecord *r = t->r;
        const UnitEntry *e = cluster_state_find_unit(t->l->state, u->name);
        const SpecEntry *spec =
                rollout_is_update(r)
                        ? rollout_spec(t->l, rollout_is_returning(r) ? &r->spec_before : &r->spec)
                        : NULL;
        _cleanup_free_ char *words = NULL;
        NetworkChange networks;
        int k = rollout_networks_of(e, spec, &networks);

        words = k == 0 && networks.n > 0 ? network_change_names(&networks, " ") : NULL;
        if (k == 0 && networks.n > 0 && !words)
                k = -ENOMEM;
        k = k ?: judge_starts(t, u, &networks);
        *ret_held = k == 0 && is_held(t->l, r, u, u->node, words);
        if (k == 0 && !*ret_held) {
                t->networks = &networks;
                *t->sums = then;
                k = change_with_sharers(t, u);
        }
        network_change_done(&networks);
        return k;
}

int rollout_change_units(Leader *l, BatchBuilder *b, Dependencies *planned, Rollout *o,
                         const Argosy__RolloutRecord *r, const RolloutView *rules, RolloutSums sums,
                         Scheduler **scheduler) {
        TurnOfUnit one = {
                .l = l, .b = b, .planned = planned, .o = o, .r = r, .scheduler = scheduler, .sums = &sums};
        unsigned n = 0;

        for (RolloutTurn turn = 0; turn < ROLLOUT_TURNS; turn++)
                while (n < l->limits.rollout_changes && o->members.queues[turn].n > 0) {
                        RolloutSums then = sums;
                        RolloutMember *m;
                        bool held;
                        int k;

                        if (!rollout_policy_may_take(rules, turn, &then))
                                break;
                        m = rollout_members_take(&o->members, turn);
                        n++;
                        if (batch_builder_has_unit(b, m->unit->name)) // it is busy
                                continue;
                        k = take_turn(&one, m->unit, then, &held);
                        o->held |= held;
                        if (k == ROLLOUT_NO_NODE)
                                return rollout_fail(l, b, r, m->unit->name, m->unit->node,
                                                    "no node takes it with the new content");
                        if (k == ROLLOUT_IN_CYCLE)
                                return rollout_end_in_cycle(l, b, planned, r, one.why);
                        if (k == ROLLOUT_BLOCKED)
                                return rollout_fail(l, b, r, one.blocked->name, one.blocked->node, one.why);
                        if (k < 0)
                                return k;
                }
        return 0;
}
