// SPDX-License-Identifier: LGPL-2.1-or-later
#include "printed.h"
#include "test.h"

#include <errno.h>

#include "buf.h"
#include "http-bulk.h"
#include "macro.h"
#include "message.h"
#include "messages.h"
#include "request-key.h"
#include "str.h"

static const HttpTarget job = {.resource = HTTP_NEW_JOB};

static int parse(const char *text, const char *key, HttpBulk **ret, char **ret_why, unsigned *ret_line) {
        HttpWriteHeaders headers = {.key = key};
        _cleanup_free_ char *body = strdup(text);

        return http_bulk_parse(&job, &headers, body, strlen(body), ret, ret_why, ret_line);
}

static HttpBulk *parsed(const char *text, const char *key) {
        unsigned line;
        HttpBulk *b;
        char *why;

        assert_int_equal(parse(text, key, &b, &why, &line), 0);
        return b;
}

static const Argosy__Request__Change *change_of(const HttpBulk *b, size_t step) {
        assert_true(step < b->n_steps);
        assert_int_equal(b->steps[step].request->what_case, ARGOSY__REQUEST__WHAT_CHANGE);
        return b->steps[step].request->change;
}

#define STOP(units) "{\"verb\":\"stop\",\"units\":[" units "]}\n"
#define A "\"a.service\""
#define B "\"b.service\""
#define C "\"c.service\""

static void operations_that_do_the_same_are_one_step(void **state) {
        static const struct {
                const char *text;
                size_t n_operations, n_steps;
        } cases[] = {
                {STOP(A) STOP(B "," C), 2, 1},
                {STOP(A) "\r\n\n" STOP(B), 2, 1},
                {STOP(A) "{\"verb\":\"restart\",\"units\":[" B "]}", 2, 2},
                {STOP(A) STOP(B "," A), 2, 2}, // one after the other
                {STOP(A) STOP(A) STOP(B), 3, 2},
                {STOP(A) "{\"verb\":\"stop\",\"units\":[" B "],\"reason\":\"x\"}", 2, 2},
                {STOP(A) "{\"verb\":\"stop\",\"units\":[" B "],\"hold\":true}", 2, 2},
                {STOP(A) "{\"verb\":\"stop\",\"units\":[" B "],\"after\":[1]}", 2, 2},
                {"{\"verb\":\"load\",\"files\":{\"a@.service\":\"1\"},\"units\":[\"a@1.service\"]}\n"
                 "{\"verb\":\"load\",\"files\":{\"a@.service\":\"1\"},\"units\":[\"a@2.service\"]}\n"
                 "{\"verb\":\"load\",\"files\":{\"a@.service\":\"2\"},\"units\":[\"a@3.service\"]}\n",
                 3, 2},
        };

        for (size_t i = 0; i < ELEMENTSOF(cases); i++) {
                HttpBulk *b = parsed(cases[i].text, NULL);

                assert_int_equal(b->n_operations, cases[i].n_operations);
                assert_int_equal(b->n_steps, cases[i].n_steps);
                http_bulk_free(b);
        }
}

static void a_step_has_all_names_and_each_file_once(void **state) {
        HttpBulk *b =
                parsed("{\"verb\":\"load\",\"files\":{\"a@.service\":\"1\"},\"units\":[\"a@1.service\"]}\n"
                       "{\"verb\":\"load\",\"files\":{\"a@.service\":\"1\",\"b.service\":\"2\",\"c."
                       "service\":\"3\"},"
                       "\"units\":[\"a@2.service\",\"b.service\"]}\n",
                       NULL);
        const Argosy__Request__Change *change = change_of(b, 0);

        assert_int_equal(change->n_names, 3);
        assert_string_equal(change->names[0], "a@1.service");
        assert_string_equal(change->names[2], "b.service");
        assert_int_equal(change->n_files, 3);
        assert_string_equal(change->files[0]->name, "a@.service");
        assert_string_equal(change->files[2]->name, "c.service");
        assert_int_equal(b->operations[1].line, 2);
        assert_int_equal(b->operations[1].first, 1);
        assert_int_equal(b->operations[1].n_names, 2);
        assert_int_equal(b->steps[0].request->job->n_targets, 0); // what it is about is the leader's to name
        http_bulk_free(b);
}

// Who repeats a body under its key asks for the same steps by the same ids.
static void ids_follow_from_the_key_and_the_place(void **state) {
        static const char text[] = STOP(A) STOP(A) STOP(A);
        HttpBulk *b = parsed(text, "k"), *other = parsed(text, NULL);
        uint8_t id[REQUEST_KEY_ID_SIZE];

        for (size_t i = 0; i < 3; i++) {
                request_key_id("k", i, id);
                assert_memory_equal(change_of(b, i)->id.data, id, sizeof(id));
                assert_memory_not_equal(change_of(other, i)->id.data, id, sizeof(id));
        }
        assert_memory_not_equal(change_of(other, 0)->id.data, change_of(other, 1)->id.data, sizeof(id));
        http_bulk_free(b);
        http_bulk_free(other);
}

