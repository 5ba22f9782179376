// SPDX-License-Identifier: LGPL-2.1-or-later
//
// First the graph is gathered: vertices are numbered in the order in which they are reached, those that were
// asked about first, and the edges of each stand together. Then Tarjan's depth-first walk finds the sets of
// vertices that all lead to each other ("Depth-first search and linear graph algorithms", 1972), with a
// list of its own in place of recursion, since a chain may be as long as there are units. In such a set a
// breadth-first walk finds the shortest way round.
#include "cycles.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "array.h"
#include "map.h"

typedef struct Edge {
        uint32_t to;
        unsigned line;
        bool theirs; // `to` says so
} Edge;

typedef struct Vertex {
        const char *name;
        uint32_t first, end; // its edges
        uint32_t next;       // that is walked
        uint32_t index, low; // index 0: not visited
        uint32_t caller;
        uint32_t set;              // 0: none yet
        uint32_t walk, whence, by; // of the breadth-first walk: its number, from where, and by which edge
        bool reported;
} Vertex;

typedef struct CycleSearch {
        CycleWalk *w;
        Vertex *vertices;
        Edge *edges;
        uint32_t *stack, *queue, *by; // one for each vertex
        const char **path, **units;
        size_t n, allocated, n_edges, edges_allocated;
        size_t n_asked, n_stack;
        uint32_t n_visited, n_sets, n_walks;
        Map numbers;
} CycleSearch;

// ------------------------------------------------------------------------------------------------ gathering

static int vertex_get(CycleSearch *x, const char *name, uint32_t *ret) {
        uintptr_t known = (uintptr_t) map_find_str(&x->numbers, name);
        int r;

        if (known) {
                *ret = (uint32_t) known - 1;
                return 0;
        }
        if (x->w->max > 0 && x->n >= x->w->max)
                return -E2BIG;
        r = ARRAY_GROW(x->vertices, x->allocated, x->n + 1);
        r = r < 0 ? r : map_add_str(&x->numbers, name, (void *) (x->n + 1));
        if (r < 0)
                return r;
        x->vertices[x->n] = (Vertex){.name = name};
        *ret = (uint32_t) x->n++;
        x->w->n_steps++;
        return 0;
}

int cycles_edge(CycleWalk *w, const char *to, unsigned line, bool theirs) {
        CycleSearch *x = w->search;
        uint32_t number;
        int r = vertex_get(x, to, &number);

        w->n_steps++;
        r = r < 0 ? r : ARRAY_GROW(x->edges, x->edges_allocated, x->n_edges + 1);
        if (r >= 0)
                x->edges[x->n_edges++] = (Edge){number, line, theirs};
        return r;
}

static int gather(CycleSearch *x, const char *const *names, size_t n) {
        uint32_t number;
        int r = 0;

        for (size_t i = 0; i < n && r >= 0; i++)
                r = vertex_get(x, names[i], &number);
        x->n_asked = x->n;
        for (size_t i = 0; i < x->n && r >= 0; i++) {
                x->vertices[i].first = x->vertices[i].next = (uint32_t) x->n_edges;
                r = x->w->next(x->w, x->vertices[i].name, x->w->userdata);
                x->vertices[i].end = (uint32_t) x->n_edges;
        }
        return r;
}

// ------------------------------------------------------------------------------------------------ one cycle

// The shortest way from the vertex back to itself, within its set; there is one. Returns the vertex from
// which it is closed, and by which edge.
static uint32_t walk_round(CycleSearch *x, uint32_t start, uint32_t *ret_by) {
        size_t n = 0;

        x->n_walks++;
        x->queue[n++] = start;
        for (size_t i = 0;; i++) {
                const Vertex *v = &x->vertices[x->queue[i]];

                for (uint32_t e = v->first; e < v->end; e++) {
                        Vertex *to = &x->vertices[x->edges[e].to];

                        x->w->n_steps++;
                        if (x->edges[e].to == start) {
                                *ret_by = e;
                                return x->queue[i];
                        }
                        if (to->set != v->set || to->walk == x->n_walks)
                                continue;
                        to->walk = x->n_walks;
                        to->whence = x->queue[i];
                        to->by = e;
                        x->queue[n++] = x->edges[e].to;
                }
        }
}

// Lets the path begin with a unit that was asked about and says something on it; with the first one, if that
// does. Edge i of `by` leads from member i to the next one.
static size_t find_speaker(const CycleSearch *x, const uint32_t *at, const uint32_t *by, size_t n,
                           unsigned *ret_line) {
        *ret_line = 1;
        for (size_t i = 0; i <= n; i++) {
                size_t k = i == 0 ? 0 : n - i; // its own word, what it is before, then all others
                const Edge *e = &x->edges[by[k]];
                size_t owner = e->theirs ? (k + 1) % n : k;

                if (at[owner] >= x->n_asked || (i == 0 && e->theirs))
                        continue;
                *ret_line = e->line;
                return owner;
        }
        return 0;
}

