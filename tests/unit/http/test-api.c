// SPDX-License-Identifier: LGPL-2.1-or-later

// The thread and the loop together, and clients that say what programs say, and what no program should.

#include "test.h"

#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "api-answers.h"
#include "author-names.h"
#include "buf.h"
#include "clock.h"
#include "error-response.h"
#include "event-cursor.h"
#include "feature-level.h"
#include "http-private.h"
#include "http-static.h"
#include "log.h"
#include "message.h"
#include "str.h"
#include "stream.h"
#include "tmpdir.h"

enum { CLIENTS = HTTP_CONNECTIONS_PER_OWNER + 6 };

typedef struct Client {
        Stream *stream;
        Buf got;
        bool closed;
} Client;

static struct World {
        uv_loop_t loop;
        AuthorNames *names;
        HttpApi *api;
        char *path;
        bool api_closed, ready, nobody_admitted, waits;
        HttpCall *calls[CLIENTS];
        size_t n_calls, n_cancelled;
        int last_what;
        uint32_t last_first_unit;
        struct {
                Argosy__Verb verb;
                uint64_t retries;
                size_t n_names;
                char first[64];
        } change; // the last one
        Client clients[CLIENTS];
} w;

static char known[256]; // tags with which the newest list was asked for

static void on_request(HttpCall *call, Argosy__Request *request, const Argosy__Author *author,
                       void *userdata) {
        if (request->what_case == ARGOSY__REQUEST__WHAT_LIST_UNITS && request->list_units->filter)
                (void) str_copy(known, sizeof(known), request->list_units->filter->known);
        assert_int_equal(author->uid, getuid());
        w.last_what = (int) request->what_case;
        if (request->what_case == ARGOSY__REQUEST__WHAT_LIST_JOBS)
                w.last_first_unit = request->list_jobs->first_unit;
        if (request->what_case == ARGOSY__REQUEST__WHAT_CHANGE && request->change->n_names > 0) {
                w.change.verb = request->change->verb;
                w.change.retries = request->job->retries;
                w.change.n_names = request->change->n_names;
                str_fit(w.change.first, sizeof(w.change.first), "%s", request->change->names[0]);
        }
        message_free(request);
        if (w.waits)
                w.calls[w.n_calls++] = call;
        else
                answer_nodes(call);
}

static bool admits(const Argosy__Author *author, void *userdata) {
        return !w.nobody_admitted;
}

static bool is_ready(void *userdata) {
        return w.ready;
}

static void on_cancel(void *route, void *userdata) {
        assert_ptr_equal(route, &w);
        w.n_cancelled++;
}

static const HttpApiOps ops = {.request = on_request, .cancel = on_cancel, .admits = admits, .is_ready = is_ready};

static int on_data(Stream *s, const uint8_t *data, size_t len, void *userdata) {
        return buf_append(&((Client *) userdata)->got, data, len);
}

static void on_closed(Stream *s, int error, void *userdata) {
        ((Client *) userdata)->closed = true;
}

static const StreamOps client_ops = {.data = on_data, .closed = on_closed};

static void on_api_closed(void *userdata) {
        w.api_closed = true;
}

static int begin(void **state) {
        int fd;

        memset(&w, 0, sizeof(w));
        w.ready = true;
        tmpdir_make(state);
        w.path = str_printf("%s/http", (char *) *state);
        assert_int_equal(uv_loop_init(&w.loop), 0);
        assert_int_equal(author_names_new(&w.loop, &account_source_system, &w.names), 0);
        assert_int_equal(listener_bind_unix(w.path, 0600, (gid_t) -1, &fd), 0);
        assert_int_equal(http_api_new(&w.loop, fd, w.names, &ops, NULL, &w.api), 0);
        return 0;
}

static void close_api(void) {
        http_api_close(w.api, on_api_closed, NULL);
        w.api = NULL;
}

static int end(void **state) {
        if (w.api)
                close_api();
        author_names_close(w.names);
        for (size_t i = 0; i < CLIENTS; i++)
                if (w.clients[i].stream && !w.clients[i].closed)
                        stream_close(w.clients[i].stream, 0, false);
        assert_int_equal(uv_run(&w.loop, UV_RUN_DEFAULT), 0);
        assert_true(w.api_closed);
        assert_int_equal(uv_loop_close(&w.loop), 0);
        for (size_t i = 0; i < CLIENTS; i++)
                buf_done(&w.clients[i].got);
        free(w.path);
        return tmpdir_drop(state);
}

#define RUN_UNTIL(condition) \
        while (!(condition)) \
        uv_run(&w.loop, UV_RUN_ONCE)

// Of what the thread does without a word to the loop.
#define SPIN_UNTIL(condition) \
        while (!(condition))  \
        uv_run(&w.loop, UV_RUN_NOWAIT)

static Client *say(size_t i, const char *text) {
        Client *c = &w.clients[i];

        if (!c->stream)
                assert_int_equal(stream_dial_unix(&w.loop, w.path, &client_ops, c, &c->stream), 0);
        assert_int_equal(stream_write(c->stream, text, strlen(text)), 0);
        return c;
}

static bool has(const Client *c, const char *words) {
        return c->got.len > 0 && memmem(c->got.data, c->got.len, words, strlen(words));
}

#define GET(path) "GET " path " HTTP/1.1\r\nHost: x\r\n\r\n"

static void before_the_first_connection_there_is_no_thread(void **state) {
        uv_run(&w.loop, UV_RUN_NOWAIT);
        assert_false(http_api_is_running(w.api));
        RUN_UNTIL(has(say(0, GET("/healthz")), "ok\n"));
        assert_true(http_api_is_running(w.api));
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
        assert_false(w.clients[0].closed);
}

static void questions_that_come_at_once_are_answered_in_their_order(void **state) {
        Client *c = say(0, GET("/v1/nodes") GET("/v1/nope") GET("/healthz"));
        const char *json, *problem, *ok;

        RUN_UNTIL(has(c, "ok\n"));
        json = memmem(c->got.data, c->got.len, "\"nodes\"", 7);
        problem = memmem(c->got.data, c->got.len, "\"status\":404", 12);
        ok = memmem(c->got.data, c->got.len, "ok\n", 3);
        assert_true(json && problem && json < problem && problem < ok);
}

static void a_head_has_no_body(void **state) {
        Client *c = say(0, "HEAD /v1/nodes HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");

        RUN_UNTIL(c->closed);
        assert_true(has(c, "HTTP/1.1 200 "));
        assert_false(has(c, "no_leader"));
}

static void figures_are_openmetrics(void **state) {
        Argosy__Response r = ARGOSY__RESPONSE__INIT;
        Argosy__Response__Counters counters = ARGOSY__RESPONSE__COUNTERS__INIT;
        Argosy__Response__Counter row = ARGOSY__RESPONSE__COUNTER__INIT, *rows[] = {&row};
        Client *c;

        w.waits = true;
        c = say(0, GET("/metrics"));
        RUN_UNTIL(w.n_calls == 1);
        assert_int_equal(w.last_what, ARGOSY__REQUEST__WHAT_COUNTERS);
        assert_int_equal(http_api_stats(w.api).http_requests_open, 1);
        assert_int_equal(http_api_stats(w.api).http_requests, 1);
        assert_int_equal(http_api_stats(w.api).http_held_bytes, 0);
        row.name = (char *) "slow_turns";
        counters.rows = rows;
        counters.n_rows = 1;
        r.final = true;
        r.what_case = ARGOSY__RESPONSE__WHAT_COUNTERS;
        r.counters = &counters;
        http_call_respond(w.calls[0], &r);
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
        Client *c;

        w.nobody_admitted = true;
        c = say(0, GET("/v1/nodes"));
        RUN_UNTIL(has(c, "has no rights in this cluster"));
        assert_true(has(c, "HTTP/1.1 403 "));
        assert_true(has(c, "Content-Type: application/problem+json\r\n"));
        assert_int_equal(w.last_what, 0);
}

static uint64_t n_lags(void) {
        TimeHistogram t = http_api_loop_lag(w.api);
        uint64_t n[TIME_BOUNDS + 1];

        time_histogram_cumulate(&t, n);
        return n[TIME_BOUNDS];
}

// From when the thread has handed the first of them over, until all of them are taken.
static void how_long_the_loop_was_not_there_is_counted(void **state) {
        struct timespec nap = {.tv_nsec = 1000 * 1000};
        struct sockaddr_un at = {.sun_family = AF_UNIX};
        int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        uint64_t sum_us, slept_us;
        bool arrived = false;
        Client *c;

        c = say(0, GET("/v1/nodes"));
        RUN_UNTIL(has(c, "0\r\n\r\n"));
        assert_int_equal(n_lags(), 1);
        sum_us = http_api_loop_lag(w.api).sum_us;
        str_fit(at.sun_path, sizeof(at.sun_path), "%s", w.path);
        assert_int_equal(connect(fd, (struct sockaddr *) &at, sizeof(at)), 0);
        assert_true(write(fd, GET("/v1/nodes"), strlen(GET("/v1/nodes"))) > 0);
        while (!arrived) { // the loop is not there
                pthread_mutex_lock(&w.api->lock);
                arrived = !list_is_empty(&w.api->arrived);
                pthread_mutex_unlock(&w.api->lock);
        }
        slept_us = clock_boot_us();
        (void) nanosleep(&nap, NULL);
        slept_us = clock_boot_us() - slept_us;
        RUN_UNTIL(n_lags() == 2);
        assert_true(http_api_loop_lag(w.api).sum_us >= sum_us + slept_us);
        SPIN_UNTIL(http_api_stats(w.api).http_requests_open == 0);
        close(fd);
}

