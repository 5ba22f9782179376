// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The scheduler alone: no I/O, one core, seeded. Units of a fleet that is filled to 80 %
// (bench-placement-fleet.c) go and others come, one after the other, each placed at once; a hundred nodes
// are lost at the same time; and what all of it takes in memory. The baseline is what one would write first:
// look at every node. One in a thousand answers (all of fair-round) is compared with brute force
// (tests/lib/brute-placement.c), which shares nothing with either.
#include "bench-placement.h"

enum { BLOCK = 1000, BLOCKS = 40 };

typedef struct Step { // a unit that goes, and one that comes
        uint32_t gone, unit, node;
        unsigned class;
} Step;

static void compare(Fleet *f, uint32_t unit, unsigned class, uint32_t name, uint32_t got,
                    const char *bench) {
        uint32_t expected;

        brute_unit(&f->brute, unit, f->names[name], &f->specs[class]);
        expected = brute_choose(&f->brute, unit);
        if (got == expected)
                return;
        fprintf(stderr, "%s: class %u went to %u, brute force says %u\n", bench, class, got, expected);
        exit(1);
}

// The limit of a role is none of brute force's business: roles are wide enough in what is compared.
static double churn(Fleet *f, const char *bench) {
        Step steps[BLOCK];
        uint32_t names[BLOCK], picks[BLOCK];
        uint64_t ns = 0, refused = 0;

        for (int block = 0; block < BLOCKS; block++) {
                uint64_t begin;

                for (int i = 0; i < BLOCK; i++) {
                        steps[i].class = fleet_roll(f, CLASSES);
                        picks[i] = fleet_roll(f, f->n_placed);
                }
                begin = bench_now_ns();
                for (int i = 0; i < BLOCK; i++) {
                        uint32_t gone = f->units[picks[i]];

                        steps[i].gone = gone;
                        names[i] = f->handles[gone];
                        placement_unit_remove(f->p, gone);
                        // any name of the class will do for its globs; the number keeps it unique
                        memcpy(f->names[names[i]],
                               (char[]){'c', (char) ('0' + steps[i].class / 100),
                                        (char) ('0' + steps[i].class / 10 % 10),
                                        (char) ('0' + steps[i].class % 10)},
                               4);
                        steps[i].unit = fleet_place(f, steps[i].class, names[i],
                                                    f->roles[steps[i].class % ROLES], &steps[i].node);
                        if (steps[i].node == PLACEMENT_NONE) // it is compared, but not kept waiting
                                placement_unit_want(f->p, steps[i].unit, false);
                        f->units[picks[i]] = steps[i].unit;
                        f->handles[steps[i].unit] = names[i];
                }
                ns += bench_now_ns() - begin;
                for (int i = 0; i < BLOCK; i++) {
                        brute_drop(&f->brute, steps[i].gone);
                        if (i == BLOCK - 1)
                                compare(f, steps[i].unit, steps[i].class, names[i], steps[i].node, bench);
                        brute_unit(&f->brute, steps[i].unit, f->names[names[i]], &f->specs[steps[i].class]);
                        if (steps[i].node != PLACEMENT_NONE)
                                brute_put(&f->brute, steps[i].unit, steps[i].node);
                        refused += steps[i].node == PLACEMENT_NONE;
                }
        }
        fprintf(stderr, "%s: %llu of %d refused\n", bench, (unsigned long long) refused, BLOCK * BLOCKS);
        return 1e9 * BLOCK * BLOCKS / (double) ns;
}

static void bench_place(const char *bench, bool constrained, PlacementPolicy policy) {
        Fleet f;
        double rate;

        fleet_init(&f, UINT64_C(0x2545f4914f6cdd1d));
        for (unsigned i = 0; i < CLASSES; i++) {
                fleet_make_class(&f, i);
                if (constrained)
                        fleet_constrain_class(&f, i);
                f.specs[i].policy = policy;
        }
        fleet_add_nodes(&f, NODES);
        fleet_add_classes(&f);
        for (unsigned i = 0; i < ROLES; i++) {
                const int64_t quota[PLACEMENT_RESOURCES_MAX] = {1000000000, 1000000000, -1, -1,
                                                                -1,         -1,         -1, -1};

                fleet_add_role(&f, i, constrained ? quota : NULL, 1 + i % 7);
        }
        fleet_fill(&f);
        rate = churn(&f, bench);
        bench_emit(bench, "rate", rate, "1/s", fleet_scan_rate(&f, policy == PLACEMENT_BEST_FIT));
        fleet_done(&f);
}

static void check_moves(Fleet *f, const PlacementDecision *d, size_t n) {
        for (size_t i = 0; i < n; i++) {
                const BruteUnit *u = &f->brute.units[d[i].unit];

                if (!brute_eligible(&f->brute, d[i].unit, d[i].to) || d[i].from != u->node ||
                    (i % 30 == 0 && brute_choose(&f->brute, d[i].unit) != d[i].to)) {
                        fprintf(stderr, "mass-loss: wrong move of %s\n", u->name);
                        exit(1);
                }
                brute_put(&f->brute, d[i].unit, d[i].to);
        }
}

