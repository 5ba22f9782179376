// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The items of a rollout of a unit that runs on all nodes, kept from turn to turn (rollout-nodes.h).
//
//      rollout_nodes_look(): walk over all hosts, at most LOOKS nodes a turn
//          -> then only nodes that were touched since
//
// False: the walk is not at its end, so nothing may be decided yet. Items are as true as the marks: a
// decision needs that all nodes touched in this turn were looked at. Without memory the process ends
// (oom.h).

#include "rollout-nodes.h"

#include <stdlib.h>

#include "array.h"
#include "oom.h"
#include "registry.h"
#include "rollout-private.h"
#include "unit-wanted.h"
#include "walks.h"

enum { LOOKS = 2048 }; // nodes that one turn looks at, at about 1 us each

void rollout_nodes_free(Rollout *o) {
        RolloutNodes *v = TAKE_PTR(o->nodes);

        if (!v)
                return;
        free(v->items);
        free(v->nodes);
        free(v->index);
        free(v);
}

static uint32_t *index_of(RolloutNodes *v, uint32_t node) {
        size_t before = v->n_index;

        (void) oom_check(ARRAY_GROW(v->index, v->n_index, (size_t) node + 1));
        if (v->n_index > before)
                memset(v->index + before, 0, (v->n_index - before) * sizeof(*v->index));
        return &v->index[node];
}

static size_t add(RolloutNodes *v, uint32_t node) {
        (void) oom_check(ARRAY_GROW(v->items, v->allocated, v->n + 1));
        (void) oom_check(ARRAY_GROW(v->nodes, v->nodes_allocated, v->n + 1));
        v->nodes[v->n] = node;
        *index_of(v, node) = (uint32_t) v->n + 1;
        return v->n++;
}

static void take_out(RolloutNodes *v, uint32_t node, size_t i) {
        *index_of(v, node) = 0;
        if (i == --v->n)
                return;
        v->items[i] = v->items[v->n];
        v->nodes[i] = v->nodes[v->n];
        *index_of(v, v->nodes[i]) = (uint32_t) i + 1;
}

static void look(const Leader *l, RolloutNodes *v, const Argosy__RolloutRecord *r, Unit *u,
                 const UnitEntry *e, uint32_t number) {
        const Node *n = node_find(l, number);
        bool wanted = n && unit_wanted_on(l, u, e, n);
        size_t at = *index_of(v, number);

        if (!wanted && at > 0)
                take_out(v, number, at - 1);
        if (!wanted)
                return;
        at = at > 0 ? at - 1 : add(v, number);
        rollout_node_item(l, r, e, u, n, &v->items[at]);
}

static RolloutNodes *begin(Rollout *o, const Argosy__RolloutRecord *r) {
        if (!o->nodes)
                o->nodes = oom_checked(calloc(1, sizeof(*o->nodes)));
        for (size_t i = 0; i < o->nodes->n; i++)
                *index_of(o->nodes, o->nodes->nodes[i]) = 0;
        o->nodes->n = o->nodes->n_due = 0;
        o->nodes->host = 0;
        o->nodes->whole = false;
        o->nodes->revision = r->revision;
        o->rows.kept = true;
        o->rows.all = false;
        o->rows.n = 0;
        return o->nodes;
}

static void walk(const Leader *l, RolloutNodes *v, const Argosy__RolloutRecord *r, Unit *u,
                 const UnitEntry *e, size_t *left) {
        while (!v->whole && *left > 0) {
                const Argosy__HostRecord *next = cluster_state_next_host(l->state, v->host);

                v->whole = !next;
                if (!next)
                        return;
                v->host = next->host;
                for (size_t i = 0; i < next->n_nodes; i++)
                        look(l, v, r, u, e, next->nodes[i]->node);
                *left -= MIN_OF(*left, MAX_OF(next->n_nodes, (size_t) 1));
        }
}

// Looks at the nodes that were touched since, and at those whose time of being up matters, as time touches
// nothing.
static bool look_again(const Leader *l, Rollout *o, const Argosy__RolloutRecord *r, Unit *u,
                       const UnitEntry *e, size_t *left) {
        RolloutNodes *v = o->nodes;

        for (; v->n_due < o->rows.n && *left > 0; v->n_due++, (*left)--)
                look(l, v, r, u, e, o->rows.touched[v->n_due]);
        if (v->n_due < o->rows.n)
                return false;
        v->n_due = o->rows.n = 0;
        for (size_t i = 0; i < v->n; i++)
                if (v->items[i].timed && v->items[i].known_up_us < r->health_us)
                        rollout_node_item(l, r, e, u, node_find(l, v->nodes[i]), &v->items[i]);
        return true;
}

bool rollout_nodes_look(Leader *l, Rollout *o, const Argosy__RolloutRecord *r, Unit *u, const UnitEntry *e) {
        RolloutNodes *v = o->nodes;
        size_t left = walk_slice(&o->walk, LOOKS);
        bool whole;

        if (!v || o->rows.all || v->revision != r->revision)
                v = begin(o, r);
        walk(l, v, r, u, e, &left);
        whole = v->whole && look_again(l, o, r, u, e, &left);
        walk_sliced(l, &o->walk, left);
        return whole;
}