// Takes the way that walk_round() found, and those that it tells something.
static void lay_out(CycleSearch *x, uint32_t start, uint32_t last, uint32_t by, Cycle *ret) {
        uint32_t *at = x->queue, *edges = x->by; // not needed any more
        size_t n = 1, first;

        for (uint32_t v = last; v != start; v = x->vertices[v].whence)
                n++;
        for (size_t i = n; i-- > 0; by = x->vertices[last].by, last = x->vertices[last].whence) {
                at[i] = last;
                edges[i] = by;
        }
        first = find_speaker(x, at, edges, n, &ret->line);
        ret->n = n;
        ret->n_units = 0;
        for (size_t i = 0; i < n; i++) {
                Vertex *v = &x->vertices[at[(first + i) % n]];

                x->path[i] = v->name;
                if (at[(first + i) % n] < x->n_asked && !v->reported)
                        x->units[ret->n_units++] = v->name;
                v->reported = true;
        }
        ret->path = x->path;
        ret->units = x->units;
}

static int by_number(const void *a, const void *b) {
        const uint32_t *x = a, *y = b;

        return (*x < *y) - (*x > *y);
}

// The last one in `names` first.
static int report_set(CycleSearch *x, uint32_t *of, size_t n) {
        Cycle c = {};
        unsigned reported = 0;
        int r = 0;

        qsort(of, n, sizeof *of, by_number);
        for (size_t i = 0; i < n && r == 0; i++) {
                uint32_t last, by;

                if (x->vertices[of[i]].reported || of[i] >= x->n_asked)
                        continue;
                if (reported++ < CYCLES_REPORTED_MAX) {
                        last = walk_round(x, of[i], &by);
                        lay_out(x, of[i], last, by, &c);
                } else {
                        x->units[0] = x->vertices[of[i]].name;
                        c.n_units = 1;
                }
                r = x->w->found(&c, x->w->userdata);
        }
        return r;
}

// ------------------------------------------------------------------------------------------------ the walk

static bool leads_to_itself(const CycleSearch *x, uint32_t v) {
        for (uint32_t e = x->vertices[v].first; e < x->vertices[v].end; e++)
                if (x->edges[e].to == v)
                        return true;
        return false;
}

// The vertex is the first of its set that was visited.
static int take_set(CycleSearch *x, uint32_t v) {
        size_t n = 0;
        uint32_t w;

        x->n_sets++;
        do {
                w = x->stack[--x->n_stack];
                x->vertices[w].set = x->n_sets;
                n++;
        } while (w != v);
        if (n == 1 && !leads_to_itself(x, v))
                return 0;
        return report_set(x, x->stack + x->n_stack, n);
}

static void visit(CycleSearch *x, uint32_t v, uint32_t caller) {
        x->vertices[v].index = x->vertices[v].low = ++x->n_visited;
        x->vertices[v].caller = caller;
        x->stack[x->n_stack++] = v;
}

static int walk_from(CycleSearch *x, uint32_t start) {
        uint32_t at = start, caller;
        int r = 0;

        visit(x, start, start);
        for (;;) {
                Vertex *v = &x->vertices[at];

                if (v->next < v->end) {
                        uint32_t to = x->edges[v->next++].to;

                        x->w->n_steps++;
                        if (x->vertices[to].index == 0) {
                                visit(x, to, at);
                                at = to;
                        } else if (x->vertices[to].set == 0)
                                v->low = MIN_OF(v->low, x->vertices[to].index);
                        continue;
                }
                caller = v->caller;
                if (v->low == v->index)
                        r = take_set(x, at);
                if (at == start || r != 0)
                        return r;
                x->vertices[caller].low = MIN_OF(x->vertices[caller].low, v->low);
                at = caller;
        }
}

static int walk(CycleSearch *x) {
        int r = 0;

        x->stack = calloc(x->n + 1, sizeof *x->stack);
        x->queue = calloc(x->n + 1, sizeof *x->queue);
        x->by = calloc(x->n + 1, sizeof *x->by);
        x->path = calloc(x->n + 1, sizeof *x->path);
        x->units = calloc(x->n + 1, sizeof *x->units);
        if (!x->stack || !x->queue || !x->by || !x->path || !x->units)
                return -ENOMEM;
        for (uint32_t i = 0; i < x->n_asked && r == 0; i++)
                if (x->vertices[i].index == 0)
                        r = walk_from(x, i);
        return r;
}

int cycles_find(CycleWalk *w, const char *const *names, size_t n) {
        CycleSearch x = {.w = w};
        int r;

        w->n_steps = 0;
        w->search = &x;
        r = gather(&x, names, n);
        if (r >= 0 && x.n_asked > 0)
                r = walk(&x);
        w->search = NULL;
        map_done(&x.numbers);
        free(x.vertices);
        free(x.edges);
        free(x.stack);
        free(x.queue);
        free(x.by);
        free(x.path);
        free(x.units);
        return r;
}

void cycle_describe(const Cycle *c, const char *between, char *ret, size_t size) {
        size_t len = 0;

        if (size)
                ret[0] = 0;
        for (size_t i = 0; i <= c->n && len < size; i++)
                len += (size_t) snprintf(ret + len, size - len, "%s%s", i ? between : "", c->path[i % c->n]);
}
