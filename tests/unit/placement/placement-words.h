// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// A Placement with some hosts, units that want nodes, and what a round decides, as text. Shared by the tests
// that ask one question each.

#include "test.h"

#include <stdio.h>

#include "../../../src/placement/placement-private.h"

enum { SEC = 1000000 };

typedef struct Fixture {
        Placement *p;
        uint32_t role, class; // without limits; without demands
        uint32_t nodes[8], hosts[8];
} Fixture;

static const PlacementRole plain = {.weight = 1, .limit = {-1, -1, -1, -1, -1, -1, -1, -1}};

static inline uint32_t class_of(Fixture *f, const PlacementSpec *spec) {
        uint32_t class;

        assert_int_equal(placement_class_get(f->p, spec, &class), 0);
        return class;
}

static inline uint32_t needing(Fixture *f, int32_t cpu) {
        return class_of(f, &(PlacementSpec){.demand = {{cpu}}});
}

// So many hosts of 4 cores, rack=r0, r1, r0, ...
static inline Fixture *hosts(int n) {
        static const char *const racks[] = {"r0", "r1"};
        Fixture *f = calloc(1, sizeof *f);

        f->p = placement_new();
        assert_int_equal(placement_role_add(f->p, &plain, &f->role), 0);
        for (int i = 0; i < n; i++) {
                PlacementLabel rack = {"rack", racks[i % 2]};

                placement_host_add(f->p, &(PlacementVector){{4000, 4096}}, PLACEMENT_SIZE_ONE, &f->hosts[i]);
                placement_node_add(f->p, f->hosts[i], &rack, 1, &f->nodes[i]);
                placement_node_set_state(f->p, f->nodes[i], PLACEMENT_OPEN);
        }
        f->class = class_of(f, &(PlacementSpec){});
        return f;
}

static inline void done(Fixture *f) {
        placement_free(f->p);
        free(f);
}
DEFINE_CLEANUP(Fixture *, done)

static inline uint32_t add_for(Fixture *f, const char *name, uint32_t class, uint32_t role,
                               int16_t priority) {
        uint32_t u;

        placement_unit_add(f->p, name, class, role, priority, &u);
        placement_unit_want(f->p, u, true);
        return u;
}

static inline uint32_t add(Fixture *f, const char *name, uint32_t class) {
        return add_for(f, name, class, f->role, 0);
}

// What a round decides, as "unit>node" in a row; "unit>-1" of one that is preempted.
static inline const char *round_at(Fixture *f, uint64_t now_us, size_t disruptions) {
        static char text[512];
        const PlacementDecision *d;
        size_t n, len = 0;

        placement_round(f->p, now_us, &(PlacementBudget){100, disruptions}, &d, &n);
        *text = 0;
        for (size_t i = 0; i < n; i++)
                len += (size_t) snprintf(text + len, sizeof text - len, "%s%u>%d", len ? " " : "", d[i].unit,
                                         (int) d[i].to);
        return text;
}

static inline uint32_t at(Fixture *f, uint32_t unit) {
        return unit_node(f->p, unit);
}