static void a_fault_says_in_which_line_it_is(void **state) {
        static const struct {
                const char *text;
                unsigned line;
                const char *saying;
        } cases[] = {{"", 0, "no operation"},
                     {"\n\r\n", 0, "no operation"},
                     {STOP(A) "\n{\"verb\":\"stop\"}\n", 3, "no units"},
                     {STOP(A) "[]", 2, "no JSON object"},
                     {"{\"verb\":\"stop\",\n\"units\":[" A "]}", 1, "no JSON object"},
                     {STOP(A) STOP(B) "{\"verb\":\"stop\",\"units\":[\"\xff\"]}\n" STOP(C), 3, "UTF-8"}};

        for (size_t i = 0; i < ELEMENTSOF(cases); i++) {
                HttpBulk *b;
                unsigned line;
                char *why;

                assert_int_equal(parse(cases[i].text, NULL, &b, &why, &line), -EINVAL);
                assert_int_equal(line, cases[i].line);
                assert_non_null(strstr(why, cases[i].saying));
                free(why);
        }
}

static void there_may_be_so_many_lines(void **state) {
        _cleanup_buf_ Buf text = {};
        _cleanup_free_ char *body = NULL, *why = NULL;
        HttpBulk *b;
        unsigned line;

        for (size_t i = 0; i <= HTTP_LINES_MAX; i++)
                assert_int_equal(buf_printf(&text, "{\"verb\":\"stop\",\"units\":[\"u%zu.service\"]}\n", i),
                                 0);
        body = buf_take_string(&text);
        assert_int_equal(parse(body, NULL, &b, &why, &line), -E2BIG);
        assert_int_equal(line, HTTP_LINES_MAX + 1);
        *strrchr(body, '{') = 0;
        free(TAKE_PTR(why));
        assert_int_equal(parse(body, NULL, &b, &why, &line), 0);
        assert_int_equal(b->n_operations, HTTP_LINES_MAX);
        assert_int_equal(b->n_steps, 1);
        http_bulk_free(b);
}

// ---- answers

static HttpPart packed(Argosy__Response *r) {
        HttpPart p = {.len = argosy__response__get_packed_size(r)};

        p.data = malloc(p.len);
        argosy__response__pack(r, p.data);
        return p;
}

static void add_part_of(HttpBulkStep *s, uint32_t first, size_t n, int status, bool repeated) {
        Argosy__Response__Change change = ARGOSY__RESPONSE__CHANGE__INIT;
        Argosy__Response r = RESPONSE_OF(CHANGE, change, &change);
        Argosy__Response__UnitResult units[4], *pointers[4];
        char names[4][32];

        for (size_t i = 0; i < n; i++) {
                argosy__response__unit_result__init(&units[i]);
                snprintf(names[i], sizeof(names[i]), "%c.service", 'a' + (int) (first + i));
                units[i].name = names[i];
                units[i].status = i == 0 ? status : 0;
                units[i].repeated = repeated;
                pointers[i] = &units[i];
        }
        change.first = first;
        change.units = pointers;
        change.n_units = n;
        s->parts = realloc(s->parts, (s->n_parts + 1) * sizeof(*s->parts));
        s->parts[s->n_parts++] = packed(&r);
        s->n_units += n;
        s->answered = true;
        s->job = 7;
}

static void add_part(HttpBulkStep *s, uint32_t first, size_t n, int status) {
        add_part_of(s, first, n, status, false);
}

// Asked for again under its key: how a unit has ended meanwhile does not make it one that was not taken.
static void what_was_taken_is_told_as_taken_whatever_became_of_it(void **state) {
        HttpBulk *b = parsed(STOP(A) STOP(A), NULL);
        size_t len;

        assert_int_equal(b->n_steps, 2);
        add_part_of(&b->steps[0], 0, 1, EIO, true);
        add_part_of(&b->steps[1], 0, 1, EIO, false);
        _cleanup_free_ char *text = http_bulk_answer(b, &len);
        assert_non_null(strstr(text, "{\"line\":1,\"status\":202,\"job\":7,"));
        assert_non_null(strstr(text, "\"ok\":false"));
        assert_null(strstr(text, "{\"line\":2,\"status\":202"));
        http_bulk_free(b);
}

