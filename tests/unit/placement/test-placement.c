// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Nodes that are lost or where something has failed, who is released, reasons, labels, and memory. Other
// questions have files of their own.
#include "placement-words.h"

#include <errno.h>
#include <malloc.h>

#include "str.h"

// ------------------------------------------------------------------------------------------------ losing

static void what_is_on_a_lost_node_stays_until_it_is_released(void **state) {
        _cleanup_(donep) Fixture *f = hosts(2);
        uint32_t u = add(f, "a", f->class);

        round_at(f, 0, 0);
        placement_node_set_state(f->p, 0, PLACEMENT_LOST);
        assert_string_equal(round_at(f, SEC, 0), "");
        assert_false(placement_unit_must_go(f->p, u));
        placement_unit_release(f->p, u, true);
        round_at(f, SEC, 0);
        assert_int_equal(at(f, u), 1);
}

// ------------------------------------------------------------------------------------------------ failing

static void a_penalty_fades(void **state) {
        _cleanup_(donep) Fixture *f = hosts(2);

        placement_host_penalise(f->p, f->hosts[0], 100, 10 * SEC, 0);
        add(f, "a", f->class);
        assert_string_equal(round_at(f, 0, 0), "0>1");
        add(f, "b", f->class);
        assert_string_equal(round_at(f, 20 * SEC, 0), "1>1"); // 25 points are more than one unit
        add(f, "c", f->class);
        assert_string_equal(round_at(f, 1000 * (uint64_t) SEC, 0), "2>0");
}

static void a_unit_stays_away_from_where_it_failed_until_it_is_readmitted(void **state) {
        _cleanup_(donep) Fixture *f = hosts(2);
        uint32_t u = add(f, "a", f->class);

        round_at(f, 0, 0);
        placement_unit_exclude(f->p, u, 0);
        assert_true(placement_unit_must_go(f->p, u));
        placement_unit_put(f->p, u, PLACEMENT_NONE);
        round_at(f, 0, 1);
        assert_int_equal(at(f, u), 1);
        placement_unit_exclude(f->p, u, 1);
        placement_unit_put(f->p, u, PLACEMENT_NONE);
        assert_string_equal(round_at(f, 5 * SEC, 1), "");
        placement_unit_readmit(f->p, u, 0);
        round_at(f, 10 * SEC, 1);
        assert_int_equal(at(f, u), 0);
}

static void a_confined_unit_goes_only_where_it_is_admitted(void **state) {
        _cleanup_(donep) Fixture *f = hosts(4);
        uint32_t a = add(f, "a", f->class), b = add(f, "b", f->class), c = add(f, "c", f->class), node;

        placement_unit_confine(f->p, a);
        assert_int_equal(placement_move(f->p, a, SEC), PLACEMENT_NONE);
        placement_unit_admit(f->p, a, 2);
        placement_unit_admit(f->p, a, 3);
        assert_int_equal(placement_move(f->p, a, SEC), 2);
        placement_unit_put(f->p, b, 2); // now the other one is the better
        assert_int_equal(placement_unit_follow(f->p, c, a), 0);
        placement_unit_exclude(f->p, a, 2);
        assert_int_equal(placement_move(f->p, a, SEC), 3);
        placement_unit_exclude(f->p, a, 3); // that it is admitted is known beside it
        assert_int_equal(placement_move(f->p, a, SEC), PLACEMENT_NONE);
        placement_unit_readmit(f->p, a, 2);
        assert_int_equal(placement_move(f->p, a, SEC), 2);
        placement_node_add(f->p, 0, NULL, 0, &node); // one more changes nothing
        assert_true(unit_excluded(f->p, a, node));
        placement_unit_readmit(f->p, a, PLACEMENT_NONE);
        assert_false(unit_excluded(f->p, a, 0));
        assert_false(unit_excluded(f->p, a, node));
}