static void an_error_is_a_problem_document(void **state) {
        Client *c;
        Argosy__Response r = error_response(EACCES, "it needs the right 'view'");

        w.waits = true;
        c = say(0, GET("/v1/nodes"));
        RUN_UNTIL(w.n_calls == 1);
        http_call_respond(w.calls[0], &r);
        RUN_UNTIL(has(c, "\"detail\":\"it needs the right 'view'\""));
        assert_true(has(c, "HTTP/1.1 403 "));
}

static bool filters, has_more; // what the leader says of a list
static const char *tag;        // of it; NULL: none

static void respond_units(HttpCall *call, uint32_t first, size_t n, bool final) {
        Argosy__Response r = ARGOSY__RESPONSE__INIT;
        Argosy__Response__Units units = ARGOSY__RESPONSE__UNITS__INIT;
        Argosy__Response__UnitRow row = ARGOSY__RESPONSE__UNIT_ROW__INIT, *rows[] = {&row, &row, &row};
        char name[32];

        str_fit(name, sizeof(name), "from-%u.service", first);
        row.unit = name;
        units.rows = rows;
        units.n_rows = n;
        units.first = first;
        units.filtered = filters;
        units.more = has_more;
        if (tag)
                r.tag = (char *) tag;
        r.unchanged = tag && n == 0;
        r.what_case = ARGOSY__RESPONSE__WHAT_UNITS;
        r.units = &units;
        r.final = final;
        http_call_respond(call, &r);
}

static void a_list_in_parts_begins_anew_with_its_first_part(void **state) {
        Client *c;

        w.waits = true;
        c = say(0, GET("/v1/units"));
        RUN_UNTIL(w.n_calls == 1);
        respond_units(w.calls[0], 0, 3, false);
        respond_units(w.calls[0], 3, 3, false);
        respond_units(w.calls[0], 0, 1, false); // the next leader
        respond_units(w.calls[0], 1, 1, true);
        RUN_UNTIL(has(c, "]}\n"));
        assert_true(has(c, "from-0.service"));
        assert_true(has(c, "from-1.service"));
        assert_false(has(c, "from-3.service"));
}

static void a_page_says_where_the_next_one_is(void **state) {
        Client *c;

        w.waits = filters = has_more = true;
        c = say(0, GET("/v1/units?page_is_not_asked=for"));
        RUN_UNTIL(has(c, "no such parameter"));
        c = say(1, GET("/v1/units?limit=3&pattern=from*"));
        RUN_UNTIL(w.n_calls == 1);
        respond_units(w.calls[0], 0, 3, true);
        RUN_UNTIL(has(c, "]}\n"));
        assert_true(has(c, "\r\nLink: </v1/units?limit=3&pattern=from*&page=p0"));
        assert_true(has(c, ">; rel=\"next\"\r\n"));
        assert_true(has(c, "{\"no_leader\":false,\"next\":\"p0"));
        has_more = false;
        c = say(2, GET("/v1/units?limit=3"));
        RUN_UNTIL(w.n_calls == 2);
        respond_units(w.calls[1], 0, 3, true);
        RUN_UNTIL(has(c, "]}\n"));
        assert_false(has(c, "Link:"));
        assert_false(has(c, "next"));
        filters = false;
}

static void who_has_a_list_is_not_sent_it_again(void **state) {
        const char *etag;
        char text[256];
        Client *c;

        w.waits = filters = true;
        tag = "0123456789abcdef0123456789abcdef";
        c = say(0, GET("/v1/units"));
        RUN_UNTIL(w.n_calls == 1);
        assert_string_equal(known, "");
        respond_units(w.calls[0], 0, 3, true);
        RUN_UNTIL(has(c, "]}\n"));
        etag = memmem(c->got.data, c->got.len, "ETag: ", 6);
        assert_non_null(etag);
        str_fit(text, sizeof(text), "GET /v1/units HTTP/1.1\r\nHost: x\r\nIf-None-Match: %.*s\r\n\r\n", (int) strcspn(etag + 6, "\r"), etag + 6);
        c = say(1, text);
        RUN_UNTIL(w.n_calls == 2);
        assert_string_equal(known, tag);
        respond_units(w.calls[1], 0, 0, true);
        RUN_UNTIL(has(c, "\r\n\r\n"));
        assert_true(has(c, "HTTP/1.1 304 "));
        assert_true(has(c, "ETag: \"0123456789abcdef0123456789abcdef-"));
        str_fit(text, sizeof(text), "GET /v1/units?limit=9 HTTP/1.1\r\nHost: x\r\nIf-None-Match: %.*s\r\n\r\n", (int) strcspn(etag + 6, "\r"),
                etag + 6);
        c = say(2, text); // another list
        RUN_UNTIL(w.n_calls == 3);
        assert_string_equal(known, "");
        respond_units(w.calls[2], 0, 3, true);
        RUN_UNTIL(has(c, "]}\n"));
        tag = NULL;
        filters = false;
}

// Its whole list is not what was asked for.
static void a_leader_that_knows_no_pages_gives_none(void **state) {
        Client *c;

        w.waits = true;
        c = say(0, GET("/v1/units?limit=3"));
        RUN_UNTIL(w.n_calls == 1);
        respond_units(w.calls[0], 0, 3, true);
        RUN_UNTIL(has(c, "knows neither pages"));
        assert_true(has(c, "HTTP/1.1 501"));
        c = say(1, GET("/v1/units?node=n1")); // of these the thread leaves out the others
        RUN_UNTIL(w.n_calls == 2);
        respond_units(w.calls[1], 0, 3, true);
        RUN_UNTIL(has(c, "\"units\":[]}\n"));
}

static void a_list_of_which_a_part_is_missing_is_none(void **state) {
        Client *c;

        w.waits = true;
        c = say(0, GET("/v1/units"));
        RUN_UNTIL(w.n_calls == 1);
        respond_units(w.calls[0], 0, 3, false);
        respond_units(w.calls[0], 4, 3, false);
        respond_units(w.calls[0], 7, 1, true); // he who answers goes on
        RUN_UNTIL(has(c, "the leader changed in the middle of the list"));
        assert_true(has(c, "HTTP/1.1 503 "));
}

// ---- changes

static void answer_change(HttpCall *call, int status, uint64_t job) {
        Argosy__Response r = ARGOSY__RESPONSE__INIT;
        Argosy__Response__Change change = ARGOSY__RESPONSE__CHANGE__INIT;
        Argosy__Response__UnitResult unit = ARGOSY__RESPONSE__UNIT_RESULT__INIT, *units[] = {&unit};

        unit.name = (char *) "a.service";
        unit.status = status;
        unit.message = (char *) (status ? "a.service:7: no such option" : "");
        change.units = units;
        change.n_units = 1;
        r.what_case = ARGOSY__RESPONSE__WHAT_CHANGE;
        r.change = &change;
        r.job = job;
        r.final = true;
        http_call_respond(call, &r);
}

#define STOP "{\"verb\":\"stop\",\"units\":[\"a.service\"]}"
#define POST(target, type, length, body) \
        "POST " target " HTTP/1.1\r\nHost: x\r\nContent-Type: " type "\r\nContent-Length: " length "\r\n\r\n" body

static_assert(sizeof(STOP) == 37 + 1, "as its Content-Length says");

static void a_change_is_answered_with_its_job(void **state) {
        Client *c;

        w.waits = true;
        c = say(0, POST("/v1/jobs", "application/json", "37", "{\"verb\":"));
        c = say(0, "\"stop\",\"units\":[\"a.service\"]}"); // it may come in pieces
        RUN_UNTIL(w.n_calls == 1);
        assert_int_equal(w.last_what, ARGOSY__REQUEST__WHAT_CHANGE);
        answer_change(w.calls[0], 0, 17);
        RUN_UNTIL(has(c, "]}\n"));
        assert_true(has(c, "HTTP/1.1 202 "));
        assert_true(has(c, "Content-Length: ")); // it is not sent in pieces
        assert_true(has(c, "Location: /v1/jobs/17\r\n"));
        assert_true(has(c, "{\"job\":17,\"units\":[{\"unit\":\"a.service\",\"ok\":true,"));
}

static void a_change_of_which_nothing_was_done_is_a_problem(void **state) {
        Client *c;

        w.waits = true;
        c = say(0, POST("/v1/jobs", "application/json; charset=utf-8", "37", STOP));
        RUN_UNTIL(w.n_calls == 1);
        answer_change(w.calls[0], EINVAL, 0);
        RUN_UNTIL(has(c, "\"unit\":\"a.service\",\"line\":7}"));
        assert_true(has(c, "HTTP/1.1 400 "));
}

