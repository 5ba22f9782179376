// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Happy path: somebody is about to take a unit down (a drain, a rollout, a rebalance). The units that its
// stop reaches on its node are walked, over any number of links, and those of them that run are counted for
// their budgets.
//
// A unit that is down already passes nothing on: systemd drops its stop, and what hangs on it with it. What
// stands alone has no budget, and passes the stop on all the same.
//
// Failures: none but memory; then the process ends (oom.h).

#include "budget-dependents.h"

#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "disruption-budget.h"
#include "oom.h"
#include "quadlet.h"
#include "registry.h"
#include "unit-file.h"
#include "unit-name.h"
#include "unit-on-node.h"
#include "unit-state.h"

static int set(Leader *l, const char *name, const UnitFile *file) {
        _cleanup_free_ char *bound_to =
                file && file->bound_to ? unit_file_fill_in(file->bound_to, name) : NULL;
        _cleanup_free_ char *stops = file && file->stops ? unit_file_fill_in(file->stops, name) : NULL;

        if (file && ((file->bound_to && !bound_to) || (file->stops && !stops)))
                return -ENOMEM;
        return stop_dependents_set(&l->stop_dependents, name, bound_to, stops);
}

int budget_dependents_on_unit(Leader *l, const UnitEntry *e) {
        const char *name = e->record->name;
        const UnitFile *file = NULL;
        int r;

        r = e->removed ? 0 : spec_entry_file(e->spec, &file);
        if (r != -ENOMEM)
                r = stop_dependents_set(&l->network_users, name, file ? file->networks : NULL, NULL);
        if (r == -ENOMEM)
                return r;
        if (file && (file->bound_to || file->stops) && unit_name_kind(name, NULL) == UNIT_NAME_TEMPLATE)
                return 0;
        return set(l, name, file);
}

void budget_dependents_walk_network(Leader *l, StopWalk *w, const char *network) {
        stop_walk_begin(w, &l->network_users, network);
}

typedef struct Walk {
        const Leader *l;
        const Node *node; // on which all of them run; NULL: wherever they are
        Unit **units;     // the first is the one at which it begins
        size_t n, allocated;
        Map seen;
} Walk;

static bool runs_on(const Unit *u, const Node *n) {
        const UnitOnNode *s = unit_on_node_find(u, n);

        return s && unit_on_node_is_reported(s) && active_state_is_up(s->active);
}

static void add(Walk *w, Unit *u) {
        if ((w->node && !runs_on(u, w->node)) || map_find_str(&w->seen, u->name))
                return;
        (void) oom_check(map_add_str(&w->seen, u->name, u));
        (void) oom_check(ARRAY_GROW(w->units, w->allocated, w->n + 1));
        w->units[w->n++] = u;
}

static void on_linked(const char *name, void *userdata) {
        Walk *w = userdata;
        Unit *u = unit_find(w->l, name);

        if (u)
                add(w, u);
}

// Those that are stopped with one of that name: of thousands in the cluster only those on the node.
static void add_dependents(Walk *w, const char *name) {
        const StopDependents *m = &w->l->stop_dependents;

        if (!w->node || stop_dependents_count(m, name) <= w->node->n_units_on_node) {
                stop_dependents_each(m, name, on_linked, w);
                return;
        }
        list_foreach (i, &w->node->units_on_node) {
                Unit *u = CONTAINER_OF(i, UnitOnNode, by_node)->unit;

                if (stop_dependents_links(m, name, u->name))
                        add(w, u);
        }
}

static void follow(Walk *w) {
        for (size_t i = 0; i < w->n; i++)
                add_dependents(w, w->units[i]->name);
}

static void follow_origins(Walk *w) {
        for (size_t i = 0; i < w->n; i++)
                stop_dependents_each_origin(&w->l->stop_dependents, w->units[i]->name, on_linked, w);
}

// Those that have one of the networks go with it, too.
static void add_sharers(Walk *w, const char *networks) {
        const char *file;
        size_t len;

        while (quadlet_beside_names_next(&networks, &file, &len)) {
                _cleanup_free_ char *unit = quadlet_beside_unit(file, len);

                if (unit)
                        add_dependents(w, unit);
        }
}

