// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Whether the log wants a unit on a node. A placed unit is wanted where its record says; a global one
// wherever its options admit the node and nothing speaks against it: maintenance, a refusal of the name, or
// a unit that it conflicts with.
//
// Nothing is kept: it follows from the records, the tables and what the Placement knows of conflicts.
// Options that cannot be had admit no node.
#include "unit-wanted.h"

#include "registry.h"
#include "scheduler.h"
#include "str.h"
#include "tables.h"
#include "unit-file.h"
#include "unit-record.h"
#include "unit-work.h"

// A global unit gives way to units that are placed, and of two global ones that conflict the one whose name
// sorts first has the node.
static bool gives_way(const Leader *l, const Unit *u, const Node *n) {
        if (!scheduler_may_conflict(l, u))
                return false;
        if (scheduler_conflict_on(l, u, n))
                return true;
        list_foreach (i, &l->globals) {
                const Unit *o = CONTAINER_OF(i, UnitWork, queue)->unit;

                if (o != u && strcmp(o->name, u->name) < 0 && scheduler_conflict_between(l, u, o) &&
                    unit_wanted_on(l, o, cluster_state_find_unit(l->state, o->name), n))
                        return true;
        }
        return false;
}

// Only a global unit is kept off a node that has refused it; another one is given another node.
static bool is_wanted(const Leader *l, const Unit *u, const UnitEntry *e, const Node *n, bool if_taken) {
        UnitOptions *options;
        bool admits;

        if (!e || e->record->target == ARGOSY__TARGET__TARGET_INACTIVE)
                return false;
        if (!e->record->global)
                return e->record->node == n->number;
        if (n->mode == ARGOSY__NODE_MODE__MODE_MAINTENANCE)
                return false;
        if (!if_taken && u && unit_exclusion(u, n->number))
                return false;
        if (u && gives_way(l, u, n))
                return false;
        if (unit_options_of(e, &options) < 0)
                return false;
        admits = node_admits(l, n, options);
        unit_options_unref(options);
        return admits;
}

bool unit_wanted_on(const Leader *l, const Unit *u, const UnitEntry *e, const Node *n) {
        return is_wanted(l, u, e, n, false);
}

bool unit_may_be_wanted_on(const Leader *l, const Unit *u, const UnitEntry *e, const Node *n) {
        return is_wanted(l, NULL, e, n, u && unit_exclusion(u, n->number));
}

bool unit_wanted_if_taken(const Leader *l, const Unit *u, const UnitEntry *e, const Node *n) {
        return is_wanted(l, u, e, n, true);
}

static bool is_before(const Unit *u, const char *name) {
        return !name || strcmp(u->name, name) < 0;
}

// One that is placed there, or a global one whose name sorts first. Of several the first by name, so that
// each leader says the same.
static const char *who_has_the_node(const Leader *l, const Unit *u, const Node *n) {
        const char *first = NULL;

        list_foreach (i, &n->placed) {
                const Unit *o = CONTAINER_OF(i, Unit, placed);

                if (is_before(o, first) && scheduler_conflict_between(l, u, o))
                        first = o->name;
        }
        if (first)
                return first;
        list_foreach (i, &l->globals) {
                const Unit *o = CONTAINER_OF(i, UnitWork, queue)->unit;

                if (o != u && is_before(o, first) && is_before(o, u->name) &&
                    scheduler_conflict_between(l, u, o) &&
                    unit_wanted_on(l, o, cluster_state_find_unit(l->state, o->name), n))
                        first = o->name;
        }
        return first;
}

LeftOut unit_left_out(const Leader *l, const Unit *u, const UnitEntry *e, const Node *n, char *ret_why,
                      size_t size) {
        const char *refusal = u ? unit_exclusion(u, n->number) : NULL, *other = NULL;
        UnitOptions *options;
        bool admits;

        if (!u || !e || !e->record->global || e->record->target == ARGOSY__TARGET__TARGET_INACTIVE ||
            n->mode == ARGOSY__NODE_MODE__MODE_MAINTENANCE || (!refusal && !scheduler_may_conflict(l, u)))
                return LEFT_OUT_NOT;
        if (unit_options_of(e, &options) < 0)
                return LEFT_OUT_NOT;
        admits = node_admits(l, n, options);
        unit_options_unref(options);
        if (!admits || (!refusal && !(other = who_has_the_node(l, u, n))))
                return LEFT_OUT_NOT;
        if (refusal)
                str_fit(ret_why, size, "%s", refusal);
        else
                str_fit(ret_why, size, "it gives way to %s, with which it conflicts", other);
        return refusal ? LEFT_OUT_REFUSED : LEFT_OUT_GAVE_WAY;
}
