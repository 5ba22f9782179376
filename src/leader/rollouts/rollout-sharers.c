// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Units of other names that share a network which a rollout changes. With the rollout's own ones on their
// node they get it in the same step (rollout-networks.h). Here they are looked at as its own are: one that
// fails with it ends the way forward, none is taken down before those that went along are well, and the rest
// gets it at the end, a whole node at a time.
//
//      rollout_sharers_look(): who names the files (StopWalk), and who was touched since -> RolloutMembers
//          -> rollout_sharers_failed(), rollout_sharers_are_awaited()
//          -> rollout_sharers_step(): those that have it not, when the own ones are done
//
// A look costs what has changed. Who waits for a budget is tried once in a round; the next one begins when
// some budget has changed (Rollout.held), and everybody else was tried.
//
// A unit that runs on every node has one record for all: it gets the network by a rollout of its own, node
// by node, which this one waits for, and goes back by one. What cannot have that has it at once.
//
// Failures: none but memory; then the process ends (oom.h), as sums that miss a unit would take down too
// many. -EBUSY of the step: the batch has one of the units already.

#include "rollout-sharers.h"

#include <errno.h>
#include <stdlib.h>

#include "budget-dependents.h"
#include "disruption-budget.h"
#include "log.h"
#include "message.h"
#include "oom.h"
#include "registry.h"
#include "rollout-content.h"
#include "rollout-controller.h"
#include "rollout-order.h"
#include "rollout-private.h"
#include "str.h"
#include "turn.h"
#include "unit-on-node.h"
#include "unit-record.h"
#include "walks.h"

enum {
        LOOKS = 1024, // at units, in one turn, at about 3 us each
        TRIES = 1024, // units on the nodes whose turn is tried, in one turn
};

// -------------------------------------------------------------------------------------------------- looking

static RolloutSharers *new_sharers(Leader *l, Rollout *o, NetworkChange *change) {
        RolloutSharers *s = oom_checked(calloc(1, sizeof(*s)));

        s->rollout = o;
        s->change = *change;
        *change = (NetworkChange){};
        s->walks = oom_checked(calloc(s->change.n, sizeof(*s->walks)));
        s->n_walks = s->change.n;
        for (size_t i = 0; i < s->n_walks; i++)
                budget_dependents_walk_network(l, &s->walks[i], s->change.list[i].file);
        list_init(&s->none);
        list_init(&s->parked);
        rollout_members_init(&s->members, &s->none);
        list_append(&l->rollouts_sharing, &s->all);
        return s;
}

void rollout_sharers_free(Rollout *o) {
        RolloutSharers *s = TAKE_PTR(o->sharers);

        if (!s)
                return;
        for (size_t i = 0; i < s->n_walks; i++)
                stop_walk_end(&s->walks[i]);
        free(s->walks);
        list_unlink(&s->all);
        rollout_members_done(&s->members);
        network_change_done(&s->change);
        free(s);
}

static void begin(Leader *l, Rollout *o, const Argosy__RolloutRecord *r) {
        NetworkChange change = {};

        rollout_sharers_free(o);
        o->shares_as_of = r->revision;
        o->shares_back = rollout_is_returning(r);
        (void) oom_check(rollout_networks_of_record(l, r, &change));
        if (change.n > 0)
                o->sharers = new_sharers(l, o, &change);
        network_change_done(&change);
}

// It has its turns by the rollout's own rules.
static bool is_own(const Leader *l, const Rollout *o, const Argosy__RolloutRecord *r, const Unit *u) {
        return streq(u->name, r->name) || (u->budget == o->budget && rollout_item(l, r, u, false).mine);
}

