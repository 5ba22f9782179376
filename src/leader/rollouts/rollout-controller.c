// SPDX-License-Identifier: LGPL-2.1-or-later
//
// New content, or a restart, on its way through units that stand in for each other, a few at a time: the
// instances of a template, the nodes of a global unit, or one unit.
//
// The log says what is to be brought, what was there before, and whether it goes forward or back
// (RolloutRecord); how far it has come follows from the units' own records, so a new leader goes on where
// the old one was. A global unit has one record for all nodes: its rollout lists the nodes that had their
// turn, the others keep the content of before (rollout_content()), and its record gets the new content at
// the end.
//
// Others may get an order meanwhile which, with the content that is next for a unit, goes in a cycle. On the
// way forward that fails the rollout, as any other failure; on the way back it ends where it is.
//
// What is next is rollout-policy.c's to say, looked at whenever something about the units was seen or
// changed, and when a health gate ends. How long a unit is up is said by its host, on its own clock: so the
// gate goes on after a change of leader. Of a host that does not say it the gate is by this leader's clock,
// and begins anew.
#include <errno.h>

#include "batch-builder.h"
#include "budget-dependents.h"
#include "disruption-budget.h"
#include "due.h"
#include "event-marks.h"
#include "log.h"
#include "oom.h"
#include "orders.h"
#include "registry.h"
#include "retry-controller.h"
#include "rollout-content.h"
#include "rollout-controller.h"
#include "rollout-networks.h"
#include "rollout-nodes.h"
#include "rollout-order.h"
#include "rollout-private.h"
#include "rollout-sharers.h"
#include "rollout-survey.h"
#include "scheduler.h"
#include "str.h"
#include "tables.h"
#include "turn.h"
#include "unit-file.h"
#include "unit-marks.h"
#include "unit-name.h"
#include "walks.h"

// ------------------------------------------------------------------------------------------------ tables

Rollout *rollout_find(const Leader *l, const char *name) {
        const DisruptionBudget *g = disruption_budget_find(l, name);

        return g ? g->rollout : NULL;
}

static void rollout_end(Leader *l, Rollout *o) {
        DisruptionBudget *g = o->budget;

        list_unlink(&o->all);
        g->rollout = NULL;
        retry_controller_on_rollout_end(l);
        rollout_members_done(&o->members);
        rollout_nodes_free(o);
        rollout_sharers_free(o);
        free(o->rows.touched);
        walk_forget(l, &o->walk);
        free(o);
        if (unit_name_kind(g->name, NULL) == UNIT_NAME_TEMPLATE || list_is_empty(&g->units))
                disruption_budget_drop_if_unused(l, g);
        else // it was a group only for this, and ends with its unit
                disruption_budget_leave(l, CONTAINER_OF(g->units.next, Unit, of_budget));
}

// Whether units that run get nothing new but files, for which they are not restarted (FileChange=).
static bool changes_in_place(const SpecEntry *now, SpecEntry *next) {
        return now && next && spec_entry_change(now, next) != ARGOSY__FILE_CHANGE__FILE_CHANGE_RESTART;
}

static int rollout_begin(Leader *l, const Argosy__RolloutRecord *record) {
        const char *name = record->name;
        DisruptionBudget *g = disruption_budget_get(l, name);
        Unit *u = unit_find(l, name);
        const UnitEntry *e = cluster_state_find_unit(l->state, name);

        if (!g)
                return -ENOMEM;
        if (!g->rollout) {
                g->rollout = calloc(1, sizeof(*g->rollout));
                if (!g->rollout) {
                        disruption_budget_drop_if_unused(l, g);
                        return -ENOMEM;
                }
                g->rollout->budget = g;
                rollout_members_init(&g->rollout->members, &g->units);
                list_append(&l->rollouts, &g->rollout->all);
        }
        g->rollout->due = true;
        rollout_sharers_sync(l, g->rollout, record);
        g->rollout->in_place =
                rollout_is_update(record) &&
                changes_in_place(rollout_spec(l, &record->spec_before), rollout_spec(l, &record->spec));
        if (!u || !e || u->budget)
                return 0;
        // A unit of its own was in no group before: whether it is up was not kept of it.
        if (disruption_budget_join(l, u, e) < 0)
                return -ENOMEM;
        disruption_budget_refresh(l, u);
        return 0;
}

