// SPDX-License-Identifier: LGPL-2.1-or-later
#include "test.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fileio.h"
#include "sync-trace.h"
#include "tmpdir.h"

static void replaces_whole_files(void **state) {
        _cleanup_buf_ Buf b = {};

        assert_int_equal(file_replace(AT_FDCWD, "a", "one", 3, 0600, FILE_SYNC), 0);
        assert_int_equal(file_replace(AT_FDCWD, "a", "two!", 4, 0600, 0), 0);
        assert_int_equal(file_read(AT_FDCWD, "a", 4, &b), 0);
        assert_int_equal(b.len, 4);
        assert_memory_equal(b.data, "two!", 4);
        assert_int_equal(file_read(AT_FDCWD, "a", 3, &b), -EFBIG);
        assert_int_equal(b.len, 4);
        assert_int_equal(file_read(AT_FDCWD, "none", 3, &b), -ENOENT);
}

// The content before the name, the name before the return.
static void a_synced_replace_is_on_the_disk_when_it_returns(void **state) {
        sync_trace_clear();
        assert_int_equal(file_replace(AT_FDCWD, "a", "one", 3, 0600, FILE_SYNC), 0);
        assert_string_equal(sync_trace(), "frd");
        sync_trace_clear();
        assert_int_equal(file_replace(AT_FDCWD, "a", "two", 3, 0600, 0), 0);
        assert_string_equal(sync_trace(), "r");
}

static void a_failed_replace_leaves_nothing(void **state) {
        assert_int_equal(mkdir("a", 0700), 0);
        assert_int_equal(file_replace(AT_FDCWD, "a", "x", 1, 0600, 0), -EISDIR);
        assert_int_equal(access(".#a.new", F_OK), -1);
}

// A crash in the midst of an earlier replacement, or somebody who wants to be written to.
static void what_stands_where_the_new_file_is_written_is_in_nobodys_way(void **state) {
        _cleanup_buf_ Buf b = {};

        assert_int_equal(file_replace(AT_FDCWD, ".#a.new", "torn and longer", 15, 0400, 0), 0);
        assert_int_equal(file_replace(AT_FDCWD, "a", "one", 3, 0600, 0), 0);
        assert_int_equal(file_replace(AT_FDCWD, "target", "x", 1, 0600, 0), 0);
        assert_int_equal(symlink("target", ".#a.new"), 0);
        assert_int_equal(file_replace(AT_FDCWD, "a", "two", 3, 0600, 0), 0);
        assert_int_equal(file_read(AT_FDCWD, "a", 100, &b), 0);
        assert_int_equal(b.len, 3);
        assert_memory_equal(b.data, "two", 3);
        b.len = 0;
        assert_int_equal(file_read(AT_FDCWD, "target", 100, &b), 0);
        assert_memory_equal(b.data, "x", 1);
        assert_int_equal(access(".#a.new", F_OK), -1);
}

static void empties_trees_without_following_links(void **state) {
        assert_int_equal(mkdir("t", 0700), 0);
        assert_int_equal(mkdir("t/sub", 0700), 0);
        assert_int_equal(file_replace(AT_FDCWD, "t/sub/f", "x", 1, 0600, 0), 0);
        assert_int_equal(file_replace(AT_FDCWD, "keep", "x", 1, 0600, 0), 0);
        assert_int_equal(symlink("..", "t/up"), 0);
        assert_int_equal(dir_empty(AT_FDCWD, "t"), 0);
        assert_int_equal(rmdir("t"), 0);
        assert_int_equal(access("keep", F_OK), 0);
}

RUN_TESTS(
        cmocka_unit_test_setup_teardown(replaces_whole_files, tmpdir_enter, tmpdir_drop),
        cmocka_unit_test_setup_teardown(a_synced_replace_is_on_the_disk_when_it_returns,
                                        tmpdir_enter, tmpdir_drop),
        cmocka_unit_test_setup_teardown(a_failed_replace_leaves_nothing, tmpdir_enter, tmpdir_drop),
        cmocka_unit_test_setup_teardown(what_stands_where_the_new_file_is_written_is_in_nobodys_way,
                                        tmpdir_enter, tmpdir_drop),
        cmocka_unit_test_setup_teardown(empties_trees_without_following_links, tmpdir_enter,
                                        tmpdir_drop)
)
