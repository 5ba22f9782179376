// SPDX-License-Identifier: LGPL-2.1-or-later
#include "test.h"

#include <stdlib.h>
#include <uv.h>

#include "macro.h"
#include "pool.h"

// One piece of work, which runs until the test lets it go.
typedef struct Piece {
        PoolWork pool;
        uv_sem_t go;
        _Atomic bool begun, done;
} Piece;

enum { PIECES = 12 };

static uv_loop_t loop;
static Piece pieces[PIECES];
static uv_sem_t begun; // one for each that begins

static void on_run(PoolWork *w) {
        Piece *p = CONTAINER_OF(w, Piece, pool);

        p->begun = true;
        uv_sem_post(&begun);
        uv_sem_wait(&p->go);
}

static void on_done(PoolWork *w) {
        CONTAINER_OF(w, Piece, pool)->done = true;
}

FIXTURE(setup) {
        assert_int_equal(uv_loop_init(&loop), 0);
        assert_int_equal(uv_sem_init(&begun, 0), 0);
        memset(pieces, 0, sizeof(pieces));
        for (size_t i = 0; i < PIECES; i++)
                assert_int_equal(uv_sem_init(&pieces[i].go, 0), 0);
}

FIXTURE(teardown) {
        for (size_t i = 0; i < PIECES; i++)
                uv_sem_post(&pieces[i].go);
        assert_int_equal(uv_run(&loop, UV_RUN_DEFAULT), 0);
        assert_int_equal(uv_loop_close(&loop), 0);
        for (size_t i = 0; i < PIECES; i++)
                uv_sem_destroy(&pieces[i].go);
        uv_sem_destroy(&begun);
}

static void add(size_t i, PoolShare share, const void *of) {
        pieces[i].pool.of = of;
        pool_add(&loop, &pieces[i].pool, share, on_run, on_done);
}

static void wait_until_begun(size_t i) {
        while (!pieces[i].begun)
                uv_sem_wait(&begun);
}

static void end(size_t i) {
        uv_sem_post(&pieces[i].go);
        while (!pieces[i].done)
                uv_run(&loop, UV_RUN_ONCE);
}

static size_t count_begun(size_t from, size_t to) {
        size_t n = 0;

        for (size_t i = from; i < to; i++)
                n += pieces[i].begun;
        return n;
}

// What libraft hands in itself.
static uv_work_t logged;
static uv_sem_t is_logged;
static bool log_is_back;

static void write_log(uv_work_t *work) {
        uv_sem_post(&is_logged);
}

static void on_written(uv_work_t *work, int status) {
        log_is_back = true;
}

static void assert_log_is_written(void) {
        log_is_back = false;
        assert_int_equal(uv_sem_init(&is_logged, 0), 0);
        assert_int_equal(uv_queue_work(&loop, &logged, write_log, on_written), 0);
        uv_sem_wait(&is_logged); // and nothing else ends meanwhile
        while (!log_is_back)
                uv_run(&loop, UV_RUN_ONCE);
        uv_sem_destroy(&is_logged);
}

static void the_log_has_threads_whatever_others_do(void **state) {
        for (size_t i = 0; i < PIECES; i++)
                add(i, i % 3 ? POOL_CLUSTER : POOL_GUESTS, NULL);
        while (count_begun(0, PIECES) < POOL_OURS)
                uv_sem_wait(&begun);
        for (size_t i = 0; i < POOL_LOG_THREADS; i++)
                assert_log_is_written();
        assert_int_equal(count_begun(0, PIECES), POOL_OURS);
}

static void guests_leave_threads_to_the_cluster(void **state) {
        for (size_t i = 0; i < 8; i++)
                add(i, POOL_GUESTS, NULL);
        wait_until_begun(POOL_GUESTS_MAX - 1);
        add(8, POOL_CLUSTER, NULL);
        wait_until_begun(8);
        assert_int_equal(count_begun(0, 8), POOL_GUESTS_MAX);
        end(8);
        end(0);
        wait_until_begun(POOL_GUESTS_MAX);
        assert_int_equal(count_begun(0, 8), POOL_GUESTS_MAX + 1);
}

static void who_has_something_under_way_waits_for_others(void **state) {
        static const char one, two;

        for (size_t i = 0; i < 6; i++)
                add(i, POOL_GUESTS, &one);
        add(6, POOL_GUESTS, &two);
        wait_until_begun(1);
        end(0);
        wait_until_begun(6);
        assert_false(pieces[2].begun);
        end(1);
        wait_until_begun(2);
}

// Thirty readers of journals of one user leave room to the next one.
static void no_account_has_the_whole_share(void **state) {
        static const char one, two;

        for (size_t i = 0; i < 6; i++) {
                pieces[i].pool.alone = true;
                add(i, POOL_GUESTS, &one);
        }
        wait_until_begun(0);
        pieces[6].pool.alone = true;
        add(6, POOL_GUESTS, &two);
        wait_until_begun(6);
        assert_int_equal(count_begun(0, 6), 1);
        end(6);
        assert_int_equal(count_begun(0, 6), 1);
        end(0);
        wait_until_begun(1);
        assert_int_equal(count_begun(0, 6), 2);
}

// Whoever plays several hosts has a loop for each, and one thread.
static void each_loop_has_its_lines(void **state) {
        uv_loop_t other;

        assert_int_equal(uv_loop_init(&other), 0);
        add(0, POOL_LATER, NULL);
        add(1, POOL_LATER, NULL);
        pool_add(&other, &pieces[2].pool, POOL_LATER, on_run, on_done);
        pool_add(&other, &pieces[3].pool, POOL_LATER, on_run, on_done);
        wait_until_begun(0);
        wait_until_begun(2); // whatever the first loop has under way
        assert_false(pieces[1].begun || pieces[3].begun);
        uv_sem_post(&pieces[2].go);
        uv_sem_post(&pieces[3].go);
        while (!pieces[3].done)
                uv_run(&other, UV_RUN_ONCE);
        assert_true(pieces[2].done);
        assert_false(pieces[1].begun); // another loop's
        end(0);
        wait_until_begun(1);
        assert_int_equal(uv_loop_close(&other), 0);
}

static void memory_is_given_back_by_a_thread(void **state) {
        void *what = malloc(100);

        assert_non_null(what);
        pool_release(&loop, what, free);
}

int main(void) {
#define CASE(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
        const struct CMUnitTest tests[] = {
                CASE(the_log_has_threads_whatever_others_do),
                CASE(guests_leave_threads_to_the_cluster),
                CASE(who_has_something_under_way_waits_for_others),
                CASE(no_account_has_the_whole_share),
                CASE(each_loop_has_its_lines),
                CASE(memory_is_given_back_by_a_thread),
        };

        setenv("UV_THREADPOOL_SIZE", "6", true);
        return cmocka_run_group_tests(tests, NULL, NULL);
}
