// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What is kept for the one who waits longest. That nobody is placed where brute force would not place him is
// test-placement-properties.c's to say.
#include "test.h"

#include <stdio.h>

#include "../../../src/placement/placement-private.h"
#include "random-numbers.h"
#include "str.h"

enum { HOSTS = 4, UNITS = 64 };

typedef struct Fleet {
        Placement *p;
        uint64_t seed;
        uint32_t role, small, large, nodes[HOSTS];
        char names[UNITS][24];
        int n_names;
        uint32_t last; // node that was given to a small one
} Fleet;

static uint32_t class_of(Fleet *f, int32_t cpu) {
        uint32_t class;

        assert_int_equal(placement_class_get(f->p, &(PlacementSpec){.demand = {{cpu}}}, &class), 0);
        return class;
}

// So many hosts of 4 cores.
static Fleet *hosts(int n) {
        PlacementRole plain = {.weight = 1, .limit = {-1, -1, -1, -1, -1, -1, -1, -1}};
        Fleet *f = calloc(1, sizeof *f);

        f->p = placement_new();
        f->seed = 1;
        assert_int_equal(placement_role_add(f->p, &plain, &f->role), 0);
        for (int i = 0; i < n; i++) {
                uint32_t host;

                placement_host_add(f->p, &(PlacementVector){{4000, 4096}}, PLACEMENT_SIZE_ONE, &host);
                placement_node_add(f->p, host, NULL, 0, &f->nodes[i]);
                placement_node_set_state(f->p, f->nodes[i], PLACEMENT_OPEN);
        }
        f->small = class_of(f, 1000);
        f->large = class_of(f, 3000);
        return f;
}

static void done(Fleet *f) {
        placement_free(f->p);
        free(f);
}
DEFINE_CLEANUP(Fleet *, done)

static uint32_t add(Fleet *f, const char *name, uint32_t class, int16_t priority) {
        uint32_t u;

        placement_unit_add(f->p, name, class, f->role, priority, &u);
        placement_unit_want(f->p, u, true);
        return u;
}

static uint32_t add_small(Fleet *f) {
        char *name = f->names[f->n_names++ % UNITS];

        snprintf(name, sizeof *f->names, "small%d", f->n_names);
        return add(f, name, f->small, 0);
}

static void go(Fleet *f) {
        const PlacementDecision *d;
        size_t n;

        placement_round(f->p, 0, &(PlacementBudget){.decisions = 1000}, &d, &n);
}

static uint32_t at(const Fleet *f, uint32_t unit) {
        return unit_node(f->p, unit);
}

static unsigned roll(Fleet *f, unsigned n) {
        return (unsigned) (xorshift64(&f->seed) >> 11) % n;
}

// One of them ends and another one comes, which is placed as a request would be, at once.
static void churn(Fleet *f, uint32_t *small, unsigned n) {
        uint32_t *one = &small[roll(f, n)];

        placement_unit_remove(f->p, *one);
        go(f);
        *one = add_small(f);
        f->last = placement_move(f->p, *one, 0);
}

static void fill(Fleet *f, uint32_t *small, unsigned n) {
        for (unsigned i = 0; i < n; i++)
                small[i] = add_small(f);
        go(f);
        for (unsigned i = 0; i < n; i++)
                assert_int_not_equal(at(f, small[i]), PLACEMENT_NONE);
}

// Until the unit has a node; how many have come and gone meanwhile.
static unsigned churn_until(Fleet *f, uint32_t unit, uint32_t *small, unsigned n) {
        enum { STEPS_MAX = 1000 };

        for (unsigned i = 0; i < STEPS_MAX; i++) {
                if (at(f, unit) != PLACEMENT_NONE)
                        return i;
                churn(f, small, n);
        }
        fail_msg("it was passed by for ever");
        return 0;
}

static void small_ones_that_come_and_go_do_not_keep_a_large_one_waiting(void **state) {
        for (uint64_t seed = 1; seed <= 40; seed++) {
                Fleet *f = hosts(1 + (int) seed % HOSTS);
                unsigned n = 4 * (1 + (unsigned) seed % HOSTS);
                uint32_t small[4 * HOSTS], large;

                f->seed = seed * UINT64_C(0x9e3779b97f4a7c15);
                fill(f, small, n);
                large = add(f, "large", f->large, 0);
                go(f);
                assert_int_equal(at(f, large), PLACEMENT_NONE);
                (void) churn_until(f, large, small, n);
                done(f);
        }
}

// The host that lacks the least is the one with the other large unit, which stays.
static void it_is_kept_elsewhere_when_nobody_leaves_that_host(void **state) {
        for (uint64_t seed = 1; seed <= 40; seed++) {
                Fleet *f = hosts(3);
                uint32_t small[12];

                f->seed = seed * UINT64_C(0x9e3779b97f4a7c15);
                fill(f, small, 12);
                (void) churn_until(f, add(f, "large", f->large, 0), small, 12);
                (void) churn_until(f, add(f, "another", f->large, 0), small, 12);
                (void) churn_until(f, add(f, "third", f->large, 0), small, 12);
                done(f);
        }
}