// 30 units on each of 10,000 nodes. The baseline looks at every node for each unit.
static void bench_mass_loss(void) {
        enum { LOST = 100, EACH = 30 };
        const PlacementBudget all = {.decisions = LOST * EACH};
        const PlacementDecision *d;
        double ms, baseline;
        uint64_t begin;
        Fleet f;
        size_t n;

        fleet_init(&f, UINT64_C(0x2545f4914f6cdd1d));
        for (unsigned i = 0; i < CLASSES; i++) {
                fleet_make_class(&f, i);
                f.specs[i].demand.of[PLACEMENT_CPU] = (int32_t) (50 * (1 + fleet_roll(&f, 15)));
                f.specs[i].demand.of[PLACEMENT_MEMORY] = (int32_t) (32 * (1 + fleet_roll(&f, 50)));
        }
        fleet_add_nodes(&f, NODES);
        fleet_add_classes(&f);
        for (unsigned i = 0; i < ROLES; i++)
                fleet_add_role(&f, i, NULL, 1);
        for (uint32_t i = 0; i < NODES * EACH; i++) {
                unsigned class = fleet_roll(&f, CLASSES);
                uint32_t unit;

                while (!f.admits[(size_t) class * NODES + i / EACH])
                        class = fleet_roll(&f, CLASSES);
                fleet_name_unit(&f, i, class);
                placement_unit_add(f.p, f.names[i], f.classes[class], f.roles[class % ROLES], 0, &unit);
                placement_unit_put(f.p, unit, i / EACH);
                placement_unit_want(f.p, unit, true);
                brute_unit(&f.brute, unit, f.names[i], &f.specs[class]);
                brute_put(&f.brute, unit, i / EACH);
                fleet_keep(&f, unit, i);
        }
        for (uint32_t i = 0; i < LOST; i++)
                f.brute.nodes[i * 97].state = PLACEMENT_LOST;
        begin = bench_now_ns();
        for (uint32_t i = 0; i < LOST; i++)
                placement_node_set_state(f.p, i * 97, PLACEMENT_LOST);
        for (uint32_t i = 0; i < LOST; i++)
                for (uint32_t k = 0; k < EACH; k++)
                        placement_unit_release(f.p, f.units[i * 97 * EACH + k], true);
        placement_round(f.p, 1, &all, &d, &n);
        ms = (double) (bench_now_ns() - begin) / 1e6;
        if (n != LOST * EACH) {
                fprintf(stderr, "mass-loss: %zu moves\n", n);
                exit(1);
        }
        check_moves(&f, d, n);
        baseline = LOST * EACH / fleet_scan_rate(&f, false) * 1e3;
        bench_emit("mass-loss", "wall", ms, "ms", baseline);
        fleet_done(&f);
}

static void bench_memory(void) {
        size_t empty, nodes, units;
        uint32_t unit;
        Fleet f;

        fleet_init(&f, UINT64_C(0x2545f4914f6cdd1d));
        for (unsigned i = 0; i < CLASSES; i++) {
                fleet_make_class(&f, i);
                fleet_constrain_class(&f, i);
                f.specs[i].policy = i % 2 ? PLACEMENT_BEST_FIT : PLACEMENT_LEAST_LOADED;
        }
        for (unsigned i = 0; i < ROLES; i++)
                fleet_add_role(&f, i, NULL, 1);
        empty = bench_placement_bytes(f.p);
        fleet_add_nodes(&f, NODES);
        fleet_add_classes(&f);
        for (unsigned i = 0; i < CLASSES; i++) { // one unit of each, for what a class in use needs per node
                fleet_name_unit(&f, i, i);
                placement_unit_add(f.p, f.names[i], f.classes[i], f.roles[0], 0, &unit);
                placement_unit_put(f.p, unit, i);
        }
        nodes = bench_placement_bytes(f.p);
        for (uint32_t i = CLASSES; i < 300000; i++) {
                unsigned class = fleet_roll(&f, CLASSES);

                fleet_name_unit(&f, i, class);
                placement_unit_add(f.p, f.names[i], f.classes[class], f.roles[class % ROLES], 0, &unit);
                placement_unit_put(f.p, unit, i % NODES);
        }
        units = bench_placement_bytes(f.p);
        bench_emit("place-memory", "per-unit", (double) (units - nodes) / (300000 - CLASSES), "B", 0);
        bench_emit("place-memory", "per-node", (double) (nodes - empty) / NODES, "B", 0);
        fleet_done(&f);
}

int main(void) {
        bench_place("place-simple", false, PLACEMENT_LEAST_LOADED);
        bench_place("place-constrained", true, PLACEMENT_LEAST_LOADED);
        bench_place("place-bestfit", false, PLACEMENT_BEST_FIT);
        bench_fair("10k-1k", 10000, 1000);
        bench_fair("20k-2k", 20000, 2000);
        bench_mass_loss();
        bench_rebalance();
        bench_memory();
        return 0;
}
