// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Units in the Placement: as their records are, and provisional units without a record as long as a
// Scheduler lives.
//
//      scheduler_on_unit(): a number, class, affinity, node -> scheduler_enqueue() -> placed or dequeued
//      scheduler_set_refusals(): nodes that refused it, and fleet's nodes, are excluded or admitted
//
// Unit.place is the number plus 1; 0: not in the Placement. A unit whose options are not known counts and
// demands nothing. Without memory the process ends (oom.h), but for options (-ENOMEM).

#include <errno.h>

#include "activators.h"
#include "data-nodes.h"
#include "due.h"
#include "fleet-units.h"
#include "event-marks.h"
#include "host-marks.h"
#include "oom.h"
#include "registry.h"
#include "schedule-queue.h"
#include "scheduler-nodes.h"
#include "scheduler-roles.h"
#include "scheduler-spec.h"
#include "scheduler-tables.h"
#include "scheduler-units.h"
#include "str.h"
#include "tables.h"
#include "turn.h"
#include "unit-event.h"
#include "unit-file.h"
#include "unit-on-node.h"
#include "unit-record.h"
#include "unit-work.h"
#include "walks.h"

static void forget_class(SchedulerTables *t, size_t i) {
        if (!t->classes[i].options)
                return;
        placement_class_unref(t->placement, t->classes[i].class);
        unit_options_unref(TAKE_PTR(t->classes[i].options));
}

void scheduler_forget_classes(SchedulerTables *t) {
        for (size_t i = 0; i < KNOWN_CLASSES; i++)
                forget_class(t, i);
}

static void to_front(SchedulerTables *t, size_t i) {
        KnownClass found = t->classes[i];

        memmove(&t->classes[1], &t->classes[0], i * sizeof(found));
        t->classes[0] = found;
}

// Instances of a template come in a row, often alternating with units that depend on them, so a few classes
// are remembered.
static void remember_class(SchedulerTables *t, const UnitOptions *options, uint32_t class) {
        if (options->spread) // its class depends on the unit's name
                return;
        forget_class(t, KNOWN_CLASSES - 1);
        to_front(t, KNOWN_CLASSES - 1);
        placement_class_ref(t->placement, class);
        t->classes[0] = (KnownClass){unit_options_ref(options), class};
}

static bool is_remembered(SchedulerTables *t, const UnitOptions *options) {
        for (size_t i = 0; i < KNOWN_CLASSES; i++)
                if (t->classes[i].options == options) {
                        to_front(t, i);
                        return true;
                }
        return false;
}

static int class_of(Leader *l, const char *name, const UnitOptions *options, uint32_t *ret) {
        SchedulerTables *t = l->places;
        bool new = false;
        int r;

        if (!t->is_copy && is_remembered(t, options)) {
                *ret = t->classes[0].class;
                placement_class_ref(t->placement, *ret);
                return 0;
        }
        r = scheduler_class(t->placement, name, options, ret, &new);
        if (new)
                scheduler_sync_all_offers(l);
        if (r >= 0 && !t->is_copy)
                remember_class(t, options, *ret);
        return r;
}

enum { REFUSALS = 2048 }; // units and their listed nodes per turn, at about 1 us each

// Confines a unit that hosts run from fleet's directory to the nodes that can take it over and the one where
// it is recorded. Returns the number of the former.
static size_t confine_fleet_unit(Leader *l, const char *name, uint32_t unit) {
        Placement *p = l->places->placement;
        FleetUnitNodes nodes;
        size_t n_nodes = 0;
        const UnitEntry *e;
        const Node *n;

        if (!fleet_units_has(l, name))
                return 0;
        e = cluster_state_find_unit(l->state, name);
        n = e && unit_has_place(e) ? node_find(l, e->record->node) : NULL;
        placement_unit_confine(p, unit);
        if (n && n->scheduling.place)
                placement_unit_admit(p, unit, n->scheduling.place - 1);
        for (nodes = fleet_units_nodes(l, name); (n = fleet_units_next_node(&nodes)); n_nodes++)
                if (n->scheduling.place)
                        placement_unit_admit(p, unit, n->scheduling.place - 1);
        return n_nodes;
}