static void respond_job(HttpCall *call, const char *state) {
        Argosy__Response r = ARGOSY__RESPONSE__INIT;
        Argosy__Response__Jobs jobs = ARGOSY__RESPONSE__JOBS__INIT;
        Argosy__Response__JobRow row = ARGOSY__RESPONSE__JOB_ROW__INIT, *rows[] = {&row};

        row.job = 17;
        row.state = (char *) state;
        jobs.rows = rows;
        jobs.n_rows = 1;
        r.what_case = ARGOSY__RESPONSE__WHAT_JOBS;
        r.jobs = &jobs;
        r.final = true;
        http_call_respond(call, &r);
}

static void who_waits_is_told_how_it_ended(void **state) {
        Client *c;

        w.waits = true;
        c = say(0, POST("/v1/jobs?wait=60", "application/json", "37", STOP));
        RUN_UNTIL(w.n_calls == 1);
        answer_change(w.calls[0], 0, 17);
        assert_int_equal(w.last_what, ARGOSY__REQUEST__WHAT_JOB_WAIT);
        respond_job(w.calls[1], "done");
        assert_int_equal(w.last_what, ARGOSY__REQUEST__WHAT_LIST_JOBS);
        respond_job(w.calls[2], "done");
        RUN_UNTIL(has(c, "]}\n"));
        assert_true(has(c, "HTTP/1.1 200 "));
        assert_true(has(c, "Location: /v1/jobs/17\r\n"));
        assert_true(has(c, "\"state\":\"done\""));
}

static void who_has_waited_long_enough_is_told_how_far_it_is(void **state) {
        Client *c;

        w.waits = true;
        c = say(0, GET("/v1/jobs/17?wait=1"));
        RUN_UNTIL(w.n_calls == 1);
        assert_int_equal(w.last_what, ARGOSY__REQUEST__WHAT_JOB_WAIT);
        http_call_set_route(w.calls[0], &w);
        RUN_UNTIL(w.n_calls == 2);
        assert_int_equal(w.n_cancelled, 1);
        respond_job(w.calls[1], "running");
        RUN_UNTIL(has(c, "\"state\":\"running\""));
}

// A part of job 17: so many units, and how many are behind them.
static void respond_part(HttpCall *call, size_t n, uint32_t more, bool no_leader) {
        Argosy__Response r = ARGOSY__RESPONSE__INIT;
        Argosy__Response__Jobs jobs = ARGOSY__RESPONSE__JOBS__INIT;
        Argosy__Response__JobRow row = ARGOSY__RESPONSE__JOB_ROW__INIT, *rows[] = {&row};
        Argosy__Response__JobUnitRow unit = ARGOSY__RESPONSE__JOB_UNIT_ROW__INIT;
        _cleanup_free_ Argosy__Response__JobUnitRow **units = calloc(n, sizeof(*units));

        assert_non_null(units);
        for (size_t i = 0; i < n; i++)
                units[i] = &unit;
        unit.unit = str_printf("behind-%u.service", w.last_first_unit);
        row.job = 17;
        row.units = units;
        row.n_units = n;
        row.more_units = more;
        jobs.rows = rows;
        jobs.n_rows = 1;
        r.what_case = ARGOSY__RESPONSE__WHAT_JOBS;
        r.jobs = &jobs;
        r.no_leader = no_leader;
        r.final = true;
        http_call_respond(call, &r);
        free(unit.unit);
}

static void all_units_of_a_job_are_asked_for_one_part_after_the_other(void **state) {
        Client *c;

        w.waits = true;
        c = say(0, GET("/v1/jobs/17"));
        RUN_UNTIL(w.n_calls == 1);
        assert_int_equal(w.last_first_unit, 0);
        respond_part(w.calls[0], 2, 3, false);
        RUN_UNTIL(w.n_calls == 2);
        assert_int_equal(w.last_first_unit, 2);
        respond_part(w.calls[1], 2, 1, false);
        RUN_UNTIL(w.n_calls == 3);
        assert_int_equal(w.last_first_unit, 4);
        respond_part(w.calls[2], 1, 0, false);
        RUN_UNTIL(has(c, "]}\n"));
        assert_true(has(c, "HTTP/1.1 200 ") && has(c, "behind-0.service") && has(c, "behind-2.service") && has(c, "behind-4.service"));
        assert_true(!has(c, "more_units"));
        c = say(1, POST("/v1/jobs?wait=60", "application/json", "37", STOP)); // and of one that was waited for
        RUN_UNTIL(w.n_calls == 4);
        answer_change(w.calls[3], 0, 17);
        respond_job(w.calls[4], "done");
        assert_int_equal(w.last_first_unit, 0);
        respond_part(w.calls[5], 7, 1, false);
        assert_int_equal(w.last_first_unit, 7);
        respond_part(w.calls[6], 1, 0, false);
        RUN_UNTIL(has(c, "behind-7.service") && has(c, "]}\n"));
        assert_int_equal(w.n_calls, 7);
}

static void of_a_job_of_very_many_units_the_rest_is_counted(void **state) {
        Client *c;

        w.waits = true;
        c = say(0, GET("/v1/jobs/17"));
        RUN_UNTIL(w.n_calls == 1);
        respond_part(w.calls[0], HTTP_JOB_UNITS_MAX - 1, 9, false);
        RUN_UNTIL(w.n_calls == 2);
        respond_part(w.calls[1], 2, 7, false);
        RUN_UNTIL(has(c, "],\"more_units\":7}]}\n"));
        assert_int_equal(w.n_calls, 2);
}

// How units are now is known to a leader alone.
static void a_job_is_told_by_a_leader_or_without_one_and_not_half_so(void **state) {
        Client *c;

        w.waits = true;
        c = say(0, GET("/v1/jobs/17"));
        RUN_UNTIL(w.n_calls == 1);
        respond_part(w.calls[0], 2, 1, false);
        RUN_UNTIL(w.n_calls == 2);
        respond_part(w.calls[1], 1, 0, true);
        RUN_UNTIL(has(c, "ask again"));
        assert_true(has(c, "HTTP/1.1 503 ") && !has(c, "behind-0.service"));
}

static void who_only_announces_a_body_takes_room_from_nobody(void **state) {
        Client *c;

        for (size_t i = 0; i < 5; i++)
                (void) say(i, POST("/v1/jobs", "application/x-ndjson", "33554432", ""));
        for (size_t i = 0; i < 5; i++) { // and they were heard
                (void) say(i, "{");
                uv_run(&w.loop, UV_RUN_NOWAIT);
        }
        w.waits = true;
        c = say(5, POST("/v1/jobs", "application/json", "37", STOP));
        RUN_UNTIL(w.n_calls == 1 || has(c, "HTTP/1.1 "));
        assert_int_equal(w.n_calls, 1);
        answer_change(w.calls[0], 0, 17);
        RUN_UNTIL(has(c, "HTTP/1.1 202 "));
}

#define LINES "{\"verb\":\"stop\",\"units\":[\"a.service\"]}\n"

static void lines_are_asked_for_one_after_the_other(void **state) {
        Client *c;

        w.waits = true;
        c = say(0, POST("/v1/jobs?wait=60", "application/x-ndjson", "114", LINES LINES LINES));
        RUN_UNTIL(w.n_calls == 1); // each is about the same unit
        answer_change(w.calls[0], 0, 17);
        assert_int_equal(w.n_calls, 2);
        answer_change(w.calls[1], EACCES, 0); // that is nothing to the next one
        assert_int_equal(w.n_calls, 3);
        answer_change(w.calls[2], 0, 18);
        assert_int_equal(w.n_calls, 4);
        assert_int_equal(w.last_what, ARGOSY__REQUEST__WHAT_JOB_WAIT);
        respond_job(w.calls[3], "done");
        respond_job(w.calls[4], "failed");
        RUN_UNTIL(has(c, "{\"line\":3,"));
        assert_true(has(c, "{\"line\":1,\"status\":200,\"job\":17,\"state\":\"done\""));
        assert_true(has(c, "{\"line\":2,\"type\":\"about:blank\",\"title\":\"Forbidden\",\"status\":403,"));
        assert_true(has(c, "{\"line\":3,\"status\":200,\"job\":18,\"state\":\"failed\""));
}

static size_t held(void) {
        size_t n;

        pthread_mutex_lock(&w.api->lock);
        n = w.api->room.held;
        pthread_mutex_unlock(&w.api->lock);
        return n;
}

