// SPDX-License-Identifier: LGPL-2.1-or-later

// Units with the same options form a class. A class holds the nodes that its options admit and that take
// units, as a heap by (rank, units, number). Placing a unit of one class makes the keys of that node stale
// in the heaps of the others; since counts only grow during a batch, a stale key is too small, so it is
// enough to look at the node on top: if its key is stale, correct it and let it sink.

#include "scheduler.h"

#include <errno.h>
#include <strings.h>

#include "buf.h"
#include "manager-name.h"
#include "map.h"
#include "str.h"

typedef struct Slot {
        size_t node;    // index; nodes are sorted by number, so this is also the order among equals
        size_t n_units; // as of when it was put here
} Slot;

typedef struct Class {
        char *key;         // the map's
        size_t n_admitted; // by the options, whether they take units or not
        size_t n;
        Slot heap[];
} Class;

struct Scheduler {
        SchedulerNode *nodes; // by number; n_units grows
        size_t n_nodes;
        SchedulerForeign foreign;
        void *userdata;
        Map classes; // UnitOptions.key -> Class
};

// ------------------------------------------------------------------------------------------------ what
// options admit

static bool label_matches(const Argosy__HostRecord *host, const LabelMatch *match) {
        for (size_t i = 0; i < host->n_labels; i++)
                if (streq(host->labels[i]->key, match->key))
                        for (char **v = match->values; *v; v++)
                                if (streq(host->labels[i]->value, *v))
                                        return true;
        return false;
}

static bool machine_matches(const Argosy__HostRecord *host, const UnitOptions *options) {
        return !options->machine_id || strcasecmp(options->machine_id, host->machine_id) == 0;
}

bool scheduler_admits(const Argosy__HostRecord *host, const char *manager, const UnitOptions *options) {
        if (!machine_matches(host, options) || !manager_matches(manager, options->managers))
                return false;
        for (size_t i = 0; i < options->n_labels; i++)
                if (!label_matches(host, &options->labels[i]))
                        return false;
        return true;
}

static const char *foreign(const Scheduler *s, const char *unit, const SchedulerNode *node) {
        return s->foreign ? s->foreign(unit, node->node, s->userdata) : NULL;
}

// ------------------------------------------------------------------------------------------------ a class
// and its heap

static bool goes_before(const Scheduler *s, const Slot *a, const Slot *b) {
        unsigned rank_a = s->nodes[a->node].rank, rank_b = s->nodes[b->node].rank;

        if (rank_a != rank_b)
                return rank_a < rank_b;
        return a->n_units != b->n_units ? a->n_units < b->n_units : a->node < b->node;
}

static void swap(Class *c, size_t i, size_t k) {
        Slot slot = c->heap[i];

        c->heap[i] = c->heap[k];
        c->heap[k] = slot;
}

static void sink(const Scheduler *s, Class *c, size_t i) {
        for (;;) {
                size_t first = i, left = 2 * i + 1, right = left + 1;

                if (left < c->n && goes_before(s, &c->heap[left], &c->heap[first]))
                        first = left;
                if (right < c->n && goes_before(s, &c->heap[right], &c->heap[first]))
                        first = right;
                if (first == i)
                        return;
                swap(c, i, first);
                i = first;
        }
}

static void rise(const Scheduler *s, Class *c, size_t i) {
        for (; i > 0 && goes_before(s, &c->heap[i], &c->heap[(i - 1) / 2]); i = (i - 1) / 2)
                swap(c, i, (i - 1) / 2);
}

static void fill_class(const Scheduler *s, Class *c, const UnitOptions *options) {
        for (size_t i = 0; i < s->n_nodes; i++) {
                const SchedulerNode *node = &s->nodes[i];

                if (!scheduler_admits(node->host, node->manager, options))
                        continue;
                c->n_admitted++;
                if (!node->refusal && !node->vacating)
                        c->heap[c->n++] = (Slot){.node = i, .n_units = node->n_units};
        }
        for (size_t i = c->n / 2; i-- > 0;)
                sink(s, c, i);
}

static void class_free(void *p) {
        free(((Class *) p)->key);
        free(p);
}

// NULL: out of memory.
static Class *get_class(Scheduler *s, const UnitOptions *options) {
        Class *c = map_find_str(&s->classes, options->key);

        if (c)
                return c;
        c = calloc(1, sizeof *c + s->n_nodes * sizeof c->heap[0]);
        if (!c)
                return NULL;
        c->key = strdup(options->key);
        if (!c->key || map_add_str(&s->classes, c->key, c) < 0) {
                class_free(c);
                return NULL;
        }
        fill_class(s, c, options);
        return c;
}

// ------------------------------------------------------------------------------------------------ placing

// Brings a node with a true key to the top of the heap.
static void settle_top(const Scheduler *s, Class *c) {
        while (c->heap[0].n_units != s->nodes[c->heap[0].node].n_units) {
                c->heap[0].n_units = s->nodes[c->heap[0].node].n_units;
                sink(s, c, 0);
        }
}

int scheduler_place(Scheduler *s, const char *unit, const UnitOptions *options, uint32_t *ret_node) {
        Class *c = get_class(s, options);
        size_t n_eligible;
        int outcome;

        if (!c)
                return -ENOMEM;
        outcome = c->n_admitted > 0 ? SCHEDULER_LATER : SCHEDULER_NEVER;
        n_eligible = c->n;
        while (c->n > 0) {
                SchedulerNode *node;

                settle_top(s, c);
                node = &s->nodes[c->heap[0].node];
                if (!foreign(s, unit, node)) {
                        node->n_units++;
                        *ret_node = node->node;
                        outcome = SCHEDULER_PLACED;
                        break;
                }
                swap(c, 0, --c->n); // aside, behind the heap, for this unit only
                sink(s, c, 0);
        }
        for (; c->n < n_eligible; c->n++)
                rise(s, c, c->n);
        return outcome;
}

