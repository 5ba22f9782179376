// SPDX-License-Identifier: LGPL-2.1-or-later

// Streams of events: the loop and the thread together, with many clients, and with one that does not read.

#include "test.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "error-response.h"
#include "http-world.h"
#include "messages.h"
#include "work-alike.h"
#include "message.h"

enum { MANY = 1000, CLIENTS = MANY + 1, QUIET_MS = 200 };

// A question of a stream that was not answered.
typedef struct Question {
        HttpCall *call;
        Argosy__Request *request;
} Question;

static struct World {
        uv_timer_t timer;
        bool quiet;
        Question open[CLIENTS];
        size_t n_open, n_asked;
        uint64_t seq;
} w;

static void on_request(HttpCall *call, Argosy__Request *request, const Argosy__Author *author,
                       void *userdata) {
        assert_int_equal(request->what_case, ARGOSY__REQUEST__WHAT_EVENTS);
        assert_true(w.n_open < CLIENTS);
        w.open[w.n_open++] = (Question){call, request};
        w.n_asked++;
        http_call_set_route(call, call);
}

static void on_cancel(void *route, void *userdata) {
        for (size_t i = 0; i < w.n_open; i++)
                if (w.open[i].call == route) {
                        message_free(w.open[i].request);
                        w.open[i] = w.open[--w.n_open];
                        return;
                }
        fail_msg("what is not asked was called off");
}

static bool yes(const Argosy__Author *author, void *userdata) {
        return true;
}

static bool is_ready(void *userdata) {
        return true;
}

static const HttpApiOps ops = {
        .request = on_request, .cancel = on_cancel, .admits = yes, .is_ready = is_ready};

FIXTURE(begin) {
        struct rlimit files;

        memset(&w, 0, sizeof(w));
        assert_int_equal(getrlimit(RLIMIT_NOFILE, &files), 0);
        files.rlim_cur = files.rlim_max;
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &files), 0);
        world_begin_on_socket(state, CLIENTS, &ops);
        assert_int_equal(uv_timer_init(&world.loop, &w.timer), 0);
}

FIXTURE(end) {
        uv_close((uv_handle_t *) &w.timer, NULL);
        (void) world_end(state);
        for (size_t i = 0; i < w.n_open; i++)
                message_free(w.open[i].request);
}

#define GET(target, headers) "GET " target " HTTP/1.1\r\nHost: x\r\n" headers "\r\n"

static EventCursor cursor_at(uint64_t seq) {
        return (EventCursor){.generation = 1, .term = 1, .mode = EVENT_CURSOR_RING, .seq = seq};
}

static const Argosy__Request__Events *question(size_t i) {
        return w.open[i].request->events;
}

static Question take_question(size_t i) {
        Question q = w.open[i];

        w.open[i] = w.open[--w.n_open];
        return q;
}

// The oldest question gets so many events of a node, with so much text in each.
static void answer(size_t n_events, size_t n_text) {
        Question q = take_question(0);
        Argosy__Response__Events events = ARGOSY__RESPONSE__EVENTS__INIT;
        Argosy__Response r = RESPONSE_OF(EVENTS, events, &events, .final = true);
        _cleanup_free_ char *text = malloc(n_text + 1);
        char cursor[EVENT_CURSOR_SIZE],
                *values[] = {(char *) "n1", (char *) "online", (char *) "", (char *) "", text};
        ProtobufCBinaryData packed[64] = {};

        assert_true(text && n_events <= ELEMENTSOF(packed));
        memset(text, 'x', n_text);
        text[n_text] = '\0';
        Argosy__Event e = MESSAGE_OF(event, .kind = ARGOSY__EVENT_KIND__EVENT_NODE, .values = values,
                                     .n_values = ELEMENTSOF(values));
        for (size_t i = 0; i < n_events; i++) {
                e.seq = ++w.seq;
                packed[i].data = malloc(argosy__event__get_packed_size(&e));
                packed[i].len = argosy__event__pack(&e, packed[i].data);
        }
        EventCursor at = cursor_at(w.seq);
        event_cursor_format(&at, cursor);
        events.cursor = cursor;
        events.events = packed;
        events.n_events = n_events;
        message_free(q.request);
        http_call_respond(q.call, &r);
        for (size_t i = 0; i < n_events; i++)
                free(packed[i].data);
}

static void refuse(int status, const char *why) {
        Question q = take_question(0);
        Argosy__Response r = error_response(status, why);

        message_free(q.request);
        http_call_respond(q.call, &r);
}

static void on_quiet(uv_timer_t *timer) {
        w.quiet = true;
}

