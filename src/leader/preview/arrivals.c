// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What a plan asks after each of its turns: who came to which node, and who has to leave that node because
// of a unit that replaces it (Replaces=).
//
// Happy path: a node is made for each to which somebody came who replaces others, with those in their order
// and with the units that are noted there; of a unit that the Placement calls replaced the first of them is
// named whose patterns match it. They are told in no order. Cost: what was put and what is noted, once a
// turn if anybody replaces others; the units of such nodes; and for each that is replaced those who came, up
// to the first that replaces it.
//
// Failures: -ENOMEM.
#include "arrivals.h"

#include <errno.h>

#include "registry.h"
#include "scheduler.h"
#include "tables.h"

struct Arrival {
        PreviewUnit *first, *last; // units that replace others, in the order in which they came
        PreviewUnit *there;        // those that are noted on the node, in their order
};

static Arrival *arrival_on(const Arrivals *a, uint32_t node) {
        return node ? map_find(&a->by_node, &node, sizeof(node)) : NULL;
}

static bool is_listed(const Arrival *there, const PreviewUnit *u) {
        return u->next_replacer || there->last == u;
}

static int add_replacer(Arrivals *a, PreviewUnit *u, size_t *n) {
        Arrival *there = arrival_on(a, u->node);

        if (there) {
                if (is_listed(there, u))
                        return 0;
                there->last->next_replacer = u;
                there->last = u;
                return 0;
        }
        there = &a->nodes[(*n)++];
        *there = (Arrival){.first = u, .last = u};
        return map_add(&a->by_node, &u->node, sizeof(u->node), there);
}

static void add_noted(Arrivals *a, PreviewUnit *u) {
        Arrival *there = arrival_on(a, u->node);

        if (!there)
                return;
        u->next_there = there->there;
        there->there = u;
}

int arrivals_init(Arrivals *a, const Leader *l, PreviewUnit *const *put, size_t n_put,
                  PreviewUnit *const *units, size_t n, const Map *noted) {
        size_t n_nodes = 0;
        int r = 0;

        *a = (Arrivals){.leader = l,
                        .noted = noted,
                        .put = put,
                        .n_put = n_put,
                        .nodes = reallocarray(NULL, n_put ?: 1, sizeof(Arrival))};
        if (!a->nodes)
                return -ENOMEM;
        for (size_t i = 0; i < n_put && r >= 0; i++)
                if (put[i]->node && scheduler_replaces(l, put[i]->record->name))
                        r = add_replacer(a, put[i], &n_nodes);
        for (size_t i = n_nodes ? n : 0; i > 0; i--)
                add_noted(a, units[i - 1]);
        return r;
}

void arrivals_done(Arrivals *a) {
        for (size_t i = 0; i < a->n_put; i++)
                a->put[i]->next_replacer = NULL;
        map_done(&a->by_node);
        free(a->nodes);
        *a = (Arrivals){};
}

static const char *replacer_of(const Arrivals *a, const Arrival *there, const char *name) {
        for (const PreviewUnit *u = there->first; u; u = u->next_replacer)
                if (scheduler_replaces_unit(a->leader, u->record->name, name))
                        return u->record->name;
        return NULL;
}

int arrivals_each_replaced(const Arrivals *a, const PreviewUnit *put, ArrivalsReplaced replaced,
                           void *userdata) {
        const Leader *l = a->leader;
        const Arrival *there = arrival_on(a, put->node);
        const Node *n = node_find(l, put->node);
        int r = 0;

        if (!n || !there || there->first != put)
                return 0;
        list_foreach (i, &n->placed) {
                const char *name = CONTAINER_OF(i, Unit, placed)->name;

                if (r >= 0 && scheduler_is_replaced(l, name) && !map_find_str(a->noted, name))
                        r = replaced(name, replacer_of(a, there, name), userdata);
        }
        for (const PreviewUnit *u = there->there; u && r >= 0; u = u->next_there)
                if (scheduler_is_replaced(l, u->record->name))
                        r = replaced(u->record->name, replacer_of(a, there, u->record->name), userdata);
        return r;
}