// Also when it was read: what was made of it is as long.
static void a_body_counts_as_long_as_what_was_made_of_it(void **state) {
        Client *c;

        w.waits = true;
        c = say(0, POST("/v1/jobs?wait=60", "application/x-ndjson", "114", LINES LINES LINES));
        RUN_UNTIL(w.n_calls == 1);
        assert_int_equal(held(), 114);
        answer_change(w.calls[0], 0, 17);
        assert_true(held() > 114);
        answer_change(w.calls[1], 0, 18);
        http_call_fail(w.calls[2], EHOSTUNREACH, "no leader can be reached");
        assert_int_equal(w.last_what, ARGOSY__REQUEST__WHAT_JOB_WAIT); // all that was asked for was asked
        assert_true(held() > 0 && held() < 114);
        respond_job(w.calls[3], "done");
        respond_job(w.calls[4], "done");
        RUN_UNTIL(has(c, "{\"line\":3,"));
        SPIN_UNTIL(held() == 0);
        c = say(0, POST("/v1/jobs?wait=60", "application/json", "37", STOP));
        RUN_UNTIL(w.n_calls == 6);
        assert_int_equal(held(), 37);
        answer_change(w.calls[5], 0, 17);
        assert_int_equal(w.last_what, ARGOSY__REQUEST__WHAT_JOB_WAIT);
        assert_int_equal(held(), 0);
        respond_job(w.calls[6], "done");
        respond_job(w.calls[7], "done");
        RUN_UNTIL(has(c, "\"state\":\"done\""));
        SPIN_UNTIL(held() == 0);
        (void) say(0, POST("/v1/jobs", "application/json", "37", STOP));
        RUN_UNTIL(w.n_calls == 9);
        http_call_fail(w.calls[8], EHOSTUNREACH, "no leader can be reached");
        assert_int_equal(held(), 0);
}

static void behind_a_line_without_an_answer_nothing_is_asked_for(void **state) {
        Client *c;

        w.waits = true;
        c = say(0, POST("/v1/jobs", "application/x-ndjson", "114", LINES LINES LINES));
        RUN_UNTIL(w.n_calls == 1);
        answer_change(w.calls[0], 0, 17);
        http_call_fail(w.calls[1], EHOSTUNREACH, "no leader can be reached");
        RUN_UNTIL(has(c, "{\"line\":3,"));
        assert_int_equal(w.n_calls, 2);
        assert_true(has(c, "{\"line\":1,\"status\":202,\"job\":17,"));
        assert_true(has(c, "\"status\":503,\"detail\":\"no leader can be reached\"}"));
        assert_true(has(c, "\"status\":503,\"detail\":\"this was not asked for any more"));
        c->got.len = 0;
        (void) say(0, POST("/v1/jobs", "application/x-ndjson", "114", LINES LINES LINES));
        RUN_UNTIL(w.n_calls == 3);
        http_call_fail(w.calls[2], EHOSTUNREACH, "no leader can be reached");
        RUN_UNTIL(has(c, "HTTP/1.1 503 ")); // of the first line: of the whole
}

// ---- argosyd ends while something is under way

// Retry-After would have it done twice.
static void what_a_leader_may_have_is_not_to_be_asked_for_again(void **state) {
        Client *c;

        w.waits = true;
        c = say(0, POST("/v1/jobs", "application/json", "37", STOP));
        RUN_UNTIL(w.n_calls == 1);
        close_api();
        RUN_UNTIL(c->closed);
        assert_true(has(c, "HTTP/1.1 504 ") && has(c, "it may have been carried out"));
        assert_false(has(c, "Retry-After"));
}

static void what_has_a_key_is_to_be_asked_for_again(void **state) {
        Client *c, *lines;

        w.waits = true;
        c = say(0, POST("/v1/jobs", "application/json\r\nIdempotency-Key: k", "37", STOP));
        lines = say(1, POST("/v1/jobs", "application/x-ndjson\r\nIdempotency-Key: l", "114", LINES LINES LINES));
        RUN_UNTIL(w.n_calls == 2);
        close_api();
        RUN_UNTIL(c->closed && lines->closed);
        for (size_t i = 0; i < 2; i++) {
                assert_true(has(&w.clients[i], "HTTP/1.1 503 ") && has(&w.clients[i], "Retry-After: 1\r\n"));
                assert_true(has(&w.clients[i], "under the same key"));
        }
}

static void what_changes_nothing_is_to_be_asked_for_again(void **state) {
        w.waits = true;
        (void) say(0, POST("/v1/plan", "application/json", "38", "{\"verb\":\"start\",\"units\":[\"a.service\"]}"));
        (void) say(1, GET("/v1/nodes"));
        (void) say(2, POST("/v1/jobs", "application/json", "49", "{\"verb\":\"stop\",\"units\":[\"a.service\"],\"hold\":true}"));
        (void) say(3, POST("/v1/jobs", "application/json", "28", "{\"verb\":\"job retry\",\"job\":7}"));
        RUN_UNTIL(w.n_calls == 4); // the last two ask about the cluster first
        close_api();
        for (size_t i = 0; i < 4; i++) {
                RUN_UNTIL(w.clients[i].closed);
                assert_true(has(&w.clients[i], "HTTP/1.1 503 ") && has(&w.clients[i], "Retry-After: 1\r\n"));
        }
        assert_true(has(&w.clients[2], "nothing was changed"));
}

static void what_is_a_job_by_then_is_told_with_its_number(void **state) {
        Client *c;

        w.waits = true;
        c = say(0, POST("/v1/jobs?wait=60", "application/json", "37", STOP));
        RUN_UNTIL(w.n_calls == 1);
        answer_change(w.calls[0], 0, 17);
        RUN_UNTIL(w.n_calls == 2);
        close_api();
        RUN_UNTIL(c->closed);
        assert_true(has(c, "HTTP/1.1 202 ") && has(c, "Location: /v1/jobs/17\r\n"));
        assert_true(has(c, "{\"job\":17,\"message\":\"argosyd is ending") && has(c, ",\"units\":[]}"));
}

// The same when it is the leader that has gone.
static void whose_job_cannot_be_waited_for_is_told_its_number(void **state) {
        Client *c;

        w.waits = true;
        c = say(0, POST("/v1/jobs?wait=60", "application/json", "37", STOP));
        RUN_UNTIL(w.n_calls == 1);
        answer_change(w.calls[0], 0, 17);
        http_call_fail(w.calls[1], ETIMEDOUT, "no leader can be reached for 5.0 s");
        RUN_UNTIL(has(c, "\"units\":[]}"));
        assert_true(has(c, "HTTP/1.1 202 ") && has(c, "Location: /v1/jobs/17\r\n"));
        assert_true(has(c, "no leader can be reached for 5.0 s"));
}

static void lines_that_were_done_are_told_when_argosyd_ends(void **state) {
        Client *c, *waits;

        w.waits = true;
        c = say(0, POST("/v1/jobs?wait=60", "application/x-ndjson", "114", LINES LINES LINES));
        RUN_UNTIL(w.n_calls == 1);
        answer_change(w.calls[0], 0, 17); // and the second one is under way
        waits = say(1, POST("/v1/jobs?wait=60", "application/x-ndjson", "38", LINES));
        RUN_UNTIL(w.n_calls == 3);
        answer_change(w.calls[2], 0, 18);
        RUN_UNTIL(w.n_calls == 4); // for its end
        close_api();
        RUN_UNTIL(c->closed && waits->closed);
        assert_int_equal(w.n_calls, 4);
        assert_true(has(c, "HTTP/1.1 200 ") && has(c, "{\"line\":1,\"status\":202,\"job\":17,"));
        assert_true(has(c, "{\"line\":2,") && has(c, "\"status\":504,\"detail\":\"argosyd is ending; "));
        assert_true(has(c, "{\"line\":3,") && has(c, "\"status\":503,\"detail\":\"this was not asked for any more"));
        assert_true(has(waits, "{\"line\":1,\"status\":202,\"job\":18,"));
}

static void what_depends_on_jobs_asks_first_whether_there_are_any(void **state) {
        Argosy__Response r = ARGOSY__RESPONSE__INIT;
        Argosy__Response__ClusterStatus status = ARGOSY__RESPONSE__CLUSTER_STATUS__INIT;
        Client *c;

        w.waits = true;
        c = say(0, POST("/v1/jobs", "application/json", "49", "{\"verb\":\"stop\",\"units\":[\"a.service\"],\"hold\":true}"));
        RUN_UNTIL(w.n_calls == 1);
        assert_int_equal(w.last_what, ARGOSY__REQUEST__WHAT_CLUSTER_STATUS);
        status.feature_level = FEATURE_JOBS - 1;
        r.what_case = ARGOSY__RESPONSE__WHAT_CLUSTER_STATUS;
        r.cluster_status = &status;
        r.final = true;
        http_call_respond(w.calls[0], &r);
        RUN_UNTIL(has(c, "nothing was changed"));
        assert_true(has(c, "HTTP/1.1 501 "));
        assert_int_equal(w.n_calls, 1);
        status.feature_level = FEATURE_JOBS;
        c = say(1, POST("/v1/jobs", "application/json", "49", "{\"verb\":\"stop\",\"units\":[\"a.service\"],\"hold\":true}"));
        RUN_UNTIL(w.n_calls == 2);
        http_call_respond(w.calls[1], &r);
        assert_int_equal(w.n_calls, 3);
        assert_int_equal(w.last_what, ARGOSY__REQUEST__WHAT_CHANGE);
        answer_change(w.calls[2], 0, 17);
        c = say(2, POST("/v1/jobs", "application/json", "49", "{\"verb\":\"stop\",\"units\":[\"a.service\"],\"hold\":true}"));
        RUN_UNTIL(w.n_calls == 4); // it goes on keeping them
        assert_int_equal(w.last_what, ARGOSY__REQUEST__WHAT_CHANGE);
        answer_change(w.calls[3], 0, 18);
        RUN_UNTIL(has(c, "\"job\":18"));
}

