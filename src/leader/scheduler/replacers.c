// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Replaces= within the disruption budget. A replaced unit leaves its node, and of instances with
// MaxUnavailable= no more at a time than that allows (decide-moves.c); as long as some of them are there,
// the replacing unit is placed, and is not started (ordering.c). So nothing of this is in the log: a new
// leader finds the same by the records, and no unit leaves before it has heard which of the group are up.
//
//      it is given the node        those whom it replaces there are looked at: they leave, or their group
//                                  holds them
//      one of them has left        units that wait for it are looked at (Leader.replacing_due)
//      it is given another node,   those who were held for its sake are looked at, and stay
//      or does not replace them
//      any more
//
// What waits stands in Leader.replacing, and goes to .replacing_due when something of such a group was seen
// or changed: ordering.c looks at some of these in each turn. Cost: those who wait, and for each the units
// of its node.
//
// A unit that runs when it begins to replace others goes on running beside them, and an instance is started
// beside others of its own group: as long as it is down it takes up what they would need to leave.
#include "replacers.h"

#include <string.h>

#include "disruption-budget.h"
#include "registry.h"
#include "scheduler-tables.h"
#include "scheduler.h"
#include "turn.h"
#include "unit-event.h"
#include "unit-on-node-work.h"
#include "unit-on-node.h"

bool replacer_is(const Leader *l, const Unit *u) {
        return u->scheduling.place &&
               placement_unit_replaces(l->places->placement, u->scheduling.place - 1);
}

static bool replaces(const Leader *l, const Unit *u, const Unit *other) {
        return u->scheduling.place && other->scheduling.place &&
               placement_unit_replaces_unit(l->places->placement, u->scheduling.place - 1,
                                            other->scheduling.place - 1);
}

// Whether it is about to leave, and its group decides when.
static bool leaves_by_budget(const Leader *l, const Unit *u) {
        const UnitEntry *e = u->budget && u->counted && unit_life_is_moving(u->life)
                                     ? cluster_state_find_unit(l->state, u->name)
                                     : NULL;

        return e && disruption_budget_max(l, u->budget, e) != SIZE_MAX;
}

// Of several the first by name: in which order they came to the node no other leader knows.
static void take_first(const Unit **first, const Unit *u) {
        if (!*first || strcmp(u->name, (*first)->name) < 0)
                *first = u;
}

const Unit *replacer_waits_for(const Leader *l, const Unit *u) {
        const Unit *leaves = NULL, *held = NULL;

        if (!u->node || !replacer_is(l, u))
                return NULL;
        list_foreach (i, &u->node->placed) {
                const Unit *other = CONTAINER_OF(i, Unit, placed);

                if (!leaves_by_budget(l, other) || other->budget == u->budget ||
                    !replaces(l, u, other))
                        continue;
                take_first(other->life == LIFE_HELD ? &held : &leaves, other);
        }
        return held ?: leaves;
}

const Unit *replacer_on(const Leader *l, const Unit *u, const Node *n) {
        const Unit *first = NULL;

        list_foreach (i, &n->placed) {
                const Unit *other = CONTAINER_OF(i, Unit, placed);

                if (replaces(l, other, u))
                        take_first(&first, other);
        }
        return first;
}

const Unit *replacer_of(const Leader *l, const Unit *u) {
        return u->node && scheduler_is_replaced(l, u->name) ? replacer_on(l, u, u->node) : NULL;
}

void replacers_await(Leader *l, UnitOnNode *s) {
        list_append(&l->replacing, &unit_on_node_work(s)->awaiting);
}

void replacers_reconsider(Leader *l) {
        list_splice(&l->replacing_due, &l->replacing);
}

UnitOnNode *replacers_next(Leader *l) {
        UnitOnNode *s;

        if (list_is_empty(&l->replacing_due))
                return NULL;
        s = CONTAINER_OF(l->replacing_due.next, UnitOnNodeWork, awaiting)->on_node;
        list_unlink(l->replacing_due.next);
        replacers_await(l, s);
        return s;
}

void replacers_on_unit(Leader *l, const Node *before, bool replaced) {
        if (!before)
                return;
        replacers_reconsider(l); // those on that node
        if (!replaced)
                return;
        list_foreach (i, &before->placed) {
                Unit *u = CONTAINER_OF(i, Unit, placed);

                if (u->life == LIFE_HELD)
                        unit_event(l, u, LIFE_RECONSIDER_ANYWAY);
        }
}

// What is said of those who wait in Leader.replacing would go round in a cycle: they are touched when they
// wait for something else.
static bool waits(const Unit *u) {
        const UnitOnNode *s = u->node ? unit_on_node_find(u, u->node) : NULL;

        return s && list_is_linked(&unit_on_node_work_seen(s)->awaiting) && s->hold != HOLD_NOT;
}

void replacers_on_touched(Leader *l, const Unit *u) {
        if (list_is_empty(&l->replacing) || !u->budget || list_is_empty(&u->budget->waiting) || waits(u))
                return;
        replacers_reconsider(l);
        leader_mark(l);
}

void replacers_retire(Leader *l) {
        list_init(&l->replacing);
        list_init(&l->replacing_due);
}
