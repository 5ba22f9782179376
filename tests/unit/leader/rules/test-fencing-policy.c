// SPDX-License-Identifier: LGPL-2.1-or-later
//
// May a unit still run on a node that it has left? Every way to start it elsewhere asks this.
#include "clock.h"
#include "fencing-policy.h"
#include "test.h"

#define SEC USEC_PER_SEC

enum { LOST = 1000, FENCE = 17 };

static const FencingGuard plain = {.unguarded = true}, guarded = {.fence_us = FENCE * SEC},
                          both = {.fence_us = FENCE * SEC, .unguarded = true};

static uint64_t until(const FencingGuard *guard, PreviousNode previous) {
        previous.lost_us = previous.lost ? LOST * SEC : 0;
        return fencing_policy_until(&previous, *guard);
}

static bool may_run(const FencingGuard *guard, PreviousNode previous, uint64_t now) {
        previous.lost_us = previous.lost ? LOST * SEC : 0;
        return fencing_policy_may_run(&previous, *guard, now * SEC);
}

static void it_runs_where_its_host_says_that_it_holds_it(void **state) {
        assert_int_equal(until(&plain, (PreviousNode){.reported = true, .held = true}),
                         FENCING_UNTIL_REPORTED);
        assert_int_equal(until(&guarded, (PreviousNode){.reported = true, .held = true}),
                         FENCING_UNTIL_REPORTED);
        assert_int_equal(until(&plain, (PreviousNode){.reported = true}), 0);
        assert_int_equal(until(&guarded, (PreviousNode){.reported = true}), 0);
}

static void it_has_ended_where_it_is_down_and_not_begun_again(void **state) {
        assert_int_equal(until(&plain, (PreviousNode){.reported = true, .held = true, .ended = true}), 0);
        assert_int_equal(
                until(&guarded, (PreviousNode){.reported = true, .held = true, .ended = true, .lost = true}),
                0);
}

static void what_this_leader_has_not_heard_may_run_anything(void **state) {
        assert_int_equal(until(&plain, (PreviousNode){}), FENCING_UNTIL_REPORTED);
        assert_int_equal(until(&guarded, (PreviousNode){}), FENCING_UNTIL_REPORTED);
}

static void nobody_waits_for_a_lost_host_unless_the_unit_stops_when_cut_off(void **state) {
        uint64_t fenced = (LOST + FENCE) * SEC;

        assert_int_equal(until(&plain, (PreviousNode){.reported = true, .held = true, .lost = true}), 0);
        assert_int_equal(until(&plain, (PreviousNode){.lost = true}), 0);
        assert_int_equal(until(&guarded, (PreviousNode){.reported = true, .held = true, .lost = true}),
                         fenced);
        assert_int_equal(until(&guarded, (PreviousNode){.lost = true}), fenced);
        assert_int_equal(until(&guarded, (PreviousNode){.reported = true, .lost = true}), 0);
}

static void a_host_that_said_that_all_has_stopped_runs_nothing(void **state) {
        assert_int_equal(until(&guarded, (PreviousNode){.stopped = true}), 0);
        assert_int_equal(until(&guarded, (PreviousNode){.stopped = true, .reported = true, .held = true}),
                         0);
        assert_int_equal(
                until(&plain, (PreviousNode){.stopped = true, .reported = true, .held = true, .lost = true}),
                0);
}

static void without_a_guard_it_runs_on_a_lost_host_for_ever(void **state) {
        const PreviousNode lost = {.lost = true}, held = {.lost = true, .reported = true, .held = true};

        assert_true(may_run(&plain, lost, LOST + 1000000));
        assert_true(may_run(&plain, held, LOST + 1000000));
        assert_true(may_run(&both, held, LOST + 1000000));
        assert_int_equal(until(&both, held), (LOST + FENCE) * SEC); // who begins waits for the one with a
                                                                    // guard
        assert_true(may_run(&guarded, held, LOST + FENCE - 1));
        assert_false(may_run(&guarded, held, LOST + FENCE));
        assert_false(may_run(&plain, (PreviousNode){.lost = true, .reported = true}, LOST));
        assert_false(may_run(&plain, (PreviousNode){.lost = true, .stopped = true}, LOST));
        assert_false(may_run(&plain, (PreviousNode){.held = true, .ended = true}, LOST));
        assert_true(may_run(&guarded, (PreviousNode){.held = true, .reported = true},
                            LOST + 1000000)); // not lost
}

static void what_a_host_that_went_did_not_see_end_is_waited_for_as_if_it_had_died(void **state) {
        PreviousNode previous = {.lingers = true, .reported = true, .held = true, .lost = true};

        assert_int_equal(until(&plain, previous), LOST * SEC);
        assert_int_equal(until(&guarded, previous), (LOST + FENCE) * SEC);
}

RUN_TESTS(
        cmocka_unit_test(it_runs_where_its_host_says_that_it_holds_it),
        cmocka_unit_test(it_has_ended_where_it_is_down_and_not_begun_again),
        cmocka_unit_test(what_a_host_that_went_did_not_see_end_is_waited_for_as_if_it_had_died),
        cmocka_unit_test(what_this_leader_has_not_heard_may_run_anything),
        cmocka_unit_test(nobody_waits_for_a_lost_host_unless_the_unit_stops_when_cut_off),
        cmocka_unit_test(a_host_that_said_that_all_has_stopped_runs_nothing),
        cmocka_unit_test(without_a_guard_it_runs_on_a_lost_host_for_ever)
)
