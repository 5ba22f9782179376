// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What a rebalance costs: the loop is held for a copy of the Placement and by what of the plan is still
// right in the end, the pool by the search between them. The baseline of a copy is one of as many bytes in
// one piece.
#include "bench-placement.h"
#include "rebalance.h"

static void copy_bytes(size_t n, double *ret_ms) {
        char *from = calloc(1, n), *to;
        uint64_t begin;

        memset(from, 1, n);
        begin = bench_now_ns();
        to = malloc(n);
        memcpy(to, from, n);
        *ret_ms = (double) (bench_now_ns() - begin) / 1e6;
        if (to[n - 1] != 1)
                exit(1);
        free(from);
        free(to);
}

// 25 units on each of 4,000 nodes, and 1,000 that have none.
void bench_rebalance(void) {
        enum { ALL = 5000, IN_USE = 4000, EACH = 25, ROUNDS = 5, MOVES = 1000 };
        const RebalanceRules rules = {.max_moves = MOVES};
        double ms = 0, baseline = 0, one;
        RebalanceMove *moves;
        size_t n, kept;
        uint64_t begin;
        Placement *p;
        bool more;
        Fleet f;

        fleet_init(&f, UINT64_C(0x2545f4914f6cdd1d));
        for (unsigned i = 0; i < CLASSES; i++) {
                fleet_make_class(&f, i);
                fleet_constrain_class(&f, i);
                f.specs[i].demand.of[PLACEMENT_CPU] = (int32_t) (50 * (1 + fleet_roll(&f, 15)));
                f.specs[i].demand.of[PLACEMENT_MEMORY] = (int32_t) (32 * (1 + fleet_roll(&f, 50)));
        }
        fleet_add_nodes(&f, ALL);
        fleet_add_classes(&f);
        fleet_add_role(&f, 0, NULL, 1);
        for (uint32_t i = 0; i < IN_USE * EACH; i++) {
                unsigned class = fleet_roll(&f, CLASSES);
                uint32_t unit;

                while (!f.admits[(size_t) class * ALL + i / EACH])
                        class = fleet_roll(&f, CLASSES);
                fleet_name_unit(&f, i, class);
                placement_unit_add(f.p, f.names[i], f.classes[class], f.roles[0], 0, &unit);
                placement_unit_put(f.p, unit, i / EACH);
                placement_unit_want(f.p, unit, true);
        }
        for (uint32_t i = 0; i < ALL; i++) { // each has one that is its own, as nodes have
                PlacementLabel labels[6];
                char name[NAME];

                memcpy(labels, f.labels[i], sizeof f.labels[i]);
                snprintf(name, sizeof name, "n%u", i);
                labels[5] = (PlacementLabel){"name", name};
                placement_node_label(f.p, i, labels, ELEMENTSOF(labels));
        }
        for (int i = 0; i < ROUNDS; i++) {
                begin = bench_now_ns();
                p = placement_copy(f.p);
                ms += (double) (bench_now_ns() - begin) / 1e6 / ROUNDS;
                placement_free(p);
                copy_bytes(bench_placement_bytes(f.p), &one);
                baseline += one / ROUNDS;
        }
        bench_emit("rebalance", "copy", ms, "ms", baseline);
        p = placement_copy(f.p);
        begin = bench_now_ns();
        rebalance_plan(p, &rules, &moves, &n, &more);
        bench_emit("rebalance", "search", (double) (bench_now_ns() - begin) / 1e6, "ms", 0);
        placement_free(p);
        kept = n;
        begin = bench_now_ns();
        rebalance_revise(f.p, moves, &kept);
        bench_emit("rebalance", "revise", (double) (bench_now_ns() - begin) / 1e6, "ms", 0);
        if (n < MOVES / 2 || kept != n) {
                fprintf(stderr, "rebalance: %zu moves, %zu of them kept\n", n, kept);
                exit(1);
        }
        free(moves);
        fleet_done(&f);
}
