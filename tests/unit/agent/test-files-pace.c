// SPDX-License-Identifier: LGPL-2.1-or-later
#include "test.h"

#include "files-pace.h"

enum { SEC = 1000 * 1000 };

static void nothing_is_never_due(void **state) {
        assert_int_equal(files_pace_due(0, 0, 0), 0);
        assert_int_equal(files_pace_due(0, FILES_LADEN_JOBS, SEC), 0);
}

static void the_first_file_is_due_at_once(void **state) {
        assert_int_equal(files_pace_due(1, 0, 0), 1);
        assert_int_equal(files_pace_due(1, FILES_LADEN_JOBS, 0), 1);
}

static void a_full_batch_waits_for_nothing(void **state) {
        assert_int_equal(files_pace_due(FILES_PER_BATCH, FILES_LADEN_JOBS, SEC), 1);
        assert_true(files_pace_due(FILES_PER_BATCH - 1, FILES_LADEN_JOBS, SEC) > SEC);
}

static void the_more_jobs_the_more_is_gathered(void **state) {
        assert_int_equal(files_pace_due(1, 0, SEC), SEC + FILES_PACE_US);
        assert_int_equal(files_pace_due(1, 1, SEC), SEC + FILES_BUSY_PACE_US);
        assert_int_equal(files_pace_due(1, FILES_LADEN_JOBS - 1, SEC), SEC + FILES_BUSY_PACE_US);
        assert_int_equal(files_pace_due(1, FILES_LADEN_JOBS, SEC), SEC + FILES_LADEN_PACE_US);
}

// A unit ordered each millisecond, and PID 1 does one job in each three: it looks at most once in
// FILES_LADEN_PACE_US once it has much to do, and never is without a job for more than a millisecond after
// its first one.
static void a_laden_systemd_is_not_idle_and_seldom_looks(void **state) {
        enum { UNITS = 1000 };
        size_t ordered = 0, writes = 0, jobs = 0, started = 0;
        unsigned batches = 0, idle = 0;
        uint64_t ended_us = 0;

        for (uint64_t now = SEC; started < UNITS; now += 1000) {
                if (ordered < UNITS) {
                        ordered++;
                        writes++;
                }
                if (writes > 0 && files_pace_due(writes, jobs, ended_us) <= now) {
                        batches++;
                        jobs += writes;
                        writes = 0;
                        ended_us = now;
                }
                idle += jobs == 0;
                if (jobs > 0 && now / 1000 % 3 == 0) {
                        jobs--;
                        started++;
                }
        }
        assert_in_range(batches, 2, 10);
        assert_in_range(idle, 0, 2 * FILES_BUSY_PACE_US / 1000);
}

RUN_TESTS(
        cmocka_unit_test(nothing_is_never_due),
        cmocka_unit_test(the_first_file_is_due_at_once),
        cmocka_unit_test(a_full_batch_waits_for_nothing),
        cmocka_unit_test(the_more_jobs_the_more_is_gathered),
        cmocka_unit_test(a_laden_systemd_is_not_idle_and_seldom_looks)
)
