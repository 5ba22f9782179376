// SPDX-License-Identifier: LGPL-2.1-or-later

// Journals that are streamed: the loop and the thread together. A node says lines whenever the test wants it
// to.

#include "test.h"

#include <errno.h>

#include "error-response.h"
#include "http-journal.h"
#include "http-world.h"
#include "message.h"
#include "messages.h"

enum { CLIENTS = 16, QUIET_MS = 200 };

typedef struct Question {
        HttpCall *call;
        Argosy__Request *request;
        size_t n_taken;
        bool cancelled;
} Question;

static struct World {
        uv_timer_t timer;
        bool quiet;
        Question asked[CLIENTS];
        size_t n_asked, n_cancelled;
} w;

static void on_request(HttpCall *call, Argosy__Request *request, const Argosy__Author *author,
                       void *userdata) {
        Question *q = &w.asked[w.n_asked++];

        assert_int_equal(request->what_case, ARGOSY__REQUEST__WHAT_JOURNAL);
        assert_true(w.n_asked < CLIENTS);
        *q = (Question){.call = call, .request = request};
        http_call_set_route(call, q);
}

static void on_cancel(void *route, void *userdata) {
        ((Question *) route)->cancelled = true;
        w.n_cancelled++;
}

static void on_taken(void *route, void *userdata) {
        ((Question *) route)->n_taken++;
}

static bool yes(const Argosy__Author *author, void *userdata) {
        return true;
}

static bool is_ready(void *userdata) {
        return true;
}

static const HttpApiOps ops = {
        .request = on_request, .cancel = on_cancel, .taken = on_taken, .admits = yes, .is_ready = is_ready};

FIXTURE(begin) {
        memset(&w, 0, sizeof(w));
        world_begin_on_socket(state, CLIENTS, &ops);
        assert_int_equal(uv_timer_init(&world.loop, &w.timer), 0);
}

FIXTURE(end) {
        uv_close((uv_handle_t *) &w.timer, NULL);
        (void) world_end(state);
        for (size_t i = 0; i < w.n_asked; i++)
                message_free(w.asked[i].request);
}

#define GET(target, headers) "GET " target " HTTP/1.1\r\nHost: x\r\n" headers "\r\n"
#define FOLLOW GET("/v1/journal/a.service?follow=1", "")

// The client has asked, and so has the loop.
static Client *ask(size_t i, const char *text) {
        size_t n = w.n_asked;
        Client *c = say(i, text);

        RUN_UNTIL(w.n_asked == n + 1);
        return c;
}

static bool has_ended(const Client *c) {
        return has(c, "\r\n0\r\n\r\n");
}

// NULL: none; the node says that it reads.
static void line(size_t question, const char *text, bool final) {
        char *lines[] = {(char *) text};
        Argosy__Response__Journal journal = MESSAGE_OF(response__journal, .lines = lines,
                                                       .n_lines = text ? 1 : 0, .node = (char *) "n1");

        http_call_respond(w.asked[question].call, A_RESPONSE(JOURNAL, journal, &journal, .final = final));
}

static void last(size_t question) {
        Argosy__Response r = error_response(0, "");

        http_call_respond(w.asked[question].call, &r);
}

static void problem(size_t question, int status, const char *why, bool final) {
        Argosy__Response r = error_response(status, why);

        r.final = final;
        http_call_respond(w.asked[question].call, &r);
}

static void on_quiet(uv_timer_t *timer) {
        w.quiet = true;
}

static void run_a_while(void) {
        w.quiet = false;
        uv_timer_start(&w.timer, on_quiet, QUIET_MS, 0);
        RUN_UNTIL(w.quiet);
}

static void each_line_is_one_object(void **state) {
        char *lines[] = {(char *) "one", (char *) "two"};
        uint8_t bytes[256];
        _cleanup_buf_ Buf out = {};
        Argosy__Response__Journal journal = JOURNAL_LINES_OF(.lines = lines, .n_lines = ELEMENTSOF(lines));
        Argosy__Response r = RESPONSE_OF(JOURNAL, journal, &journal);
        HttpPart part = {.data = bytes, .len = argosy__response__pack(&r, bytes)};

        assert_int_equal(http_journal_append(&part, "a.service", HTTP_STREAM_LINES, &out), 0);
        assert_int_equal(buf_append(&out, "", 1), 0);
        assert_string_equal(
                (char *) out.data,
                "{\"unit\":\"a.service\",\"line\":\"one\"}\n{\"unit\":\"a.service\",\"line\":\"two\"}\n");
        part.len = 3;
        assert_int_equal(http_journal_append(&part, "a.service", HTTP_STREAM_TEXT, &out), -EBADMSG);
}

