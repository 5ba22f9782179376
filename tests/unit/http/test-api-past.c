// SPDX-License-Identifier: LGPL-2.1-or-later

// Unit files as they are and as they were, and what differs from then: all of it is read from the changes
// since, page by page.

#include "test.h"

#include "api-world.h"
#include "messages.h"

// text NULL: there is none.
static void respond_file(HttpCall *call, const char *text) {
        Argosy__Response__Cat cat =
                MESSAGE_OF(response__cat, .name = (char *) "a.service",
                           .content = (ProtobufCBinaryData){text ? strlen(text) : 0, (uint8_t *) text});

        http_call_respond(call, A_RESPONSE(CAT, cat, &cat, .final = true, .status = text ? 0 : ENOENT));
}

#define TEXT_NOW "[Service]\n"
#define REV_NOW "40d8baa" // as SHA-256 of that begins

static void respond_unit_files(HttpCall *call, size_t n) {
        Argosy__Response__UnitFileRow row = UNIT_FILE_ROW_OF(.unit = (char *) "a.service",
                                                             .rev = (char *) REV_NOW),
                                      *rows[] = {&row};
        Argosy__Response__UnitFiles files = MESSAGE_OF(response__unit_files, .rows = rows, .n_rows = n);

        http_call_respond(call, A_RESPONSE(UNIT_FILES, unit_files, &files, .final = true));
}

static void a_unit_file_comes_with_its_text(void **state) {
        static const struct {
                const char *text, *shown;
        } cases[] = {
                {"[Service]\n\x01\"\xff\"\n", "],\"file\":\"[Service]\\n\\u0001\\\"\\ufffd\\\"\\n\"}\n"},
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

// One page of jobs: number `first` down to `last`, each of which has made a unit; before: where the next
// page goes on.
static void respond_jobs(HttpCall *call, uint64_t first, uint64_t last, uint64_t before, bool no_leader) {
        Argosy__Response__Jobs jobs = ARGOSY__RESPONSE__JOBS__INIT;
        Argosy__Response r = RESPONSE_OF(JOBS, jobs, &jobs, .final = true);
        Argosy__Response__JobRow rows[4], *row_pointers[4];
        Argosy__Response__JobUnitRow units[4], *unit_pointers[4];
        char names[4][16];

        for (; first >= last; first--) {
                size_t i = jobs.n_rows++;

                str_fit(names[i], sizeof(names[i]), "u%u.service", (unsigned) first);
                units[i] =
                        (Argosy__Response__JobUnitRow) JOB_UNIT_ROW_OF(.unit = names[i],
                                                                       .rev_after = (char *) "aaaa",
                                                                       .desired_after = (char *) "launched",
                                                                       .revision = first);
                rows[i] = (Argosy__Response__JobRow) JOB_ROW_OF(.job = first, .revision = first);
                unit_pointers[i] = &units[i];
                rows[i].units = &unit_pointers[i];
                rows[i].n_units = 1;
                row_pointers[i] = &rows[i];
        }
        jobs.rows = row_pointers;
        jobs.before = before;
        r.no_leader = no_leader;
        http_call_respond(call, &r);
}

static void what_differs_is_read_page_by_page(void **state) {
        Client *c = say_and_wait(GET("/v1/diff?from=3"));

        respond_jobs(w.calls[0], 3, 3, 0, false); // when that was
        RUN_UNTIL(w.n_calls == 2);
        respond_jobs(w.calls[1], 9, 7, 7, false);
        RUN_UNTIL(w.n_calls == 3);
        respond_jobs(w.calls[2], 6, 3, 3, false); // 3 itself does not count
        RUN_UNTIL(w.n_calls == 4);
        respond_jobs(w.calls[3], 0, 1, 0, false); // none was held back
        RUN_UNTIL(has(c, "]}\n"));
        assert_int_equal(w.n_calls, 4);
        assert_true(has(c, "{\"from\":3,\"to\":null,\"incomplete\":false,\"settings\":[],\"units\":[{"
                           "\"unit\":\"u4.service\",\"change\":\"make\""));
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
                n = HELD_PER_OWNER - held();
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
        stream_close(world.clients[0].stream, 0, false);
        RUN_UNTIL(world.clients[0].closed);
        respond_jobs(w.calls[1], 9, 7, 7, false);
        assert_int_equal(w.n_calls, 2);
        SPIN_UNTIL(http_api_stats(world.api).http_requests_open == 0);
        assert_int_equal(held(), 0);
}

static void what_differs_is_not_told_from_an_old_log(void **state) {
        Client *c = say_and_wait(GET("/v1/diff?from=3&to=5"));

        respond_jobs(w.calls[0], 3, 3, 0, false);
        RUN_UNTIL(w.n_calls == 2);
        respond_jobs(w.calls[1], 5, 5, 0, true);
        RUN_UNTIL(has(c, "no leader can be reached who could tell all jobs"));
        assert_false(has(c, " 200 "));
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
                // what changes from here on stands among the changes
                assert_int_equal(w.last_what, ARGOSY__REQUEST__WHAT_LIST_UNIT_FILES);
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
                        assert_true(has(c, "{\"no_leader\":false,\"unit_files\":[{\"unit\":\"a.service\","
                                           "\"rev\":\"" REV_NOW "\",\"desired\":\"\"}]"));
        }
}

static void a_unit_that_came_later_was_not_there(void **state) {
        Client *c = say_and_wait(GET("/v1/unit-files/u5.service?at=3"));

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

RUN_TESTS(
        API_TEST(a_unit_file_comes_with_its_text),
        API_TEST(what_differs_is_read_page_by_page),
        API_TEST(what_differs_is_not_told_from_an_old_log),
        API_TEST(what_differs_counts_as_any_answer_does),
        API_TEST(for_who_has_gone_nothing_more_is_read),
        API_TEST(a_unit_file_comes_as_it_was),
        API_TEST(a_unit_that_came_later_was_not_there)
)