static bool wants_global(const Scheduler *s, const char *unit, const UnitOptions *options,
                         const SchedulerNode *node) {
        return !node->vacating && scheduler_admits(node->host, node->manager, options) &&
               !foreign(s, unit, node);
}

int scheduler_global(Scheduler *s, const char *unit, const UnitOptions *options, uint32_t **ret,
                     size_t *ret_n) {
        _cleanup_free_ uint32_t *nodes = calloc(s->n_nodes + 1, sizeof *nodes);
        size_t n = 0;

        if (!nodes)
                return -ENOMEM;
        for (size_t i = 0; i < s->n_nodes; i++)
                if (wants_global(s, unit, options, &s->nodes[i]))
                        nodes[n++] = s->nodes[i].node;
        *ret = n > 0 ? TAKE_PTR(nodes) : NULL;
        *ret_n = n;
        return 0;
}

static int node_compare(const void *a, const void *b) {
        const SchedulerNode *x = a, *y = b;

        return (x->node > y->node) - (x->node < y->node);
}

bool scheduler_wants_global(const Scheduler *s, const char *unit, const UnitOptions *options,
                            uint32_t node) {
        SchedulerNode key = {.node = node}, *found = NULL;

        if (s->n_nodes > 0)
                found = bsearch(&key, s->nodes, s->n_nodes, sizeof key, node_compare);
        return found && wants_global(s, unit, options, found);
}

// ------------------------------------------------------------------------------------------------
// explaining

// "needs label disk=ssd or nvme, has disk=hdd"
static char *label_reason(const Argosy__HostRecord *host, const LabelMatch *match) {
        _cleanup_buf_ Buf text = {0};
        size_t n = 0;

        if (buf_printf(&text, "needs label %s=", match->key) < 0)
                return NULL;
        for (char **v = match->values; *v; v++)
                if (buf_printf(&text, "%s%s", *v, v[1] ? " or " : ", has ") < 0)
                        return NULL;
        for (size_t i = 0; i < host->n_labels; i++)
                if (streq(host->labels[i]->key, match->key) &&
                    buf_printf(&text, "%s%s=%s", n++ > 0 ? " and " : "", match->key,
                               host->labels[i]->value) < 0)
                        return NULL;
        if (n == 0 && buf_printf(&text, "no label %s", match->key) < 0)
                return NULL;
        return buf_take_string(&text);
}

// A new string in *ret, or NULL there if nothing speaks against the node.
static int reason_of(const Scheduler *s, const char *unit, const UnitOptions *options,
                     const SchedulerNode *node, char **ret) {
        const LabelMatch *mismatch = NULL;
        const char *why = NULL;

        for (size_t i = options->n_labels; i-- > 0;)
                if (!label_matches(node->host, &options->labels[i]))
                        mismatch = &options->labels[i];
        if (!machine_matches(node->host, options))
                why = "MachineID= names another machine";
        else if (!manager_matches(node->manager, options->managers))
                why = options->managers ? "Manager= names other managers"
                                        : "only units that ask for it by Manager= run in this manager";
        else if (!mismatch)
                why = foreign(s, unit, node) ?: node->refusal;
        if (!why && !mismatch && node->vacating)
                why = "the node is leaving";
        *ret = why ? strdup(why) : mismatch ? label_reason(node->host, mismatch) : NULL;
        return *ret || (!why && !mismatch) ? 0 : -ENOMEM;
}

int scheduler_explain(const Scheduler *s, const char *unit, const UnitOptions *options,
                      SchedulerRefusal **ret, size_t *ret_n) {
        SchedulerRefusal *refusals = calloc(s->n_nodes + 1, sizeof *refusals);
        size_t n = 0;

        if (!refusals)
                return -ENOMEM;
        for (size_t i = 0; i < s->n_nodes; i++) {
                if (reason_of(s, unit, options, &s->nodes[i], &refusals[n].reason) < 0) {
                        scheduler_refusals_free(refusals, n);
                        return -ENOMEM;
                }
                if (refusals[n].reason)
                        refusals[n++].node = s->nodes[i].node;
        }
        *ret = refusals;
        *ret_n = n;
        return 0;
}

SchedulerRefusal *scheduler_refusals_free(SchedulerRefusal *refusals, size_t n) {
        for (size_t i = 0; i < n; i++)
                free(refusals[i].reason);
        free(refusals);
        return NULL;
}

// ------------------------------------------------------------------------------------------------ life

int scheduler_new(const SchedulerNode *nodes, size_t n_nodes, SchedulerForeign f, void *userdata,
                  Scheduler **ret) {
        _cleanup_(scheduler_freep) Scheduler *s = calloc(1, sizeof *s);

        if (!s)
                return -ENOMEM;
        s->nodes = calloc(n_nodes + 1, sizeof *s->nodes);
        if (!s->nodes)
                return -ENOMEM;
        if (n_nodes > 0)
                memcpy(s->nodes, nodes, n_nodes * sizeof *nodes);
        s->n_nodes = n_nodes;
        qsort(s->nodes, n_nodes, sizeof *s->nodes, node_compare);
        s->foreign = f;
        s->userdata = userdata;
        *ret = TAKE_PTR(s);
        return 0;
}

Scheduler *scheduler_free(Scheduler *s) {
        if (!s)
                return NULL;
        map_done_with(&s->classes, class_free);
        free(s->nodes);
        free(s);
        return NULL;
}