static void lines_come_as_they_are_and_the_answer_ends_with_them(void **state) {
        Client *c = ask(0, GET("/v1/journal/a.service?lines=3&node=n7", ""));
        const Argosy__Request__Journal *q = w.asked[0].request->journal;

        assert_string_equal(q->name, "a.service");
        assert_string_equal(q->node, "n7");
        assert_int_equal(q->lines, 3);
        assert_int_equal(q->window, HTTP_JOURNAL_WINDOW);
        assert_false(q->follow || q->says_read);
        line(0, "one \xff", false);
        line(0, "two", false);
        last(0);
        RUN_UNTIL(has_ended(c));
        assert_true(has(c, "HTTP/1.1 200 ") && has(c, "Content-Type: text/plain; charset=utf-8\r\n"));
        assert_true(has(c, "one \xff\n") && has(c, "two\n"));
        (void) ask(0, GET("/v1/journal/a.service", "")); // on the same connection
        assert_int_equal(w.asked[1].request->journal->lines, HTTP_JOURNAL_LINES);
        last(1);
        RUN_UNTIL(held() == 0);
}

static void a_program_may_have_json(void **state) {
        Client *c = ask(0, GET("/v1/journal/a.service?follow=true", "Accept: application/x-ndjson\r\n"));

        assert_true(w.asked[0].request->journal->follow && w.asked[0].request->journal->says_read);
        line(0, "say \"\xff\"", false);
        problem(0, EHOSTUNREACH, "the connection to node n2 was lost", false);
        line(0, "and", false);
        RUN_UNTIL(has(c, "{\"unit\":\"a.service\",\"node\":\"n1\",\"line\":\"and\"}\n"));
        assert_true(has(c, "Content-Type: application/x-ndjson\r\n"));
        assert_true(has(c, "\"line\":\"say \\\"\\ufffd\\\"\"}\n"));
        assert_true(has(c, "\"status\":503,\"detail\":\"the connection to node n2 was "
                           "lost\",\"unit\":\"a.service\"}\n"));
}

static void what_is_followed_begins_when_it_is_read(void **state) {
        Client *c = ask(0, FOLLOW);

        run_a_while();
        assert_int_equal(c->got.len, 0);
        line(0, NULL, false);
        RUN_UNTIL(has(c, "HTTP/1.1 200 "));
        for (size_t i = 0; i < 3; i++) {
                char text[] = {(char) ('a' + i), 'x', '\0'};

                run_a_while();
                line(0, text, false);
                RUN_UNTIL(has(c, text));
        }
        assert_false(has_ended(c));
}

static void why_there_are_no_lines_is_the_status(void **state) {
        Client *c = ask(0, FOLLOW);

        run_a_while();
        problem(0, ENOENT, "a.service: no such unit", true);
        RUN_UNTIL(has(c, "a.service: no such unit"));
        assert_true(has(c, "HTTP/1.1 404 ") && has(c, "application/problem+json"));
        c = ask(1, GET("/v1/journal/a.service", "")); // of two nodes
        problem(1, EHOSTUNREACH, "n1 cannot be reached", false);
        problem(1, EACCES, "no journal", true);
        RUN_UNTIL(has(c, "n1 cannot be reached"));
        assert_true(has(c, "HTTP/1.1 503 "));
        assert_false(has(c, "no journal"));
}

static void of_two_nodes_one_may_have_none(void **state) {
        Client *c = ask(0, GET("/v1/journal/a.service", ""));

        problem(0, EHOSTUNREACH, "n1 cannot be reached", false);
        run_a_while();
        assert_int_equal(c->got.len, 0);
        line(0, "of n2", true);
        RUN_UNTIL(has_ended(c));
        assert_true(has(c, "HTTP/1.1 200 ") && has(c, "-- n1 cannot be reached\n") && has(c, "of n2\n"));
}

