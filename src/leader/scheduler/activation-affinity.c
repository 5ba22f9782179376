// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Units that need each other on one node: a timer, socket, path or automount and what it activates
// (activators.h).
//
//   - who of them is placed first chooses the node, the other one goes there if its own options admit that,
//     if the node takes units and has room for it, and if it would not have to leave it at once for somebody
//     who is there, or to be with another one (SameNodeAs=); nor does it go to one that it replaces
//     (Replaces=): that one would leave, and it would go after it without end
//   - what is placed before its activator, as most are, gets a node that admits both, if there is one
//     (scheduler_place_for_both())
//   - what is only loaded, or done, follows its activator when that is launched somewhere else; what was
//   started by an
//     order of its own is not stopped for it. So two units never follow each other in a cycle: the one that
//     is followed
//     is launched and the one that follows is not
//   - and it leaves a lost node no sooner than its activator, which would find no file there when it is back
//
// "Now" means: as this batch has it so far, else as the log has it.
#include <errno.h>

#include "activation-affinity.h"
#include "activators.h"
#include "batch-builder.h"
#include "host-marks.h"
#include "nodes.h"
#include "registry.h"
#include "scheduler.h"
#include "tables.h"
#include "unit-event.h"
#include "unit-file.h"
#include "unit-marks.h"
#include "unit-record.h"

typedef struct Search {
        Leader *leader;
        const BatchBuilder *batch;
        const char *name;
        const Unit *unit; // NULL: nothing is known of it yet
        const UnitOptions *options;
        bool launched; // only activators that are
        uint32_t found;
} Search;

static void look_up(const Search *s, const char *name, Argosy__Target *ret_target, uint32_t *ret_node) {
        const UnitEntry *e;

        if (batch_builder_find_unit(s->batch, name, ret_target, ret_node))
                return;
        e = cluster_state_find_unit(s->leader->state, name);
        *ret_target = e ? e->record->target : ARGOSY__TARGET__TARGET_INACTIVE;
        *ret_node = e ? e->record->node : 0;
}

// Those that it is to be with by its own options (SameNodeAs=).
static bool is_with_its_mates(const Search *s, uint32_t node) {
        for (char **m = s->options->same_node; m && *m; m++) {
                Argosy__Target target;
                uint32_t there;

                look_up(s, *m, &target, &there);
                if (target == ARGOSY__TARGET__TARGET_INACTIVE || there != node)
                        return false;
        }
        return true;
}

// It is there, or may come there: the node takes units, and what it reserves is left.
static bool may_come(const Search *s, const Node *n) {
        return (s->unit && s->unit->node == n) ||
               (!n->closed && scheduler_node_has_room(s->leader, n, s->name));
}

// Where the partner is, if this unit may be there too; 0: no such place.
static uint32_t node_of_partner(const Search *s, const char *partner) {
        const Leader *l = s->leader;
        Argosy__Target target;
        uint32_t number;
        const Node *n;

        look_up(s, partner, &target, &number);
        if (target == ARGOSY__TARGET__TARGET_INACTIVE ||
            (s->launched && target != ARGOSY__TARGET__TARGET_LAUNCHED))
                return 0;
        n = number ? node_find(l, number) : NULL;
        if (!n || !is_with_its_mates(s, number))
                return 0;
        if (host_is_lost(n->host) || node_is_emptying(n) || !node_admits(l, n, s->options) ||
            !scheduler_node_admits(l, n, s->name))
                return 0;
        if (!may_come(s, n))
                return 0;
        if (scheduler_replaces_unit(l, s->name, partner))
                return 0;
        return s->unit && unit_exclusion(s->unit, number) ? 0 : number;
}

static bool is_activator_somewhere(const char *name, void *userdata) {
        Search *s = userdata;

        s->found = node_of_partner(s, name);
        return s->found;
}

