// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Nodes and hosts in the Placement. Those that have changed (host_touch()) are updated when something is
// about to be placed, and their labels if the log's are others; what all offer is updated if there is a new
// kind of resource. A new leader adds some in each turn, before any unit.
#include <errno.h>

#include "array.h"
#include "due.h"
#include "eligibility.h"
#include "event-marks.h"
#include "fleet-units.h"
#include "host-marks.h"
#include "lease.h"
#include "nodes.h"
#include "oom.h"
#include "registry.h"
#include "scheduler-nodes.h"
#include "scheduler-spec.h"
#include "scheduler-tables.h"
#include "str.h"
#include "tables.h"
#include "turn.h"
#include "unit-file.h"

#define OFFERS_PREFIX "offers/"
enum {
        OFFERS_MAX = 1000000000,
        LABEL_WORK = 4,  // of a host, beside that of comparing it with pools, and of marking units there
        POOL_WORDS_WORK = 128, // words of pools that are compared for one
        MARK_WORK = 2,         // units; each is read, from anywhere in memory
};

bool node_takes_units(const Node *n, const char **ret_why) {
        const Host *h = n->host;
        const char *why = NULL;

        if (host_is_lost(h))
                why = h->down ? "the node is shut down" : "the node is lost";
        else if (h->leaving)
                why = "the node is shutting down";
        else if (h->lease.state == LEASE_SUSPECT)
                why = "the node has not been heard of for a while";
        else if (!h->ever_attached) // not known to be up; within a lease it is heard, or lost
                why = "the leader has not heard the node yet";
        else
                why = n->reason ?: n->closed;
        if (ret_why)
                *ret_why = why;
        return !why;
}

static PlacementState state_of(const Node *n) {
        if (!node_takes_units(n, NULL))
                return host_is_lost(n->host) ? PLACEMENT_LOST : PLACEMENT_CLOSED;
        return n->host->attached ? PLACEMENT_OPEN : PLACEMENT_SECOND; // expected back within its lease
}

static void add_node(Leader *l, Node *n) {
        SchedulerTables *t = l->places;
        Host *h = n->host;
        uint32_t number;

        if (!h->scheduling.place) {
                placement_host_add(t->placement, &(PlacementVector){}, PLACEMENT_SIZE_ONE, &number);
                h->scheduling.place = number + 1;
        }
        placement_node_add(t->placement, h->scheduling.place - 1, NULL, 0, &number);
        n->scheduling.place = number + 1;
        n->scheduling.place_labels = 0;
        host_mark(l, h, HOST_LABELS); // also if others of its nodes have theirs
        t->n_renumbered++;
        if (number >= t->n_nodes) {
                size_t before = t->n_nodes;

                (void) oom_check(ARRAY_GROW(t->nodes, t->n_nodes, (size_t) number + 1));
                memset(t->nodes + before, 0, (t->n_nodes - before) * sizeof *t->nodes);
        }
        t->nodes[number] = n;
        host_mark_place(l, h);
}

// A node and its number, so that a sort looks at no node.
typedef struct NewNode {
        uint32_t number;
        Node *node;
} NewNode;

static int by_number(const void *a, const void *b) {
        const NewNode *x = a, *y = b;

        return (x->number > y->number) - (x->number < y->number);
}

// Marks units placed there: whether the node meets their demands may have changed. How many it looked at.
static size_t mark_placed(Leader *l, const Node *n) {
        list_foreach (i, &n->units_on_node) {
                UnitOnNode *s = CONTAINER_OF(i, UnitOnNode, by_node);

                if (s->unit->node == n)
                        event_mark_unit_on_node(l, s);
        }
        return n->n_units_on_node;
}

// How many units it walked through.
static size_t label_host(Leader *l, Host *h) {
        const Argosy__HostRecord *host = cluster_state_find_host(l->state, h->number);
        size_t n_walked = 0;

        host_unmark(h, HOST_LABELS);
        if (!host)
                return 0;
        list_foreach (i, &h->nodes) {
                Node *n = CONTAINER_OF(i, Node, of_host);
                uint64_t before = n->scheduling.place_labels;

                if (!n->scheduling.place)
                        continue;
                scheduler_label_node(l->places->placement, l->state, n->scheduling.place - 1, host,
                                     n->manager, &n->scheduling.place_labels);
                if (n->scheduling.place_labels != before)
                        n_walked += mark_placed(l, n);
        }
        host_mark(l, h, HOST_OFFERS); // some labels say what it offers
        host_mark_place(l, h);
        return n_walked;
}