// More than its socket and libmicrohttpd have room for.
static void for_who_does_not_read_nothing_more_is_read(void **state) {
        _cleanup_free_ char *text = malloc(HTTP_JOURNAL_WINDOW);
        Client *c = ask(0, FOLLOW);
        size_t n_taken = 0, n = 0;

        assert_non_null(text);
        memset(text, 'x', HTTP_JOURNAL_WINDOW);
        text[HTTP_JOURNAL_WINDOW - 1] = '\0';
        stream_pause(c->stream, true);
        do { // as a node that keeps to its window
                n_taken = w.asked[0].n_taken;
                line(0, text, false);
                n++;
                assert_true(n < 100);
                run_a_while();
        } while (w.asked[0].n_taken > n_taken);
        assert_true(held() <= 3 * HTTP_JOURNAL_WINDOW);
        stream_pause(c->stream, false);
        RUN_UNTIL(w.asked[0].n_taken > n_taken);
        line(0, "end", false);
        RUN_UNTIL(has(c, "end\n"));
        assert_true(c->got.len > n * (HTTP_JOURNAL_WINDOW - 1));
        RUN_UNTIL(held() == 0);
}

static void who_goes_is_not_read_for_any_more(void **state) {
        (void) ask(0, FOLLOW);
        line(0, "one", false);
        RUN_UNTIL(has(&world.clients[0], "one"));
        run_a_while();
        stream_close(world.clients[0].stream, 0, false);
        while (!w.asked[0].cancelled) {
                line(0, "two", false);
                uv_run(&world.loop, UV_RUN_ONCE);
        }
}

static void what_is_followed_is_asked_for_again_when_its_node_was_lost(void **state) {
        Client *c = ask(0, FOLLOW);

        line(0, "one", false);
        problem(0, EHOSTUNREACH, "the connection to node n1 was lost", true);
        RUN_UNTIL(w.n_asked == 2);
        assert_int_equal(w.asked[1].request->journal->lines, 0);
        problem(1, EHOSTUNREACH, "a.service is on no node that can be reached", true);
        RUN_UNTIL(w.n_asked == 3);
        line(2, "two", false);
        RUN_UNTIL(has(c, "two\n"));
        assert_false(has(c, "is on no node")); // he knows
        assert_true(has(c, "-- the connection to node n1 was lost\n"));
        problem(2, EACCES, "it needs the right 'view'", true);
        RUN_UNTIL(has_ended(c));
        assert_true(has(c, "-- it needs the right 'view'\n"));
        assert_int_equal(w.n_asked, 3);
}

static void they_end_with_the_daemon_wherever_they_are(void **state) {
        _cleanup_free_ char *text = malloc(HTTP_JOURNAL_WINDOW);

        assert_non_null(text);
        memset(text, 'x', HTTP_JOURNAL_WINDOW);
        text[HTTP_JOURNAL_WINDOW - 1] = '\0';
        for (size_t i = 0; i < 8; i++)
                (void) ask(i, FOLLOW);
        for (size_t i = 0; i < 6; i++)
                line(i, text, false);
        for (size_t i = 0; i < 4; i++)
                RUN_UNTIL(has(&world.clients[i], "\nx") || has(&world.clients[i], "xx"));
        line(1, text, false);
        stream_close(world.clients[2].stream, 0, false);
        world_close_api();
        RUN_UNTIL(world.api_closed);
        for (size_t i = 0; i < 8; i++)
                RUN_UNTIL(world.clients[i].closed);
        assert_true(has(&world.clients[0], "-- argosyd is ending\n") && has_ended(&world.clients[0]));
        assert_true(has(&world.clients[7], " 503 "));
        assert_int_equal(w.n_cancelled, 0); // whoever has their questions ends by himself
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

RUN_TESTS(
        cmocka_unit_test(each_line_is_one_object),
        TEST(lines_come_as_they_are_and_the_answer_ends_with_them),
        TEST(a_program_may_have_json),
        TEST(what_is_followed_begins_when_it_is_read),
        TEST(why_there_are_no_lines_is_the_status),
        TEST(of_two_nodes_one_may_have_none),
        TEST(for_who_does_not_read_nothing_more_is_read),
        TEST(who_goes_is_not_read_for_any_more),
        TEST(what_is_followed_is_asked_for_again_when_its_node_was_lost),
        TEST(they_end_with_the_daemon_wherever_they_are)
)