// Where the data of what it activates is, if the unit may be there.
static const Node *node_of_activated(const Leader *l, const Unit *u, const char **ret_activated) {
        const UnitEntry *e = cluster_state_find_unit(l->state, u->name);
        const char *activated = activators_activated(&l->activators, u->name);
        const Node *n = activated ? data_node_bound(l, activated) : NULL;
        UnitOptions *options;

        if (!n || !e || e->removed || e->record->global || unit_exclusion(u, n->number) ||
            unit_options_of(e, &options) < 0)
                return NULL;
        *ret_activated = activated;
        if (!node_admits(l, n, options))
                n = NULL;
        unit_options_unref(options);
        return n;
}

// *ret_activated: whose data that is; NULL: its own.
static const Node *node_of_data(const Leader *l, const Unit *u, const char **ret_activated) {
        *ret_activated = NULL;
        if (l->data_bindings.count == 0)
                return NULL;
        return data_node_bound(l, u->name) ?: node_of_activated(l, u, ret_activated);
}

void scheduler_confine(Leader *l, uint32_t unit, const Node *n) {
        placement_unit_confine(l->places->placement, unit);
        placement_unit_admit(l->places->placement, unit, n->scheduling.place - 1);
}

static void confine_to_data(Leader *l, const Unit *u, uint32_t unit) {
        const char *activated;
        const Node *n = node_of_data(l, u, &activated);

        if (!n)
                return;
        if (!n->scheduling.place)
                scheduler_add_new_nodes(l);
        scheduler_confine(l, unit, n);
}

static uint32_t add_unit(Leader *l, Unit *u, uint32_t class, uint32_t role, int16_t priority) {
        uint32_t number;

        placement_unit_add(l->places->placement, u->name, class, role, priority, &number);
        u->scheduling.place = number + 1;
        data_nodes_unbind(l, u); // it is not confined there yet
        l->places->n_renumbered++;
        for (const Exclusion *x = unit_work_seen(u)->exclusions; x; x = x->next)
                scheduler_on_exclusion(l, u, x->node, true);
        (void) confine_fleet_unit(l, u->name, number);
        return number;
}

// The unit's number in the Placement, added if it is missing: with a record, named by another unit's
// options, or a provisional unit.
uint32_t scheduler_get_unit(Leader *l, const char *name, bool provisional) {
        SchedulerTables *t = l->places;
        const Unit *u = unit_find(l, name);
        ProvisionalUnit *g;

        if (u && u->scheduling.place)
                return u->scheduling.place - 1;
        g = map_find_str(&t->provisional, name);
        if (g)
                return g->unit;
        if (!provisional && !t->is_copy) // numbers in a copy are not those of Unit.place
                return add_unit(l, oom_checked(unit_get(l, name)), t->anything, t->role, 0);
        g = oom_checked(MAP_NEW_STR(&t->provisional, ProvisionalUnit, name, name));
        placement_unit_add(t->placement, g->name, t->anything, t->role, 0, &g->unit);
        (void) confine_fleet_unit(l, name, g->unit);
        return g->unit;
}

int scheduler_add_affinity(Leader *l, const char *name, uint32_t unit, char **names) {
        Placement *p = l->places->placement;
        int r = 0;

        for (char **m = names; m && *m && r >= 0; m++) {
                uint32_t target;
                Unit *other;

                if (streq(*m, name))
                        continue;
                target = scheduler_get_unit(l, *m, false);
                other = unit_find(l, *m);
                if (other)
                        other->followed = true;
                r = placement_unit_follow(p, unit, target); // -ELOOP, -E2BIG: the name is left out
        }
        return r == -E2BIG ? SCHEDULER_TOO_MANY_TIED : 0;
}

static int set_affinity(Leader *l, const char *name, uint32_t unit, char **names) {
        placement_unit_unfollow(l->places->placement, unit);
        return scheduler_add_affinity(l, name, unit, names);
}

static uint32_t number_of_provisional(const Leader *l, const char *name) {
        const ProvisionalUnit *g = map_find_str(&l->places->provisional, name);

        return g ? g->unit : PLACEMENT_NONE;
}

