// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Where the data of a container is. On another node the container would start empty, so the scheduler
// confines it (scheduler-units.c) until its file says VolumeLoss=accept, or has no data any more.
//
//      it has a node               its data is there
//      it loses the node: another  the record names the node (UnitExtra.data_node), and the unit is PENDING
//      unit replaces it, say       until that node takes it again
//      it is destroyed             nobody remembers where its data was
//
// A timer, socket or path of such a unit is confined to that node, too, unless its own file or the node says
// otherwise: elsewhere it would find nothing to activate, and the unit could not follow.
//
// The unit is free when the node is none any more, refuses the unit, or is to be empty and does not wait for
// it any longer (a drain's deadline). Who is bound stands in a table of its own, so that units without data
// have no field for it. Nothing fails.

#include "data-nodes.h"

#include <stdlib.h>

#include "activators.h"
#include "due.h"
#include "nodes.h"
#include "oom.h"
#include "registry.h"
#include "unit-marks.h"
#include "unit-record.h"
#include "unit-work.h"

const Node *data_node_of(const Leader *l, const Unit *u, const UnitEntry *e) {
        uint32_t number = e->record->global ? 0 : unit_record_data_node(e->record);
        const Node *n = number && failing_options_of(e)->has_data ? node_find(l, number) : NULL;

        if (!n || unit_exclusion(u, number) || (node_is_emptying(n) && node_deadline_is_over(l, n)))
                return NULL;
        return n;
}

uint32_t data_node_of_record(const Argosy__UnitRecord *next, void *userdata) {
        const Leader *l = userdata;
        bool away = !next->node && !next->global;
        const UnitEntry *e = away ? cluster_state_find_unit(l->state, next->name) : NULL;

        return e && failing_options_of(e)->has_data ? unit_record_data_node(e->record) : 0;
}

// ------------------------------------------------------------------------------------- who is kept for one

typedef struct DataBinding {
        Unit *unit;
        uint32_t node;
        ListNode away; // in Leader.away_from_data: the unit is without a node
} DataBinding;

bool data_nodes_binds(const Leader *l, const char *name) {
        return map_find_str(&l->data_bindings, name);
}

const Node *data_node_bound(const Leader *l, const char *name) {
        const DataBinding *b = map_find_str(&l->data_bindings, name);

        return b ? node_find(l, b->node) : NULL;
}

static bool mark_activator(const char *name, void *userdata) {
        Unit *u = unit_find(userdata, name);

        if (u)
                unit_mark_refusals(userdata, u);
        return false;
}

// They are kept where it is.
static void mark_activators(Leader *l, const Unit *u) {
        (void) activators_find(&l->activators, u->name, mark_activator, l);
}

static DataBinding *add_binding(Leader *l, Unit *u) {
        DataBinding *b = oom_checked(calloc(1, sizeof(*b)));

        b->unit = u;
        list_init(&b->away);
        oom_check(map_add_str(&l->data_bindings, u->name, b));
        return b;
}

void data_nodes_unbind(Leader *l, const Unit *u) {
        DataBinding *b = map_take_str(&l->data_bindings, u->name);

        if (!b)
                return;
        list_unlink(&b->away);
        free(b);
        mark_activators(l, u);
}

bool data_nodes_bind(Leader *l, Unit *u, const Node *n, bool away) {
        DataBinding *b = map_find_str(&l->data_bindings, u->name) ?: add_binding(l, u);
        bool changes = b->node != n->number;

        b->node = n->number;
        if (changes)
                mark_activators(l, u);
        if (away && !list_is_linked(&b->away))
                list_append(&l->away_from_data, &b->away);
        else if (!away)
                list_unlink(&b->away);
        return changes;
}

void data_nodes_reconsider(Leader *l) {
        if (!leader_take_due(l, DUE_DATA) || list_is_empty(&l->away_from_data))
                return;
        list_foreach (i, &l->away_from_data)
                unit_mark_refusals(l, CONTAINER_OF(i, DataBinding, away)->unit);
        leader_set_due(l, DUE_PLACEMENT);
}
