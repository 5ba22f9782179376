// SPDX-License-Identifier: LGPL-2.1-or-later
#include "printed.h"
#include "tmpdir.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sysexits.h>

#include "fileio.h"
#include "macro.h"
#include "start-failure.h"
#include "str.h"

static void tries_become_rarer(void **state) {
        const unsigned seconds[] = {0, 1, 2, 4, 8, 16, 30, 30};

        for (unsigned i = 0; i < ELEMENTSOF(seconds); i++)
                assert_int_equal(start_failure_pause_ms(i + 1), seconds[i] * 1000);
        assert_int_equal(start_failure_pause_ms(1000), 30000);
        assert_int_equal(start_failure_pause_ms(0), 0);
}

static void assert_counted(const char *dir, const char *n) {
        _cleanup_free_ char *path = str_printf("%s/start-failures", dir);
        _cleanup_buf_ Buf text = {};
        int r = file_read(AT_FDCWD, path, 100, &text);

        assert_int_equal(r, n ? 0 : -ENOENT);
        if (n)
                assert_memory_equal(text.data, n, strlen(n));
}

static void failures_in_a_row_are_counted_until_a_start_succeeds(void **state) {
        assert_int_equal(start_failed(*state, -EROFS, "read-only", true), EXIT_FAILURE);
        assert_counted(*state, "1\n");
        assert_int_equal(start_failed(*state, -EROFS, "read-only", true), EXIT_FAILURE);
        assert_counted(*state, "2\n");
        start_succeeded(*state);
        assert_counted(*state, NULL);
        start_succeeded(*state); // as most do
}

static void what_needs_a_person_is_not_tried_again(void **state) {
        assert_int_equal(start_failed(*state, -EBADMSG, "damaged", true), EX_CONFIG);
        assert_int_equal(start_failed(*state, -EPROTONOSUPPORT, "newer", true), EX_CONFIG);
        assert_counted(*state, NULL);
}

static void a_count_that_is_damaged_or_cannot_be_kept_ends_nothing(void **state) {
        assert_int_equal(
                file_replace(AT_FDCWD, printed("%s/start-failures", (char *) *state), "what?", 5, 0600, 0),
                0);
        assert_int_equal(start_failed(*state, -EROFS, "read-only", true), EXIT_FAILURE);
        assert_counted(*state, "1\n");
        assert_int_equal(start_failed("/nowhere", -EROFS, "read-only", true), EXIT_FAILURE);
        assert_int_equal(start_failed(NULL, -EROFS, "read-only", true), EXIT_FAILURE);
}

RUN_TESTS(
        cmocka_unit_test(tries_become_rarer),
        cmocka_unit_test_setup_teardown(failures_in_a_row_are_counted_until_a_start_succeeds,
                                        tmpdir_make, tmpdir_drop),
        cmocka_unit_test_setup_teardown(what_needs_a_person_is_not_tried_again, tmpdir_make,
                                        tmpdir_drop),
        cmocka_unit_test_setup_teardown(a_count_that_is_damaged_or_cannot_be_kept_ends_nothing,
                                        tmpdir_make, tmpdir_drop)
)