// The number of a unit or provisional unit; PLACEMENT_NONE: it is not in the Placement.
static uint32_t number_of_unit(const Leader *l, const Unit *u) {
        return u->scheduling.place ? u->scheduling.place - 1 : number_of_provisional(l, u->name);
}

// Returns the cost, in units of REFUSALS.
size_t scheduler_set_refusals(Leader *l, Unit *u) {
        uint32_t unit = l->places ? number_of_unit(l, u) : PLACEMENT_NONE;

        scheduler_on_exclusion(l, u, 0, false);
        for (const Exclusion *x = unit_work_seen(u)->exclusions; x; x = x->next)
                scheduler_on_exclusion(l, u, x->node, true);
        if (unit == PLACEMENT_NONE)
                return 1;
        confine_to_data(l, u, unit);
        return 1 + confine_fleet_unit(l, u->name, unit);
}

// Confines the unit to the node of its data, or to none any more. What hosts run from fleet's directory is
// confined to those.
static void keep_with_data(Leader *l, const char *name, bool has_data) {
        bool was_bound = !l->places->is_copy && data_nodes_binds(l, name);
        Unit *u = !l->places->is_copy && (has_data || was_bound) ? unit_find(l, name) : NULL;
        const UnitEntry *e = has_data && u ? cluster_state_find_unit(l->state, name) : NULL;
        const Node *n = e && !fleet_units_has(l, name) ? data_node_of(l, u, e) : NULL;

        if (!u || (!n && !was_bound))
                return;
        if (n && !data_nodes_bind(l, u, n, !u->node))
                return;
        if (!n)
                data_nodes_unbind(l, u);
        (void) scheduler_set_refusals(l, u);
}

// Sets class, role, priority and affinity by the unit's options.
int scheduler_set_options(Leader *l, const char *name, uint32_t unit, const UnitOptions *options) {
        Placement *p = l->places->placement;
        uint32_t class, role = scheduler_role_of(l->places, options);
        int r = class_of(l, name, options, &class);

        if (r < 0)
                return r;
        placement_unit_set_preemptible(p, unit, options->preemptible);
        if (placement_unit_class(p, unit) != class || placement_unit_role(p, unit) != role ||
            placement_unit_priority(p, unit) != options->priority)
                placement_unit_change(p, unit, class, role, options->priority);
        placement_class_unref(p, class);
        keep_with_data(l, name, options->has_data);
        return set_affinity(l, name, unit, options->same_node);
}

static void put_unit(Leader *l, const Unit *u, const UnitEntry *e) {
        Placement *p = l->places->placement;
        const Argosy__UnitRecord *r = e ? e->record : NULL;
        bool placed = r && r->target != ARGOSY__TARGET__TARGET_INACTIVE && !r->global;
        const Node *n = placed && r->node ? node_find(l, r->node) : NULL;

        if (n && !n->scheduling.place)
                scheduler_add_new_nodes(l);
        if (placed)
                placement_unit_put(p, u->scheduling.place - 1, n ? n->scheduling.place - 1 : PLACEMENT_NONE);
        placement_unit_want(p, u->scheduling.place - 1, placed);
}

void scheduler_enqueue(Leader *l, Unit *u, ListNode *queue) {
        if (!u->scheduling.place || !u->node)
                return;
        placement_unit_release(l->places->placement, u->scheduling.place - 1, true);
        if (!list_is_linked(&unit_work_seen(u)->enqueued))
                list_append(queue, &unit_work(l, u)->enqueued);
}

void scheduler_dequeue(Leader *l, Unit *u) {
        if (!list_is_linked(&unit_work_seen(u)->enqueued))
                return;
        list_unlink(&unit_work(l, u)->enqueued);
        if (u->scheduling.place)
                placement_unit_release(l->places->placement, u->scheduling.place - 1, false);
}