// Somebody asks what would become of two more, of which the larger one preempts; and in what order those
// that wait would be looked at if they came back.
static void ask(Fleet *f, const uint32_t *waiting, unsigned n) {
        uint32_t others[2] = {}, nodes[2 * UNITS];

        for (uint32_t u = 0; u < f->p->unit_slots.n; u++)
                nodes[u] = slots_has(&f->p->unit_slots, u) ? at(f, u) : PLACEMENT_NONE;
        placement_preview_begin(f->p);
        others[0] = add(f, "asked", f->small, 1);
        others[1] = add(f, "asked too", f->large, 2);
        for (unsigned i = 0; i < n; i++)
                placement_unit_want(f->p, waiting[i], false);
        go(f);
        f->last = placement_move(f->p, others[0], 0);
        for (unsigned i = n; i-- > 0;)
                placement_unit_want(f->p, waiting[i], true);
        go(f);
        for (unsigned i = 0; i < ELEMENTSOF(others); i++)
                placement_unit_remove(f->p, others[i]);
        for (uint32_t u = 0; u < f->p->unit_slots.n; u++)
                if (slots_has(&f->p->unit_slots, u))
                        placement_unit_put(f->p, u, nodes[u]);
        placement_preview_end(f->p);
}

// Who waits goes back to the node that it was on last, wherever it was only thought to be.
static void asking_does_not_change_where_one_goes_back_to(void **state) {
        _cleanup_(donep) Fleet *f = hosts(3);
        uint32_t u = add(f, "unit", f->small, 0), home = 2;

        placement_unit_put(f->p, u, home);
        placement_unit_put(f->p, u, PLACEMENT_NONE);
        placement_preview_begin(f->p);
        placement_unit_put(f->p, u, 1);
        placement_unit_put(f->p, u, PLACEMENT_NONE);
        placement_preview_end(f->p);
        assert_int_equal(placement_move(f->p, u, 0), home);
}

static void asking_does_not_change_whose_turn_it_is(void **state) {
        for (uint64_t seed = 1; seed <= 40; seed++) {
                Fleet *fleets[2] = {hosts(3), hosts(3)};
                uint32_t small[2][12], large[2][3];
                unsigned steps[2][3];

                for (int i = 0; i < 2; i++) {
                        Fleet *f = fleets[i];

                        f->seed = seed * UINT64_C(0x9e3779b97f4a7c15);
                        fill(f, small[i], 12);
                        for (int k = 0; k < 3; k++)
                                large[i][k] = add(f, k == 0 ? "a" : k == 1 ? "b" : "c", f->large, 0);
                        go(f);
                        for (int k = 0; k < 3; k++)
                                for (steps[i][k] = 0; at(f, large[i][k]) == PLACEMENT_NONE; steps[i][k]++) {
                                        assert_true(steps[i][k] < 1000);
                                        if (i == 1)
                                                ask(f, large[i] + k, 3 - (unsigned) k);
                                        churn(f, small[i], 12);
                                }
                        done(f);
                }
                assert_memory_equal(steps[0], steps[1], sizeof steps[0]);
        }
}

// So that a unit that finds its room soon disturbs nobody.
static void nothing_is_kept_before_enough_have_passed_by(void **state) {
        _cleanup_(donep) Fleet *f = hosts(1);
        uint32_t small[4], large;

        fill(f, small, 4);
        large = add(f, "large", f->large, 0);
        go(f);
        for (unsigned i = 0; i < PLACEMENT_PASSES_MAX - 1; i++) {
                placement_unit_remove(f->p, small[0]);
                small[0] = add_small(f);
                assert_int_not_equal(placement_move(f->p, small[0], 0), PLACEMENT_NONE);
                assert_int_equal(f->p->reservation.unit, PLACEMENT_NONE);
        }
        placement_unit_remove(f->p, small[0]);
        small[0] = add_small(f);
        assert_int_not_equal(placement_move(f->p, small[0], 0), PLACEMENT_NONE);
        go(f);
        assert_int_equal(f->p->reservation.unit, large);
        placement_unit_remove(f->p, small[0]);
        small[0] = add_small(f);
        assert_int_equal(placement_move(f->p, small[0], 0), PLACEMENT_NONE);
}

// hosts(1) with three small ones, one core free that is kept for `large`.
static Fleet *kept(uint32_t small[4], uint32_t *large) {
        Fleet *f = hosts(1);

        fill(f, small, 4);
        *large = add(f, "large", f->large, 0);
        go(f);
        for (unsigned i = 0; f->p->reservation.unit == PLACEMENT_NONE; i++) {
                assert_true(i <= 2 * PLACEMENT_PASSES_MAX);
                churn(f, small, 4);
        }
        for (unsigned i = 0, n = 0; i < 4; i++)
                if (at(f, small[i]) == PLACEMENT_NONE || n++ == 3)
                        placement_unit_remove(f->p, small[i]);
        go(f);
        return f;
}