// How it is with the network that it has got.
static RolloutItem item_of(const Leader *l, const Rollout *o, const Argosy__RolloutRecord *r,
                           const Unit *u) {
        const UnitEntry *e = cluster_state_find_unit(l->state, u->name);
        RolloutItem item = {};
        bool has_former;

        if (!e || is_own(l, o, r, u))
                return item;
        has_former = network_change_concerns(&o->sharers->change, e->spec);
        if (!has_former && !network_change_has(&o->sharers->change, e->spec))
                return item; // its network of that name is another one
        if (e->record->revision <= r->revision && has_former == rollout_is_returning(r))
                return item; // it had the file before
        item.mine = true;
        item.changed = has_former == rollout_is_returning(r);
        if (e->record->global || e->record->target != ARGOSY__TARGET__TARGET_LAUNCHED)
                return item;
        // Who was down as it went along says nothing of the network.
        item.wanted_up = !record_final_outcome(e->record, e->record->node) &&
                         (has_former || rollout_is_returning(r) || record_is_on_trial(e->record));
        item.unplaced = e->record->node == 0;
        rollout_view_unit_on_node(l, u->node ? unit_on_node_find(u, u->node) : NULL, e, &item);
        return item;
}

// It has not brought what it was to bring.
static bool has_failed(const Argosy__RolloutRecord *own) {
        return !rollout_is_under_way(own) && own->phase != ARGOSY__ROLLOUT_PHASE__ROLLOUT_DONE;
}

// The rollout of a unit that runs on every node, if it was begun here: it is of the same request.
static const Argosy__RolloutRecord *own_of(const Leader *l, const Argosy__RolloutRecord *r, const Unit *u) {
        const UnitEntry *e = cluster_state_find_unit(l->state, u->name);
        const Argosy__RolloutRecord *own =
                e && e->record->global ? cluster_state_find_rollout(l->state, u->name) : NULL;

        return own && own->revision > r->revision && field_equal(&own->request, &r->request) ? own : NULL;
}

// Why the way forward ends with the unit; NULL: it does not.
static const char *failure_of(const Leader *l, const Argosy__RolloutRecord *r, const RolloutView *rules,
                              const Unit *u, const RolloutItem *item) {
        const Argosy__RolloutRecord *own = own_of(l, r, u);

        if (own && !rules->returning && (rollout_is_returning(own) || has_failed(own)))
                return own->reason;
        return rollout_policy_failure(rules, item);
}

static void put(const Leader *l, Rollout *o, const Argosy__RolloutRecord *r, const RolloutView *rules,
                RolloutMember *m) {
        RolloutItem item = item_of(l, o, r, m->unit);
        RolloutSums counts = rollout_policy_counts(rules, &item);

        rollout_members_put(&o->sharers->members, m, &counts, rollout_policy_turn(rules, &item),
                            failure_of(l, r, rules, m->unit, &item), rollout_policy_wake_us(rules, &item));
}

// Those that waited for a budget are tried again, now that one has changed and all others were tried.
static void begin_round(Rollout *o) {
        RolloutSharers *s = o->sharers;

        if (o->held || list_is_empty(&s->parked))
                return;
        for (RolloutTurn turn = 0; turn < ROLLOUT_TURNS; turn++)
                if (s->members.queues[turn].n > 0)
                        return;
        list_splice(&s->members.due, &s->parked);
}

static void note(Leader *l, RolloutSharers *s, const char *name) {
        Unit *u = unit_find(l, name);
        RolloutMember *m = u ? rollout_members_find(&s->members, u) : NULL;

        if (!u)
                return;
        disruption_budget_follow(l, u);
        if (m)
                list_unlink(&m->due); // it may be parked
        rollout_members_mark(&s->members, u);
}

void rollout_sharers_sync(Leader *l, Rollout *o, const Argosy__RolloutRecord *r) {
        if (o->shares_as_of != r->revision || o->shares_back != rollout_is_returning(r))
                begin(l, o, r);
}

bool rollout_sharers_look(Leader *l, Rollout *o, const Argosy__RolloutRecord *r) {
        RolloutSharers *s = o->sharers;
        RolloutView rules;
        RolloutMember *m;
        size_t left;

        if (!s)
                return true;
        rules = rollout_rules_of_one(l, r);
        left = walk_slice(&o->walk, LOOKS);
        for (size_t i = 0; i < s->n_walks; i++)
                for (const char *name; left > 0 && (name = stop_walk_next(&s->walks[i])); left--)
                        note(l, s, name);
        begin_round(o);
        for (; left > 0 && (m = rollout_members_next_due(&s->members, rules.now_us)); left--)
                put(l, o, r, &rules, m);
        walk_sliced(l, &o->walk, left);
        return left > 0;
}