// The record, or the end of a Scheduler, has set the unit's node; a unit that still has to move is scheduled
// again.
static void leave_queue(Leader *l, Unit *u) {
        bool waited = list_is_linked(&unit_work_seen(u)->enqueued);

        scheduler_dequeue(l, u);
        placement_unit_release(l->places->placement, u->scheduling.place - 1, false); // offered
        if (!waited || !unit_life_is_queued(u->life))
                return;
        schedule_move(l, u, SCHEDULE_NEW); // it may be among the units that were asked about
}

// A new unit gets the class of its options at once.
static uint32_t number_with_options(Leader *l, Unit *u, const UnitOptions *options) {
        SchedulerTables *t = l->places;
        uint32_t class, number;

        if (u->scheduling.place)
                return u->scheduling.place - 1;
        if (t->is_copy || !options || class_of(l, u->name, options, &class) < 0)
                return scheduler_get_unit(l, u->name, false);
        number = add_unit(l, u, class, scheduler_role_of(t, options), options->priority);
        placement_class_unref(t->placement, class);
        return number;
}

// Reports it if the node does not meet the demands of the new record.
static void mark_mismatch(Leader *l, const Unit *u) {
        UnitOnNode *s = u->node && placement_unit_mismatches(l->places->placement, u->scheduling.place - 1)
                                ? unit_on_node_find(u, u->node)
                                : NULL;

        if (s && !s->mismatch_reported)
                event_mark_unit_on_node(l, s);
}

// Others are to be where it is, should it come again: nothing of what it was is left.
static void forget_options(Leader *l, Unit *u, uint32_t unit) {
        Placement *p = l->places->placement;

        placement_unit_set_preemptible(p, unit, false);
        placement_unit_change(p, unit, l->places->anything, l->places->role, 0);
        placement_unit_unfollow(p, unit);
        (void) scheduler_set_refusals(l, u);
}

// A unit whose options cannot be read counts, and demands nothing.
void scheduler_on_unit(Leader *l, Unit *u, const UnitEntry *e, const UnitOptions *options) {
        uint32_t unit;

        if (!e && !u->scheduling.place)
                return;
        if (map_find_str(&l->places->provisional, u->name))
                return; // a Scheduler has it as a provisional unit; done again when that is freed
        unit = number_with_options(l, u, options);
        leave_queue(l, u);
        // also for global units, as others may conflict with them; on failure the unit demands nothing
        if (options)
                (void) scheduler_set_options(l, u->name, unit, options);
        put_unit(l, u, e);
        mark_mismatch(l, u);
        if (!e)
                data_nodes_unbind(l, u);
        if (!e && u->followed)
                forget_options(l, u, unit);
        else if (!e) {
                placement_unit_remove(l->places->placement, unit);
                u->scheduling.place = 0;
                l->places->n_renumbered++;
        }
}

void scheduler_on_unit_freed(Leader *l, Unit *u) {
        if (l->places && u->scheduling.place) {
                placement_unit_remove(l->places->placement, u->scheduling.place - 1);
                l->places->n_renumbered++;
        }
        u->scheduling.place = 0;
}

static uint32_t number_of(const Leader *l, const char *name) {
        const Unit *u = unit_find(l, name);

        return u ? number_of_unit(l, u) : number_of_provisional(l, name);
}

void scheduler_on_exclusion(Leader *l, const Unit *u, uint32_t node, bool excluded) {
        const Node *n = node ? node_find(l, node) : NULL;
        uint32_t unit = l->places ? number_of_unit(l, u) : PLACEMENT_NONE;

        if (unit == PLACEMENT_NONE || (node && (!n || !n->scheduling.place)))
                return;
        if (excluded)
                placement_unit_exclude(l->places->placement, unit, n->scheduling.place - 1);
        else
                placement_unit_readmit(l->places->placement, unit,
                                       n ? n->scheduling.place - 1 : PLACEMENT_NONE);
}

static size_t sync_refusals_of(Leader *l, Unit *u) {
        const UnitEntry *e = cluster_state_find_unit(l->state, u->name);
        size_t cost;

        list_unlink(&unit_work(l, u)->refusals_due);
        l->n_refusals_reported++;
        keep_with_data(l, u->name, e && failing_options_of(e)->has_data);
        cost = scheduler_set_refusals(l, u);
        if (l->data_bindings.count > 0 && u->node && scheduler_must_go(l, u))
                unit_event(l, u, LIFE_RECONSIDER); // what it activates is kept on another node
        return cost;
}

