// SPDX-License-Identifier: LGPL-2.1-or-later
#include "printed.h"
#include "test.h"

#include <fcntl.h>
#include <unistd.h>

#include "fileio.h"
#include "log-marker.h"
#include "store-node.h"
#include "str.h"
#include "sync-trace.h"

static char dir[256];

static void touch(const char *name) {
        assert_int_equal(file_replace(AT_FDCWD, printed("%s/%s", dir, name), "x", 1, 0600, 0), 0);
}

static bool exists(const char *name) {
        return access(printed("%s/%s", dir, name), F_OK) == 0;
}

FIXTURE(setup) {
        store_dir_make(dir, sizeof(dir));
        touch("metadata1");
        touch("0000000000000001-0000000000000090");
        touch("0000000000000091-0000000000000120");
        touch("0000000000000121-0000000000000130");
        touch("open-1");
}

FIXTURE(teardown) {
        store_dir_remove(dir);
}

static void without_a_marker_nothing_happens(void **state) {
        assert_int_equal(log_markers_finish(dir), 0);
        assert_true(exists("open-1"));
}

static void guard_3_an_interrupted_install_loses_the_old_segments(void **state) {
        touch("snapshot-2-120-1234");
        touch("snapshot-2-120-1234.meta");
        assert_int_equal(log_marker_put(dir, INSTALL_MARKER, 120), 0);
        assert_int_equal(log_markers_finish(dir), 1);
        assert_false(exists("0000000000000001-0000000000000090"));
        assert_false(exists("0000000000000091-0000000000000120"));
        assert_false(exists("0000000000000121-0000000000000130")); // as it was not committed
        assert_false(exists("open-1"));
        assert_false(exists(INSTALL_MARKER));
        assert_true(exists("metadata1"));
        assert_true(exists("snapshot-2-120-1234"));
        assert_int_equal(log_markers_finish(dir), 0);
}

static void guard_3_the_marker_survives_a_power_cut(void **state) {
        sync_trace_clear();
        assert_int_equal(log_marker_put(dir, INSTALL_MARKER, 120), 0);
        assert_string_equal(sync_trace(), "frd");
        sync_trace_clear();
        assert_int_equal(log_marker_remove(dir, INSTALL_MARKER), 0);
        assert_string_equal(sync_trace(), "d");
}

static void an_install_that_never_happened_loses_nothing(void **state) {
        touch("snapshot-2-12-1234"); // another one
        touch("snapshot-2-12-1234.meta");
        touch("snapshot-2-120-1234.meta"); // its data is missing
        assert_int_equal(log_marker_put(dir, INSTALL_MARKER, 120), 0);
        assert_int_equal(log_markers_finish(dir), 0);
        assert_true(exists("0000000000000001-0000000000000090"));
        assert_true(exists("open-1"));
        assert_false(exists(INSTALL_MARKER));
}

static void guard_20_an_interrupted_truncation_leaves_no_gap(void **state) {
        assert_int_equal(log_marker_put(dir, TRUNCATION_MARKER, 91), 0);
        assert_int_equal(log_markers_finish(dir), 0);
        assert_true(exists("0000000000000001-0000000000000090"));
        assert_false(exists("0000000000000091-0000000000000120"));
        assert_false(exists("0000000000000121-0000000000000130"));
        assert_false(exists(TRUNCATION_MARKER));
}

static void a_damaged_marker_stops_the_start(void **state) {
        touch(INSTALL_MARKER);
        assert_int_equal(log_markers_finish(dir), -EBADMSG);
        assert_true(exists("open-1"));
}

RUN_TESTS(
        cmocka_unit_test_setup_teardown(without_a_marker_nothing_happens, setup, teardown),
        cmocka_unit_test_setup_teardown(guard_3_an_interrupted_install_loses_the_old_segments, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(guard_3_the_marker_survives_a_power_cut, setup, teardown),
        cmocka_unit_test_setup_teardown(an_install_that_never_happened_loses_nothing, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(guard_20_an_interrupted_truncation_leaves_no_gap, setup, teardown),
        cmocka_unit_test_setup_teardown(a_damaged_marker_stops_the_start, setup, teardown)
)