const Unit *rollout_sharers_failed(const Leader *l, const Rollout *o, const Argosy__RolloutRecord *r,
                                   const char **ret_why) {
        const ListNode *failed = o->sharers ? &o->sharers->members.failed : NULL;
        RolloutView rules = rollout_rules_of_one(l, r);

        if (failed)
                list_foreach (i, failed) {
                        const Unit *u = CONTAINER_OF(i, RolloutMember, failed)->unit;
                        RolloutItem item = item_of(l, o, r, u);

                        *ret_why = failure_of(l, r, &rules, u, &item);
                        if (*ret_why)
                                return u;
                }
        return NULL;
}

bool rollout_sharers_are_awaited(const Rollout *o) {
        return o->sharers && o->sharers->members.sums.on_way > 0;
}

size_t rollout_sharers_left(const Rollout *o) {
        return o->sharers ? o->sharers->members.sums.left : 0;
}

static bool is_walking(const RolloutSharers *s) {
        for (size_t i = 0; i < s->n_walks; i++)
                if (s->walks[i].at)
                        return true;
        return false;
}

uint64_t rollout_sharers_next_us(const Rollout *o) {
        return o->sharers ? deadline_heap_next(&o->sharers->members.deadlines) : 0;
}

// ------------------------------------------------------------------------------------------------ the rest

typedef struct Turn {
        Leader *l;
        BatchBuilder *b;
        Scheduler **scheduler;
        const Argosy__RolloutRecord *r;
        const NetworkChange *change;
        size_t n;
        const Unit *blocked; // of ROLLOUT_BLOCKED
        char why[ROLLOUT_REASON_SIZE];
} Turn;

static int count_one(Unit *u, void *userdata) {
        ((Turn *) userdata)->n++;
        return 0;
}

// A rollout of its own brings it the network; 0, or it has ended otherwise: ENDED; -EBUSY, -ENOMEM.
enum { ENDED = 1 };

static int begin_own(Turn *t, const UnitEntry *e) {
        Argosy__RolloutRecord next = ARGOSY__ROLLOUT_RECORD__INIT;
        _cleanup_free_ char *why = NULL;
        Hash spec;
        int k = network_change_put(t->change, t->b, t->l->state, e->spec, &spec, &why);

        if (k == -EINVAL || k == -EDQUOT)
                return ENDED; // rollout_networks_put() says why
        if (k < 0)
                return k;
        next.name = e->record->name;
        next.kind = ARGOSY__ROLLOUT_KIND__ROLLOUT_UPDATE;
        next.spec = hash_field(&spec);
        next.spec_before = hash_field(&e->spec->hash);
        next.max_unavailable = t->r->max_unavailable;
        next.percent = t->r->percent;
        next.health_us = t->r->health_us;
        next.request = t->r->request; // so its steps are of the same job
        return batch_builder_put_rollout(t->b, &next);
}

static int follow_own(Turn *t, Unit *u) {
        const UnitEntry *e = cluster_state_find_unit(t->l->state, u->name);
        const Argosy__RolloutRecord *own = cluster_state_find_rollout(t->l->state, u->name),
                                    *ours = own_of(t->l, t->r, u);
        char reason[ROLLOUT_REASON_SIZE];

        if (e->record->target != ARGOSY__TARGET__TARGET_LAUNCHED)
                return ENDED;
        if (batch_builder_has_rollout(t->b, u->name))
                return -EBUSY;
        if (rollout_is_under_way(own)) { // it may be of before; its end marks this one
                if (!rollout_is_returning(t->r) || rollout_is_returning(own) ||
                    own->revision < t->r->revision)
                        return 0;
                str_fit(reason, sizeof(reason), "%s goes back", t->r->name);
                return rollout_turn_back(t->l, t->b, own, reason);
        }
        return ours && has_failed(ours) ? ENDED : begin_own(t, e);
}

