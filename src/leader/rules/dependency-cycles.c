// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Cycles of order (After=) among units: those of a request as they are planned, all others as they are.
//
//      dependency_cycles_find(): units after which others come -> cycles_find() follows edges
//          -> found() per cycle
//
// A unit after which no other comes is on no cycle and is skipped, which is most of them. n_steps counts the
// cost. Failure: -ENOMEM, or found()'s errno.

#include "dependency-cycles.h"

#include <errno.h>
#include <stdlib.h>

typedef struct Gather {
        DependencyCycleSearch *s;
        CycleWalk walk;
        const char *at; // the unit whose edges are gathered
        bool overlay;
        size_t n_passed; // edges that were skipped
        int error;
} Gather;

static bool is_planned(const DependencyCycleSearch *s, const char *name) {
        return s->planned && s->counts && s->counts(name, s->userdata);
}

static bool gather_edge(const DependencyPeer *peer, void *userdata) {
        Gather *g = userdata;

        if (!(peer->kinds & UNIT_AFTER) || is_planned(g->s, peer->theirs ? peer->name : g->at) != g->overlay)
                g->n_passed++;
        else
                g->error = cycles_edge(&g->walk, peer->name, peer->line, peer->theirs);
        return g->error < 0;
}

static int each_before(CycleWalk *w, const char *name, void *userdata) {
        Gather *g = userdata;

        g->at = name;
        g->overlay = true;
        if (g->s->planned)
                dependencies_each_of(g->s->planned, name, gather_edge, g);
        g->overlay = false;
        if (g->error >= 0)
                dependencies_each_of(g->s->current, name, gather_edge, g);
        return g->error;
}

static int on_found(const Cycle *cycle, void *userdata) {
        const Gather *g = userdata;

        return g->s->found(cycle, g->s->found_data);
}

static bool comes_after(const DependencyPeer *peer, void *userdata) {
        return peer->kinds & UNIT_AFTER;
}

// Whether some unit is ordered after this one; else it can close no cycle.
static bool may_close(const DependencyCycleSearch *s, const char *name) {
        return dependencies_each_on(s->current, name, comes_after, NULL) ||
               (s->planned && dependencies_each_on(s->planned, name, comes_after, NULL));
}

int dependency_cycles_find(DependencyCycleSearch *s, const char *const *names, size_t n) {
        _cleanup_free_ const char **asked = calloc(n + 1, sizeof(*asked));
        Gather g = {.s = s, .walk = {.next = each_before, .found = on_found, .userdata = &g}};
        size_t n_asked = 0;
        int r;

        if (!asked)
                return -ENOMEM;
        for (size_t i = 0; i < n; i++)
                if (may_close(s, names[i]))
                        asked[n_asked++] = names[i];
        r = cycles_find(&g.walk, asked, n_asked);
        s->n_steps = g.walk.n_steps + g.n_passed;
        return r;
}