// The nodes of a global unit have got another content each.
static void order_nodes(Leader *l, const char *name) {
        const UnitEntry *e = cluster_state_find_unit(l->state, name);
        Unit *u = unit_find(l, name);

        if (!e || !e->record->global || !u)
                return;
        list_foreach (i, &u->on_nodes) { // the patience with those that have their turn now begins
                UnitOnNode *s = CONTAINER_OF(i, UnitOnNode, by_unit);

                if (!s->up && rollout_content(l, e, s->node->number).revision > s->ordered_revision)
                        s->up_flip_us = leader_now(l);
        }
        orders_on_unit(l, e, u, NULL);
        unit_touch(l, u);
}

// Lists show of the unit that it is about how far it is.
static void mark_event(Leader *l, const char *name) {
        Unit *u = unit_find(l, name);

        if (u)
                event_mark(l, &u->event);
}

static int sync_all(Leader *l) {
        size_t n;
        Argosy__RolloutRecord *const *records = cluster_state_rollouts(l->state, &n);
        int r = 0;

        l->rollouts_revision = cluster_state_rollouts_revision(l->state);
        for (size_t i = 0; i < n; i++) {
                Rollout *o = rollout_find(l, records[i]->name);

                if (rollout_is_under_way(records[i])) {
                        if (rollout_begin(l, records[i]) < 0)
                                r = -ENOMEM;
                } else if (o)
                        rollout_end(l, o);
                else
                        continue;
                mark_event(l, records[i]->name);
                order_nodes(l, records[i]->name);
        }
        return r;
}

int rollout_controller_build(Leader *l) {
        int r = sync_all(l);

        list_foreach (i, &l->rollouts)
                walk_resume(l, &CONTAINER_OF(i, Rollout, all)->walk);
        return r;
}

void rollout_controller_sync(Leader *l) {
        if (l->rollouts_revision != cluster_state_rollouts_revision(l->state))
                (void) oom_check(sync_all(l)); // tables that miss a record would decide wrongly
}

void rollout_controller_retire(Leader *l) {
        rollout_survey_clear(l);
        while (!list_is_empty(&l->rollouts))
                rollout_end(l, CONTAINER_OF(l->rollouts.next, Rollout, all));
        l->rollout_due_us = 0;
}

void rollout_controller_mark_all(Leader *l) {
        list_foreach (i, &l->rollouts)
                CONTAINER_OF(i, Rollout, all)->due = true;
}

static void note_next(Leader *l, uint64_t at_us) {
        if (at_us && (!l->rollout_due_us || at_us < l->rollout_due_us))
                l->rollout_due_us = at_us;
}

void rollout_controller_on_time(Leader *l) {
        uint64_t now = leader_now(l);

        l->rollout_due_us = 0;
        list_foreach (i, &l->rollouts) {
                Rollout *o = CONTAINER_OF(i, Rollout, all);

                if (o->next_us && o->next_us <= now) {
                        o->due = true;
                        o->next_us = 0;
                }
                note_next(l, o->next_us);
        }
}

// ------------------------------------------------------------------------------------------------ steps

// The template's own record, if there is one, takes the content too.
int rollout_put_template(Leader *l, BatchBuilder *b, const char *name, const ProtobufCBinaryData *spec) {
        const UnitEntry *e = cluster_state_find_unit(l->state, name);
        Argosy__UnitRecord next;

        if (!e || unit_name_kind(name, NULL) != UNIT_NAME_TEMPLATE || field_equal(&e->record->spec, spec))
                return 0;
        if (batch_builder_has_unit(b, name))
                return -EBUSY;
        next = *e->record;
        next.spec = *spec;
        return batch_builder_put_unit(b, &next, 0, 0);
}

// What goes back keeps the versions that it has, and so does what is not restarted.
static unsigned secrets_bump(const UnitEntry *e, const Argosy__RolloutRecord *r, SpecEntry *spec) {
        const UnitFile *file;

        if (rollout_is_returning(r) ||
            spec_entry_file(rollout_is_update(r) && spec ? spec : e->spec, &file) < 0)
                return 0;
        return unit_file_has_secrets(file) ? BATCH_BUMP_SECRETS : 0;
}

