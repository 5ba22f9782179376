// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// What the benchmarks of the scheduler share: a fleet of hosts with units of some classes on it, kept in a
// Placement and beside it in what brute force and a plain scan need. Names, labels and specs live in the
// Fleet. Everything is seeded: the same calls make the same fleet. Allocations that fail are not looked for.
#include <stdio.h>

#include "../../src/placement/placement-private.h"
#include "../lib/brute-placement.h"

enum { NODES = 10000, CLASSES = 200, UNITS = 600000, NAME = 24, ROLES = 50 };

typedef struct Fleet {
        uint64_t seed;
        Placement *p;
        Brute brute;
        uint32_t n_nodes, n_units, roles[ROLES];
        char text[CLASSES][2][NAME];
        const char *values[CLASSES][2][4], *conflicts[CLASSES][2];
        PlacementTerm terms[CLASSES][2];
        PlacementSpec specs[CLASSES];
        uint32_t classes[CLASSES];
        PlacementLabel (*labels)[5];
        char (*names)[NAME];
        uint32_t *units, *handles; // handles of those that are placed; by handle: index in names
        uint32_t n_placed, n_named;
        // for the plain scan
        int32_t *cpu, *memory, *cpus, *memories;
        uint32_t *counts;
        uint8_t *admits; // [class][node]
} Fleet;

#define MUST(call)                                                         \
        do {                                                               \
                int _r = (call);                                           \
                if (_r < 0) {                                              \
                        fprintf(stderr, "%s: %s\n", #call, strerror(-_r)); \
                        exit(1);                                           \
                }                                                          \
        } while (0)

// CPU time: nothing here waits, and others may use the machine.
uint64_t bench_now_ns(void);
// A figure, with what stands beside it if that is more than 0.
void bench_emit(const char *bench, const char *metric, double value, const char *unit, double baseline);
void bench_fair(const char *metric, uint32_t nodes, unsigned n_roles);
void bench_rebalance(void);

void fleet_init(Fleet *f, uint64_t seed);
void fleet_done(Fleet *f);
unsigned fleet_roll(Fleet *f, unsigned n); // less than n
void fleet_make_class(Fleet *f, unsigned i);
void fleet_constrain_class(Fleet *f, unsigned i); // one that is made
void fleet_add_nodes(Fleet *f, uint32_t n);
void fleet_add_classes(Fleet *f); // behind all nodes
void fleet_add_role(Fleet *f, unsigned i, const int64_t *limit, uint32_t weight);
// The new one takes the place of the one that went in names, which are made before the clock runs.
void fleet_name_unit(Fleet *f, uint32_t name, unsigned class);
// Adds the unit and has a node chosen, PLACEMENT_NONE if there is none; returns its handle.
uint32_t fleet_place(Fleet *f, unsigned class, uint32_t name, uint32_t role, uint32_t *ret_node);
void fleet_keep(Fleet *f, uint32_t unit, uint32_t name); // it counts as placed
void fleet_fill(Fleet *f); // until 80 % of the cores or of the memory are reserved
double fleet_scan_rate(
        Fleet *f,
        bool fit); // decisions per second of what looks at every node, on the units that are placed

size_t bench_placement_bytes(const Placement *p); // of memory that it takes altogether