uint32_t activation_affinity_node(Leader *l, const BatchBuilder *b, const char *name, const char *activates,
                                  const UnitOptions *options) {
        Search s = {.leader = l,
                    .batch = b,
                    .name = name,
                    .unit = unit_find(l, name),
                    .options = options,
                    .launched = true};

        if (activators_find(&l->activators, name, is_activator_somewhere, &s))
                return s.found;
        s.launched = false;
        if (activators_find(&l->activators, name, is_activator_somewhere, &s))
                return s.found;
        return activates ? node_of_partner(&s, activates) : 0;
}

// What runs by an order of its own is not stopped for its activator.
static bool may_have_affinity(const UnitEntry *e) {
        const Argosy__UnitRecord *r = e->record;

        return !r->global &&
               (r->target == ARGOSY__TARGET__TARGET_LOADED ||
                (r->target == ARGOSY__TARGET__TARGET_LAUNCHED && record_final_outcome(r, r->node)));
}

static bool is_activator_here(const char *name, void *userdata) {
        const Search *s = userdata;

        return node_of_partner(s, name) == s->found;
}

bool activation_affinity_is_elsewhere(Leader *l, const BatchBuilder *b, const Unit *u, const UnitEntry *e) {
        Search s = {.leader = l,
                    .batch = b,
                    .name = u->name,
                    .unit = u,
                    .launched = true,
                    .found = e->record->node};
        UnitOptions *options;
        bool elsewhere;

        if (!may_have_affinity(e) || unit_options_of(e, &options) < 0)
                return false;
        s.options = options;
        elsewhere = !(s.found && activators_find(&l->activators, u->name, is_activator_here, &s)) &&
                    activators_find(&l->activators, u->name, is_activator_somewhere, &s);
        unit_options_unref(options);
        return elsewhere;
}

typedef struct ActivatorHere {
        const Leader *leader;
        uint32_t node;
        const UnitEntry *found;
} ActivatorHere;

static bool is_launched_here(const char *name, void *userdata) {
        ActivatorHere *s = userdata;
        const UnitEntry *e = cluster_state_find_unit(s->leader->state, name);

        if (!e || e->record->target != ARGOSY__TARGET__TARGET_LAUNCHED || e->record->node != s->node)
                return false;
        s->found = e;
        return true;
}

const UnitEntry *activation_affinity_activator_here(const Leader *l, const UnitEntry *e) {
        ActivatorHere s = {.leader = l, .node = e->record->node};

        if (s.node && may_have_affinity(e))
                (void) activators_find(&l->activators, e->record->name, is_launched_here, &s);
        return s.found;
}

static void refresh(Leader *l, const char *name) {
        Unit *u = unit_find(l, name);

        if (u)
                unit_event(l, u, LIFE_RECONSIDER);
}

void activation_affinity_refresh(Leader *l, const char *activator) {
        const char *activated = activators_activated(&l->activators, activator);

        if (activated)
                refresh(l, activated);
}

// Which unit this one activates, by its record; only few types are looked at.
static int note_activated(Leader *l, const UnitEntry *e) {
        const char *name = e->record->name;
        _cleanup_free_ char *activated = NULL;
        const UnitFile *file;
        int r = 0;

        if (!unit_name_activated_type(name) || unit_name_kind(name, NULL) == UNIT_NAME_TEMPLATE)
                return 0;
        if (!e->removed) {
                r = spec_entry_file(e->spec, &file);
                if (r == 0)
                        r = unit_file_activates(file, name, &activated);
        }
        if (r == -ENOMEM)
                return r;
        return activators_set(&l->activators, name, activated);
}

// It is kept where the data of what it activates is (data-nodes.h).
static void confine_with_activated(Leader *l, const char *activator) {
        Unit *u = unit_find(l, activator);

        if (u)
                unit_mark_refusals(l, u);
}

int activation_affinity_on_unit(Leader *l, const UnitEntry *e) {
        int r = note_activated(l, e);

        if (r < 0)
                return r;
        activation_affinity_refresh(l, e->record->name);
        if (l->data_bindings.count > 0 && activators_activated(&l->activators, e->record->name))
                confine_with_activated(l, e->record->name);
        if (!e->removed && activators_has_any(&l->activators, e->record->name))
                refresh(l, e->record->name);
        return 0;
}
