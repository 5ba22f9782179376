// SPDX-License-Identifier: LGPL-2.1-or-later

// The thread and the loop together, and clients that say what programs say, and what no program should.
// Lists, changes, streams and what was are tested in files of their own (test-api-*.c).

#include "printed.h"
#include "test.h"

#include <sched.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "api-world.h"
#include "clock.h"
#include "error-response.h"
#include "http-static.h"
#include "messages.h"

static void before_the_first_connection_there_is_no_thread(void **state) {
        uv_run(&world.loop, UV_RUN_NOWAIT);
        assert_false(http_api_is_running(world.api));
        RUN_UNTIL(has(say(0, GET("/healthz")), "ok\n"));
        assert_true(http_api_is_running(world.api));
}

static void what_is_asked_goes_to_the_loop_and_comes_back_as_json(void **state) {
        Client *c = say(0, GET("/v1/nodes"));

        RUN_UNTIL(has(c, "0\r\n\r\n"));
        assert_int_equal(w.last_what, ARGOSY__REQUEST__WHAT_LIST_NODES);
        assert_true(has(c, "HTTP/1.1 200 "));
        assert_true(has(c, "Content-Type: application/json\r\n"));
        assert_true(has(c, "Cache-Control: no-store\r\n"));
        assert_true(has(c, "X-Content-Type-Options: nosniff\r\n"));
        assert_true(has(c, "Content-Security-Policy: frame-ancestors 'none'\r\n"));
        assert_true(has(c, "{\"no_leader\":false,\"nodes\":[]}\n"));
}

static void a_connection_is_used_again_and_again(void **state) {
        for (size_t i = 0; i < 100; i++) {
                Client *c = say(0, GET("/v1/nodes"));

                RUN_UNTIL(has(c, "0\r\n\r\n"));
                c->got.len = 0;
        }
        assert_false(world.clients[0].closed);
}

static void questions_that_come_at_once_are_answered_in_their_order(void **state) {
        Client *c = say(0, GET("/v1/nodes") GET("/v1/nope") GET("/healthz"));

        RUN_UNTIL(has(c, "ok\n"));
        const char *json = memmem(c->got.data, c->got.len, "\"nodes\"", 7);
        const char *problem = memmem(c->got.data, c->got.len, "\"status\":404", 12);
        const char *ok = memmem(c->got.data, c->got.len, "ok\n", 3);
        assert_true(json && problem && json < problem && problem < ok);
}

static void a_head_has_no_body(void **state) {
        Client *c = say(0, "HEAD /v1/nodes HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");

        RUN_UNTIL(c->closed);
        assert_true(has(c, "HTTP/1.1 200 "));
        assert_false(has(c, "no_leader"));
}

static void figures_are_openmetrics(void **state) {
        Argosy__Response__Counter row = ARGOSY__RESPONSE__COUNTER__INIT, *rows[] = {&row};
        Client *c = say_and_wait(GET("/metrics"));

        assert_int_equal(w.last_what, ARGOSY__REQUEST__WHAT_COUNTERS);
        assert_int_equal(http_api_stats(world.api).http_requests_open, 1);
        assert_int_equal(http_api_stats(world.api).http_requests, 1);
        assert_int_equal(http_api_stats(world.api).http_held_bytes, 0);
        row.name = (char *) "slow_turns";
        Argosy__Response__Counters counters = MESSAGE_OF(response__counters, .rows = rows, .n_rows = 1);
        http_call_respond(w.calls[0], A_RESPONSE(COUNTERS, counters, &counters, .final = true));
        RUN_UNTIL(has(c, "argosy_slow_turns_total 0\n# EOF\n"));
        assert_true(has(c, "Content-Type: application/openmetrics-text; version=1.0.0; charset=utf-8\r\n"));
}

static void whether_it_is_ready_is_the_daemon_s_word(void **state) {
        Client *c = say(0, GET("/readyz"));

        RUN_UNTIL(has(c, "ok\n"));
        w.ready = false;
        w.nobody_admitted = true; // that is nothing to it
        c->got.len = 0;
        (void) say(0, GET("/readyz"));
        RUN_UNTIL(has(c, "\"status\":503"));
        assert_true(has(c, "Retry-After: 1\r\n"));
        c->got.len = 0;
        (void) say(0, GET("/healthz"));
        RUN_UNTIL(has(c, "ok\n"));
}