static void a_body_that_nobody_takes_is_refused(void **state) {
        static const struct {
                const char *text, *status;
        } cases[] = {
                {POST("/v1/jobs", "text/plain", "37", STOP), " 415 "},
                {POST("/v1/jobs", "application/jsonx", "37", STOP), " 415 "},
                {POST("/v1/jobs", "application/json", "99999999", ""), " 413 "}, // before it has come
                {POST("/v1/jobs", "application/json", "2", "{}"), " 400 "},
                {POST("/v1/units", "application/json", "2", "{}"), " 405 "},
                {POST("/v1/nope", "application/json", "2", "{}"), " 404 "},
                {POST("/v1/jobs?wait=61", "application/json", "2", "{}"), " 400 "},
                {"POST /v1/jobs HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n\r\n", " 411 "},
                {"POST /v1/jobs HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
                 "Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
                 " 411 "},
                {"POST /v1/jobs HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 37\r\n"
                 "Content-Length: 3\r\n\r\n" STOP,
                 " 411 "},
                {"POST /v1/jobs HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 37\r\n"
                 "Origin: http://y\r\n\r\n" STOP,
                 " 403 "},
                {"DELETE /v1/unit-files/a.service HTTP/1.1\r\nHost: x\r\nOrigin: http://y\r\n\r\n", " 403 "},
                {"PUT /v1/unit-files/a.service HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\nab", " 415 "},
                {"DELETE /v1/unit-files/a.service HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\nab", " 400 "},
        };

        for (size_t i = 0; i < ELEMENTSOF(cases); i++) {
                Client *c = say(i, cases[i].text);

                RUN_UNTIL(has(c, cases[i].status));
                assert_int_equal(w.last_what, 0); // the loop never heard of it
        }
}

// ---- streams

static const EventCursor place = {.cluster = "abcd", .generation = 1, .term = 1};

static void respond_events(HttpCall *call, uint64_t seq, const char *unit) {
        Argosy__Response r = ARGOSY__RESPONSE__INIT;
        Argosy__Response__Events events = ARGOSY__RESPONSE__EVENTS__INIT;
        Argosy__Event event = ARGOSY__EVENT__INIT;
        EventCursor behind = place;
        char cursor[EVENT_CURSOR_SIZE], *values[] = {(char *) unit};
        ProtobufCBinaryData packed;
        uint8_t bytes[256];

        behind.seq = seq;
        event_cursor_format(&behind, cursor);
        event.kind = ARGOSY__EVENT_KIND__EVENT_UNIT;
        event.values = values;
        event.n_values = 1;
        packed = (ProtobufCBinaryData){argosy__event__pack(&event, bytes), bytes};
        events.cursor = cursor;
        events.events = &packed;
        events.n_events = unit ? 1 : 0;
        r.what_case = ARGOSY__RESPONSE__WHAT_EVENTS;
        r.events = &events;
        r.final = true;
        http_call_respond(call, &r);
}

static void events_come_as_they_happen(void **state) {
        Client *c;

        w.waits = true;
        c = say(0, GET("/v1/events"));
        RUN_UNTIL(w.n_calls == 1);
        assert_int_equal(w.last_what, ARGOSY__REQUEST__WHAT_EVENTS);
        respond_events(w.calls[0], 1, "a.service");
        RUN_UNTIL(has(c, "event: unit\ndata: {\"kind\":\"unit\",") && w.n_calls == 2);
        assert_true(has(c, "Content-Type: text/event-stream\r\n"));
        respond_events(w.calls[1], 2, "b.service");
        RUN_UNTIL(has(c, "b.service"));
        RUN_UNTIL(w.n_calls == 3);
}

static void a_program_may_have_lines(void **state) {
        Client *c;

        w.waits = true;
        c = say(0, "GET /v1/events?kind=unit HTTP/1.1\r\nHost: x\r\nAccept: application/x-ndjson\r\n\r\n");
        RUN_UNTIL(w.n_calls == 1);
        respond_events(w.calls[0], 1, "a.service");
        RUN_UNTIL(has(c, "\r\n{\"kind\":\"unit\","));
        assert_true(has(c, "Content-Type: application/x-ndjson\r\n"));
        assert_false(has(c, "data:"));
}

static void a_stream_that_cannot_begin_is_a_problem(void **state) {
        Argosy__Response r = error_response(ESTALE, "this cursor is of another cluster");
        Client *c;

        w.waits = true;
        c = say(0, GET("/v1/events"));
        RUN_UNTIL(w.n_calls == 1);
        http_call_respond(w.calls[0], &r);
        RUN_UNTIL(has(c, "this cursor is of another cluster"));
        assert_true(has(c, "HTTP/1.1 412 "));
        c = say(1, "GET /v1/events HTTP/1.1\r\nHost: x\r\nLast-Event-ID: nonsense\r\n\r\n");
        RUN_UNTIL(has(c, "HTTP/1.1 400 "));
}

static void a_stream_that_is_refused_later_says_so_and_ends(void **state) {
        Argosy__Response r = error_response(EACCES, "it needs the right 'view'");
        Client *c;

        w.waits = true;
        c = say(0, GET("/v1/events"));
        RUN_UNTIL(w.n_calls == 1);
        respond_events(w.calls[0], 1, "a.service");
        RUN_UNTIL(w.n_calls == 2);
        http_call_respond(w.calls[1], &r);
        RUN_UNTIL(has(c, "event: problem\ndata: {") && has(c, "0\r\n\r\n"));
}

static void a_stream_waits_for_the_next_leader(void **state) {
        Argosy__Response r = error_response(EHOSTUNREACH, "no leader can be reached");
        Client *c;

        w.waits = true;
        c = say(0, GET("/v1/events"));
        RUN_UNTIL(w.n_calls == 1);
        respond_events(w.calls[0], 1, "a.service");
        RUN_UNTIL(w.n_calls == 2);
        http_call_respond(w.calls[1], &r);
        RUN_UNTIL(w.n_calls == 3);
        respond_events(w.calls[2], 2, "b.service");
        RUN_UNTIL(has(c, "b.service"));
        assert_false(has(c, "problem"));
}

static void streams_end_with_the_daemon(void **state) {
        w.waits = true;
        for (size_t i = 0; i < 8; i++)
                (void) say(i, GET("/v1/events"));
        RUN_UNTIL(w.n_calls == 8);
        for (size_t i = 0; i < 4; i++)
                respond_events(w.calls[i], 1, "a.service");
        RUN_UNTIL(w.n_calls == 9); // one for all four
        close_api();
        RUN_UNTIL(w.api_closed);
        for (size_t i = 0; i < 8; i++) {
                Client *c = &w.clients[i];

                RUN_UNTIL(c->closed);
                assert_true(has(c, "argosyd is ending"));
                assert_true(has(c, " 503 ") || (has(c, "a.service") && has(c, "event: problem\ndata: {") && has(c, "\r\n0\r\n\r\n")));
        }
}

// number 0: that was the last; status: of what there is to say.
static void respond_why(HttpCall *call, uint32_t number, const char *why, int status) {
        Argosy__Response r = ARGOSY__RESPONSE__INIT;
        Argosy__Response__Status s = ARGOSY__RESPONSE__STATUS__INIT;
        Argosy__Response__UnitRow row = ARGOSY__RESPONSE__UNIT_ROW__INIT;

        row.unit = (char *) "a.service";
        s.row = &row;
        s.why = (char *) why;
        s.number = number;
        r.status = status;
        r.final = number == 0;
        r.what_case = r.final || status != 0 ? ARGOSY__RESPONSE__WHAT__NOT_SET : ARGOSY__RESPONSE__WHAT_STATUS_REPLY;
        r.status_reply = &s;
        http_call_respond(call, &r);
}

static void of_one_unit_it_is_told_why_it_is_as_it_is(void **state) {
        Client *c;

        w.waits = true;
        c = say(0, GET("/v1/units/a.service"));
        RUN_UNTIL(w.n_calls == 1);
        assert_int_equal(w.last_what, ARGOSY__REQUEST__WHAT_WHY);
        respond_why(w.calls[0], 1, "the leader before said so", 0);
        respond_why(w.calls[0], 1, "its disk is full", 0); // asked again: another leader
        respond_why(w.calls[0], 2, "", 0);
        respond_why(w.calls[0], 0, "", 0);
        RUN_UNTIL(w.n_calls == 2);
        assert_int_equal(w.last_what, ARGOSY__REQUEST__WHAT_LIST_UNITS);
        respond_units(w.calls[1], 0, 2, true);
        RUN_UNTIL(has(c, "\"why\":[{\"unit\":\"a.service\""));
        assert_true(has(c, "\"why\":\"its disk is full\"") && has(c, "\"as_wanted\":false") && has(c, "\"as_wanted\":true"));
        assert_false(has(c, "the leader before"));
}