static void walk(Walk *w, const Leader *l, const Unit *u, const Node *n, void (*each)(Walk *w)) {
        *w = (Walk){.l = l, .node = n};
        add(w, (Unit *) u);
        each(w);
}

static void walk_done(Walk *w) {
        map_done(&w->seen);
        free(w->units);
}

// It takes room in its budget when it goes down there.
static bool counts(const Unit *u, const Node *n) {
        return u->budget && u->counted && !u->down && u->node == n;
}

static int compare(const void *a, const void *b) {
        const Unit *x = *(Unit *const *) a, *y = *(Unit *const *) b;

        return x->budget == y->budget ? 0 : (uintptr_t) x->budget < (uintptr_t) y->budget ? -1 : 1;
}

static bool has_room(const Leader *l, const Unit *u, size_t n) {
        const UnitEntry *e = cluster_state_find_unit(l->state, u->name);
        size_t max = e ? disruption_budget_max(l, u->budget, e) : SIZE_MAX;

        return max == SIZE_MAX || disruption_budget_room(l, u->budget, e) >= MIN_OF(n, max);
}

// A budget without room for those that the walk has found, but for `own`, which is asked for elsewhere.
static DisruptionBudget *without_room(const Leader *l, Walk *w, const Unit *own, const Node *n) {
        DisruptionBudget *found = NULL;

        if (w->n > 1)
                qsort(w->units, w->n, sizeof(*w->units), compare);
        for (size_t i = 0, k; !found && i < w->n; i = k) {
                size_t of_budget = 0;

                for (k = i; k < w->n && w->units[k]->budget == w->units[i]->budget; k++)
                        of_budget += counts(w->units[k], n);
                if (own && w->units[i]->budget == own->budget && of_budget == counts(own, n)) // it alone
                        continue;
                if (of_budget > 0 && !has_room(l, w->units[i], of_budget))
                        found = w->units[i]->budget;
        }
        return found;
}

DisruptionBudget *budget_dependents_in_the_way(const Leader *l, const Unit *u, const Node *n) {
        return budget_dependents_with_networks_in_the_way(l, u, n, NULL);
}

DisruptionBudget *budget_dependents_with_networks_in_the_way(const Leader *l, const Unit *u, const Node *n,
                                                             const char *networks) {
        DisruptionBudget *found;
        Walk w;

        if (!n || (!networks && !stop_dependents_has(&l->stop_dependents, u->name)))
                return NULL;
        w = (Walk){.l = l, .node = n};
        add(&w, (Unit *) u);
        add_sharers(&w, networks);
        follow(&w);
        found = w.n > 1 ? without_room(l, &w, u, n) : NULL;
        walk_done(&w);
        return found;
}

bool budget_dependents_goes_down(const Leader *l, const Unit *u) {
        bool goes = false;
        Walk w;

        if (!u->node || !stop_dependents_has_origin(&l->stop_dependents, u->name))
                return false;
        walk(&w, l, u, u->node, follow_origins);
        for (size_t i = 1; !goes && i < w.n; i++)
                goes = !disruption_budget_is_settled(l, w.units[i], u->node);
        walk_done(&w);
        return goes;
}

void budget_dependents_refresh(Leader *l, const Unit *u) {
        Walk w;

        if (!stop_dependents_has(&l->stop_dependents, u->name))
                return;
        walk(&w, l, u, NULL, follow); // it may have gone from there
        for (size_t k = 1; k < w.n; k++)
                disruption_budget_refresh(l, w.units[k]);
        walk_done(&w);
}

void budget_dependents_take(Leader *l, const Unit *u, const Node *n) {
        Walk w;

        if (!n || !stop_dependents_has(&l->stop_dependents, u->name))
                return;
        walk(&w, l, u, n, follow);
        for (size_t i = 1; i < w.n; i++)
                if (counts(w.units[i], n))
                        disruption_budget_take_one(l, w.units[i]);
        walk_done(&w);
}
