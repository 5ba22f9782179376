// SPDX-License-Identifier: LGPL-2.1-or-later
//
// See the header. By which dependencies a stop spreads is UNIT_ATOM_PROPAGATE_STOP in systemd's source; a
// unit that is down already passes nothing on, since its own job is dropped as redundant and what hangs on
// it with it.
//
// One that `needs` the unit cannot be started as long as that is down: each link on the way to it says so.

#include <errno.h>
#include <stdlib.h>

#include "array.h"
#include "stop-propagation.h"
#include "str.h"

const StopKind stop_kinds[STOP_KINDS] = {
        {"RequiredBy", true},  {"RequisiteOf", true},       {"BoundBy", true},
        {"ConsistsOf", false}, {"PropagatesStopTo", false},
};

static size_t find(const StopPropagation *p, const char *name) {
        return (uintptr_t) map_find_str(&p->by_name, name);
}

// Its index + 1, or 0: out of memory.
static size_t add_node(StopPropagation *p, const char *name) {
        char *copy = strdup(name);

        if (!copy || ARRAY_GROW(p->nodes, p->allocated, p->n + 1) < 0 ||
            map_add_str(&p->by_name, copy, (void *) (p->n + 1)) < 0) {
                free(copy);
                return 0;
        }
        p->nodes[p->n] = (StopNode){.name = copy};
        return ++p->n;
}

int stop_propagation_init(StopPropagation *p, const char *unit) {
        *p = (StopPropagation){};
        if (add_node(p, unit) == 0)
                return -ENOMEM;
        p->nodes[0].active = ARGOSY__ACTIVE_STATE__ACTIVE_ACTIVE;
        p->nodes[0].needs = true;
        return 0;
}

void stop_propagation_done(StopPropagation *p) {
        map_done(&p->by_name);
        for (size_t i = 0; i < p->n; i++)
                free(p->nodes[i].name);
        free(p->nodes);
        free(p->edges);
        *p = (StopPropagation){};
}

static bool passes_on(Argosy__ActiveState active) {
        return active == ARGOSY__ACTIVE_STATE__ACTIVE_ACTIVE ||
               active == ARGOSY__ACTIVE_STATE__ACTIVE_RELOADING ||
               active == ARGOSY__ACTIVE_STATE__ACTIVE_ACTIVATING ||
               active == ARGOSY__ACTIVE_STATE__ACTIVE_REFRESHING;
}

const char *stop_propagation_next(StopPropagation *p) {
        for (size_t i = 0; i < p->n; i++) {
                if (p->nodes[i].asked || !passes_on(p->nodes[i].active))
                        continue;
                p->nodes[i].asked = true;
                p->at = i;
                return p->nodes[i].name;
        }
        return NULL;
}

int stop_propagation_add(StopPropagation *p, const StopKind *kind, const char *name) {
        size_t to = find(p, name);

        if (to == 0 && p->n > SYSTEMD_DEPENDENTS_MAX)
                return -E2BIG;
        if (to == 0) {
                to = add_node(p, name);
                if (to > 0)
                        p->nodes[to - 1].through = p->at;
        }
        if (to == 0 || ARRAY_GROW(p->edges, p->edges_allocated, p->n_edges + 1) < 0)
                return -ENOMEM;
        p->edges[p->n_edges++] = (StopEdge){p->at, to - 1, kind->needs};
        return 0;
}

size_t stop_propagation_unknown(const StopPropagation *p, const char **ret, size_t max) {
        size_t n = 0;

        for (size_t i = 0; i < p->n && n < max; i++)
                if (p->nodes[i].active == ARGOSY__ACTIVE_STATE__ACTIVE_UNKNOWN)
                        ret[n++] = p->nodes[i].name;
        return n;
}

void stop_propagation_state(StopPropagation *p, const char *name, Argosy__ActiveState active) {
        size_t at = find(p, name);

        if (at > 0)
                p->nodes[at - 1].active = active;
}

static bool spread_needs(StopPropagation *p) {
        bool changed = false;

        for (size_t i = 0; i < p->n_edges; i++) {
                const StopEdge *e = &p->edges[i];

                if (!e->needs || !p->nodes[e->from].needs || p->nodes[e->to].needs)
                        continue;
                p->nodes[e->to].needs = changed = true;
        }
        return changed;
}

int stop_propagation_list(StopPropagation *p, SystemdDependent **ret) {
        SystemdDependent *list = calloc(p->n, sizeof(*list));

        if (!list)
                return -ENOMEM;
        while (spread_needs(p))
                continue;
        for (size_t i = 1; i < p->n; i++)
                list[i - 1] = (SystemdDependent){.name = p->nodes[i].name,
                                                 .through = p->nodes[p->nodes[i].through].name,
                                                 .active = p->nodes[i].active,
                                                 .needs = p->nodes[i].needs};
        *ret = list;
        return (int) p->n - 1;
}