// Of which nodes have nothing to say.
// number 0: the last, and of no node.
static void respond_usage(HttpCall *call, uint32_t number, const char *node, const char *unit, const char *error) {
        Argosy__Response r = ARGOSY__RESPONSE__INIT;
        Argosy__Response__Usage usage = ARGOSY__RESPONSE__USAGE__INIT;
        Argosy__Response__UsageRow row = ARGOSY__RESPONSE__USAGE_ROW__INIT, *rows[] = {&row};

        row.unit = (char *) unit;
        row.known = 1;
        row.cpu_us = 17;
        usage.node = (char *) node;
        usage.rows = rows;
        usage.n_rows = unit ? 1 : 0;
        usage.number = number;
        usage.gone = !unit;
        r.status = error ? EIO : 0;
        r.message = (char *) (error ?: "");
        r.final = !node;
        r.what_case = error || !node ? ARGOSY__RESPONSE__WHAT__NOT_SET : ARGOSY__RESPONSE__WHAT_USAGE;
        r.usage = &usage;
        http_call_respond(call, &r);
}

static void what_units_use_comes_from_each_node(void **state) {
        Client *c;

        w.waits = true;
        c = say(0, GET("/v1/usage?node=n1&node=n2"));
        RUN_UNTIL(w.n_calls == 1);
        assert_int_equal(w.last_what, ARGOSY__REQUEST__WHAT_TOP);
        respond_usage(w.calls[0], 1, "n1", "lost.service", NULL);
        respond_usage(w.calls[0], 0, "n4", NULL, "n4: of the leader before");
        respond_usage(w.calls[0], 1, "n2", "b.service", NULL); // the next one is asked for all of it
        respond_usage(w.calls[0], 2, "n1", "a.service", NULL);
        respond_usage(w.calls[0], 3, "n3", "other.service", NULL);
        respond_usage(w.calls[0], 0, "n4", NULL, "n4: its disk is full");
        respond_usage(w.calls[0], 0, "n5", NULL, NULL);
        respond_usage(w.calls[0], 0, NULL, NULL, NULL);
        RUN_UNTIL(has(c, "0\r\n\r\n"));
        assert_true(has(c, "{\"no_leader\":false,\"usage\":[{\"unit\":\"b.service\",\"node\":\"n2\",\"tasks\":null,\"memory\":null,\"cpu-time\":17,"));
        assert_true(has(c, "{\"unit\":\"a.service\",\"node\":\"n1\"") && has(c, "\"errors\":[\"n4: its disk is full\",\"n5: it has gone away\"]}"));
        assert_false(has(c, "lost.service") || has(c, "other.service") || has(c, "of the leader before"));
}

// text NULL: there is none.
static void respond_file(HttpCall *call, const char *text) {
        Argosy__Response r = ARGOSY__RESPONSE__INIT;
        Argosy__Response__Cat cat = ARGOSY__RESPONSE__CAT__INIT;

        cat.name = (char *) "a.service";
        cat.content = (ProtobufCBinaryData){text ? strlen(text) : 0, (uint8_t *) text};
        r.status = text ? 0 : ENOENT;
        r.final = true;
        r.what_case = ARGOSY__RESPONSE__WHAT_CAT;
        r.cat = &cat;
        http_call_respond(call, &r);
}

#define TEXT_NOW "[Service]\n"
#define REV_NOW "40d8baa" // as SHA-256 of that begins

static void respond_unit_files(HttpCall *call, size_t n) {
        Argosy__Response r = ARGOSY__RESPONSE__INIT;
        Argosy__Response__UnitFiles files = ARGOSY__RESPONSE__UNIT_FILES__INIT;
        Argosy__Response__UnitFileRow row = ARGOSY__RESPONSE__UNIT_FILE_ROW__INIT, *rows[] = {&row};

        row.unit = (char *) "a.service";
        row.rev = (char *) REV_NOW;
        files.rows = rows;
        files.n_rows = n;
        r.final = true;
        r.what_case = ARGOSY__RESPONSE__WHAT_UNIT_FILES;
        r.unit_files = &files;
        http_call_respond(call, &r);
}

static void a_unit_file_comes_with_its_text(void **state) {
        static const struct {
                const char *text, *shown;
        } cases[] = {{"[Service]\n\x01\"\xff\"\n", "],\"file\":\"[Service]\\n\\u0001\\\"\\ufffd\\\"\\n\"}\n"},
                     {"", "],\"file\":\"\"}\n"},
                     {NULL, "],\"file\":null}\n"}}; // destroyed in between

        w.waits = true;
        for (size_t i = 0; i < ELEMENTSOF(cases); i++) {
                Client *c = say(i, GET("/v1/unit-files/a.service"));

                RUN_UNTIL(w.n_calls == 2 * i + 1);
                assert_int_equal(w.last_what, ARGOSY__REQUEST__WHAT_CAT);
                respond_file(w.calls[2 * i], cases[i].text);
                RUN_UNTIL(w.n_calls == 2 * i + 2);
                assert_int_equal(w.last_what, ARGOSY__REQUEST__WHAT_LIST_UNIT_FILES);
                respond_unit_files(w.calls[2 * i + 1], 1);
                RUN_UNTIL(has(c, cases[i].shown));
        }
}

// One page of jobs: number `first` down to `last`, each of which has made a unit; before: where the next page goes on.
static void respond_jobs(HttpCall *call, uint64_t first, uint64_t last, uint64_t before, bool no_leader) {
        Argosy__Response r = ARGOSY__RESPONSE__INIT;
        Argosy__Response__Jobs jobs = ARGOSY__RESPONSE__JOBS__INIT;
        Argosy__Response__JobRow rows[4], *row_pointers[4];
        Argosy__Response__JobUnitRow units[4], *unit_pointers[4];
        char names[4][16];

        for (; first >= last; first--) {
                size_t i = jobs.n_rows++;

                str_fit(names[i], sizeof(names[i]), "u%u.service", (unsigned) first);
                argosy__response__job_unit_row__init(&units[i]);
                units[i].unit = names[i];
                units[i].rev_after = (char *) "aaaa";
                units[i].desired_after = (char *) "launched";
                units[i].revision = first;
                argosy__response__job_row__init(&rows[i]);
                rows[i].job = rows[i].revision = first;
                unit_pointers[i] = &units[i];
                rows[i].units = &unit_pointers[i];
                rows[i].n_units = 1;
                row_pointers[i] = &rows[i];
        }
        jobs.rows = row_pointers;
        jobs.before = before;
        r.final = true;
        r.no_leader = no_leader;
        r.what_case = ARGOSY__RESPONSE__WHAT_JOBS;
        r.jobs = &jobs;
        http_call_respond(call, &r);
}

static void what_differs_is_read_page_by_page(void **state) {
        Client *c;

        w.waits = true;
        c = say(0, GET("/v1/diff?from=3"));
        RUN_UNTIL(w.n_calls == 1);
        respond_jobs(w.calls[0], 3, 3, 0, false); // when that was
        RUN_UNTIL(w.n_calls == 2);
        respond_jobs(w.calls[1], 9, 7, 7, false);
        RUN_UNTIL(w.n_calls == 3);
        respond_jobs(w.calls[2], 6, 3, 3, false); // 3 itself does not count
        RUN_UNTIL(w.n_calls == 4);
        respond_jobs(w.calls[3], 0, 1, 0, false); // none was held back
        RUN_UNTIL(has(c, "]}\n"));
        assert_int_equal(w.n_calls, 4);
        assert_true(has(c, "{\"from\":3,\"to\":null,\"incomplete\":false,\"settings\":[],\"units\":[{\"unit\":\"u4.service\",\"change\":\"make\""));
        assert_true(has(c, "u9.service") && !has(c, "u3.service"));
}

// What was read, and then the document until its client has it.
static void what_differs_counts_as_any_answer_does(void **state) {
        Client *c, *slow;
        size_t n;

        w.waits = true;
        for (size_t i = 0; i < 2; i++) {
                c = say(i, GET("/v1/diff?from=3"));
                RUN_UNTIL(w.n_calls == 3 * i + 1);
                respond_jobs(w.calls[3 * i], 3, 3, 0, false);
                RUN_UNTIL(w.n_calls == 3 * i + 2);
                n = held();
                respond_jobs(w.calls[3 * i + 1], 9, 6, 3, false);
                RUN_UNTIL(w.n_calls == 3 * i + 3);
                assert_true(held() >= n + 4 * strlen("u9.service"));
                if (i == 0) {
                        respond_jobs(w.calls[2], 0, 1, 0, false);
                        RUN_UNTIL(has(c, "]}\n"));
                        SPIN_UNTIL(held() == 0);
                        assert_true(has(c, " 200 "));
                        continue;
                }
                slow = say(2, GET("/v1/nodes"));
                RUN_UNTIL(w.n_calls == 7);
                n = HTTP_HELD_MAX - held();
                assert_true(http_api_hold(w.calls[6], n));
                respond_jobs(w.calls[5], 5, 4, 0, false); // others have all the room
                RUN_UNTIL(has(c, "too many long answers wait to be read"));
                assert_true(has(c, " 503 "));
                http_api_release(w.calls[6], n);
                answer_nodes(w.calls[6]);
                RUN_UNTIL(has(slow, " 200 "));
                SPIN_UNTIL(held() == 0);
        }
}