static void exclusions_end_one_by_one_with_their_unit_and_with_their_node(void **state) {
        enum { NODES = 8, UNITS = 20 };
        _cleanup_(donep) Fixture *f = hosts(NODES);
        bool excluded[UNITS][NODES] = {}, admitted[UNITS][NODES] = {}, confined[UNITS] = {},
             gone[NODES] = {};
        uint32_t units[UNITS];
        unsigned seed = 1;

        for (unsigned i = 0; i < UNITS; i++)
                units[i] = add(f, "u", f->class);
        for (unsigned step = 0; step < 3000; step++) {
                unsigned dice = (seed = seed * 1103515245u + 12345u) >> 16, u = dice % UNITS,
                         n = dice / UNITS % NODES;

                if (step % 500 == 499 && !gone[n]) {
                        placement_node_remove(f->p, n);
                        gone[n] = true;
                        for (unsigned i = 0; i < UNITS; i++)
                                excluded[i][n] = admitted[i][n] = false;
                } else if (step % 50 == 49 || step % 100 == 98) {
                        if (step % 50 == 49)
                                placement_unit_readmit(f->p, units[u], PLACEMENT_NONE);
                        else {
                                placement_unit_remove(f->p, units[u]);
                                units[u] = add(f, "u", f->class);
                        }
                        memset(excluded[u], 0, sizeof excluded[u]);
                        memset(admitted[u], 0, sizeof admitted[u]);
                        confined[u] = false;
                } else if (step % 40 == 7) {
                        placement_unit_confine(f->p, units[u]);
                        confined[u] = true;
                } else if (step % 4 == 1 && confined[u] && !gone[n]) {
                        placement_unit_admit(f->p, units[u], n);
                        admitted[u][n] = true;
                } else if (excluded[u][n]) {
                        placement_unit_readmit(f->p, units[u], n);
                        excluded[u][n] = false;
                } else if (!gone[n]) {
                        placement_unit_exclude(f->p, units[u], n);
                        excluded[u][n] = true;
                }
                for (unsigned i = 0; i < UNITS; i++)
                        for (unsigned k = 0; k < NODES; k++)
                                assert_int_equal(unit_excluded(f->p, units[i], k),
                                                 excluded[i][k] || (confined[i] && !admitted[i][k]));
        }
}

// ------------------------------------------------------------------------------------------------ the rest

static void only_who_was_released_moves(void **state) {
        const PlacementBudget budget = {.decisions = 100};
        _cleanup_(donep) Fixture *f = hosts(2);
        uint32_t a = add(f, "a", needing(f, 1000)), b = add(f, "b", needing(f, 1000));
        const PlacementDecision *d;
        size_t n;

        placement_unit_put(f->p, a, 0);
        placement_unit_put(f->p, b, 0);
        placement_unit_exclude(f->p, a, 0);
        placement_round(f->p, 0, &budget, &d, &n);
        assert_int_equal(n, 0); // it must go, and stays
        placement_unit_release(f->p, b, true);
        placement_round(f->p, 0, &budget, &d, &n);
        assert_int_equal(n, 1);
        assert_true(d[0].unit == b && d[0].to == 1);
        placement_unit_release(f->p, a, true);
        placement_unit_release(f->p, a, false); // held again
        placement_round(f->p, 0, &budget, &d, &n);
        assert_int_equal(at(f, a), 0);
}

// Whoever let it go may have been wrong, or the reason is gone.
static void who_was_released_and_is_nowhere_better_off_stays(void **state) {
        _cleanup_(donep) Fixture *f = hosts(2);
        uint32_t db = add(f, "db", needing(f, 100));

        add(f, "other", needing(f, 3000));
        assert_string_equal(round_at(f, 0, 0), "0>0 1>1");
        placement_unit_release(f->p, db, true);
        assert_string_equal(round_at(f, 1, 0), "");
        assert_int_equal(at(f, db), 0);
        placement_node_set_state(f->p, 0, PLACEMENT_CLOSED);
        placement_unit_release(f->p, db, true); // it waits no more
        assert_string_equal(round_at(f, 2, 0), "0>1");
}

static void each_node_has_its_reason(void **state) {
        static const char *const r1[] = {"r1", NULL}, *const globs[] = {"db*", NULL};
        static const PlacementTerm rack = {LABEL_IN, "rack", r1};
        _cleanup_(donep) Fixture *f = hosts(6);
        uint32_t u, db = add(f, "db1", f->class), big = add(f, "big", needing(f, 3500));
        PlacementRefusal *why;
        size_t n;

        placement_unit_put(f->p, db, 1);
        placement_unit_put(f->p, big, 3);
        u = add(f, "x",
                class_of(f, &(PlacementSpec){
                                    .terms = &rack, .n_terms = 1, .conflicts = globs, .demand = {{1000}}}));
        placement_node_set_state(f->p, 5, PLACEMENT_CLOSED);
        assert_string_equal(round_at(f, 0, 0), "");
        assert_int_equal(placement_why(f->p, u, &why, &n), 0);
        assert_int_equal(n, 6);
        assert_string_equal(why[0].reason, "needs label rack=r1, has rack=r0");
        assert_string_equal(why[1].reason, "conflicts with db1 there (Conflicts=db*)");
        assert_string_equal(why[3].reason, "needs 1 core, 0.5 of 4 are free");
        assert_string_equal(why[5].reason, "the node takes no new units");
        placement_refusals_free(why, n);
}