// All that are new: their numbers decide between equals.
static NewNode *take_new_nodes(Leader *l, size_t *ret_n) {
        NewNode *new = NULL;
        size_t n = 0, allocated = 0;

        for (Node *node; (node = node_take_marked(l, NODE_NEW)); n++) {
                (void) oom_check(ARRAY_GROW(new, allocated, n + 1));
                new[n] = (NewNode){node->number, node};
        }
        if (n > 1)
                qsort(new, n, sizeof *new, by_number);
        *ret_n = n;
        return new;
}

static void sort_new_nodes(Leader *l) {
        size_t n;
        _cleanup_free_ NewNode *new = take_new_nodes(l, &n);

        for (size_t i = 0; i < n; i++)
                node_mark(l, new[i].node, NODE_NEW);
}

void scheduler_add_new_nodes(Leader *l) {
        size_t n;
        _cleanup_free_ NewNode *new = take_new_nodes(l, &n);

        for (size_t i = 0; i < n; i++) {
                add_node(l, new[i].node);
                fleet_units_mark(l, new[i].node->host);
        }
        for (size_t i = 0; i < n; i++)
                if (host_has_mark(new[i].node->host, HOST_LABELS))
                        (void) label_host(l, new[i].node->host);
}

void scheduler_mark_labels(Leader *l) {
        leader_set_due(l, DUE_LABELS);
        l->places->labelled_host = 0;
}

// What it says about cores and memory, and the labels offers/NAME=N about the rest.
static void sync_offers(Leader *l, const Host *h, const Argosy__HostRecord *host) {
        PlacementVector offers = {};
        size_t prefix = strlen(OFFERS_PREFIX);

        offers.of[PLACEMENT_CPU] = (int32_t) MIN_OF(h->cpu_milli, (uint32_t) INT32_MAX);
        offers.of[PLACEMENT_MEMORY] = (int32_t) MIN_OF(h->memory_mib, (uint32_t) INT32_MAX);
        for (size_t i = 0; i < host->n_labels; i++) {
                int resource;
                uint64_t n;

                if (strncmp(host->labels[i]->key, OFFERS_PREFIX, prefix) != 0 ||
                    !parse_u64(host->labels[i]->value, OFFERS_MAX, &n))
                        continue;
                resource = placement_find_resource(l->places->placement, host->labels[i]->key + prefix);
                if (resource >= 0)
                        offers.of[resource] = (int32_t) n;
        }
        placement_host_set(l->places->placement, h->scheduling.place - 1, &offers, PLACEMENT_SIZE_ONE);
}

static void sync_host(Leader *l, Host *h) {
        const Argosy__HostRecord *host = cluster_state_find_host(l->state, h->number);
        Placement *p = l->places->placement;

        if (host && h->scheduling.place && host_has_mark(h, HOST_OFFERS))
                sync_offers(l, h, host);
        host_unmark(h, HOST_OFFERS);
        list_foreach (i, &h->nodes) {
                const Node *n = CONTAINER_OF(i, Node, of_host);

                if (!n->scheduling.place)
                        continue;
                placement_node_set_state(p, n->scheduling.place - 1, host ? state_of(n) : PLACEMENT_CLOSED);
                placement_node_set_others(p, n->scheduling.place - 1, (uint32_t) n->n_globals);
        }
}

static size_t count_pool_words(const ClusterState *state) {
        size_t n_pools, n = 0;
        Argosy__PoolRecord *const *pools = cluster_state_pools(state, &n_pools);

        for (size_t i = 0; i < n_pools; i++)
                n += pools[i]->n_hosts + pools[i]->n_labels;
        return n;
}

static void sync_due(Leader *l, Host *h) {
        if (host_has_mark(h, HOST_LABELS))
                (void) label_host(l, h);
        host_unmark(h, HOST_PLACE);
        sync_host(l, h);
}