static void who_has_no_rights_is_told_so(void **state) {
        w.nobody_admitted = true;
        Client *c = say(0, GET("/v1/nodes"));
        RUN_UNTIL(has(c, "has no rights in this cluster"));
        assert_true(has(c, "HTTP/1.1 403 "));
        assert_true(has(c, "Content-Type: application/problem+json\r\n"));
        assert_int_equal(w.last_what, 0);
}

static uint64_t n_lags(void) {
        TimeHistogram t = http_api_loop_lag(world.api);
        uint64_t n[TIME_BOUNDS + 1];

        time_histogram_cumulate(&t, n);
        return n[TIME_BOUNDS];
}

// From when the thread has handed the first of them over, until all of them are taken.
static void how_long_the_loop_was_not_there_is_counted(void **state) {
        struct timespec nap = {.tv_nsec = 1000 * 1000};
        struct sockaddr_un at = {.sun_family = AF_UNIX};
        _cleanup_(closep) int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        uint64_t sum_us, slept_us;
        bool arrived = false;
        Client *c = say(0, GET("/v1/nodes"));

        RUN_UNTIL(has(c, "0\r\n\r\n"));
        assert_int_equal(n_lags(), 1);
        sum_us = http_api_loop_lag(world.api).sum_us;
        str_fit(at.sun_path, sizeof(at.sun_path), "%s", world.path);
        assert_int_equal(connect(fd, (struct sockaddr *) &at, sizeof(at)), 0);
        assert_true(write(fd, GET("/v1/nodes"), strlen(GET("/v1/nodes"))) > 0);
        while (!arrived) { // the loop is not there
                pthread_mutex_lock(&world.api->lock);
                arrived = !list_is_empty(&world.api->arrived);
                pthread_mutex_unlock(&world.api->lock);
        }
        slept_us = clock_boot_us();
        (void) nanosleep(&nap, NULL);
        slept_us = clock_boot_us() - slept_us;
        RUN_UNTIL(n_lags() == 2);
        assert_true(http_api_loop_lag(world.api).sum_us >= sum_us + slept_us);
        SPIN_UNTIL(http_api_stats(world.api).http_requests_open == 0);
}

static void an_error_is_a_problem_document(void **state) {
        Argosy__Response r = error_response(EACCES, "it needs the right 'view'");
        Client *c = say_and_wait(GET("/v1/nodes"));

        http_call_respond(w.calls[0], &r);
        RUN_UNTIL(has(c, "\"detail\":\"it needs the right 'view'\""));
        assert_true(has(c, "HTTP/1.1 403 "));
}

