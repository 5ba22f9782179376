// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Where lists go on: as text and back, for the question of which it is, and for no other.
#include <errno.h>

#include "event-cursor.h"
#include "http-filter.h"
#include "http-page.h"
#include "http-target.h"
#include "message.h"
#include "messages.h"
#include "str.h"
#include "test.h"

static HttpTarget parsed(const char *text) {
        const char *why;
        HttpTarget t;

        assert_int_equal(http_target_parse(text, HTTP_GET, &t, &why), 0);
        return t;
}

static int error_of(const char *text, const char *says) {
        const char *why;
        HttpTarget t;
        int r = http_target_parse(text, HTTP_GET, &t, &why);

        if (r < 0)
                assert_non_null(strstr(why, says));
        http_target_done(&t);
        return r;
}

static char *page_of(const char *text, const HttpPage *page) {
        char token[HTTP_PAGE_SIZE];
        HttpTarget t = parsed(text);

        http_page_format(page, http_filter_question(&t), token);
        http_target_done(&t);
        return strdup(token);
}

static const HttpPage of_web = {.unit = "web@1.service", .node = "n1/user@1000"}, of_job = {.before = 17};

static void a_page_is_read_as_it_was_written(void **state) {
        static const HttpPage pages[] = {{.before = 1},
                                         {.before = UINT64_MAX},
                                         {.unit = "a.service"},
                                         {.unit = "web@1.service", .node = "n1/user@1000"}};
        char longest[UNIT_NAME_MAX + 1];

        for (size_t i = 0; i <= ELEMENTSOF(pages); i++) {
                HttpPage page = {}, read = {};
                char text[HTTP_PAGE_SIZE];
                EventCursor cursor;
                uint32_t question;

                if (i < ELEMENTSOF(pages))
                        page = pages[i];
                else {
                        memset(longest, 'x', sizeof(longest));
                        memset(page.node, 'n', HTTP_PAGE_NODE_MAX);
                        str_fit(page.unit, sizeof(page.unit), "%.*s.service", UNIT_NAME_MAX - 8, longest);
                        assert_int_equal(strlen(page.unit), UNIT_NAME_MAX);
                }
                http_page_format(&page, 0xfedcba98, text);
                assert_int_equal(http_page_parse(text, 0xfedcba98, &read), 0);
                assert_true(read.before == page.before);
                assert_string_equal(read.unit, page.unit);
                assert_string_equal(read.node, page.node);
                assert_true(http_page_question(text, &question));
                assert_true(question == 0xfedcba98);
                assert_int_equal(http_page_parse(text, 0xfedcba99, &read), -ESTALE);
                assert_false(event_cursor_parse(text, &cursor));
        }
}

static void what_is_cut_off_or_mistyped_is_no_page(void **state) {
        char text[HTTP_PAGE_SIZE];

        http_page_format(&of_web, 7, text);
        size_t len = strlen(text);
        for (size_t i = 0; i < len; i++) {
                char wrong[HTTP_PAGE_SIZE];
                HttpPage page;

                str_fit(wrong, sizeof(wrong), "%.*s", (int) i, text);
                assert_int_equal(http_page_parse(wrong, 7, &page), -EINVAL);
                str_fit(wrong, sizeof(wrong), "%s", text);
                wrong[i] = wrong[i] == '0' ? '1' : '0';
                assert_int_equal(http_page_parse(wrong, 7, &page), -EINVAL);
                str_fit(wrong, sizeof(wrong), "%s%s", text, i % 2 ? "00" : "0");
                assert_int_equal(http_page_parse(wrong, 7, &page), -EINVAL);
        }
}

static void a_page_is_of_one_question(void **state) {
        static const char *const others[] = {"/v1/units?state=failed&",
                                             "/v1/units?pattern=web@*&",
                                             "/v1/units?pattern=web*&node=n1&",
                                             "/v1/units?pattern=web*&label=a%3Db&",
                                             "/v1/units?",
                                             "/v1/unit-files?pattern=web*&"};
        _cleanup_free_ char *token = page_of("/v1/units?pattern=web*", &of_web),
                            *job = page_of("/v1/jobs?author=ann", &of_job),
                            *past = page_of("/v1/history/a.service", &of_job);
        char text[2048];

        str_fit(text, sizeof(text), "/v1/units?page=%s&limit=9&pattern=web%%2a", token);
        HttpTarget t = parsed(text);
        assert_string_equal(t.page.unit, of_web.unit);
        assert_string_equal(t.page.node, of_web.node);
        http_target_done(&t);
        for (size_t i = 0; i < ELEMENTSOF(others); i++) {
                str_fit(text, sizeof(text), "%spage=%s", others[i], token);
                assert_int_equal(error_of(text, "another question"), -EINVAL);
        }
        str_fit(text, sizeof(text), "/v1/jobs?author=ann&page=%s", job);
        t = parsed(text);
        assert_int_equal(t.page.before, 17);
        http_target_done(&t);
        str_fit(text, sizeof(text), "/v1/jobs?page=%s", job);
        assert_int_equal(error_of(text, "another question"), -EINVAL);
        str_fit(text, sizeof(text), "/v1/history/a.service?page=%s", past);
        assert_int_equal(error_of(text, ""), 0);
        str_fit(text, sizeof(text), "/v1/history/b.service?page=%s", past);
        assert_int_equal(error_of(text, "another question"), -EINVAL);
}

