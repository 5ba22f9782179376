// SPDX-License-Identifier: LGPL-2.1-or-later
//
// May a unit still run on a node that it has left? Every way to start it elsewhere asks this.
#include "clock.h"
#include "failing-rules.h"
#include "overlap.h"
#include "test.h"

#define SEC USEC_PER_SEC

enum { LOST = 1000, LEASE = 4 };

static const FailingOptions plain;
static const FailingOptions guarded = {.cut_off_stop = true, .cut_off_sec = 5, .stop_us = 10 * SEC};

static uint64_t until(const FailingOptions *options, OldHome home) {
        home.lost_us = home.lost ? LOST * SEC : 0;
        return overlap_until(&home, options, LEASE * SEC);
}

static void it_runs_where_its_host_says_that_it_holds_it(void **state) {
        assert_int_equal(until(&plain, (OldHome){.heard = true, .held = true}), OVERLAP_UNTIL_HEARD);
        assert_int_equal(until(&guarded, (OldHome){.heard = true, .held = true}), OVERLAP_UNTIL_HEARD);
        assert_int_equal(until(&plain, (OldHome){.heard = true}), 0);
        assert_int_equal(until(&guarded, (OldHome){.heard = true}), 0);
}

static void it_has_ended_where_it_is_down_and_not_begun_again(void **state) {
        assert_int_equal(until(&plain, (OldHome){.heard = true, .held = true, .ended = true}), 0);
        assert_int_equal(
                until(&guarded, (OldHome){.heard = true, .held = true, .ended = true, .lost = true}), 0);
}

static void what_this_leader_has_not_heard_may_run_anything(void **state) {
        assert_int_equal(until(&plain, (OldHome){}), OVERLAP_UNTIL_HEARD);
        assert_int_equal(until(&guarded, (OldHome){}), OVERLAP_UNTIL_HEARD);
}

static void nobody_waits_for_a_lost_host_unless_the_unit_stops_when_cut_off(void **state) {
        uint64_t fenced = LOST * SEC + failing_fence_us(&guarded, LEASE * SEC);

        assert_int_equal(until(&plain, (OldHome){.heard = true, .held = true, .lost = true}), 0);
        assert_int_equal(until(&plain, (OldHome){.lost = true}), 0);
        assert_int_equal(until(&guarded, (OldHome){.heard = true, .held = true, .lost = true}), fenced);
        assert_int_equal(until(&guarded, (OldHome){.lost = true}), fenced);
        assert_int_equal(until(&guarded, (OldHome){.heard = true, .lost = true}), 0);
}

static void a_host_that_said_that_all_has_stopped_runs_nothing(void **state) {
        assert_int_equal(until(&guarded, (OldHome){.stopped = true}), 0);
        assert_int_equal(until(&guarded, (OldHome){.stopped = true, .heard = true, .held = true}), 0);
        assert_int_equal(
                until(&plain, (OldHome){.stopped = true, .heard = true, .held = true, .lost = true}), 0);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(it_runs_where_its_host_says_that_it_holds_it),
                cmocka_unit_test(it_has_ended_where_it_is_down_and_not_begun_again),
                cmocka_unit_test(what_this_leader_has_not_heard_may_run_anything),
                cmocka_unit_test(nobody_waits_for_a_lost_host_unless_the_unit_stops_when_cut_off),
                cmocka_unit_test(a_host_that_said_that_all_has_stopped_runs_nothing),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