static int connect_raw(const char *text) {
        int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        struct sockaddr_un sun = {.sun_family = AF_UNIX};

        assert_true(fd >= 0 && str_copy(sun.sun_path, sizeof(sun.sun_path), world.path));
        assert_int_equal(connect(fd, (struct sockaddr *) &sun, sizeof(sun)), 0);
        assert_int_equal(write(fd, text, strlen(text)), (ssize_t) strlen(text));
        assert_int_equal(fcntl(fd, F_SETFL, O_NONBLOCK), 0);
        return fd;
}

static void for_who_does_not_read_nothing_is_asked(void **state) {
        _cleanup_(closep) int fd = connect_raw(GET("/v1/events", ""));
        size_t n_before, n_read = 0;
        char buf[65536];

        do {
                if (w.n_open > 0)
                        answer(48, 1000);
                w.quiet = false;
                uv_timer_start(&w.timer, on_quiet, QUIET_MS, 0);
                RUN_UNTIL(w.n_open > 0 || w.quiet);
                assert_true(w.n_asked < 100);
        } while (w.n_open > 0);
        n_before = w.n_asked;
        assert_true(held() <= EVENTS_BYTES_MAX);
        while (w.n_asked == n_before) {
                ssize_t n = read(fd, buf, sizeof(buf));

                n_read += n > 0 ? (size_t) n : 0;
                uv_run(&world.loop, UV_RUN_NOWAIT);
        }
        assert_true(n_read > 1000);
}

static void answer_beginning(void) {
        for (size_t i = 0; i < w.n_open; i++)
                if (question(i)->from_now) {
                        Question q = w.open[0];

                        w.open[0] = w.open[i];
                        w.open[i] = q;
                        answer(0, 0);
                        return;
                }
}

static size_t n_waiting(void) {
        size_t n = 0;

        list_foreach (i, &world.api->asked)
                n += CONTAINER_OF(i, HttpCall, link)->events.of != NULL;
        return n;
}

// So many clients are streams that wait, and one of them has asked for all.
static void open_streams(size_t n) {
        for (size_t i = 0; i < n; i++) {
                (void) say(i, GET("/v1/events", ""));
                while (!has(&world.clients[i], "id: ")) {
                        uv_run(&world.loop, UV_RUN_ONCE);
                        answer_beginning();
                }
        }
        RUN_UNTIL(w.n_open == 1 && n_waiting() == n);
}

static void a_thousand_wait_and_all_are_told(void **state) {
        open_streams(MANY);
        answer(1, 1);
        for (size_t i = 0; i < MANY; i++)
                RUN_UNTIL(has(&world.clients[i], "event: node"));
}

static void who_asks_for_something_else_asks_himself(void **state) {
        static const char *const targets[] = {GET("/v1/events?kind=node", ""),
                                              GET("/v1/events?kind=node&kind=job", "")};

        for (size_t i = 0; i < ELEMENTSOF(targets); i++) {
                (void) say(i, targets[i]);
                while (!has(&world.clients[i], "id: ")) {
                        uv_run(&world.loop, UV_RUN_ONCE);
                        answer_beginning();
                }
        }
        RUN_UNTIL(n_waiting() == 2);
        assert_int_equal(w.n_open, 2);
}

static void who_is_somebody_else_asks_himself(void **state) {
        Argosy__Author authors[] = {ARGOSY__AUTHOR__INIT, ARGOSY__AUTHOR__INIT, ARGOSY__AUTHOR__INIT};
        HttpCall calls[ELEMENTSOF(authors)] = {};

        for (size_t i = 0; i < ELEMENTSOF(authors); i++) {
                authors[i].uid = 1000 + (uint32_t) i % 2;
                calls[i].api = world.api;
                calls[i].author = &authors[i];
                calls[i].target.resource = HTTP_EVENTS;
                list_init(&calls[i].events.link);
                assert_int_equal(http_alike_join(&calls[i]), i == 2);
        }
        assert_ptr_equal(http_alike_leave(&calls[0]), &calls[2]);
        for (size_t i = 1; i < ELEMENTSOF(authors); i++)
                assert_null(http_alike_leave(&calls[i]));
        for (size_t i = 0; i < ELEMENTSOF(authors); i++)
                buf_done(&calls[i].events.wanted);
}

