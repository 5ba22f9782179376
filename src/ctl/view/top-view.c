// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Readings of the nodes become rows with rates. A reading is complete when its last part has come; a rate
// compares it with the node's reading before, so what is new in it has none yet. Nodes that nothing is heard
// of for a while, or that are gone, are forgotten. -ENOMEM: that reading is not complete.

#include <errno.h>

#include "array.h"
#include "clock.h"
#include "row-json.h"
#include "top-view.h"

typedef struct Reading {
        TopRow *rows;
        size_t n, allocated;
        Map by_unit; // only of a complete one
} Reading;

typedef struct TopNode {
        Reading now, coming;
        unsigned fresh; // complete readings since the mark
        uint64_t received_us;
        char name[];
} TopNode;

static void reading_done(Reading *r) {
        for (size_t i = 0; i < r->n; i++)
                free(r->rows[i].unit);
        free(r->rows);
        map_done(&r->by_unit);
        *r = (Reading){};
}

static void node_free(void *value) {
        TopNode *n = value;

        reading_done(&n->now);
        reading_done(&n->coming);
        free(n);
}

void top_view_done(TopView *v) {
        map_done_with(&v->nodes, node_free);
}

static TopNode *node_get(TopView *v, const char *name) {
        return map_find_str(&v->nodes, name) ?: MAP_NEW_STR(&v->nodes, TopNode, name, name);
}

static int append(TopNode *n, const Argosy__Response__UsageRow *u) {
        Reading *r = &n->coming;
        TopRow *row;

        if (ARRAY_GROW(r->rows, r->allocated, r->n + 1) < 0)
                return -ENOMEM;
        row = &r->rows[r->n];
        *row = (TopRow){
                .unit = strdup(u->unit),
                .node = n->name,
                .run = u->run,
                .at_us = u->at_us,
                .cpu_us = u->known & KNOWS_CPU ? u->cpu_us : TOP_NONE,
                .tasks = u->known & KNOWS_TASKS ? u->tasks : TOP_NONE,
                .memory = u->known & KNOWS_MEMORY ? u->memory : TOP_NONE,
                .io_read = u->known & KNOWS_IO ? u->io_read : TOP_NONE,
                .io_write = u->known & KNOWS_IO ? u->io_write : TOP_NONE,
                .cpu_permille = TOP_NONE,
                .io_read_rate = TOP_NONE,
                .io_write_rate = TOP_NONE,
        };
        if (!row->unit)
                return -ENOMEM;
        r->n++;
        return 0;
}

// `scale` times what was counted per microsecond.
static uint64_t rate(uint64_t before, uint64_t now, uint64_t span_us, double scale) {
        if (before == TOP_NONE || now == TOP_NONE || now < before || span_us == 0)
                return TOP_NONE;
        return (uint64_t) ((double) (now - before) * scale / (double) span_us + 0.5);
}

static void compare_with(TopRow *row, const TopRow *before) {
        uint64_t span_us;

        if (!before || before->run != row->run || row->at_us <= before->at_us)
                return; // another control group: its counters began anew
        span_us = row->at_us - before->at_us;
        row->cpu_permille = rate(before->cpu_us, row->cpu_us, span_us, 1000);
        row->io_read_rate = rate(before->io_read, row->io_read, span_us, USEC_PER_SEC);
        row->io_write_rate = rate(before->io_write, row->io_write, span_us, USEC_PER_SEC);
}

static int complete(TopNode *n) {
        Reading *coming = &n->coming;

        for (size_t i = 0; i < coming->n; i++) {
                TopRow *row = &coming->rows[i];

                compare_with(row, map_find_str(&n->now.by_unit, row->unit));
                if (map_add_str(&coming->by_unit, row->unit, row) == -ENOMEM)
                        return -ENOMEM;
        }
        reading_done(&n->now);
        n->now = *coming;
        *coming = (Reading){};
        n->fresh++;
        return 1;
}

void top_view_begin(TopView *v) {
        map_foreach (slot, &v->nodes)
                reading_done(&((TopNode *) slot->value)->coming);
}

