// SPDX-License-Identifier: LGPL-2.1-or-later
#include "test.h"

#include "report-pace.h"

enum { SEC = 1000 * 1000 };

static void what_changes_now_and_then_is_told_at_once(void **state) {
        ReportPace p = {};

        for (uint64_t now = 5 * SEC; now < 1000 * SEC; now += 2 * SEC) // goes up and down again, each time
                for (int i = 0; i < 2; i++)
                        assert_int_equal(report_pace(&p, now + (unsigned) i * 1000), 0);
}

static void a_start_is_told_step_by_step(void **state) {
        ReportPace p = {};

        for (unsigned i = 0; i < REPORT_BURST; i++)
                assert_int_equal(report_pace(&p, 7 * SEC + i), 0);
        assert_true(report_pace(&p, 7 * SEC + REPORT_BURST) > 0);
}

// 40 changes a second for an hour.
static void a_crash_loop_costs_one_report_a_second(void **state) {
        unsigned n = 0;
        ReportPace p = {};

        for (uint64_t now = SEC; now < 3601 * (uint64_t) SEC; now += SEC / 40)
                n += report_pace(&p, now) == 0;
        assert_in_range(n, 3600, 3600 + REPORT_BURST);
}

static void a_delay_is_short_and_ends_in_a_report(void **state) {
        ReportPace p = {};
        uint64_t now = 123456789, due;

        while ((due = report_pace(&p, now)) == 0)
                now += 10;
        assert_true(due > now && due <= now + REPORT_INTERVAL_US + REPORT_TICK_US);
        assert_int_equal(due % REPORT_TICK_US, 0);
        assert_int_equal(report_pace(&p, due), 0);
        assert_true(report_pace(&p, due) > 0);
}

static void peace_brings_the_burst_back(void **state) {
        ReportPace p = {};
        uint64_t now = SEC;

        while (report_pace(&p, now) == 0)
                ;
        now += REPORT_BURST * (uint64_t) SEC;
        for (unsigned i = 0; i < REPORT_BURST; i++)
                assert_int_equal(report_pace(&p, now), 0);
}

static void a_few_jobs_are_told_at_once(void **state) {
        assert_int_equal(report_gather(0, SEC, SEC), 0);
        assert_int_equal(report_gather(REPORT_GATHER_JOBS - 1, SEC, SEC), 0);
}

static void many_are_told_together_from_the_second_on(void **state) {
        assert_int_equal(report_gather(REPORT_GATHER_JOBS, 0, SEC), 0);
        assert_int_equal(report_gather(REPORT_GATHER_JOBS, SEC, SEC), SEC + REPORT_GATHER_US);
        assert_int_equal(report_gather(1000, SEC, SEC + REPORT_GATHER_US - 1), SEC + REPORT_GATHER_US);
        assert_int_equal(report_gather(1000, SEC, SEC + REPORT_GATHER_US), 0);
}

RUN_TESTS(
        cmocka_unit_test(what_changes_now_and_then_is_told_at_once),
        cmocka_unit_test(a_start_is_told_step_by_step),
        cmocka_unit_test(a_few_jobs_are_told_at_once),
        cmocka_unit_test(many_are_told_together_from_the_second_on),
        cmocka_unit_test(a_crash_loop_costs_one_report_a_second),
        cmocka_unit_test(a_delay_is_short_and_ends_in_a_report),
        cmocka_unit_test(peace_brings_the_burst_back)
)
