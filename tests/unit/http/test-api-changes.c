// SPDX-License-Identifier: LGPL-2.1-or-later

// What changes the cluster: one job or many of them, whether somebody waits for it or not, and what is told
// when argosyd ends in the middle of it.

#include "test.h"

#include "api-world.h"
#include "feature-level.h"
#include "messages.h"

static void answer_change(HttpCall *call, int status, uint64_t job) {
        Argosy__Response__UnitResult
                unit = UNIT_RESULT_OF(.name = (char *) "a.service", .status = status,
                                      .message = (char *) (status ? "a.service:7: no such option" : "")),
                *units[] = {&unit};
        Argosy__Response__Change change = MESSAGE_OF(response__change, .units = units, .n_units = 1);
        Argosy__Response r = RESPONSE_OF(CHANGE, change, &change, .job = job, .final = true);

        http_call_respond(call, &r);
}

#define STOP "{\"verb\":\"stop\",\"units\":[\"a.service\"]}"
#define POST(target, type, length, body)                                                           \
        "POST " target " HTTP/1.1\r\nHost: x\r\nContent-Type: " type "\r\nContent-Length: " length \
        "\r\n\r\n" body

static_assert(sizeof(STOP) == 37 + 1, "as its Content-Length says");

static void a_change_is_answered_with_its_job(void **state) {
        w.waits = true;
        Client *c = say(0, POST("/v1/jobs", "application/json", "37", "{\"verb\":"));
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

// HTTP has one answer to a request.
static void what_the_cluster_waits_for_is_no_answer(void **state) {
        w.waits = true;
        Client *c = say(0, POST("/v1/jobs", "application/json", "37", STOP));
        RUN_UNTIL(w.n_calls == 1);
        http_call_respond(w.calls[0], A_RESPONSE_WITH(.awaits = (char *) "n2 to resolve x.example/web:1"));
        assert_int_equal(w.calls[0]->n_parts, 0); // nor is it kept with the answer
        answer_change(w.calls[0], 0, 17);
        RUN_UNTIL(has(c, "]}\n"));
        assert_true(has(c, "HTTP/1.1 202 "));
        assert_true(has(c, "{\"job\":17,\"units\":[{\"unit\":\"a.service\",\"ok\":true,"));
        assert_false(has(c, "resolve"));
}

static void a_change_of_which_nothing_was_done_is_a_problem(void **state) {
        w.waits = true;
        Client *c = say(0, POST("/v1/jobs", "application/json; charset=utf-8", "37", STOP));
        RUN_UNTIL(w.n_calls == 1);
        answer_change(w.calls[0], EINVAL, 0);
        RUN_UNTIL(has(c, "\"unit\":\"a.service\",\"line\":7}"));
        assert_true(has(c, "HTTP/1.1 400 "));
}

static void respond_job(HttpCall *call, const char *state) {
        Argosy__Response__JobRow row = JOB_ROW_OF(.job = 17, .state = (char *) state), *rows[] = {&row};
        Argosy__Response__Jobs jobs = MESSAGE_OF(response__jobs, .rows = rows, .n_rows = 1);

        http_call_respond(call, A_RESPONSE(JOBS, jobs, &jobs, .final = true));
}

static void who_waits_is_told_how_it_ended(void **state) {
        Client *c = say_and_wait(POST("/v1/jobs?wait=60", "application/json", "37", STOP));

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
        Client *c = say_and_wait(GET("/v1/jobs/17?wait=1"));

        assert_int_equal(w.last_what, ARGOSY__REQUEST__WHAT_JOB_WAIT);
        http_call_set_route(w.calls[0], &w);
        RUN_UNTIL(w.n_calls == 2);
        assert_int_equal(w.n_cancelled, 1);
        respond_job(w.calls[1], "running");
        RUN_UNTIL(has(c, "\"state\":\"running\""));
}

// A part of job 17: so many units, and how many are behind them.
static void respond_part(HttpCall *call, size_t n, uint32_t more, bool no_leader) {
        Argosy__Response__Jobs jobs = ARGOSY__RESPONSE__JOBS__INIT;
        Argosy__Response r = RESPONSE_OF(JOBS, jobs, &jobs);
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
        r.no_leader = no_leader;
        r.final = true;
        http_call_respond(call, &r);
        free(unit.unit);
}

static void all_units_of_a_job_are_asked_for_one_part_after_the_other(void **state) {
        Client *c = say_and_wait(GET("/v1/jobs/17"));

        assert_int_equal(w.last_first_unit, 0);
        respond_part(w.calls[0], 2, 3, false);
        RUN_UNTIL(w.n_calls == 2);
        assert_int_equal(w.last_first_unit, 2);
        respond_part(w.calls[1], 2, 1, false);
        RUN_UNTIL(w.n_calls == 3);
        assert_int_equal(w.last_first_unit, 4);
        respond_part(w.calls[2], 1, 0, false);
        RUN_UNTIL(has(c, "]}\n"));
        assert_true(has(c, "HTTP/1.1 200 ") && has(c, "behind-0.service") && has(c, "behind-2.service") &&
                    has(c, "behind-4.service"));
        assert_true(!has(c, "more_units"));
        // and of one that was waited for
        c = say(1, POST("/v1/jobs?wait=60", "application/json", "37", STOP));
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
        Client *c = say_and_wait(GET("/v1/jobs/17"));

        respond_part(w.calls[0], HTTP_JOB_UNITS_MAX - 1, 9, false);
        RUN_UNTIL(w.n_calls == 2);
        respond_part(w.calls[1], 2, 7, false);
        RUN_UNTIL(has(c, "],\"more_units\":7}]}\n"));
        assert_int_equal(w.n_calls, 2);
}

// How units are now is known to a leader alone.
static void a_job_is_told_by_a_leader_or_without_one_and_not_half_so(void **state) {
        Client *c = say_and_wait(GET("/v1/jobs/17"));

        respond_part(w.calls[0], 2, 1, false);
        RUN_UNTIL(w.n_calls == 2);
        respond_part(w.calls[1], 1, 0, true);
        RUN_UNTIL(has(c, "ask again"));
        assert_true(has(c, "HTTP/1.1 503 ") && !has(c, "behind-0.service"));
}

#define ANNOUNCE(length) POST("/v1/jobs", "application/x-ndjson", length, "")

// Some of them add up to all that a user may have, to the last byte.
static void who_only_announces_a_body_takes_room_from_nobody(void **state) {
        static const char *const announced[] = {ANNOUNCE("33554432"), ANNOUNCE("16777216"),
                                                ANNOUNCE("8388608"), ANNOUNCE("4194304")};

        static_assert(HELD_PER_OWNER % 4194304 == 0 && HELD_PER_USER % 4194304 == 0, "the smallest of them");
        for (size_t i = 0; i < ELEMENTSOF(announced); i++)
                (void) say(i, announced[i]);
        for (size_t i = 0; i < ELEMENTSOF(announced); i++) { // and they were heard
                (void) say(i, "{");
                uv_run(&world.loop, UV_RUN_NOWAIT);
        }
        w.waits = true;
        Client *c = say(ELEMENTSOF(announced), POST("/v1/jobs", "application/json", "37", STOP));
        RUN_UNTIL(w.n_calls == 1 || has(c, "HTTP/1.1 "));
        assert_int_equal(w.n_calls, 1);
        answer_change(w.calls[0], 0, 17);
        RUN_UNTIL(has(c, "HTTP/1.1 202 "));
}

#define LINES "{\"verb\":\"stop\",\"units\":[\"a.service\"]}\n"

static void lines_are_asked_for_one_after_the_other(void **state) {
        w.waits = true;
        Client *c = say(0, POST("/v1/jobs?wait=60", "application/x-ndjson", "114", LINES LINES LINES));
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

// Also when it was read: what was made of it is as long.
static void a_body_counts_as_long_as_what_was_made_of_it(void **state) {
        Client *c = say_and_wait(POST("/v1/jobs?wait=60", "application/x-ndjson", "114", LINES LINES LINES));

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
        Client *c = say_and_wait(POST("/v1/jobs", "application/x-ndjson", "114", LINES LINES LINES));

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
        Client *c = say_and_wait(POST("/v1/jobs", "application/json", "37", STOP));

        world_close_api();
        RUN_UNTIL(c->closed);
        assert_true(has(c, "HTTP/1.1 504 ") && has(c, "it may have been carried out"));
        assert_false(has(c, "Retry-After"));
}

static void what_has_a_key_is_to_be_asked_for_again(void **state) {
        w.waits = true;
        Client *c = say(0, POST("/v1/jobs", "application/json\r\nIdempotency-Key: k", "37", STOP));
        Client *lines = say(
                1, POST("/v1/jobs", "application/x-ndjson\r\nIdempotency-Key: l", "114", LINES LINES LINES));
        RUN_UNTIL(w.n_calls == 2);
        world_close_api();
        RUN_UNTIL(c->closed && lines->closed);
        for (size_t i = 0; i < 2; i++) {
                assert_true(has(&world.clients[i], "HTTP/1.1 503 ") &&
                            has(&world.clients[i], "Retry-After: 1\r\n"));
                assert_true(has(&world.clients[i], "under the same key"));
        }
}

static void what_changes_nothing_is_to_be_asked_for_again(void **state) {
        w.waits = true;
        (void) say(0, POST("/v1/plan", "application/json", "38",
                           "{\"verb\":\"start\",\"units\":[\"a.service\"]}"));
        (void) say(1, GET("/v1/nodes"));
        (void) say(2, POST("/v1/jobs", "application/json", "28", "{\"verb\":\"job retry\",\"job\":7}"));
        RUN_UNTIL(w.n_calls == 3); // the last one asks about the job first
        world_close_api();
        for (size_t i = 0; i < 3; i++) {
                RUN_UNTIL(world.clients[i].closed);
                assert_true(has(&world.clients[i], "HTTP/1.1 503 ") &&
                            has(&world.clients[i], "Retry-After: 1\r\n"));
        }
        assert_true(has(&world.clients[2], "nothing was changed"));
}

static void what_is_a_job_by_then_is_told_with_its_number(void **state) {
        Client *c = say_and_wait(POST("/v1/jobs?wait=60", "application/json", "37", STOP));

        answer_change(w.calls[0], 0, 17);
        RUN_UNTIL(w.n_calls == 2);
        world_close_api();
        RUN_UNTIL(c->closed);
        assert_true(has(c, "HTTP/1.1 202 ") && has(c, "Location: /v1/jobs/17\r\n"));
        assert_true(has(c, "{\"job\":17,\"message\":\"argosyd is ending") && has(c, ",\"units\":[]}"));
}

// The same when it is the leader that has gone.
static void whose_job_cannot_be_waited_for_is_told_its_number(void **state) {
        Client *c = say_and_wait(POST("/v1/jobs?wait=60", "application/json", "37", STOP));

        answer_change(w.calls[0], 0, 17);
        http_call_fail(w.calls[1], ETIMEDOUT, "no leader can be reached for 5.0 s");
        RUN_UNTIL(has(c, "\"units\":[]}"));
        assert_true(has(c, "HTTP/1.1 202 ") && has(c, "Location: /v1/jobs/17\r\n"));
        assert_true(has(c, "no leader can be reached for 5.0 s"));
}

static void lines_that_were_done_are_told_when_argosyd_ends(void **state) {
        Client *c = say_and_wait(POST("/v1/jobs?wait=60", "application/x-ndjson", "114", LINES LINES LINES));

        answer_change(w.calls[0], 0, 17); // and the second one is under way
        Client *waits = say(1, POST("/v1/jobs?wait=60", "application/x-ndjson", "38", LINES));
        RUN_UNTIL(w.n_calls == 3);
        answer_change(w.calls[2], 0, 18);
        RUN_UNTIL(w.n_calls == 4); // for its end
        world_close_api();
        RUN_UNTIL(c->closed && waits->closed);
        assert_int_equal(w.n_calls, 4);
        assert_true(has(c, "HTTP/1.1 200 ") && has(c, "{\"line\":1,\"status\":202,\"job\":17,"));
        assert_true(has(c, "{\"line\":2,") && has(c, "\"status\":504,\"detail\":\"argosyd is ending; "));
        assert_true(has(c, "{\"line\":3,") &&
                    has(c, "\"status\":503,\"detail\":\"this was not asked for any more"));
        assert_true(has(waits, "{\"line\":1,\"status\":202,\"job\":18,"));
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
                {"POST /v1/jobs HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: "
                 "37\r\n"
                 "Content-Length: 3\r\n\r\n" STOP,
                 " 400 "},
                {"POST /v1/jobs HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: "
                 "37\r\n"
                 "Origin: http://y\r\n\r\n" STOP,
                 " 403 "},
                {"DELETE /v1/unit-files/a.service HTTP/1.1\r\nHost: x\r\nOrigin: http://y\r\n\r\n", " 403 "},
                {"PUT /v1/unit-files/a.service HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\nab", " 415 "},
                {"DELETE /v1/unit-files/a.service HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\nab",
                 " 400 "},
        };

        for (size_t i = 0; i < ELEMENTSOF(cases); i++) {
                Client *c = say(i, cases[i].text);

                RUN_UNTIL(has(c, cases[i].status));
                assert_int_equal(w.last_what, 0); // the loop never heard of it
        }
}

static void respond_ended_job(HttpCall *call, const char *state, uint32_t failed) {
        Argosy__Response__Jobs jobs = ARGOSY__RESPONSE__JOBS__INIT;
        Argosy__Response r = RESPONSE_OF(JOBS, jobs, &jobs, .final = true);
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
        http_call_respond(call, &r);
}

#define RETRY                                                                                               \
        "POST /v1/jobs HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 28\r\n\r\n" \
        "{\"verb\":\"job retry\",\"job\":9}"

static void what_did_not_end_well_is_asked_for_again(void **state) {
        w.waits = true;
        (void) say(0, RETRY);
        RUN_UNTIL(w.n_calls == 1);
        assert_int_equal(w.last_what, ARGOSY__REQUEST__WHAT_LIST_JOBS);
        respond_ended_job(w.calls[0], "failed", 1);
        RUN_UNTIL(w.n_calls == 2);
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
        for (size_t i = 0; i < ELEMENTSOF(cases); i++) {
                Client *c = say(i, RETRY);

                RUN_UNTIL(w.n_calls == i + 1);
                respond_ended_job(w.calls[i], cases[i].state, cases[i].failed);
                RUN_UNTIL(has(c, cases[i].why));
                assert_true(has(c, " 400 "));
        }
}

RUN_TESTS(
        API_TEST(a_change_is_answered_with_its_job),
        API_TEST(what_the_cluster_waits_for_is_no_answer),
        API_TEST(a_change_of_which_nothing_was_done_is_a_problem),
        API_TEST(who_only_announces_a_body_takes_room_from_nobody),
        API_TEST(a_body_counts_as_long_as_what_was_made_of_it),
        API_TEST(lines_are_asked_for_one_after_the_other),
        API_TEST(behind_a_line_without_an_answer_nothing_is_asked_for),
        API_TEST(who_waits_is_told_how_it_ended),
        API_TEST(who_has_waited_long_enough_is_told_how_far_it_is),
        API_TEST(all_units_of_a_job_are_asked_for_one_part_after_the_other),
        API_TEST(of_a_job_of_very_many_units_the_rest_is_counted),
        API_TEST(a_job_is_told_by_a_leader_or_without_one_and_not_half_so),
        API_TEST(what_a_leader_may_have_is_not_to_be_asked_for_again),
        API_TEST(what_has_a_key_is_to_be_asked_for_again),
        API_TEST(what_changes_nothing_is_to_be_asked_for_again),
        API_TEST(what_is_a_job_by_then_is_told_with_its_number),
        API_TEST(whose_job_cannot_be_waited_for_is_told_its_number),
        API_TEST(lines_that_were_done_are_told_when_argosyd_ends),
        API_TEST(a_body_that_nobody_takes_is_refused),
        API_TEST(what_did_not_end_well_is_asked_for_again),
        API_TEST(what_ended_well_is_not_asked_for_again)
)