bool scheduler_build_nodes(Leader *l, size_t *left) {
        if (!l->places->sorted)
                sort_new_nodes(l);
        l->places->sorted = true;
        for (Node *n; *left > 0 && (n = node_take_marked(l, NODE_NEW)); (*left)--) {
                add_node(l, n);
                sync_due(l, n->host);
        }
        return !nodes_have_mark(l, NODE_NEW);
}

// Labels, and what follows from them, of hosts behind those that have theirs. Whether all have.
static bool label_some(Leader *l, size_t most) {
        SchedulerTables *t = l->places;
        size_t work = 0, each = LABEL_WORK + count_pool_words(l->state) / POOL_WORDS_WORK;

        while (leader_is_due(l, DUE_LABELS) && work < most) {
                const Argosy__HostRecord *next = cluster_state_next_host(l->state, t->labelled_host);
                Host *h = next ? host_find(l, next->host) : NULL;

                if (!next)
                        (void) leader_take_due(l, DUE_LABELS);
                t->labelled_host = next ? next->host : 0;
                if (!h)
                        continue;
                work += each + label_host(l, h) / MARK_WORK;
                sync_due(l, h);
        }
        return !leader_is_due(l, DUE_LABELS);
}

void scheduler_relabel(Leader *l) {
        if (!l->places)
                return;
        scheduler_mark_labels(l);
        leader_set_due(l, DUE_GLOBALS); // they may run on other nodes
        leader_mark(l);
}

bool scheduler_label_step(Leader *l) {
        if (!l->places)
                return true;
        scheduler_add_new_nodes(l); // or they would have no labels
        if (label_some(l, l->limits.label_work))
                return true;
        leader_mark(l);
        return false;
}

bool scheduler_sync_nodes_step(Leader *l) {
        scheduler_add_new_nodes(l);
        for (unsigned n = 0; n < l->limits.placed_hosts && hosts_have_mark(l, HOST_PLACE); n++)
                sync_due(l, host_marked(l, HOST_PLACE));
        if (!hosts_have_mark(l, HOST_PLACE))
                return true;
        leader_mark(l);
        return false;
}

void scheduler_sync_nodes(Leader *l, uint32_t without_host) {
        Host *out = without_host ? host_find(l, without_host) : NULL;

        scheduler_add_new_nodes(l);
        (void) label_some(l, SIZE_MAX);
        while (hosts_have_mark(l, HOST_PLACE))
                sync_due(l, host_marked(l, HOST_PLACE));
        if (!out)
                return;
        list_foreach (i, &out->nodes)
                if (CONTAINER_OF(i, Node, of_host)->scheduling.place)
                        placement_node_set_state(l->places->placement,
                                                 CONTAINER_OF(i, Node, of_host)->scheduling.place - 1,
                                                 PLACEMENT_CLOSED);
        host_mark_place(l, out); // the next one has it again
}

void scheduler_on_node_freed(Leader *l, Node *n) {
        if (!l->places || !n->scheduling.place)
                return;
        l->places->nodes[n->scheduling.place - 1] = NULL;
        l->places->n_renumbered++;
        placement_node_remove(l->places->placement, n->scheduling.place - 1);
        n->scheduling.place = 0;
        if (list_is_empty(&n->host->nodes) || n->of_host.next == n->of_host.prev) {
                bool last = true;

                list_foreach (i, &n->host->nodes)
                        last &= CONTAINER_OF(i, Node, of_host) == n;
                if (last && n->host->scheduling.place) {
                        placement_host_remove(l->places->placement, n->host->scheduling.place - 1);
                        n->host->scheduling.place = 0;
                }
        }
}

bool node_admits(const Leader *l, const Node *n, const UnitOptions *options) {
        const Argosy__HostRecord *host = cluster_state_find_host(l->state, n->host->number);

        return host && eligibility_admits(l->state, host, n->manager, options);
}

void scheduler_sync_all_offers(Leader *l) {
        if (!l->places->is_copy)
                l->places->n_renumbered++; // a copy has not heard of them
        map_foreach (slot, &l->hosts) {
                const Host *h = slot->value;
                const Argosy__HostRecord *host = cluster_state_find_host(l->state, h->number);

                if (host && h->scheduling.place)
                        sync_offers(l, h, host);
        }
}