// The unit, and all on its node that are to have it. 0, ROLLOUT_BLOCKED, -EBUSY, -ENOMEM; *ret_held: a
// budget has no room.
static int put_node(Turn *t, Unit *u, bool *ret_held) {
        bool returning = rollout_is_returning(t->r);
        _cleanup_free_ char *words = network_change_names(t->change, " ");
        int k = words ? 0 : -ENOMEM;

        if (k == 0 && !returning)
                k = rollout_networks_judge(t->l, t->b, t->change, u, true, u->node, &t->blocked, t->why);
        *ret_held =
                k == 0 && !returning && budget_dependents_with_networks_in_the_way(t->l, u, u->node, words);
        if (k != 0 || *ret_held)
                return k;
        t->n = 1;
        k = rollout_networks_each(t->l, t->change, u, u->node, count_one, t);
        if (k == 0 && !batch_builder_takes_request(t->b, t->n)) // whole, as a request
                return -EBUSY;
        k = k ?: rollout_networks_put(t->l, t->b, t->scheduler, t->change, u, returning);
        return k ?: rollout_networks_put_others(t->l, t->b, t->scheduler, t->change, u, u->node, returning);
}

static size_t looks_of(const Unit *u) {
        return 1 + (u->node ? u->node->n_units_on_node : 0);
}

// As put_node(); of what is -EBUSY the batch has nothing.
static int take_turn(Turn *t, Unit *u, bool *ret_held) {
        const UnitEntry *e = cluster_state_find_unit(t->l->state, u->name);
        BatchBuilderMark mark = batch_builder_mark(t->b);
        size_t n_placed = scheduler_mark(*t->scheduler);
        int k = ENDED;

        if (e && e->record->global)
                k = follow_own(t, u);
        if (k == ENDED)
                k = put_node(t, u, ret_held);
        if (k == -EBUSY) {
                batch_builder_rollback(t->b, mark);
                scheduler_rollback(*t->scheduler, n_placed, t->b);
        }
        return k;
}

int rollout_sharers_step(Leader *l, BatchBuilder *b, Rollout *o, const Argosy__RolloutRecord *r,
                         Scheduler **scheduler) {
        RolloutSharers *s = o->sharers;
        Turn t = {.l = l, .b = b, .scheduler = scheduler, .r = r, .change = s ? &s->change : NULL};
        size_t left = TRIES;

        for (RolloutTurn turn = 0; s && turn < ROLLOUT_TURNS; turn++)
                while (s->members.queues[turn].n > 0) {
                        RolloutMember *m;
                        bool parked = false;
                        int k;

                        if (left == 0) {
                                o->due = true;
                                leader_mark(l);
                                return 0;
                        }
                        m = rollout_members_take(&s->members, turn);
                        left -= MIN_OF(left, looks_of(m->unit));
                        if (batch_builder_has_unit(b, m->unit->name)) // with another one on its node
                                continue;
                        k = take_turn(&t, m->unit, &parked);
                        if (k == -EBUSY && b->n_units > 0) { // with the next entry
                                o->due = true;
                                leader_mark(l);
                                return 0;
                        }
                        if (k == ROLLOUT_BLOCKED)
                                return rollout_fail(l, b, r, t.blocked->name, t.blocked->node, t.why);
                        if (k < 0)
                                return k;
                        if (parked) {
                                o->held = true;
                                list_unlink(&m->due);
                                list_append(&s->parked, &m->due);
                        }
                }
        return 0;
}

// -------------------------------------------------------------------------------------------- what it hears

void rollout_sharers_on_touched(Leader *l, Unit *u) {
        list_foreach (i, &l->rollouts_sharing) {
                RolloutSharers *s = CONTAINER_OF(i, RolloutSharers, all);
                bool is_known = rollout_members_find(&s->members, u);

                if (!is_known && !is_walking(s))
                        continue;
                if (is_known)
                        note(l, s, u->name);
                s->rollout->due = true;
                leader_mark(l);
        }
}

void rollout_sharers_on_unit_gone(Leader *l, Unit *u) {
        list_foreach (i, &l->rollouts_sharing)
                rollout_members_forget(&CONTAINER_OF(i, RolloutSharers, all)->members, u);
}