// The host has 4 cores and 4096 MiB.
static void assert_lack(PlacementVector taken, PlacementVector needs, const char *expected) {
        _cleanup_(donep) Fixture *f = hosts(1);
        uint32_t u = add(f, "taken", class_of(f, &(PlacementSpec){.demand = taken}));
        PlacementRefusal *why;
        size_t n;

        placement_unit_put(f->p, u, f->nodes[0]);
        u = add(f, "x", class_of(f, &(PlacementSpec){.demand = needs}));
        assert_int_equal(placement_why(f->p, u, &why, &n), 0);
        assert_int_equal(n, 1);
        assert_string_equal(why[0].reason, expected);
        placement_refusals_free(why, n);
}

// In the unit that was most likely written, and what is free never looks like enough.
static void what_is_lacking_is_told_as_it_was_asked_for(void **state) {
        enum { G = 1024, T = 1024 * 1024 };

        assert_lack((PlacementVector){{0, 0}}, (PlacementVector){{0, 900 * G}},
                    "needs 900G of memory, 4G of 4G are free");
        assert_lack((PlacementVector){{0, 1548}}, (PlacementVector){{0, 100 * T}},
                    "needs 100T of memory, 2.4G of 4G are free");
        assert_lack((PlacementVector){{0, 3596}}, (PlacementVector){{0, 1000}},
                    "needs 1000M of memory, 500M of 4096M are free");
        assert_lack((PlacementVector){{0, 3 * G + 1}}, (PlacementVector){{0, G}},
                    "needs 1G of memory, 1023M of 4G are free");
        assert_lack((PlacementVector){{3750, 0}}, (PlacementVector){{1000, 0}},
                    "needs 1 core, 0.25 of 4 are free");
        assert_lack((PlacementVector){{3000, 0}}, (PlacementVector){{1500, 0}},
                    "needs 1.5 cores, 1 of 4 is free");
}

// The last choice has used up the fewest, and nobody has looked for them since.
static void the_reason_knows_the_fewest_of_a_group(void **state) {
        _cleanup_(donep) Fixture *f = hosts(2);
        uint32_t role, class, c;
        unsigned resource;
        PlacementRefusal *why;
        size_t n;

        assert_int_equal(placement_role_add(
                                 f->p,
                                 &(PlacementRole){.weight = 1, .limit = {2000, -1, -1, -1, -1, -1, -1, -1}},
                                 &role),
                         0);
        class = class_of(f, &(PlacementSpec){.spread = "rack", .spread_group = "web", .demand = {{1000}}});
        add_for(f, "web1", class, role, 0);
        add_for(f, "web2", class, role, 0);
        c = add_for(f, "web3", class, role, 0);
        assert_string_equal(round_at(f, 0, 0), "0>0 1>1");
        assert_int_equal(placement_held_back(f->p, c, &resource), PLACEMENT_OVER_LIMIT);
        assert_int_equal(placement_why(f->p, c, &why, &n), 0);
        assert_int_equal(n, 0); // one in each rack: either may have another
        placement_refusals_free(why, n);
}

static bool any_key_has(const Placement *p, const Index *ix, uint32_t selector) {
        bool any = false;

        for (uint32_t i = 0; i < INDEX_KEYS; i++)
                any |= bit_test(ix->leaf + (size_t) i * p->n_words, selector);
        for (uint32_t i = 0; i < INDEX_MIDS; i++)
                any |= bit_test(ix->mid + (size_t) i * p->n_words, selector);
        for (uint32_t i = 0; i < INDEX_TOPS; i++)
                any |= bit_test(ix->top + (size_t) i * p->n_words, selector);
        return any;
}

// Nodes of several keys have it. The last class with such terms leaves its number, which the next one takes.
static void a_selector_that_nobody_has_leaves_no_bit(void **state) {
        static const char *const r1[] = {"r1", NULL}, *const r0[] = {"r0", NULL};
        static const PlacementTerm one = {LABEL_IN, "rack", r1}, other = {LABEL_IN, "rack", r0};
        _cleanup_(donep) Fixture *f = hosts(8);
        uint32_t class, selector, next;

        placement_unit_put(f->p, add(f, "big", needing(f, 2000)), f->nodes[1]);
        placement_unit_put(f->p, add(f, "small", needing(f, 300)), f->nodes[3]);
        class = class_of(f, &(PlacementSpec){.terms = &one, .n_terms = 1});
        selector = f->p->classes[class].base;
        assert_true(any_key_has(f->p, &f->p->indexes[INDEX_LOAD], selector));
        placement_class_unref(f->p, class);
        assert_false(any_key_has(f->p, &f->p->indexes[INDEX_LOAD], selector));
        next = class_of(f, &(PlacementSpec){.terms = &other, .n_terms = 1});
        assert_int_equal(f->p->classes[next].base, selector);
        add(f, "u", next);
        assert_string_equal(round_at(f, 0, 0), "2>0");
}

