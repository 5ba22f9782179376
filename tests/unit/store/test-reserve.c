// SPDX-License-Identifier: LGPL-2.1-or-later
#include "printed.h"
#include "test.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "reserve.h"
#include "store-node.h"
#include "str.h"

static char dir[256];
static uint64_t free_bytes = 2 * RESERVE_BYTES, free_inodes = 1;

int __wrap_statvfs64(const char *path, struct statvfs *ret);
int __wrap_statvfs64(const char *path, struct statvfs *ret) {
        *ret = (struct statvfs){
                .f_frsize = 1024, .f_bavail = free_bytes / 1024, .f_files = 1000, .f_favail = free_inodes};
        return 0;
}

static int quota_error; // 0: there is none

int __real_fallocate64(int fd, int mode, off_t at, off_t len);
int __wrap_fallocate64(int fd, int mode, off_t at, off_t len);
int __wrap_fallocate64(int fd, int mode, off_t at, off_t len) {
        errno = quota_error;
        return quota_error ? -1 : __real_fallocate64(fd, mode, at, len);
}

static off_t fits = RESERVE_BYTES; // of what is kept

int __real_posix_fallocate64(int fd, off_t at, off_t len);
int __wrap_posix_fallocate64(int fd, off_t at, off_t len);
int __wrap_posix_fallocate64(int fd, off_t at, off_t len) {
        return len > fits ? ENOSPC : __real_posix_fallocate64(fd, at, len);
}

FIXTURE(setup) {
        store_dir_make(dir, sizeof(dir));
}

FIXTURE(teardown) {
        store_dir_remove(dir);
}

// Blocks that are really there, of the only file in the directory.
static uint64_t kept_bytes(void) {
        struct stat st;
        return stat(printed("%s/reserve", dir), &st) == 0 ? (uint64_t) st.st_blocks * 512 : 0;
}

static void what_is_kept_is_given_back_on_a_full_disk_alone(void **state) {
        assert_int_equal(kept_bytes(), 0);
        reserve_keep(dir);
        assert_true(kept_bytes() >= RESERVE_BYTES);
        reserve_give(dir);
        assert_true(kept_bytes() >= RESERVE_BYTES);
        free_bytes = RESERVE_BYTES - 1024;
        reserve_give(dir);
        assert_int_equal(kept_bytes(), 0);
        reserve_give(dir);
        reserve_keep(dir);
        reserve_keep(dir);
        assert_true(kept_bytes() >= RESERVE_BYTES);
}

// A block of it was used for good by the opening, and the disk is as full as before.
static void of_a_full_disk_as_much_is_kept_as_it_has(void **state) {
        fits = RESERVE_BYTES - 4096;
        reserve_keep(dir);
        assert_int_equal(kept_bytes(), RESERVE_BYTES / 2);
        fits = 4096;
        reserve_keep(dir);
        assert_int_equal(kept_bytes(), 0);
        fits = RESERVE_BYTES;
        reserve_keep(dir);
        assert_true(kept_bytes() >= RESERVE_BYTES);
}

// No figure of the file system says so.
static void what_is_kept_is_given_back_where_a_quota_is_full(void **state) {
        free_bytes = 2 * RESERVE_BYTES;
        quota_error = EIO; // that says nothing of room
        reserve_keep(dir);
        assert_true(reserve_disk_takes(dir, RESERVE_BYTES));
        reserve_give(dir);
        assert_true(kept_bytes() >= RESERVE_BYTES);
        quota_error = EDQUOT;
        assert_false(reserve_disk_takes(dir, RESERVE_BYTES));
        reserve_give(dir);
        assert_int_equal(kept_bytes(), 0);
        quota_error = 0;
}

// btrfs with blocks of 64 KiB counts 14 of them against a quota before it renames a file.
static void what_is_kept_is_enough_to_rename_a_file_on_btrfs(void **state) {
        reserve_keep(dir);
        assert_true(kept_bytes() >= 14 * 64 * 1024);
}

static void whoever_is_told_of_a_full_disk_hears_whether_it_is_a_quota(void **state) {
        quota_error = EDQUOT;
        assert_non_null(strstr(reserve_full_words(dir), "quota"));
        quota_error = ENOSPC;
        assert_null(strstr(reserve_full_words(dir), "quota"));
        assert_non_null(strstr(reserve_full_words(dir), "no space is left on the disk"));
        quota_error = 0;
}

static void an_inode_is_given_back_where_there_is_none(void **state) {
        free_bytes = 2 * RESERVE_BYTES;
        reserve_keep(dir);
        free_inodes = 0;
        reserve_give(dir);
        assert_int_equal(kept_bytes(), 0);
        free_inodes = 1;
}

static void what_a_crash_has_left_of_it_is_made_whole(void **state) {
        int fd = open(printed("%s/reserve", dir), O_CREAT | O_WRONLY, 0600);

        assert_true(fd >= 0);
        close(fd);
        reserve_keep(dir);
        assert_true(kept_bytes() >= RESERVE_BYTES);
}

RUN_TESTS(
        cmocka_unit_test_setup_teardown(what_is_kept_is_given_back_on_a_full_disk_alone, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(of_a_full_disk_as_much_is_kept_as_it_has, setup, teardown),
        cmocka_unit_test_setup_teardown(what_is_kept_is_given_back_where_a_quota_is_full, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(what_is_kept_is_enough_to_rename_a_file_on_btrfs, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(whoever_is_told_of_a_full_disk_hears_whether_it_is_a_quota,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(an_inode_is_given_back_where_there_is_none, setup, teardown),
        cmocka_unit_test_setup_teardown(what_a_crash_has_left_of_it_is_made_whole, setup, teardown)
)
