// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What the end of the daemon waits for, and what not. Whoever waits for too much hangs here.
#include "loop.h"

#include "daemon.h"
#include "run-private.h"

static struct World {
        Daemon daemon;
        uv_sem_t gate;
        uv_work_t look_up;
        uv_timer_t timer;
        WorkItem item;
        bool back, written, closed;
} w;

static int begin(void **state) {
        memset(&w, 0, sizeof(w));
        w.daemon.loop = &test_loop;
        assert_int_equal(loop_setup(state), 0);
        uv_unref((uv_handle_t *) &test_loop_patience);
        assert_int_equal(uv_timer_init(&test_loop, &w.timer), 0);
        work_queue_init(&w.daemon.writer.queue, &test_loop);
        return uv_sem_init(&w.gate, 0);
}

static int end(void **state) {
        uv_sem_post(&w.gate); // a test that has failed may not have
        if (!w.closed)
                uv_close((uv_handle_t *) &w.timer, NULL);
        uv_run(&test_loop, UV_RUN_DEFAULT);
        uv_sem_destroy(&w.gate);
        return loop_teardown(state);
}

static void run_look_up(uv_work_t *work) {
        uv_sem_wait(&w.gate);
}

static void on_look_up(uv_work_t *work, int status) {
        w.back = true;
}

static void a_look_up_that_hangs_keeps_nobody(void **state) {
        assert_int_equal(uv_queue_work(&test_loop, &w.look_up, run_look_up, on_look_up), 0);
        assert_false(run_out(&w.daemon));
        assert_false(w.back);
        uv_sem_post(&w.gate);
        loop_until(w.back);
        assert_true(run_out(&w.daemon));
}

static bool begin_write(WorkItem *item) {
        return true;
}

static void run_write(WorkItem *item) {
}

static void on_written(WorkItem *item) {
        w.written = true;
}

static void what_is_written_is_waited_for(void **state) {
        w.item = (WorkItem){.begin = begin_write, .run = run_write, .done = on_written};
        work_queue_add(&w.daemon.writer.queue, &w.item);
        assert_true(run_out(&w.daemon)); // no handle is open
        assert_true(w.written);
}

static void on_closed(uv_handle_t *handle) {
        w.closed = true;
}

static void handles_are_waited_for(void **state) {
        uv_close((uv_handle_t *) &w.timer, on_closed);
        assert_true(run_out(&w.daemon));
        assert_true(w.closed);
}

static void on_deadline(uv_timer_t *timer) {
        w.daemon.cut_short = true;
}

static void the_deadline_counts_for_all_of_it(void **state) {
        w.daemon.closing = 1;
        assert_int_equal(uv_timer_start(&w.timer, on_deadline, 1, 0), 0);
        assert_false(run_out(&w.daemon));
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, begin, end)

RUN_TESTS(
        CASE(a_look_up_that_hangs_keeps_nobody),
        CASE(what_is_written_is_waited_for),
        CASE(handles_are_waited_for),
        CASE(the_deadline_counts_for_all_of_it)
)
