// SPDX-License-Identifier: LGPL-2.1-or-later
//
// An arena: what is taken is its own and aligned, and after a reset everything is free again.
#include "test.h"

#include <stdalign.h>
#include <stddef.h>

#include "arena.h"

enum { PIECES = 3000 };

static size_t size_of(size_t i) {
        return i % 97 == 0 ? ARENA_CHUNK_BYTES + i : i % 31 == 0 ? ARENA_CHUNK_BYTES / 3 : 1 + i * 7 % 300;
}

static void each_piece_is_aligned_and_nobody_elses(void **state) {
        static uint8_t *pieces[PIECES];
        _cleanup_(arena_done) Arena a = {};

        for (unsigned round = 0; round < 3; round++) {
                for (size_t i = 0; i < PIECES; i++) {
                        pieces[i] = arena_alloc(&a, size_of(i));
                        assert_non_null(pieces[i]);
                        assert_int_equal((uintptr_t) pieces[i] % alignof(max_align_t), 0);
                        memset(pieces[i], (int) (i % 251), size_of(i));
                }
                for (size_t i = 0; i < PIECES; i++)
                        for (size_t k = 0; k < size_of(i); k++)
                                assert_int_equal(pieces[i][k], i % 251);
                arena_reset(&a);
        }
}

static void what_is_at_rest_holds_one_chunk_at_most(void **state) {
        Arena a = {};

        assert_non_null(arena_alloc(&a, 10 * ARENA_CHUNK_BYTES)); // alone, before any chunk
        arena_reset(&a);
        assert_null(a.newest);
        uint8_t *first = arena_alloc(&a, 100);
        for (size_t i = 0; i < 5000; i++)
                assert_non_null(arena_alloc(&a, 1000));
        arena_reset(&a);
        uint8_t *again = arena_alloc(&a, 100);
        assert_non_null(first);
        assert_non_null(again);
        memset(again, 1, 100);
        arena_done(&a);
        assert_null(a.newest);
}

static void what_nobody_has_is_refused(void **state) {
        _cleanup_(arena_done) Arena a = {};

        assert_null(arena_alloc(&a, SIZE_MAX - 8));
}

static void nothing_is_something_too(void **state) {
        _cleanup_(arena_done) Arena a = {};

        assert_non_null(arena_alloc(&a, 0));
        arena_reset(&a);
}

RUN_TESTS(
        cmocka_unit_test(each_piece_is_aligned_and_nobody_elses),
        cmocka_unit_test(what_is_at_rest_holds_one_chunk_at_most),
        cmocka_unit_test(what_nobody_has_is_refused),
        cmocka_unit_test(nothing_is_something_too)
)