// His comment is due, or he has gone: then another one asks.
static void when_the_one_who_asks_leaves_another_one_does(void **state) {
        open_streams(3);
        HttpCall *asks = w.open[0].call;
        deadline_heap_clear(&world.api->deadlines, &asks->deadline);
        assert_int_equal(deadline_heap_set(&world.api->deadlines, &asks->deadline, 1), 0);
        uv_update_time(&world.loop);
        http_api_on_timer(&world.api->timer);
        assert_int_equal(w.n_open, 1);
        assert_ptr_not_equal(w.open[0].call, asks);
        RUN_UNTIL(n_waiting() == 3);
        answer(1, 1);
        for (size_t i = 0; i < 3; i++)
                RUN_UNTIL(has(&world.clients[i], "event: node"));
}

static void what_fails_for_one_fails_for_all(void **state) {
        open_streams(3);
        refuse(EACCES, "it needs the right 'view'");
        for (size_t i = 0; i < 3; i++)
                RUN_UNTIL(has(&world.clients[i], "event: problem") &&
                          has(&world.clients[i], "\r\n0\r\n\r\n"));
}

// However long that takes, the status is true.
static void whether_there_can_be_a_stream_is_known_before_it_begins(void **state) {
        (void) say(0, GET("/v1/events?since=0", ""));
        (void) say(1, GET("/v1/events", ""));
        RUN_UNTIL(w.n_open == 2);
        assert_true(question(0)->no_wait && question(1)->no_wait);
        uv_timer_start(&w.timer, on_quiet, QUIET_MS, 0);
        RUN_UNTIL(w.quiet);
        assert_true(world.clients[0].got.len == 0 && world.clients[1].got.len == 0);
        refuse(EINVAL, "this cursor is none");
        answer(0, 0);
        RUN_UNTIL(has(&world.clients[0], "HTTP/1.1 ") && has(&world.clients[1], "HTTP/1.1 "));
        assert_int_equal(
                has(&world.clients[0], "400 Bad Request") + has(&world.clients[1], "400 Bad Request"), 1);
        RUN_UNTIL(w.n_open == 1);
        assert_false(question(0)->no_wait);
}

// Too many watch, or ask: that passes, and he is told what there was meanwhile.
static void who_is_one_too_many_for_a_while_goes_on(void **state) {
        Client *c = &world.clients[0];

        open_streams(1);
        refuse(EBUSY, "1000 others watch already");
        RUN_UNTIL(w.n_open == 1);
        answer(1, 1);
        RUN_UNTIL(has(c, "event: node"));
        assert_false(c->closed || has(c, "problem"));
}

static void it_may_end_in_the_middle_of_everything(void **state) {
        for (size_t i = 0; i < 32; i++)
                (void) say(i, GET("/v1/events", ""));
        while (w.n_asked < 64) {
                if (w.n_open > 0)
                        answer(8, 100);
                uv_run(&world.loop, UV_RUN_ONCE);
        }
        world_close_api();
        RUN_UNTIL(world.api_closed);
        for (size_t i = 0; i < 32; i++)
                RUN_UNTIL(world.clients[i].closed);
}

// He has half a second, and the others do not need that long.
static void who_does_not_read_does_not_keep_it_from_its_end(void **state) {
        _cleanup_(closep) int fd = connect_raw(GET("/v1/events", ""));

        do {
                if (w.n_open > 0)
                        answer(48, 1000);
                w.quiet = false;
                uv_timer_start(&w.timer, on_quiet, QUIET_MS, 0);
                RUN_UNTIL(w.n_open > 0 || w.quiet);
        } while (w.n_open > 0);
        open_streams(1);
        uint64_t began = uv_hrtime();
        world_close_api();
        RUN_UNTIL(has(&world.clients[0], "event: problem\n") && has(&world.clients[0], "\r\n0\r\n\r\n"));
        // this machine may have needed as long as he has
        assert_true(!world.api_closed || uv_hrtime() - began >= HTTP_END_MS * UINT64_C(1000000));
        RUN_UNTIL(world.api_closed);
        assert_true((uv_hrtime() - began) / 1000000 >= HTTP_END_MS / 2);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

RUN_TESTS(
        TEST(for_who_does_not_read_nothing_is_asked),
        TEST(a_thousand_wait_and_all_are_told),
        TEST(whether_there_can_be_a_stream_is_known_before_it_begins),
        TEST(who_asks_for_something_else_asks_himself),
        TEST(who_is_somebody_else_asks_himself),
        TEST(when_the_one_who_asks_leaves_another_one_does),
        TEST(what_fails_for_one_fails_for_all),
        TEST(who_is_one_too_many_for_a_while_goes_on),
        TEST(who_does_not_read_does_not_keep_it_from_its_end),
        TEST(it_may_end_in_the_middle_of_everything)
)