static void a_page_is_no_cursor_and_a_cursor_no_page(void **state) {
        _cleanup_free_ char *token = page_of("/v1/units", &of_web);
        char cursor[EVENT_CURSOR_SIZE], text[2048];

        event_cursor_format(&(EventCursor){.generation = 1, .term = 2, .seq = 3}, cursor);
        str_fit(text, sizeof(text), "/v1/units?page=%s", cursor);
        assert_int_equal(error_of(text, "no cursor"), -EINVAL);
        str_fit(text, sizeof(text), "/v1/state?since=%s", token);
        assert_int_equal(error_of(text, "cursor"), -EINVAL);
        str_fit(text, sizeof(text), "/v1/events?since=%s", token);
        assert_int_equal(error_of(text, "cursor"), -EINVAL);
        str_fit(text, sizeof(text), "/v1/units?page=%s&page=%s", token, token);
        assert_int_equal(error_of(text, "page"), -EINVAL);
}

static void a_leader_is_asked_for_what_is_wanted(void **state) {
        static const char all[] =
                "/v1/units?limit=20&label=disk%3Dssd&label=zone=eu.1&node=n1&state=failed&pattern=web*";
        _cleanup_free_ char *token = page_of(all, &of_web);
        char text[2048];

        str_fit(text, sizeof(text), "%s&page=%s", all, token);
        _cleanup_(http_target_done) HttpTarget t = parsed(text);
        _cleanup_(message_freep) Argosy__Request *q = http_resource_request(&t);
        const Argosy__ListFilter *m = q->list_units->filter;
        assert_non_null(m);
        assert_int_equal(m->limit, 20);
        assert_int_equal(m->n_labels, 2);
        assert_string_equal(m->labels[0]->key, "disk");
        assert_string_equal(m->labels[0]->value, "ssd");
        assert_string_equal(m->labels[1]->key, "zone");
        assert_string_equal(m->labels[1]->value, "eu.1");
        assert_string_equal(m->nodes[0], "n1");
        assert_string_equal(m->states[0], "failed");
        assert_string_equal(m->after, "web@1.service");
        assert_string_equal(m->after_node, "n1/user@1000");
        message_free(q);
        http_target_done(&t);

        t = parsed("/v1/nodes?label=disk%3Dssd");
        q = http_resource_request(&t);
        assert_int_equal(q->list_nodes->filter->n_labels, 1);
        message_free(q);
        http_target_done(&t);

        t = parsed("/v1/units?state=failed");
        q = http_resource_request(&t);
        assert_int_equal(q->list_units->filter->n_states, 1);
        message_free(q);
        http_target_done(&t);

        t = parsed("/v1/unit-files?pattern=web*");
        t.known = strdup("abc def");
        q = http_resource_request(&t);
        assert_true(q->list_unit_files->filter->tagged);
        assert_string_equal(q->list_unit_files->filter->known, "abc def");
        message_free(q);
        http_target_done(&t);

        t = parsed("/v1/nodes");
        q = http_resource_request(&t);
        assert_null(q->list_nodes->filter);
        message_free(q);
        http_target_done(&t);

        t = parsed("/v1/units/web.service");
        q = http_resource_request(&t);
        assert_null(q->list_units->filter);
}

static void a_link_is_the_question_with_its_next_page(void **state) {
        static const struct {
                const char *target, *link;
        } cases[] = {
                {"/v1/units", "</v1/units?page=p2>; rel=\"next\""},
                {"/v1/units?", "</v1/units?page=p2>; rel=\"next\""},
                {"/v1/units?page=p1", "</v1/units?page=p2>; rel=\"next\""},
                {"/v1/units?limit=2&page=p1&pattern=web@*",
                 "</v1/units?limit=2&pattern=web@*&page=p2>; rel=\"next\""},
                {"/v1/units?page=p1&&limit=2", "</v1/units?limit=2&page=p2>; rel=\"next\""},
                {"/v1/units?pattern=a>b\"\x80", "</v1/units?pattern=a%3Eb%22%80&page=p2>; rel=\"next\""},
        };

        for (size_t i = 0; i < ELEMENTSOF(cases); i++) {
                _cleanup_free_ char *link = http_page_link(cases[i].target, "p2");

                assert_string_equal(link, cases[i].link);
        }
}

RUN_TESTS(
        cmocka_unit_test(a_page_is_read_as_it_was_written),
        cmocka_unit_test(what_is_cut_off_or_mistyped_is_no_page),
        cmocka_unit_test(a_page_is_of_one_question),
        cmocka_unit_test(a_page_is_no_cursor_and_a_cursor_no_page),
        cmocka_unit_test(a_leader_is_asked_for_what_is_wanted),
        cmocka_unit_test(a_link_is_the_question_with_its_next_page)
)
