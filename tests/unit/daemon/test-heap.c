// SPDX-License-Identifier: LGPL-2.1-or-later
#include "loop.h"

#include <malloc.h>
#include <pthread.h>
#include <stdlib.h>

#include "heap.h"

static unsigned n_released;
static bool released_on_the_loop;
static pthread_t loop_thread;

int __wrap_malloc_trim(size_t pad);
int __wrap_malloc_trim(size_t pad) {
        n_released++;
        released_on_the_loop = pthread_equal(pthread_self(), loop_thread);
        return 1;
}

static HeapKeeper keeper;

static int setup(void **state) {
        n_released = 0;
        loop_thread = pthread_self();
        if (loop_setup(state) < 0)
                return -1;
        heap_keeper_init(&keeper, &test_loop, 1);
        return 0;
}

static int teardown(void **state) {
        heap_keeper_close(&keeper);
        uv_run(&test_loop, UV_RUN_DEFAULT);
        return loop_teardown(state);
}

static void a_few_things_are_not_worth_the_work(void **state) {
        heap_keeper_note(&keeper, HEAP_RELEASE_AFTER - 1);
        assert_false(keeper.armed);
        assert_false(uv_is_active((uv_handle_t *) &keeper.timer));
}

static void a_burst_is_given_back_once_and_in_the_pool(void **state) {
        heap_keeper_note(&keeper, HEAP_RELEASE_AFTER - 1);
        heap_keeper_note(&keeper, 1);
        heap_keeper_note(&keeper, 10 * HEAP_RELEASE_AFTER); // the same burst
        assert_true(keeper.armed);
        loop_until(n_released > 0 && !keeper.working);
        assert_int_equal(n_released, 1);
        assert_false(released_on_the_loop);
        assert_false(uv_is_active((uv_handle_t *) &keeper.timer)); // nothing wakes an idle process
        heap_keeper_note(&keeper, HEAP_RELEASE_AFTER);
        loop_until(n_released > 1 && !keeper.working);
}

static void nothing_is_begun_after_the_end(void **state) {
        heap_keeper_close(&keeper);
        heap_keeper_note(&keeper, HEAP_RELEASE_AFTER);
        assert_false(keeper.armed);
        uv_run(&test_loop, UV_RUN_DEFAULT);
        assert_int_equal(n_released, 0);
        heap_keeper_init(&keeper, &test_loop, 1); // for the teardown
}

// A sanitizer's allocator says nothing of itself.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
static void what_is_in_use_shows(void **state) {
        HeapStats before = heap_stats(), after;
        char *volatile block = malloc(1 << 20);

        assert_non_null(block);
        after = heap_stats();
        assert_true(after.heap_allocated_bytes >= before.heap_allocated_bytes + (1 << 20));
        assert_true(after.heap_resident_bytes >= after.heap_allocated_bytes);
        free(block);
}
#endif

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(a_few_things_are_not_worth_the_work, setup, teardown),
                cmocka_unit_test_setup_teardown(a_burst_is_given_back_once_and_in_the_pool, setup, teardown),
                cmocka_unit_test_setup_teardown(nothing_is_begun_after_the_end, setup, teardown),
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
                cmocka_unit_test(what_is_in_use_shows),
#endif
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