static void a_unit_counts_in_the_domain_of_the_new_labels(void **state) {
        PlacementLabel red[] = {{"rack", "r1"}, {"color", "red"}}, first = {"rack", "r0"};
        _cleanup_(donep) Fixture *f = hosts(2);
        uint32_t class = class_of(f, &(PlacementSpec){.spread = "rack", .spread_group = "web"});
        uint32_t key, domains[2];
        const uint32_t *counts;

        add(f, "web1", class);
        add(f, "web2", class);
        assert_string_equal(round_at(f, 0, 0), "0>0 1>1");
        label_key(f->p, "rack", &key);
        counts = f->p->groups[0].counts;
        for (unsigned i = 0; i < 2; i++)
                domains[i] = node_domain(f->p, f->nodes[i], key);
        placement_node_label(f->p, f->nodes[1], red, ELEMENTSOF(red));
        assert_int_equal(counts[domains[0]], 1);
        assert_int_equal(counts[domains[1]], 1);
        placement_node_label(f->p, f->nodes[1], &first, 1);
        assert_int_equal(counts[domains[0]], 2);
        assert_int_equal(counts[domains[1]], 0);
}

// ------------------------------------------------------------------------------------------------ memory

static size_t in_use(void) {
        struct mallinfo2 heap = mallinfo2(); // of another allocator than the C library's it says nothing

        return heap.uordblks + heap.hblkhd;
}

// A table of units that is long becomes pages of its own, and what is in it stays what it was.
static void a_long_table_keeps_what_is_in_it(void **state) {
        static char names[20000][16];
        _cleanup_(donep) Fixture *f = hosts(3);

        for (size_t i = 0; i < ELEMENTSOF(names); i++) {
                str_fit(names[i], sizeof names[i], "u%zu", i);
                assert_int_equal(add(f, names[i], f->class), i);
        }
        _cleanup_(placement_freep) Placement *copy = placement_copy_named(f->p);
        for (uint32_t i = 0; i < ELEMENTSOF(names); i++) {
                assert_string_equal(placement_unit_name(f->p, i), names[i]);
                assert_string_equal(placement_unit_name(copy, i), names[i]);
        }
}

static void its_memory_is_what_the_heap_says(void **state) {
        static char names[3000][16]; // so few that no table of them leaves the heap (table_grow())
        size_t before = in_use(), empty, bytes, real;
        _cleanup_(donep) Fixture *f = hosts(3);

        empty = placement_bytes(f->p);
        for (size_t i = 0; i < ELEMENTSOF(names); i++) {
                str_fit(names[i], sizeof names[i], "u%zu", i);
                add(f, names[i], f->class);
        }
        bytes = placement_bytes(f->p);
        real = in_use() - before;
        assert_true(bytes - empty >= ELEMENTSOF(names) * 40);
        if (before > 0 && real > 0)
                // what the C library caches it may count otherwise
                assert_in_range(bytes, real * 9 / 10, real * 101 / 100);
}

RUN_TESTS(
        cmocka_unit_test(what_is_on_a_lost_node_stays_until_it_is_released),
        cmocka_unit_test(a_penalty_fades),
        cmocka_unit_test(a_unit_stays_away_from_where_it_failed_until_it_is_readmitted),
        cmocka_unit_test(a_confined_unit_goes_only_where_it_is_admitted),
        cmocka_unit_test(exclusions_end_one_by_one_with_their_unit_and_with_their_node),
        cmocka_unit_test(only_who_was_released_moves),
        cmocka_unit_test(who_was_released_and_is_nowhere_better_off_stays),
        cmocka_unit_test(each_node_has_its_reason),
        cmocka_unit_test(what_is_lacking_is_told_as_it_was_asked_for),
        cmocka_unit_test(the_reason_knows_the_fewest_of_a_group),
        cmocka_unit_test(a_selector_that_nobody_has_leaves_no_bit),
        cmocka_unit_test(a_unit_counts_in_the_domain_of_the_new_labels),
        cmocka_unit_test(a_long_table_keeps_what_is_in_it),
        cmocka_unit_test(its_memory_is_what_the_heap_says)
)