static void for_who_has_gone_nothing_more_is_read(void **state) {
        w.waits = true;
        (void) say(0, GET("/v1/diff?from=3"));
        RUN_UNTIL(w.n_calls == 1);
        respond_jobs(w.calls[0], 3, 3, 0, false);
        RUN_UNTIL(w.n_calls == 2);
        stream_close(w.clients[0].stream, 0, false);
        RUN_UNTIL(w.clients[0].closed);
        respond_jobs(w.calls[1], 9, 7, 7, false);
        assert_int_equal(w.n_calls, 2);
        SPIN_UNTIL(http_api_stats(w.api).http_requests_open == 0);
        assert_int_equal(held(), 0);
}

static void what_differs_is_not_told_from_an_old_log(void **state) {
        Client *c;

        w.waits = true;
        c = say(0, GET("/v1/diff?from=3&to=5"));
        RUN_UNTIL(w.n_calls == 1);
        respond_jobs(w.calls[0], 3, 3, 0, false);
        RUN_UNTIL(w.n_calls == 2);
        respond_jobs(w.calls[1], 5, 5, 0, true);
        RUN_UNTIL(has(c, "no leader can be reached who could tell all jobs"));
        assert_false(has(c, " 200 "));
}

static void respond_ended_job(HttpCall *call, const char *state, uint32_t failed) {
        Argosy__Response r = ARGOSY__RESPONSE__INIT;
        Argosy__Response__Jobs jobs = ARGOSY__RESPONSE__JOBS__INIT;
        Argosy__Response__JobRow row = ARGOSY__RESPONSE__JOB_ROW__INIT, *rows[] = {&row};
        Argosy__Response__JobUnitRow ends[2], *end_pointers[] = {&ends[0], &ends[1]};

        for (size_t i = 0; i < ELEMENTSOF(ends); i++)
                argosy__response__job_unit_row__init(&ends[i]);
        ends[0].unit = (char *) "bad.service";
        ends[0].end = (char *) (failed > 0 ? "failed" : "overtaken");
        ends[1].unit = (char *) "late.service";
        ends[1].end = (char *) "overtaken";
        row.job = 9;
        row.state = (char *) state;
        row.verb = (char *) "restart";
        row.failed = failed;
        row.ends = end_pointers;
        row.n_ends = ELEMENTSOF(ends);
        jobs.rows = rows;
        jobs.n_rows = 1;
        r.final = true;
        r.what_case = ARGOSY__RESPONSE__WHAT_JOBS;
        r.jobs = &jobs;
        http_call_respond(call, &r);
}

static void respond_level(HttpCall *call) {
        Argosy__Response r = ARGOSY__RESPONSE__INIT;
        Argosy__Response__ClusterStatus status = ARGOSY__RESPONSE__CLUSTER_STATUS__INIT;

        status.feature_level = FEATURE_JOBS;
        r.final = true;
        r.what_case = ARGOSY__RESPONSE__WHAT_CLUSTER_STATUS;
        r.cluster_status = &status;
        http_call_respond(call, &r);
}

#define RETRY                                                                                                                    \
        "POST /v1/jobs HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 28\r\n\r\n"                        \
        "{\"verb\":\"job retry\",\"job\":9}"

static void what_did_not_end_well_is_asked_for_again(void **state) {
        w.waits = true;
        (void) say(0, RETRY);
        RUN_UNTIL(w.n_calls == 1);
        respond_level(w.calls[0]);
        RUN_UNTIL(w.n_calls == 2);
        assert_int_equal(w.last_what, ARGOSY__REQUEST__WHAT_LIST_JOBS);
        respond_ended_job(w.calls[1], "failed", 1);
        RUN_UNTIL(w.n_calls == 3);
        assert_int_equal(w.last_what, ARGOSY__REQUEST__WHAT_CHANGE);
        assert_int_equal(w.change.verb, ARGOSY__VERB__VERB_RESTART);
        assert_int_equal(w.change.retries, 9);
        assert_int_equal(w.change.n_names, 1);
        assert_string_equal(w.change.first, "bad.service");
}

static void what_ended_well_is_not_asked_for_again(void **state) {
        static const struct {
                const char *state, *why;
                uint32_t failed;
        } cases[] = {{"running", "job 9 is running", 1},
                     {"done", "there is no unit of it that failed", 0},
                     {"failed", "it names 1 only", 3}};

        w.waits = true;
        (void) say(0, RETRY);
        RUN_UNTIL(w.n_calls == 1);
        respond_level(w.calls[0]);
        RUN_UNTIL(w.n_calls == 2);
        for (size_t i = 0; i < ELEMENTSOF(cases); i++) {
                Client *c = say(i + 1, RETRY);

                RUN_UNTIL(w.n_calls == i + 3);
                respond_ended_job(w.calls[i + 2], cases[i].state, cases[i].failed);
                RUN_UNTIL(has(c, cases[i].why));
                assert_true(has(c, " 400 "));
        }
}

static void a_unit_file_comes_as_it_was(void **state) {
        const struct {
                const char *text, *shown;
        } cases[] = {
                {TEXT_NOW, "\"file\":\"[Service]\\n\"}\n"},
                {"[Service]\nType=oneshot\n", " 503 "}, // since the changes were read
                {NULL, " 503 "},
        };
        Client *c;

        w.waits = true;
        for (size_t i = 0; i < ELEMENTSOF(cases); i++) {
                c = say(i, GET("/v1/unit-files/a.service?at=3"));
                RUN_UNTIL(w.n_calls == 5 * i + 1);
                assert_int_equal(w.last_what, ARGOSY__REQUEST__WHAT_LIST_UNIT_FILES); // what changes from here on stands among the changes
                respond_unit_files(w.calls[5 * i], 1);
                RUN_UNTIL(w.n_calls == 5 * i + 2);
                respond_jobs(w.calls[5 * i + 1], 3, 3, 0, false);
                RUN_UNTIL(w.n_calls == 5 * i + 3);
                respond_jobs(w.calls[5 * i + 2], 6, 4, 0, false); // others
                RUN_UNTIL(w.n_calls == 5 * i + 4);
                respond_jobs(w.calls[5 * i + 3], 0, 1, 0, false);
                RUN_UNTIL(w.n_calls == 5 * i + 5);
                assert_int_equal(w.last_what, ARGOSY__REQUEST__WHAT_CAT);
                respond_file(w.calls[5 * i + 4], cases[i].text);
                RUN_UNTIL(has(c, cases[i].shown));
                if (i == 0)
                        assert_true(has(c, "{\"no_leader\":false,\"unit_files\":[{\"unit\":\"a.service\",\"rev\":\"" REV_NOW "\",\"desired\":\"\"}]"));
        }
}

static void a_unit_that_came_later_was_not_there(void **state) {
        Client *c;

        w.waits = true;
        c = say(0, GET("/v1/unit-files/u5.service?at=3"));
        RUN_UNTIL(w.n_calls == 1);
        respond_unit_files(w.calls[0], 1);
        RUN_UNTIL(w.n_calls == 2);
        respond_jobs(w.calls[1], 3, 3, 0, false);
        RUN_UNTIL(w.n_calls == 3);
        respond_jobs(w.calls[2], 6, 4, 0, false); // 5 has made it
        RUN_UNTIL(w.n_calls == 4);
        respond_jobs(w.calls[3], 0, 1, 0, false);
        RUN_UNTIL(has(c, "there was no such unit when job 3 was done"));
        assert_true(has(c, " 404 "));
}

static void what_nobody_can_say_of_usage_is_a_problem(void **state) {
        Argosy__Response r = error_response(EHOSTUNREACH, "no node can be reached");
        Client *c;

        w.waits = true;
        c = say(0, GET("/v1/usage"));
        RUN_UNTIL(w.n_calls == 1);
        http_call_respond(w.calls[0], &r);
        RUN_UNTIL(has(c, "no node can be reached"));
        assert_false(has(c, " 200 "));
}

static void a_unit_that_nobody_wants_is_there_all_the_same(void **state) {
        Client *c;

        w.waits = true;
        c = say(0, GET("/v1/units/a.service"));
        RUN_UNTIL(w.n_calls == 1);
        respond_why(w.calls[0], 1, "nobody wants it loaded", 0);
        respond_why(w.calls[0], 0, "", 0);
        RUN_UNTIL(w.n_calls == 2);
        respond_units(w.calls[1], 0, 0, true);
        RUN_UNTIL(has(c, "\"units\":[],\"why\":[{\"unit\":\"a.service\""));
        assert_true(has(c, "HTTP/1.1 200 "));
}

static void why_nobody_leads_is_a_problem_as_of_anything(void **state) {
        Client *c;

        w.waits = true;
        c = say(0, GET("/v1/units/a.service"));
        RUN_UNTIL(w.n_calls == 1);
        respond_why(w.calls[0], 0, "", ETIMEDOUT);
        RUN_UNTIL(has(c, "HTTP/1.1 504 ") || has(c, "HTTP/1.1 503 "));
        assert_int_equal(w.n_calls, 1);
}