// What a page may do stands there, too; and the loop never hears of it.
static void the_page_and_its_files_are_there(void **state) {
        static const char *const headers[] = {
                "Content-Type: text/html; charset=utf-8\r\n",
                "Cache-Control: no-cache\r\n",
                "Content-Security-Policy: default-src 'none'; script-src 'self'; style-src 'self'; img-src "
                "'self'; "
                "connect-src 'self'; worker-src 'self'; manifest-src 'self'; base-uri 'none'; form-action "
                "'none'; "
                "frame-ancestors 'none'\r\n",
                "X-Content-Type-Options: nosniff\r\n",
                "Referrer-Policy: no-referrer\r\n",
        };
        Client *c = say(0, GET("/"));

        RUN_UNTIL(has(c, "<!DOCTYPE html>"));
        assert_true(has(c, "HTTP/1.1 200 "));
        for (size_t i = 0; i < ELEMENTSOF(headers); i++)
                assert_true(has(c, headers[i]));
        c = say(1, GET("/dashboard/main.js"));
        RUN_UNTIL(has(c, "\r\n\r\n"));
        assert_true(has(c, "HTTP/1.1 200 ") && has(c, "Content-Type: text/javascript; charset=utf-8\r\n"));
        RUN_UNTIL(has(say(2, GET("/dashboard/nothing.js")), "HTTP/1.1 404 "));
        RUN_UNTIL(has(say(3, GET("/dashboard/")), "HTTP/1.1 404 "));
        RUN_UNTIL(has(say(4, GET("/dashboard/../main.js")), "HTTP/1.1 404 "));
        RUN_UNTIL(has(say(5, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n"), "HTTP/1.1 405 "));
        assert_true(has(&world.clients[5], "Allow: GET, HEAD\r\n"));
        assert_int_equal(w.last_what, 0);
}

static void a_file_that_has_not_changed_is_not_sent_again(void **state) {
        const HttpStatic *f = http_static_find("main.js", strlen("main.js"));
        Client *c = say(0, printed("GET /dashboard/main.js HTTP/1.1\r\nHost: x\r\nIf-None-Match: %s\r\n\r\n",
                                   f->tag));

        RUN_UNTIL(has(c, "\r\n\r\n"));
        assert_true(has(c, "HTTP/1.1 304 ") && has(c, f->tag) && has(c, "Cache-Control: no-cache\r\n"));
        c = say(1, "HEAD /dashboard/main.js HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
        RUN_UNTIL(c->closed);
        assert_true(has(c, "HTTP/1.1 200 ") && has(c, f->tag));
        assert_memory_equal(c->got.data + c->got.len - 4, "\r\n\r\n", 4);
}

static void what_is_no_request_is_refused(void **state) {
        static const struct {
                const char *text, *status;
        } cases[] = {
                {GET("/v1/nope"), " 404 "},
                {GET("/v1/units/%2e%2e"), " 400 "},
                {GET("/v1/units?colour=red"), " 400 "},
                {"PUT /v1/units HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc", " 405 "},
                {"DELETE /v1/units HTTP/1.1\r\nHost: x\r\n\r\n", " 405 "},
                {"GET /v1/nodes HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc", " 400 "},
                {"GET /v1/nodes HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
                 " 411 "},
                {"GET /v1/nodes HTTP/1.1\r\n\r\n", " 400 "}, // without Host
        };

        for (size_t i = 0; i < ELEMENTSOF(cases); i++) {
                Client *c = say(i, cases[i].text);

                RUN_UNTIL(has(c, cases[i].status));
                assert_int_equal(w.last_what, 0); // the loop never heard of it
        }
}

// A body that nobody wants is no second request.
static void a_request_is_not_smuggled_in_a_body(void **state) {
        Client *c =
                say(0, "GET /healthz HTTP/1.1\r\nHost: x\r\nContent-Length: 35\r\n\r\n" GET("/v1/nodes"));

        RUN_UNTIL(c->closed);
        assert_true(has(c, " 400 "));
        assert_false(has(c, "no_leader"));
        assert_int_equal(w.last_what, 0);
}

static void headers_have_a_limit(void **state) {
        _cleanup_buf_ Buf text = {};
        _cleanup_free_ char *flood = NULL;

        assert_int_equal(buf_printf(&text, "GET /v1/nodes HTTP/1.1\r\nHost: x\r\nX: "), 0);
        for (size_t i = 0; i < HTTP_HEADER_MAX; i++)
                assert_int_equal(buf_append(&text, "x", 1), 0);
        assert_int_equal(buf_printf(&text, "\r\n\r\n"), 0);
        flood = buf_take_string(&text);
        Client *c = say(0, flood);
        RUN_UNTIL(c->closed);
        assert_int_equal(w.last_what, 0);
}

static void a_user_has_only_so_many_connections(void **state) {
        Client *c;

        for (size_t i = 0; i < CONNECTIONS_PER_OWNER; i++) {
                c = say(i, GET("/healthz"));
                RUN_UNTIL(has(c, "ok\n"));
        }
        w.waits = true;
        world.clients[0].got.len = 0;
        assert_int_equal(stream_write(world.clients[0].stream, GET("/v1/nodes"), strlen(GET("/v1/nodes"))),
                         0); // which is not the longest idle one any more
        RUN_UNTIL(w.n_calls == 1);
        c = say(CONNECTIONS_PER_OWNER, GET("/healthz"));
        RUN_UNTIL(has(c, "ok\n"));
        RUN_UNTIL(world.clients[1].closed);
        for (size_t i = 2; i < CONNECTIONS_PER_OWNER; i++)
                assert_false(world.clients[i].closed);
        answer_nodes(w.calls[0]);
        RUN_UNTIL(has(&world.clients[0], " 200 "));
}

static size_t arrived(void) {
        size_t n = 0;

        pthread_mutex_lock(&world.api->lock);
        list_foreach (i, &world.api->arrived)
                n++;
        pthread_mutex_unlock(&world.api->lock);
        return n;
}

// Without the loop, which a Client needs.
static int connect_now(void) {
        struct sockaddr_un address = {.sun_family = AF_UNIX};
        int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

        assert_true(fd >= 0);
        assert_true(str_copy(address.sun_path, sizeof(address.sun_path), world.path));
        assert_int_equal(connect(fd, (struct sockaddr *) &address, sizeof(address)), 0);
        return fd;
}

static void say_now(int fd, const char *text) {
        assert_int_equal(write(fd, text, strlen(text)), (ssize_t) strlen(text));
}

static bool has_answer(int fd) {
        char text[4096];

        return read(fd, text, sizeof(text)) > 0;
}

static void what_arrives_at_once_is_begun_in_turns(void **state) {
        enum { AT_ONCE = 2 * HTTP_CALLS_IN_A_TURN + 1 };
        int fds[AT_ONCE];

        for (size_t i = 0; i < AT_ONCE; i++) {
                fds[i] = connect_now();
                say_now(fds[i], GET("/healthz"));
                SPIN_UNTIL(has_answer(fds[i]));
        }
        w.waits = true;
        for (size_t i = 0; i < AT_ONCE; i++)
                say_now(fds[i], GET("/v1/nodes"));
        while (arrived() < AT_ONCE) // the thread reads them; the loop stands still
                sched_yield();
        for (size_t turns = 1; w.n_calls < AT_ONCE; turns++) {
                uv_run(&world.loop, UV_RUN_NOWAIT);
                assert_true(w.n_calls <= turns * HTTP_CALLS_IN_A_TURN);
        }
        for (size_t i = 0; i < AT_ONCE; i++)
                answer_nodes(w.calls[i]);
        for (size_t i = 0; i < AT_ONCE; i++) {
                SPIN_UNTIL(has_answer(fds[i]));
                close(fds[i]);
        }
}

static void who_goes_before_he_is_answered_harms_nobody(void **state) {
        w.waits = true;
        (void) say(0, GET("/v1/nodes"));
        (void) say(1, GET("/v1/nodes"));
        RUN_UNTIL(w.n_calls == 2);
        stream_close(world.clients[0].stream, 0, false);
        RUN_UNTIL(world.clients[0].closed);
        answer_nodes(w.calls[0]);
        answer_nodes(w.calls[1]);
        RUN_UNTIL(has(&world.clients[1], "0\r\n\r\n") || has(&world.clients[0], "0\r\n\r\n"));
        w.waits = false;
        Client *c = say(2, GET("/v1/nodes"));
        RUN_UNTIL(has(c, "0\r\n\r\n"));
}

static void the_end_waits_for_nobody_s_answer(void **state) {
        w.waits = true;
        for (size_t i = 0; i < 8; i++)
                (void) say(i, GET("/v1/nodes"));
        RUN_UNTIL(w.n_calls == 8);
        world_close_api();
        RUN_UNTIL(world.api_closed);
        for (size_t i = 0; i < 8; i++)
                RUN_UNTIL(world.clients[i].closed);
}

// Calls are posted while it ends: they are answered by the thread itself, or their connection is closed.
static void it_may_end_in_the_middle_of_everything(void **state) {
        for (size_t i = 0; i < 32; i++)
                (void) say(i, GET("/v1/nodes") GET("/healthz") GET("/v1/nodes") GET("/v1/units"));
        RUN_UNTIL(has(&world.clients[0], "no_leader"));
        world_close_api();
        RUN_UNTIL(world.api_closed);
}

int main(void) {
        struct rlimit files;

        assert_int_equal(getrlimit(RLIMIT_NOFILE, &files), 0);
        files.rlim_cur = MIN_OF(files.rlim_max, (rlim_t) 4 * CLIENTS); // both ends of all of them are here
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &files), 0);
        const struct CMUnitTest tests[] = {
                API_TEST(before_the_first_connection_there_is_no_thread),
                API_TEST(what_is_asked_goes_to_the_loop_and_comes_back_as_json),
                API_TEST(a_connection_is_used_again_and_again),
                API_TEST(questions_that_come_at_once_are_answered_in_their_order),
                API_TEST(a_head_has_no_body),
                API_TEST(figures_are_openmetrics),
                API_TEST(whether_it_is_ready_is_the_daemon_s_word),
                API_TEST(who_has_no_rights_is_told_so),
                API_TEST(how_long_the_loop_was_not_there_is_counted),
                API_TEST(an_error_is_a_problem_document),
                API_TEST(the_page_and_its_files_are_there),
                API_TEST(a_file_that_has_not_changed_is_not_sent_again),
                API_TEST(what_is_no_request_is_refused),
                API_TEST(a_request_is_not_smuggled_in_a_body),
                API_TEST(headers_have_a_limit),
                API_TEST(a_user_has_only_so_many_connections),
                API_TEST(what_arrives_at_once_is_begun_in_turns),
                API_TEST(who_goes_before_he_is_answered_harms_nobody),
                API_TEST(the_end_waits_for_nobody_s_answer),
                API_TEST(it_may_end_in_the_middle_of_everything),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