void scheduler_sync_refusals(Leader *l) {
        data_nodes_reconsider(l);
        while (!list_is_empty(&l->refusals_due))
                (void) sync_refusals_of(l, CONTAINER_OF(l->refusals_due.next, UnitWork, refusals_due)->unit);
}

bool scheduler_sync_refusals_step(Leader *l) {
        LeaderWalk *walk = &l->walks.of[WALK_REFUSALS];

        data_nodes_reconsider(l);
        for (size_t n = 0; n < walk_slice(walk, REFUSALS) && !list_is_empty(&l->refusals_due);)
                n += sync_refusals_of(l, CONTAINER_OF(l->refusals_due.next, UnitWork, refusals_due)->unit);
        if (list_is_empty(&l->refusals_due))
                return true;
        walk_sliced(l, walk, 0);
        leader_mark(l);
        return false;
}

bool scheduler_may_conflict(const Leader *l, const Unit *u) {
        return l->places && u->scheduling.place &&
               placement_may_conflict(l->places->placement, u->scheduling.place - 1);
}

bool scheduler_conflict_on(const Leader *l, const Unit *u, const Node *n) {
        return scheduler_may_conflict(l, u) && n->scheduling.place &&
               placement_conflict_on(l->places->placement, u->scheduling.place - 1, n->scheduling.place - 1);
}

bool scheduler_conflict_between(const Leader *l, const Unit *a, const Unit *b) {
        return a->scheduling.place && b->scheduling.place &&
               placement_conflict_between(l->places->placement, a->scheduling.place - 1,
                                          b->scheduling.place - 1);
}

const char *scheduler_find_other(const Leader *l, const char *name,
                                 bool (*counts)(const char *name, void *userdata), void *userdata,
                                 const char **ret_claim) {
        const Placement *p = l->places->placement;
        uint32_t unit = number_of(l, name), other = PLACEMENT_NONE;
        const char *first = NULL, *claim;

        while (unit != PLACEMENT_NONE &&
               (other = placement_next_other(p, unit, other, &claim)) != PLACEMENT_NONE) {
                const char *found = placement_unit_name(p, other);

                if ((!first || strcmp(found, first) < 0) && counts(found, userdata)) {
                        first = found;
                        *ret_claim = claim;
                }
        }
        return first;
}

bool scheduler_must_go(const Leader *l, const Unit *u) {
        const Placement *p = l->places->placement;

        return u->scheduling.place && placement_unit_must_go(p, u->scheduling.place - 1) &&
               !placement_unit_only_mismatches(p, u->scheduling.place - 1);
}

void scheduler_follow_labels(Leader *l, const Host *h) {
        if (l->places && (host_has_mark(h, HOST_LABELS) || leader_is_due(l, DUE_LABELS)))
                scheduler_sync_nodes(l, 0);
}

bool scheduler_mismatches(Leader *l, const UnitOnNode *s) {
        if (!l->places || s->unit->node != s->node || s->unit->scheduling.place == 0)
                return false;
        scheduler_follow_labels(l, s->node->host);
        return placement_unit_mismatches(l->places->placement, s->unit->scheduling.place - 1);
}

char *scheduler_mismatch_text(Leader *l, const UnitOnNode *s) {
        return scheduler_mismatches(l, s) ? oom_checked(placement_mismatch_text(
                                                    l->places->placement, s->unit->scheduling.place - 1))
                                          : NULL;
}

bool scheduler_node_admits(const Leader *l, const Node *n, const char *name) {
        uint32_t unit = number_of(l, name);

        return unit == PLACEMENT_NONE || !n->scheduling.place ||
               placement_node_admits(l->places->placement, n->scheduling.place - 1, unit);
}

bool scheduler_node_has_room(const Leader *l, const Node *n, const char *name) {
        uint32_t unit = number_of(l, name);

        return unit == PLACEMENT_NONE || !n->scheduling.place ||
               placement_node_has_room(l->places->placement, n->scheduling.place - 1, unit);
}

