// SPDX-License-Identifier: LGPL-2.1-or-later
#include "test.h"

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "clock.h"
#include "process-birth.h"

static uint64_t now_in_ticks(void) {
        return clock_boot_us() * (uint64_t) sysconf(_SC_CLK_TCK) / USEC_PER_SEC;
}

static void a_process_was_born_after_its_parent_and_before_now(void **state) {
        uint64_t parent = process_birth(getppid()), own = process_birth(getpid());

        assert_true(parent > 0 && parent <= own && own <= now_in_ticks());
        assert_int_equal(process_birth(getpid()), own);
}

static void a_name_like_a_field_is_none(void **state) {
        uint64_t birth = process_birth(getpid());

        assert_int_equal(prctl(PR_SET_NAME, "a ) 1 (2 3) 4", 0, 0, 0), 0);
        assert_int_equal(process_birth(getpid()), birth);
}

static void who_is_gone_was_never_born(void **state) {
        pid_t child = fork();

        if (child == 0)
                _exit(0);
        assert_true(child > 0);
        assert_true(process_birth(child) > 0); // also when it only waits to be reaped
        assert_int_equal(waitpid(child, NULL, 0), child);
        assert_int_equal(process_birth(child), 0);
}

RUN_TESTS(
        cmocka_unit_test(a_process_was_born_after_its_parent_and_before_now),
        cmocka_unit_test(a_name_like_a_field_is_none),
        cmocka_unit_test(who_is_gone_was_never_born)
)
