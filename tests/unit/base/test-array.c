// SPDX-License-Identifier: LGPL-2.1-or-later
#include "test.h"

#include <errno.h>
#include <stdint.h>

#include "array.h"

static void what_is_appended_stays(void **state) {
        size_t n = 0, allocated = 0, n_moves = 0;
        _cleanup_free_ int *list = NULL;

        for (int i = 0; i < 10000; i++) {
                const int *before = list;

                assert_int_equal(ARRAY_GROW(list, allocated, n + 1), 0);
                n_moves += list != before;
                list[n++] = i;
        }
        for (int i = 0; i < 10000; i++)
                assert_int_equal(list[i], i);
        assert_in_range(allocated, n, 2 * n);
        assert_in_range(n_moves, 1, 14); // as often as it has doubled, at most
}

static void there_is_room_for_as_many_as_are_needed(void **state) {
        _cleanup_free_ uint64_t *list = NULL;
        size_t allocated = 0;

        assert_int_equal(ARRAY_GROW(list, allocated, 0), 0);
        assert_null(list);
        assert_int_equal(ARRAY_GROW(list, allocated, 100), 0);
        assert_in_range(allocated, 100, 200);
        for (size_t i = 0; i < allocated; i++) // a sanitizer sees what is beyond
                list[i] = i;
        assert_int_equal(ARRAY_GROW(list, allocated, 3), 0); // never less
        assert_in_range(allocated, 100, 200);
        assert_int_equal(list[99], 99);
}

// As protobuf-c makes them.
static void an_array_of_exactly_its_length_is_made_longer(void **state) {
        _cleanup_free_ char **list = calloc(5, sizeof(*list));

        assert_non_null(list);
        list[4] = (char *) "last";
        assert_int_equal(ARRAY_RESERVE(list, 5 + 2), 0);
        list[5] = list[6] = NULL;
        assert_string_equal(list[4], "last");
        assert_int_equal(ARRAY_RESERVE(list, 0), 0); // room for one at least: nothing is freed
        assert_non_null(list);
}

static void more_than_can_be_counted_changes_nothing(void **state) {
        _cleanup_free_ uint64_t *list = NULL;
        size_t allocated = 0;

        assert_int_equal(ARRAY_GROW(list, allocated, 10), 0);
        list[9] = 9;
        uint64_t *before = list;
        assert_int_equal(ARRAY_GROW(list, allocated, SIZE_MAX), -ENOMEM);
        // wraps to nothing
        assert_int_equal(ARRAY_GROW(list, allocated, SIZE_MAX / sizeof(*list) + 1), -ENOMEM);
        assert_int_equal(ARRAY_GROW(list, allocated, SIZE_MAX / sizeof(*list) / 2 + 1), -ENOMEM);
        assert_int_equal(ARRAY_RESERVE(list, SIZE_MAX), -ENOMEM);
        assert_int_equal(ARRAY_RESERVE(list, SIZE_MAX / sizeof(*list) + 1), -ENOMEM);
        assert_ptr_equal(list, before);
        assert_int_equal(list[9], 9);
        assert_in_range(allocated, 10, 20);
}

RUN_TESTS(
        cmocka_unit_test(what_is_appended_stays),
        cmocka_unit_test(there_is_room_for_as_many_as_are_needed),
        cmocka_unit_test(an_array_of_exactly_its_length_is_made_longer),
        cmocka_unit_test(more_than_can_be_counted_changes_nothing)
)
