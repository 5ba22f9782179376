// SPDX-License-Identifier: LGPL-2.1-or-later
#include <sys/stat.h>

#include "tmpdir.h"

#include "fence.h"
#include "str.h"
#include "sync-trace.h"

static void generation_beats_term_beats_index(void **state) {
        static const Fence rising[] = {{0, 0, 0}, {0, 0, 1}, {0, 1, 0}, {0, 1, 7},
                                       {0, 2, 3}, {1, 0, 0}, {1, 1, 1}, {2, 0, 0}};

        for (size_t i = 0; i < ELEMENTSOF(rising); i++)
                for (size_t k = 0; k < ELEMENTSOF(rising); k++) {
                        int c = fence_compare(&rising[i], &rising[k]);

                        assert_int_equal((c > 0) - (c < 0), (i > k) - (i < k));
                }
}

static void what_was_saved_is_found_again(void **state) {
        Fence f = {3, UINT64_MAX, 1234567890123}, found;

        assert_int_equal(fence_load(*state, &found), 0);
        assert_int_equal(found.generation | found.term | found.index, 0);
        assert_int_equal(fence_save(*state, &f), 0);
        assert_int_equal(fence_load(*state, &found), 0);
        assert_memory_equal(&found, &f, sizeof(f));
}

// Else a power cut would bring back a host that obeys an old leader.
static void a_saved_fence_survives_a_power_cut(void **state) {
        Fence f = {1, 2, 3};

        sync_trace_clear();
        assert_int_equal(fence_save(*state, &f), 0);
        assert_string_equal(sync_trace(), "frd");
        f.index++;
        sync_trace_clear();
        assert_int_equal(fence_save(*state, &f), 0);
        assert_string_equal(sync_trace(), "f"); // written over
}

// A full disk has no room for a file beside the old one.
static void a_later_fence_needs_no_room(void **state) {
        _cleanup_free_ char *path = str_printf("%s/fence", (char *) *state);
        Fence f = {1, 2, 3}, later = {1, 3, UINT64_MAX}, found;
        struct stat before, after;

        assert_int_equal(fence_save(*state, &f), 0);
        assert_int_equal(stat(path, &before), 0);
        assert_int_equal(fence_save(*state, &later), 0);
        assert_int_equal(stat(path, &after), 0);
        assert_int_equal(after.st_ino, before.st_ino);
        assert_int_equal(after.st_size, before.st_size);
        assert_int_equal(after.st_blocks, before.st_blocks);
        assert_int_equal(fence_load(*state, &found), 0);
        assert_memory_equal(&found, &later, sizeof(found));
}

// Each single damaged byte and each shorter file is noticed; nothing of it counts as "no fence".
static void a_damaged_file_is_not_an_empty_one(void **state) {
        _cleanup_free_ char *path = str_printf("%s/fence", (char *) *state);
        _cleanup_buf_ Buf good = {};
        Fence f = {1, 2, 3}, found;

        assert_int_equal(fence_save(*state, &f), 0);
        assert_int_equal(file_read(AT_FDCWD, path, 4096, &good), 0);
        for (size_t i = 0; i < good.len; i++) {
                good.data[i] ^= 0x10;
                assert_int_equal(file_replace(AT_FDCWD, path, good.data, good.len, 0600, 0), 0);
                assert_int_equal(fence_load(*state, &found), -EBADMSG);
                good.data[i] ^= 0x10;
                assert_int_equal(file_replace(AT_FDCWD, path, good.data, i, 0600, 0), 0);
                assert_int_equal(fence_load(*state, &found), -EBADMSG);
        }
}

RUN_TESTS(
        cmocka_unit_test(generation_beats_term_beats_index),
        cmocka_unit_test_setup_teardown(what_was_saved_is_found_again, tmpdir_make, tmpdir_drop),
        cmocka_unit_test_setup_teardown(a_saved_fence_survives_a_power_cut, tmpdir_make,
                                        tmpdir_drop),
        cmocka_unit_test_setup_teardown(a_later_fence_needs_no_room, tmpdir_make, tmpdir_drop),
        cmocka_unit_test_setup_teardown(a_damaged_file_is_not_an_empty_one, tmpdir_make,
                                        tmpdir_drop)
)
