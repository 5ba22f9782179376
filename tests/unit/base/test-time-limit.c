// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A limit on a loop that stands still: uv_sleep() is the stop signal, or the slow disk.
#include "loop.h"

#include <sys/socket.h>
#include <unistd.h>

#include "time-limit.h"

static TimeLimit limit;
static uv_poll_t answer;
static int fds[2];
static unsigned n_over, n_answers;

static void on_over(void *userdata) {
        assert_ptr_equal(userdata, &n_over);
        n_over++;
}

static void on_answer(uv_poll_t *poll, int status, int events) {
        char byte;

        assert_int_equal(read(fds[0], &byte, 1), 1);
        n_answers++;
        time_limit_stop(&limit);
}

static int begin(void **state) {
        int r = loop_setup(state);

        n_over = n_answers = 0;
        assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
        assert_int_equal(uv_poll_init(&test_loop, &answer, fds[0]), 0);
        assert_int_equal(uv_poll_start(&answer, UV_READABLE, on_answer), 0);
        time_limit_init(&limit, &test_loop, &n_over);
        return r;
}

static int end(void **state) {
        time_limit_close(&limit, NULL);
        uv_close((uv_handle_t *) &answer, NULL);
        uv_run(&test_loop, UV_RUN_NOWAIT);
        close(fds[0]);
        close(fds[1]);
        return loop_teardown(state);
}

static void whoever_says_nothing_runs_into_it_once(void **state) {
        time_limit_start(&limit, 5, on_over);
        loop_until(n_over > 0);
        uv_sleep(20);
        uv_run(&test_loop, UV_RUN_NOWAIT);
        assert_int_equal(n_over, 1);
        assert_int_equal(n_answers, 0);
}

static void what_came_while_we_stood_still_came_in_time(void **state) {
        time_limit_start(&limit, 10, on_over);
        assert_int_equal(write(fds[1], "x", 1), 1);
        uv_sleep(30);
        loop_until(n_over + n_answers > 0);
        assert_int_equal(n_answers, 1);
        assert_int_equal(n_over, 0);
}

// Its answer may need more than one way there and back.
static void as_late_as_we_were_others_may_be(void **state) {
        time_limit_start(&limit, 10, on_over);
        uv_sleep(210);
        uint64_t since = uv_hrtime() / 1000000;
        loop_until(n_over > 0);
        assert_true(uv_hrtime() / 1000000 - since >= 190);
}

static void it_runs_from_when_it_is_started(void **state) {
        uv_run(&test_loop, UV_RUN_NOWAIT); // the turn begins
        uv_sleep(30);
        uint64_t before_ms = uv_hrtime() / 1000000;
        time_limit_start(&limit, 10000, on_over);
        assert_true(limit.due_ms >= before_ms + 9990); // the loop's clock is a coarse one
}

static void what_is_stopped_or_begun_anew_is_not_over(void **state) {
        time_limit_start(&limit, 5, on_over);
        uv_sleep(20);
        uv_run(&test_loop, UV_RUN_NOWAIT); // looks once more
        time_limit_start(&limit, 10000, on_over);
        uv_sleep(30);
        uv_run(&test_loop, UV_RUN_NOWAIT);
        time_limit_start(&limit, 5, on_over);
        time_limit_stop(&limit);
        uv_sleep(20);
        uv_run(&test_loop, UV_RUN_NOWAIT);
        uv_run(&test_loop, UV_RUN_NOWAIT);
        assert_int_equal(n_over, 0);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, begin, end)

RUN_TESTS(
        TEST(whoever_says_nothing_runs_into_it_once),
        TEST(what_came_while_we_stood_still_came_in_time),
        TEST(as_late_as_we_were_others_may_be),
        TEST(it_runs_from_when_it_is_started),
        TEST(what_is_stopped_or_begun_anew_is_not_over)
)