// A global unit's record gets what its nodes have by now.
static int settle_global(Leader *l, BatchBuilder *b, const Argosy__RolloutRecord *r) {
        const UnitEntry *e = cluster_state_find_unit(l->state, r->name);
        Argosy__UnitRecord next;
        SpecEntry *spec;

        if (!e || !e->record->global)
                return 0;
        if (batch_builder_has_unit(b, r->name))
                return -EBUSY;
        next = *e->record;
        if (rollout_is_update(r) && !rollout_is_returning(r))
                next.spec = r->spec;
        spec = rollout_spec(l, &next.spec);
        return batch_builder_put_unit(b, &next,
                                      changes_in_place(e->spec, spec) ? 0 : secrets_bump(e, r, spec),
                                      e->record->revision);
}

// From here on it goes back, or ends where it is if there is nothing to go back to.
int rollout_turn_back(Leader *l, BatchBuilder *b, const Argosy__RolloutRecord *r, const char *reason) {
        Argosy__RolloutRecord next = *r;
        bool back = rollout_is_update(r);
        int k;

        next.reason = (char *) reason;
        next.phase =
                back ? ARGOSY__ROLLOUT_PHASE__ROLLOUT_RETURNING : ARGOSY__ROLLOUT_PHASE__ROLLOUT_STOPPED;
        k = back ? rollout_put_template(l, b, r->name, &r->spec_before) : settle_global(l, b, r);
        return k < 0 ? k : batch_builder_put_rollout(b, &next);
}

int rollout_controller_stop(Leader *l, BatchBuilder *b, Dependencies *planned,
                            const Argosy__RolloutRecord *r, const char *reason) {
        char cycle[ROLLOUT_REASON_SIZE], both[2 * ROLLOUT_REASON_SIZE];
        Argosy__RolloutRecord next = *r;
        int k;

        if (batch_builder_has_rollout(b, r->name))
                return -EBUSY;
        k = rollout_order_settle(l, planned, b, r, cycle, sizeof(cycle));
        if (k == ROLLOUT_IN_CYCLE) {
                str_fit(both, sizeof(both), "%s; %s", reason, cycle);
                k = rollout_turn_back(l, b, r, both);
                return k < 0 ? k : ROLLOUT_IN_CYCLE;
        }
        if (k < 0)
                return k;
        k = settle_global(l, b, r);
        next.phase = ARGOSY__ROLLOUT_PHASE__ROLLOUT_STOPPED;
        next.reason = (char *) reason;
        next.spec = next.spec_before = (ProtobufCBinaryData){};
        next.nodes = NULL;
        next.n_nodes = 0;
        return k < 0 ? k : batch_builder_put_rollout(b, &next);
}

// Names units that have the rollout's content and of which it is not known that they are up with it. "":
// none.
static void say_left_behind(const RolloutSums *sums, char *ret, size_t size) {
        size_t n = sums->unplaced, unseen = sums->unseen;
        int len = 0;

        *ret = 0;
        if (n > 0)
                len = snprintf(ret, size, "%zu unit%s no node, and start%s as soon as one is found", n,
                               n == 1 ? " has" : "s have", n == 1 ? "s" : "");
        if (unseen > 0)
                snprintf(ret + len, size - (size_t) len,
                         "%s%zu unit%s on nodes that cannot be asked, so whether %s up is not known",
                         n > 0 ? "; " : "", unseen, unseen == 1 ? " is" : "s are",
                         unseen == 1 ? "it is" : "they are");
}

// `sums`: of its units.
static int finish(Leader *l, BatchBuilder *b, const Argosy__RolloutRecord *r, const RolloutSums *sums) {
        Argosy__RolloutRecord next = *r;
        char reason[ROLLOUT_REASON_SIZE];
        int k = settle_global(l, b, r);

        if (k < 0)
                return k;
        next.phase = rollout_is_returning(r) ? ARGOSY__ROLLOUT_PHASE__ROLLOUT_RETURNED
                                             : ARGOSY__ROLLOUT_PHASE__ROLLOUT_DONE;
        if (!rollout_is_returning(r)) {
                say_left_behind(sums, reason, sizeof(reason));
                next.reason = reason;
        }
        next.spec = next.spec_before = (ProtobufCBinaryData){};
        next.nodes = NULL;
        next.n_nodes = 0;
        log_unit(LOG_NOTICE, r->name, "%s: its %s %s%s.", r->name,
                 rollout_is_update(r) ? "update" : "restart",
                 rollout_is_returning(r) ? "was taken back: " : *next.reason ? "is done, but " : "is done",
                 next.reason);
        return batch_builder_put_rollout(b, &next);
}

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