bool scheduler_data_why(const Leader *l, const Unit *u, char *ret, size_t size) {
        const char *activated;
        const Node *n = node_of_data(l, u, &activated);

        if (n && activated)
                str_fit(ret, size, "the data of %s, which it activates, is on %s", activated, n->name);
        else if (n)
                str_fit(ret, size, "its data is on %s", n->name);
        return n;
}

bool scheduler_is_replaced(const Leader *l, const char *name) {
        uint32_t unit = number_of(l, name);

        return unit != PLACEMENT_NONE && placement_unit_replaced(l->places->placement, unit);
}

bool scheduler_replaces(const Leader *l, const char *name) {
        uint32_t unit = number_of(l, name);

        return unit != PLACEMENT_NONE && placement_unit_replaces(l->places->placement, unit);
}

bool scheduler_replaces_unit(const Leader *l, const char *name, const char *other) {
        uint32_t a = number_of(l, name), b = number_of(l, other);

        return a != PLACEMENT_NONE && b != PLACEMENT_NONE &&
               placement_unit_replaces_unit(l->places->placement, a, b);
}

static void drive_out(Leader *l, Unit *u) {
        if (u->scheduling.place && placement_unit_replaced(l->places->placement, u->scheduling.place - 1))
                unit_event(l, u, LIFE_RECONSIDER);
}

void scheduler_drive_out(Leader *l, Unit *u, const UnitEntry *e) {
        const UnitFile *file;

        if (!u->node)
                return;
        drive_out(l, u);
        if (spec_entry_file(e->spec, &file) < 0 || !file->replaces)
                return;
        list_foreach (i, &u->node->placed)
                drive_out(l, CONTAINER_OF(i, Unit, placed));
}

static size_t colocated_names(const Leader *l, uint32_t number, const char *ret[PLACEMENT_FOLLOWS_MAX]) {
        size_t n = 0;
        uint32_t unit;

        while (number != PLACEMENT_NONE && n < PLACEMENT_FOLLOWS_MAX &&
               placement_unit_colocated(l->places->placement, number, (uint32_t) n, &unit))
                ret[n++] = placement_unit_name(l->places->placement, unit);
        return n;
}

size_t scheduler_colocated_names(const Leader *l, const char *name, const char *ret[PLACEMENT_FOLLOWS_MAX]) {
        return colocated_names(l, number_of(l, name), ret);
}

// As far as they are in the tables.
static size_t colocated_units(const Leader *l, uint32_t number, Unit *ret[PLACEMENT_FOLLOWS_MAX]) {
        const char *names[PLACEMENT_FOLLOWS_MAX];
        size_t n_names = colocated_names(l, number, names), n = 0;

        for (size_t i = 0; i < n_names; i++) {
                ret[n] = unit_find(l, names[i]);
                n += ret[n] != NULL;
        }
        return n;
}

static void reconsider_apart(Leader *l, Unit *u) {
        if (u->node && u->scheduling.place &&
            placement_unit_is_apart(l->places->placement, u->scheduling.place - 1))
                unit_event(l, u, LIFE_RECONSIDER);
}

void scheduler_reconsider_colocated(Leader *l, Unit *u) {
        Unit *colocated[PLACEMENT_FOLLOWS_MAX];
        size_t n = u->followed ? colocated_units(l, number_of_unit(l, u), colocated) : 0;

        reconsider_apart(l, u);
        for (size_t i = 0; i < n; i++)
                reconsider_apart(l, colocated[i]);
}

void scheduler_refresh_colocated(Leader *l, uint32_t unit) {
        Unit *colocated[PLACEMENT_FOLLOWS_MAX];
        size_t n = colocated_units(l, unit, colocated);

        for (size_t i = 0; i < n; i++) {
                Unit *u = colocated[i];

                if (unit_life_is_queued(u->life))
                        leader_set_due(l, DUE_PLACEMENT);
                else
                        unit_event(l, u, LIFE_RECONSIDER);
        }
}