static void each_line_has_its_units_from_whatever_part(void **state) {
        HttpBulk *b = parsed(STOP(A "," B) STOP(C) STOP(A) STOP(A) STOP(A), NULL);
        const char *lines[5];
        size_t len;

        assert_int_equal(b->n_steps, 4);
        add_part(&b->steps[0], 0, 1, 0);
        add_part(&b->steps[0], 1, 2, 0);
        add_part(&b->steps[1], 0, 1, ENOENT);
        b->steps[2].answered = true;
        b->steps[2].status = EACCES;
        _cleanup_free_ char *text = http_bulk_answer(b, &len);
        assert_non_null(text);
        assert_int_equal(len, strlen(text));
        for (size_t i = 0; i < 5; i++) {
                lines[i] = strstr(text, printed("{\"line\":%zu,", i + 1));
                assert_non_null(lines[i]);
                assert_true(i == 0 || lines[i][-1] == '\n');
        }
        assert_true(strstr(text, "b.service") < lines[1]);
        assert_true(strstr(text, "c.service") > lines[1] && strstr(text, "c.service") < lines[2]);
        assert_non_null(strstr(lines[1], "\"status\":202,\"job\":7,"));
        assert_true(strstr(lines[2], "\"status\":404") < lines[3] &&
                    strstr(lines[2], "\"unit\":\"a.service\"}\n") < lines[3]);
        assert_true(strstr(lines[3], "\"status\":403") < lines[4]);
        assert_non_null(strstr(lines[4], "\"status\":503"));
        http_bulk_free(b);
}

static void who_has_waited_is_told_how_each_job_ended(void **state) {
        HttpBulk *b = parsed(STOP(A "," B), NULL);
        Argosy__Response__JobUnitRow bad = JOB_UNIT_ROW_OF(.unit = (char *) "b.service",
                                                           .end = (char *) "failed",
                                                           .end_message = (char *) "it does not end"),
                                     *ends[] = {&bad};
        size_t len;

        add_part(&b->steps[0], 0, 2, 0);
        Argosy__Response__JobRow row = JOB_ROW_OF(.state = (char *) "failed", .ends = ends, .n_ends = 1),
                                 *rows[] = {&row};
        Argosy__Response__Jobs jobs = MESSAGE_OF(response__jobs, .rows = rows, .n_rows = 1);
        b->steps[0].end = packed(A_RESPONSE(JOBS, jobs, &jobs));
        _cleanup_free_ char *text = http_bulk_answer(b, &len);
        assert_non_null(strstr(text, "\"status\":200,\"job\":7,\"state\":\"failed\""));
        assert_non_null(strstr(strstr(text, "b.service"),
                               "\"end\":\"failed\",\"end_message\":\"it does not end\"}"));
        assert_true(strstr(text, "\"end\"") > strstr(text, "b.service"));
        http_bulk_free(b);
}

// As on the command line; the leader has one result for it.
static void a_name_given_twice_counts_once(void **state) {
        HttpBulk *b = parsed(STOP(A "," B "," A) STOP(C), NULL);
        size_t len;

        assert_int_equal(b->n_steps, 1);
        assert_int_equal(change_of(b, 0)->n_names, 3);
        assert_int_equal(b->operations[0].n_names, 2);
        assert_int_equal(b->operations[1].first, 2);
        add_part(&b->steps[0], 0, 3, 0);
        _cleanup_free_ char *text = http_bulk_answer(b, &len);
        const char *second = strstr(text, "{\"line\":2,");
        assert_true(strstr(text, "b.service") < second);
        assert_true(strstr(text, "c.service") > second);
        http_bulk_free(b);
}

// Each line is a template with three instances that have drop-ins of their own.
static void what_is_composed_of_all_lines_has_a_limit(void **state) {
        enum { SIZE = 250000, LINES = 40 };
        _cleanup_free_ char *comment = calloc(SIZE + 1, 1), *why = NULL;
        _cleanup_buf_ Buf body = {};
        unsigned line;
        HttpBulk *b;

        memset(comment, 'a', SIZE);
        for (int i = 0; i < LINES; i++)
                assert_int_equal(buf_printf(&body,
                                            "{\"verb\":\"start\",\"units\":[\"b%d@1.service\"],\"files\":{"
                                            "\"b%d@.service\":\"#%s\\n\","
                                            "\"b%d@1.service.d/1.conf\":\"[Unit]\\n\",\"b%d@2.service.d/"
                                            "1.conf\":\"[Unit]\\n\","
                                            "\"b%d@3.service.d/1.conf\":\"[Unit]\\n\"}}\n",
                                            i, i, comment, i, i, i),
                                 0);
        assert_int_equal(buf_append(&body, "", 1), 0);
        assert_int_equal(parse((const char *) body.data, NULL, &b, &why, &line), -E2BIG);
        assert_non_null(strstr(why, "more than 32 MiB"));
        assert_in_range(line, 30, LINES - 1);
}

RUN_TESTS(
        cmocka_unit_test(operations_that_do_the_same_are_one_step),
        cmocka_unit_test(a_step_has_all_names_and_each_file_once),
        cmocka_unit_test(ids_follow_from_the_key_and_the_place),
        cmocka_unit_test(a_fault_says_in_which_line_it_is),
        cmocka_unit_test(there_may_be_so_many_lines),
        cmocka_unit_test(what_is_composed_of_all_lines_has_a_limit),
        cmocka_unit_test(each_line_has_its_units_from_whatever_part),
        cmocka_unit_test(what_was_taken_is_told_as_taken_whatever_became_of_it),
        cmocka_unit_test(who_has_waited_is_told_how_each_job_ended),
        cmocka_unit_test(a_name_given_twice_counts_once)
)