// Gives the nodes their turn, in one record, with all there that share networks which change.
static int change_nodes(Leader *l, BatchBuilder *b, Rollout *o, const Argosy__RolloutRecord *r,
                        const Unit *u, const size_t *chosen, size_t n_chosen) {
        _cleanup_free_ Argosy__RolloutNode *fresh = calloc(n_chosen + 1, sizeof(*fresh));
        _cleanup_free_ Argosy__RolloutNode **turns = calloc(n_chosen + 1, sizeof(*turns));
        _cleanup_free_ Argosy__RolloutNode **nodes = calloc(r->n_nodes + n_chosen + 1, sizeof(*nodes));
        const NetworkChange *networks = o->sharers ? &o->sharers->change : NULL;
        _cleanup_free_ char *words = networks ? network_change_names(networks, " ") : NULL;
        Argosy__RolloutRecord next = *r;
        size_t n = 0;
        int k = 0;

        if (!fresh || !turns || !nodes || (networks && !words))
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
                        k = rollout_networks_put_others(l, b, networks, u, node, rollout_is_returning(r));
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

int rollout_place(Leader *l, const Unit *u, SpecEntry *spec, Scheduler **scheduler,
                  Argosy__UnitRecord *next) {
        UnitOptions *options = NULL;
        SchedulerAnswer place = {};
        const UnitFile *file;
        int r;

        if (next->target == ARGOSY__TARGET__TARGET_INACTIVE || !u->node)
                return 0; // the scheduler places it later
        r = spec_entry_file(spec, &file);
        if (r >= 0)
                r = unit_file_expand(file, u->name, u->name, &options, NULL);
        if (r < 0)
                return r == -EINVAL ? ROLLOUT_NO_NODE : r;
        if (!node_admits(l, u->node, options)) {
                *scheduler = *scheduler ?: scheduler_new(l, 0);
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
        char cycle[ROLLOUT_REASON_SIZE]; // the words of ROLLOUT_IN_CYCLE
} TurnOfUnit;

// With the node that it gets, and the order that it says. 0, ROLLOUT_NO_NODE, ROLLOUT_IN_CYCLE, or a
// negative errno.
static int take_content(TurnOfUnit *t, const Unit *u, SpecEntry *spec, Argosy__UnitRecord *next) {
        int k = rollout_place(t->l, u, spec, t->scheduler, next);

        next->spec = hash_field(&spec->hash);
        if (k == 0 || (k == ROLLOUT_NO_NODE && rollout_is_returning(t->r)))
                k = rollout_order_take(t->l, t->planned, t->b, u->name, spec, t->cycle, sizeof(t->cycle));
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
        bool in_place = rollout_is_update(r) && item->up && changes_in_place(e->spec, spec);
        unsigned bump = !item->wanted_up                        ? 0
                        : in_place || has_kept_content(r, item) ? BATCH_BUMP_START
                                                                : BATCH_BUMP_START | BATCH_BUMP_RESTART;
        int k;

        next.extra = unit_extra_with_trial(&extra, e->record, NULL);
        bump |= in_place ? 0 : secrets_bump(e, r, spec);
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

// For that unit, on that node (NULL: on none); `unit` NULL: `why` says of which.
static int rollout_fail(Leader *l, BatchBuilder *b, const Argosy__RolloutRecord *r, const char *unit,
                        const Node *n, const char *why) {
        char reason[ROLLOUT_REASON_SIZE];

        if (unit)
                str_fit(reason, sizeof(reason), "%s on %s: %s", unit, n ? n->name : "-", why);
        else
                str_fit(reason, sizeof(reason), "%s", why);
        log_unit(LOG_WARNING, r->name, "%s: its %s %s: %s.", r->name,
                 rollout_is_update(r) ? "update" : "restart", rollout_is_update(r) ? "goes back" : "stops",
                 reason);
        return rollout_turn_back(l, b, r, reason);
}

// With that content a unit would come after itself.
static int end_in_cycle(Leader *l, BatchBuilder *b, Dependencies *planned, const Argosy__RolloutRecord *r,
                        const char *why) {
        char reason[2 * ROLLOUT_REASON_SIZE];

        if (!rollout_is_returning(r))
                return rollout_fail(l, b, r, NULL, NULL, why);
        str_fit(reason, sizeof(reason), "%s; it does not go back: %s", r->reason, why);
        log_unit(LOG_WARNING, r->name, "%s: its update stops: %s.", r->name, reason);
        return rollout_controller_stop(l, b, planned, r, reason);
}

// It is on the node of a unit that has its turn, and has one of the networks that change.
static int change_sharer(Unit *v, void *userdata) {
        TurnOfUnit *t = userdata;
        RolloutItem item = rollout_item(t->l, t->r, v, false);

        if (batch_builder_has_unit(t->b, v->name))
                return -EBUSY;
        if (v->budget != t->o->budget || !item.mine || item.changed != rollout_is_returning(t->r))
                return rollout_networks_put(t->l, t->b, t->networks, v, rollout_is_returning(t->r));
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

// As change_unit(); *ret_held: it has to wait, and nothing is changed.
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
        *ret_held = k == 0 && is_held(t->l, r, u, u->node, words);
        if (k == 0 && !*ret_held) {
                t->networks = &networks;
                *t->sums = then;
                k = change_with_sharers(t, u);
        }
        network_change_done(&networks);
        return k;
}

// Changes units in the order of names, as many as may have their turn now, or as one entry takes. A unit
// that is held back is judged again with the next look, which comes when something of the group, or of what
// goes down with it, has changed.
static int change_units(Leader *l, BatchBuilder *b, Dependencies *planned, Rollout *o,
                        const Argosy__RolloutRecord *r, const RolloutView *rules, RolloutSums sums,
                        Scheduler **scheduler) {
        TurnOfUnit one = {.l = l,
                          .b = b,
                          .planned = planned,
                          .o = o,
                          .r = r,
                          .scheduler = scheduler,
                          .sums = &sums};
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
                                return end_in_cycle(l, b, planned, r, one.cycle);
                        if (k < 0)
                                return k;
                }
        return 0;
}

// The unit that it was about is gone. (Of a template it may have been the last one, and that is well.)
static int end_without_unit(BatchBuilder *b, const Argosy__RolloutRecord *r) {
        Argosy__RolloutRecord next = *r;

        next.phase = ARGOSY__ROLLOUT_PHASE__ROLLOUT_STOPPED;
        next.reason = "the unit was destroyed";
        next.spec = next.spec_before = (ProtobufCBinaryData){};
        next.nodes = NULL;
        next.n_nodes = 0;
        return batch_builder_put_rollout(b, &next);
}

static void note_look(Rollout *o, size_t n_items, size_t n_down, size_t left, size_t max, uint64_t next_us) {
        uint64_t shared_us = rollout_sharers_next_us(o);

        o->n_items = n_items;
        o->n_down = n_down;
        o->left = left;
        o->max = max;
        o->next_us = next_us && shared_us ? MIN_OF(next_us, shared_us) : next_us ?: shared_us;
}

// What shares networks with its units has them, too, and is well with them, before it is over.
static int end_with_sharers(Leader *l, BatchBuilder *b, Dependencies *planned, Rollout *o,
                            const Argosy__RolloutRecord *r, const RolloutSums *sums) {
        char cycle[ROLLOUT_REASON_SIZE];
        int k;

        if (rollout_sharers_left(o) > 0)
                return rollout_sharers_step(l, b, o, r);
        k = rollout_order_settle(l, planned, b, r, cycle, sizeof(cycle));
        if (k == ROLLOUT_IN_CYCLE)
                return end_in_cycle(l, b, planned, r, cycle);
        return k < 0 ? k : finish(l, b, r, sums);
}

// A unit that went along has failed. False: none has; else *ret is what came of it.
static bool fail_for_sharer(Leader *l, BatchBuilder *b, const Rollout *o, const Argosy__RolloutRecord *r,
                            int *ret) {
        const char *why;
        const Unit *u = rollout_sharers_failed(l, o, r, &why);

        if (u)
                *ret = rollout_fail(l, b, r, u->node ? u->name : NULL, u->node, why);
        return u;
}

// None of its own goes down before those that went along with others are well.
static bool waits_for_sharers(const Rollout *o, const Argosy__RolloutRecord *r) {
        return !rollout_is_returning(r) && rollout_sharers_are_awaited(o);
}

static void look_on(Leader *l, Rollout *o) {
        o->due = true;
        leader_mark(l);
}

static int step_nodes(Leader *l, BatchBuilder *b, Dependencies *planned, Rollout *o,
                      const Argosy__RolloutRecord *r, Unit *u, const UnitEntry *e) {
        _cleanup_free_ size_t *chosen = NULL;
        char cycle[ROLLOUT_REASON_SIZE];
        RolloutView rules;
        RolloutStep step;
        int k;

        if (!rollout_nodes_look(l, o, r, u, e) || !rollout_sharers_look(l, o, r)) {
                look_on(l, o);
                return 0;
        }
        chosen = calloc(o->nodes->n + 1, sizeof(*chosen));
        if (!chosen)
                return -ENOMEM;
        rules = rollout_rules_of_nodes(l, r, e, o->nodes->items, o->nodes->n);
        step = rollout_policy_step(&rules, chosen);
        note_look(o, o->nodes->n, step.n_down, step.left, rules.max, step.next_us);
        if (step.action == ROLLOUT_FAILED)
                return rollout_fail(l, b, r, u->name, node_find(l, o->nodes->nodes[step.culprit]),
                                    step.failure);
        if (fail_for_sharer(l, b, o, r, &k))
                return k;
        if (step.action == ROLLOUT_OVER)
                return end_with_sharers(l, b, planned, o, r, &(RolloutSums){});
        if (step.n_chosen == 0 || waits_for_sharers(o, r))
                return 0;
        k = rollout_order_judge(l, planned, b, r, cycle, sizeof(cycle));
        if (k == ROLLOUT_IN_CYCLE)
                return end_in_cycle(l, b, planned, r, cycle);
        return k < 0 ? k : change_nodes(l, b, o, r, u, chosen, step.n_chosen);
}

static int step_units(Leader *l, BatchBuilder *b, Dependencies *planned, Rollout *o,
                      const Argosy__RolloutRecord *r, Scheduler **scheduler) {
        RolloutMembers *m = &o->members;
        RolloutView rules;
        RolloutSums sums;
        int k;

        if (!rollout_look(l, o, r) || !rollout_sharers_look(l, o, r)) {
                look_on(l, o);
                return 0;
        }
        rules = rollout_rules(l, o, r);
        sums = rollout_sums(l, b, o, r, &rules);
        note_look(o, m->by_unit.count, sums.down, sums.left, rules.max,
                  deadline_heap_next(&m->deadlines));
        if (!list_is_empty(&m->failed)) {
                const Unit *u = CONTAINER_OF(m->failed.next, RolloutMember, failed)->unit;
                RolloutItem item = rollout_item(l, r, u, batch_builder_has_unit(b, u->name));
                const char *why = rollout_policy_failure(&rules, &item);

                if (why)
                        return rollout_fail(l, b, r, u->name, u->node, why);
        }
        if (fail_for_sharer(l, b, o, r, &k))
                return k;
        if (sums.left > 0)
                return waits_for_sharers(o, r)
                               ? 0
                               : change_units(l, b, planned, o, r, &rules, sums, scheduler);
        return end_with_sharers(l, b, planned, o, r, &sums);
}

static int take_step(Leader *l, BatchBuilder *b, Dependencies *planned, Rollout *o,
                     const Argosy__RolloutRecord *r, Scheduler **scheduler) {
        const UnitEntry *e = cluster_state_find_unit(l->state, r->name);
        Unit *u = unit_find(l, r->name);

        if (unit_name_kind(r->name, NULL) != UNIT_NAME_TEMPLATE && !e)
                return end_without_unit(b, r);
        return e && u && e->record->global ? step_nodes(l, b, planned, o, r, u, e)
                                           : step_units(l, b, planned, o, r, scheduler);
}

int rollout_controller_decide(Leader *l, BatchBuilder *b, Dependencies *planned, Scheduler **scheduler,
                              RolloutStepped stepped, void *userdata) {
        l->rollout_due_us = 0;
        list_foreach (i, &l->rollouts) {
                Rollout *o = CONTAINER_OF(i, Rollout, all);
                const Argosy__RolloutRecord *r = cluster_state_find_rollout(l->state, o->budget->name);
                BatchBuilderMark mark = batch_builder_mark(b);
                size_t n_placed = scheduler_mark(*scheduler);
                int k;

                if (o->due && rollout_is_under_way(r) && l->n_hosts.unattached == 0 &&
                    batch_builder_takes_more(b)) {
                        o->due = false;
                        k = take_step(l, b, planned, o, r, scheduler);
                        if (k >= 0)
                                k = stepped(r, mark, userdata);
                        if (k == -EBUSY) { // the batch touches its records already
                                batch_builder_rollback(b, mark);
                                scheduler_rollback(*scheduler, n_placed, b);
                                o->due = true;
                        } else if (k < 0)
                                return k;
                }
                note_next(l, o->next_us);
        }
        return 0;
}