static const char *why(Fleet *f, uint32_t unit) {
        static char text[128];
        PlacementRefusal *refusals;
        size_t n;

        assert_int_equal(placement_why(f->p, unit, &refusals, &n), 0);
        assert_int_equal(n, 1);
        str_fit(text, sizeof text, "%s", refusals[0].reason);
        placement_refusals_free(refusals, n);
        return text;
}

static void the_reason_says_for_whom_room_is_kept(void **state) {
        uint32_t small[4], large, another;
        _cleanup_(donep) Fleet *f = kept(small, &large);

        another = add_small(f);
        go(f);
        assert_int_equal(at(f, another), PLACEMENT_NONE);
        assert_string_equal(why(f, another), "its room is kept for large, which waits longer");
        assert_string_equal(why(f, large),
                            "needs 3 cores, 1 of 4 is free; what becomes free is kept for it");
}

static void when_it_waits_no_more_its_room_is_anybodys(void **state) {
        uint32_t small[4], large, another;
        _cleanup_(donep) Fleet *f = kept(small, &large);

        another = add_small(f);
        go(f);
        assert_int_equal(at(f, another), PLACEMENT_NONE);
        placement_unit_want(f->p, large, false);
        go(f);
        assert_int_equal(at(f, another), f->nodes[0]);
}

static void when_it_is_gone_its_room_is_anybodys(void **state) {
        uint32_t small[4], large, another;
        _cleanup_(donep) Fleet *f = kept(small, &large);

        another = add_small(f);
        go(f);
        placement_unit_remove(f->p, large);
        go(f);
        assert_int_equal(at(f, another), f->nodes[0]);
}

static void a_higher_priority_and_who_demands_nothing_of_it_go_before(void **state) {
        uint32_t small[4], large, high, light;
        _cleanup_(donep) Fleet *f = kept(small, &large);

        high = add(f, "high", f->small, 1);
        light = add(f, "light", class_of(f, 0), 0);
        go(f);
        assert_int_equal(at(f, high), f->nodes[0]);
        assert_int_equal(at(f, light), f->nodes[0]);
}

static void what_no_host_could_hold_keeps_nothing(void **state) {
        _cleanup_(donep) Fleet *f = hosts(1);
        uint32_t small[4];

        fill(f, small, 4);
        (void) add(f, "monster", class_of(f, 5000), 0);
        go(f);
        for (unsigned i = 0; i < 4 * PLACEMENT_PASSES_MAX; i++) {
                churn(f, small, 4);
                assert_int_equal(f->p->reservation.unit, PLACEMENT_NONE);
        }
}

static void of_two_who_wait_the_higher_priority_goes_first_then_who_came_first(void **state) {
        _cleanup_(donep) Fleet *f = hosts(1);
        uint32_t small[4], first, second, high;

        fill(f, small, 4);
        first = add(f, "first", f->large, 0);
        second = add(f, "second", class_of(f, 4000), 0); // another kind
        high = add(f, "high", class_of(f, 3500), 1);
        go(f);
        (void) churn_until(f, high, small, 4);
        assert_int_equal(at(f, first), PLACEMENT_NONE);
        placement_unit_remove(f->p, high);
        go(f);
        for (unsigned i = 0; i < 4; i++)
                if (at(f, small[i]) == PLACEMENT_NONE)
                        placement_unit_want(f->p, small[i], false);
        go(f);
        assert_int_equal(at(f, second), PLACEMENT_NONE);
}

static void a_host_that_is_closed_is_exchanged_for_another(void **state) {
        _cleanup_(donep) Fleet *f = hosts(2);
        uint32_t small[8], large, was;

        fill(f, small, 8);
        large = add(f, "large", f->large, 0);
        go(f);
        while (f->p->reservation.unit == PLACEMENT_NONE)
                churn(f, small, 8);
        was = f->p->reservation.host;
        placement_node_set_state(f->p, f->nodes[was], PLACEMENT_CLOSED);
        (void) churn_until(f, large, small, 8);
        assert_int_equal(at(f, large), f->nodes[1 - was]);
}

RUN_TESTS(
        cmocka_unit_test(small_ones_that_come_and_go_do_not_keep_a_large_one_waiting),
        cmocka_unit_test(it_is_kept_elsewhere_when_nobody_leaves_that_host),
        cmocka_unit_test(asking_does_not_change_where_one_goes_back_to),
        cmocka_unit_test(asking_does_not_change_whose_turn_it_is),
        cmocka_unit_test(nothing_is_kept_before_enough_have_passed_by),
        cmocka_unit_test(the_reason_says_for_whom_room_is_kept),
        cmocka_unit_test(when_it_waits_no_more_its_room_is_anybodys),
        cmocka_unit_test(when_it_is_gone_its_room_is_anybodys),
        cmocka_unit_test(a_higher_priority_and_who_demands_nothing_of_it_go_before),
        cmocka_unit_test(what_no_host_could_hold_keeps_nothing),
        cmocka_unit_test(of_two_who_wait_the_higher_priority_goes_first_then_who_came_first),
        cmocka_unit_test(a_host_that_is_closed_is_exchanged_for_another)
)