static void a_unit_that_is_not_there_is_not_found(void **state) {
        Client *c;

        w.waits = true;
        c = say(0, GET("/v1/units/a.service"));
        RUN_UNTIL(w.n_calls == 1);
        respond_why(w.calls[0], 1, "", ENOENT);
        respond_why(w.calls[0], 0, "", 0);
        RUN_UNTIL(w.n_calls == 2);
        respond_units(w.calls[1], 0, 0, true);
        RUN_UNTIL(has(c, "there is no such thing, or you may not see it"));
        assert_true(has(c, "HTTP/1.1 404 "));
}

// What a page may do stands there, too; and the loop never hears of it.
static void the_page_and_its_files_are_there(void **state) {
        static const char *const headers[] = {
                "Content-Type: text/html; charset=utf-8\r\n",
                "Cache-Control: no-cache\r\n",
                "Content-Security-Policy: default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
                "connect-src 'self'; worker-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'none'; "
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
        assert_true(has(&w.clients[5], "Allow: GET, HEAD\r\n"));
        assert_int_equal(w.last_what, 0);
}

static void a_file_that_has_not_changed_is_not_sent_again(void **state) {
        const HttpStatic *f = http_static_find("main.js", strlen("main.js"));
        _cleanup_free_ char *text =
                str_printf("GET /dashboard/main.js HTTP/1.1\r\nHost: x\r\nIf-None-Match: %s\r\n\r\n", f->tag);
        Client *c = say(0, text);

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
                 " 400 "},
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
        Client *c;

        assert_int_equal(buf_printf(&text, "GET /v1/nodes HTTP/1.1\r\nHost: x\r\nX: "), 0);
        for (size_t i = 0; i < HTTP_HEADER_MAX; i++)
                assert_int_equal(buf_append(&text, "x", 1), 0);
        assert_int_equal(buf_printf(&text, "\r\n\r\n"), 0);
        flood = buf_take_string(&text);
        c = say(0, flood);
        RUN_UNTIL(c->closed);
        assert_int_equal(w.last_what, 0);
}

static void a_user_has_only_so_many_connections(void **state) {
        for (size_t i = 0; i < HTTP_CONNECTIONS_PER_OWNER; i++) {
                Client *c = say(i, GET("/healthz"));

                RUN_UNTIL(has(c, "ok\n"));
        }
        {
                Client *c = say(HTTP_CONNECTIONS_PER_OWNER, GET("/healthz"));

                RUN_UNTIL(c->closed);
                assert_true(has(c, " 429 "));
        }
        stream_close(w.clients[0].stream, 0, false);
        for (size_t i = HTTP_CONNECTIONS_PER_OWNER + 1;;
             i++) { // until it was noticed that the first has gone
                Client *c = say(i, GET("/healthz"));

                assert_true(i + 1 < CLIENTS);
                RUN_UNTIL(has(c, "ok\n") || has(c, " 429 "));
                if (has(c, "ok\n"))
                        break;
        }
}

static void who_goes_before_he_is_answered_harms_nobody(void **state) {
        Client *c;

        w.waits = true;
        (void) say(0, GET("/v1/nodes"));
        (void) say(1, GET("/v1/nodes"));
        RUN_UNTIL(w.n_calls == 2);
        stream_close(w.clients[0].stream, 0, false);
        RUN_UNTIL(w.clients[0].closed);
        answer_nodes(w.calls[0]);
        answer_nodes(w.calls[1]);
        RUN_UNTIL(has(&w.clients[1], "0\r\n\r\n") || has(&w.clients[0], "0\r\n\r\n"));
        w.waits = false;
        c = say(2, GET("/v1/nodes"));
        RUN_UNTIL(has(c, "0\r\n\r\n"));
}

static void the_end_waits_for_nobody_s_answer(void **state) {
        w.waits = true;
        for (size_t i = 0; i < 8; i++)
                (void) say(i, GET("/v1/nodes"));
        RUN_UNTIL(w.n_calls == 8);
        close_api();
        RUN_UNTIL(w.api_closed);
        for (size_t i = 0; i < 8; i++)
                RUN_UNTIL(w.clients[i].closed);
}

// Calls are posted while it ends: they are answered by the thread itself, or their connection is closed.
static void it_may_end_in_the_middle_of_everything(void **state) {
        for (size_t i = 0; i < 32; i++)
                (void) say(i, GET("/v1/nodes") GET("/healthz") GET("/v1/nodes") GET("/v1/units"));
        RUN_UNTIL(has(&w.clients[0], "no_leader"));
        close_api();
        RUN_UNTIL(w.api_closed);
}

int main(void) {
        struct rlimit files;

        assert_int_equal(getrlimit(RLIMIT_NOFILE, &files), 0);
        files.rlim_cur = MIN_OF(files.rlim_max, (rlim_t) 4 * CLIENTS); // both ends of all of them are here
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &files), 0);
        const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
                TEST(before_the_first_connection_there_is_no_thread),
                TEST(what_is_asked_goes_to_the_loop_and_comes_back_as_json),
                TEST(a_connection_is_used_again_and_again),
                TEST(questions_that_come_at_once_are_answered_in_their_order),
                TEST(a_head_has_no_body),
                TEST(figures_are_openmetrics),
                TEST(whether_it_is_ready_is_the_daemon_s_word),
                TEST(who_has_no_rights_is_told_so),
                TEST(how_long_the_loop_was_not_there_is_counted),
                TEST(an_error_is_a_problem_document),
                TEST(a_list_in_parts_begins_anew_with_its_first_part),
                TEST(a_list_of_which_a_part_is_missing_is_none),
                TEST(a_page_says_where_the_next_one_is),
                TEST(who_has_a_list_is_not_sent_it_again),
                TEST(a_leader_that_knows_no_pages_gives_none),
                TEST(a_change_is_answered_with_its_job),
                TEST(a_change_of_which_nothing_was_done_is_a_problem),
                TEST(who_only_announces_a_body_takes_room_from_nobody),
                cmocka_unit_test_setup_teardown(a_body_counts_as_long_as_what_was_made_of_it, begin, end),
                TEST(lines_are_asked_for_one_after_the_other),
                TEST(behind_a_line_without_an_answer_nothing_is_asked_for),
                TEST(who_waits_is_told_how_it_ended),
                TEST(who_has_waited_long_enough_is_told_how_far_it_is),
                TEST(all_units_of_a_job_are_asked_for_one_part_after_the_other),
                TEST(of_a_job_of_very_many_units_the_rest_is_counted),
                TEST(a_job_is_told_by_a_leader_or_without_one_and_not_half_so),
                TEST(what_a_leader_may_have_is_not_to_be_asked_for_again),
                TEST(what_has_a_key_is_to_be_asked_for_again),
                TEST(what_changes_nothing_is_to_be_asked_for_again),
                TEST(what_is_a_job_by_then_is_told_with_its_number),
                TEST(whose_job_cannot_be_waited_for_is_told_its_number),
                TEST(lines_that_were_done_are_told_when_argosyd_ends),
                TEST(what_depends_on_jobs_asks_first_whether_there_are_any),
                TEST(a_body_that_nobody_takes_is_refused),
                TEST(events_come_as_they_happen),
                TEST(a_program_may_have_lines),
                TEST(a_stream_that_cannot_begin_is_a_problem),
                TEST(a_stream_that_is_refused_later_says_so_and_ends),
                TEST(a_stream_waits_for_the_next_leader),
                TEST(streams_end_with_the_daemon),
                TEST(of_one_unit_it_is_told_why_it_is_as_it_is),
                TEST(what_units_use_comes_from_each_node),
                TEST(a_unit_file_comes_with_its_text),
                TEST(what_did_not_end_well_is_asked_for_again),
                TEST(what_ended_well_is_not_asked_for_again),
                TEST(what_differs_is_read_page_by_page),
                TEST(what_differs_is_not_told_from_an_old_log),
                TEST(what_differs_counts_as_any_answer_does),
                TEST(for_who_has_gone_nothing_more_is_read),
                TEST(a_unit_file_comes_as_it_was),
                TEST(a_unit_that_came_later_was_not_there),
                TEST(what_nobody_can_say_of_usage_is_a_problem),
                TEST(a_unit_that_nobody_wants_is_there_all_the_same),
                TEST(why_nobody_leads_is_a_problem_as_of_anything),
                TEST(a_unit_that_is_not_there_is_not_found),
                TEST(the_page_and_its_files_are_there),
                TEST(a_file_that_has_not_changed_is_not_sent_again),
                TEST(what_is_no_request_is_refused),
                TEST(a_request_is_not_smuggled_in_a_body),
                TEST(headers_have_a_limit),
                TEST(a_user_has_only_so_many_connections),
                TEST(who_goes_before_he_is_answered_harms_nobody),
                TEST(the_end_waits_for_nobody_s_answer),
                TEST(it_may_end_in_the_middle_of_everything),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