void top_view_forget(TopView *v, uint64_t before_us) {
        map_foreach (slot, &v->nodes) {
                TopNode *n = slot->value;

                if (n->received_us >= before_us)
                        continue;
                map_take_str(&v->nodes, n->name);
                node_free(n);
        }
}

int top_view_take(TopView *v, const Argosy__Response__Usage *u, uint64_t now_us) {
        TopNode *n;

        if (u->gone) {
                n = map_take_str(&v->nodes, u->node);
                if (n)
                        node_free(n);
                return 0;
        }
        n = node_get(v, u->node);
        if (!n)
                return -ENOMEM;
        n->received_us = now_us;
        for (size_t i = 0; i < u->n_rows; i++)
                if (append(n, u->rows[i]) < 0)
                        return -ENOMEM;
        return u->last ? complete(n) : 0;
}

void top_view_mark(TopView *v) {
        map_foreach (slot, &v->nodes)
                ((TopNode *) slot->value)->fresh = 0;
}

size_t top_view_n_nodes(const TopView *v) {
        return v->nodes.count;
}

size_t top_view_n_fresh(const TopView *v, unsigned readings) {
        size_t n = 0;

        map_foreach (slot, &v->nodes)
                n += ((const TopNode *) slot->value)->fresh >= readings;
        return n;
}

// ---- order

typedef struct Sorting {
        TopOrder order;
        bool reverse;
} Sorting;

static uint64_t sum(uint64_t a, uint64_t b) {
        return a == TOP_NONE || b == TOP_NONE ? TOP_NONE : a + b;
}

static uint64_t key_of(const TopRow *r, TopOrder order) {
        switch (order) {
        case TOP_BY_CPU:
                return r->cpu_permille;
        case TOP_BY_MEMORY:
                return r->memory;
        case TOP_BY_TASKS:
                return r->tasks;
        case TOP_BY_IO:
                return sum(r->io_read_rate, r->io_write_rate);
        default:
                return TOP_NONE;
        }
}

static int by_name(const TopRow *a, const TopRow *b) {
        return strcmp(a->unit, b->unit) ?: strcmp(a->node, b->node);
}

static int compare(const void *p, const void *q, void *userdata) {
        const TopRow *a = *(const TopRow *const *) p, *b = *(const TopRow *const *) q;
        const Sorting *s = userdata;
        uint64_t x = key_of(a, s->order), y = key_of(b, s->order);

        if (s->order == TOP_BY_PATH)
                return s->reverse ? by_name(b, a) : by_name(a, b);
        if (x == y)
                return by_name(a, b);
        if (x == TOP_NONE || y == TOP_NONE)
                return x == TOP_NONE ? 1 : -1;
        return (x > y) != s->reverse ? -1 : 1;
}

int top_view_rows(const TopView *v, TopOrder order, bool reverse, const TopRow ***ret, size_t *ret_n) {
        Sorting sorting = {order, reverse};
        const TopRow **rows;
        size_t n = 0;

        map_foreach (slot, &v->nodes)
                n += ((const TopNode *) slot->value)->now.n;
        rows = calloc(n ?: 1, sizeof(*rows));
        if (!rows)
                return -ENOMEM;
        n = 0;
        map_foreach (slot, &v->nodes) {
                const TopNode *node = slot->value;

                for (size_t i = 0; i < node->now.n; i++)
                        rows[n++] = &node->now.rows[i];
        }
        qsort_r(rows, n, sizeof(*rows), compare, &sorting);
        *ret = rows;
        *ret_n = n;
        return 0;
}

static const char *const order_words[_TOP_ORDER_MAX] = {
        [TOP_BY_PATH] = "path",   [TOP_BY_CPU] = "cpu", [TOP_BY_MEMORY] = "memory",
        [TOP_BY_TASKS] = "tasks", [TOP_BY_IO] = "io",
};

const char *top_order_to_string(TopOrder order) {
        return order_words[order];
}

bool top_order_from_string(const char *word, TopOrder *ret) {
        for (TopOrder o = 0; o < _TOP_ORDER_MAX; o++)
                if (streq(word, order_words[o])) {
                        *ret = o;
                        return true;
                }
        return false;
}
