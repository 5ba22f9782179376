// SPDX-License-Identifier: LGPL-2.1-or-later
#include "test.h"

#include "http-filter.h"
#include "http-filter.h"
#include "http-target.h"
#include "macro.h"
#include "message.h"
#include "messages.h"
#include "str.h"

#define REV "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define CURSOR "021ca28de6010100f80f000e00b0a39aab"

static HttpTarget parsed(const char *text) {
        HttpTarget t;
        const char *why;

        assert_int_equal(http_target_parse(text, HTTP_GET, &t, &why), 0);
        return t;
}

static void paths_name_resources(void **state) {
        static const struct {
                const char *text;
                HttpResource resource;
                const char *name;
        } cases[] = {{"/healthz", HTTP_HEALTHZ, NULL},
                     {"/readyz?", HTTP_READYZ, NULL},
                     {"/v1/units", HTTP_UNITS, NULL},
                     {"/v1/units?", HTTP_UNITS, NULL},
                     {"/v1/units?&", HTTP_UNITS, NULL},
                     {"/v1/units/web@7.service", HTTP_UNIT, "web@7.service"},
                     {"/v1/units/web%407.service", HTTP_UNIT, "web@7.service"},
                     {"/v1/unit-files", HTTP_UNIT_FILES, NULL},
                     {"/v1/unit-files/web@.service", HTTP_UNIT_FILE, "web@.service"},
                     {"/v1/nodes", HTTP_NODES, NULL},
                     {"/v1/jobs", HTTP_JOBS, NULL},
                     {"/v1/jobs/7", HTTP_JOB, NULL},
                     {"/v1/jobs/7/targets", HTTP_JOB_TARGETS, NULL},
                     {"/v1/events?since=0&kind=unit&kind=job", HTTP_EVENTS, NULL},
                     {"/v1/events?since=@7&pattern=a*", HTTP_EVENTS, NULL},
                     {"/v1/state", HTTP_STATE, NULL},
                     {"/v1/state?since=" CURSOR, HTTP_STATE, NULL},
                     {"/v1/hosts", HTTP_HOSTS, NULL},
                     {"/", HTTP_DASHBOARD, NULL},
                     {"/dashboard/main.js", HTTP_STATIC, NULL},
                     {"/v1/roles", HTTP_ROLES, NULL},
                     {"/v1/pools", HTTP_POOLS, NULL},
                     {"/v1/queue", HTTP_QUEUE, NULL},
                     {"/v1/access", HTTP_ACCESS, NULL},
                     {"/v1/tokens", HTTP_TOKENS, NULL},
                     {"/v1/secrets", HTTP_SECRETS, NULL},
                     {"/metrics", HTTP_METRICS, NULL}};

        for (size_t i = 0; i < ELEMENTSOF(cases); i++) {
                HttpTarget t = parsed(cases[i].text);

                assert_int_equal(t.resource, cases[i].resource);
                if (cases[i].name)
                        assert_string_equal(t.name, cases[i].name);
                else
                        assert_null(t.name);
                http_target_done(&t);
        }
}

static void what_is_no_proper_target_is_refused(void **state) {
        static const struct {
                const char *text;
                int error;
        } cases[] = {{"", -ENOENT},
                     {"//", -ENOENT},
                     {"/dashboard", -ENOENT},
                     {"/dashboard/", -ENOENT},
                     {"/dashboard/nothing.js", -ENOENT},
                     {"/dashboard/%6dain.js", -ENOENT},
                     {"/dashboard/../main.js", -ENOENT},
                     {"/main.js", -ENOENT},
                     {"/?a=b", -EINVAL},
                     {"*", -ENOENT},
                     {"/v1", -ENOENT},
                     {"/v2/units", -ENOENT},
                     {"/v1/unitsx", -ENOENT},
                     {"/v1/unit-files/a.service?rev=abc", -EINVAL},
                     {"/v1/unit-files/a.service?rev=" REV "&rev=" REV, -EINVAL},
                     {"/v1/unit-files/a.service?rev=" REV "&at=7", -EINVAL},
                     {"/v1/unit-files?rev=" REV, -EINVAL},
                     {"/v1/units/", -ENOENT},
                     {"/v1/units/a.service/b", -ENOENT},
                     {"/v1//units", -ENOENT},
                     {"/V1/units", -ENOENT},
                     {"http://host/v1/units", -ENOENT},
                     {"/%761/units", -ENOENT}, // nothing of a path but names is decoded
                     {"/v1/units/..", -EINVAL},
                     {"/v1/units/%2e%2e%2fetc", -EINVAL},
                     {"/v1/units/a%00.service", -EINVAL},
                     {"/v1/units/a.service%00b", -EINVAL},
                     {"/v1/units/a%ff.service", -EINVAL},
                     {"/v1/units/a%0a.service", -EINVAL},
                     {"/v1/units/a%4.service", -EINVAL},
                     {"/v1/units/a.service%", -EINVAL},
                     {"/v1/units/a.service%4", -EINVAL},
                     {"/v1/units/web@*.service", -EINVAL},
                     {"/v1/units/a.service?state=failed", -EINVAL},
                     {"/v1/units?pattern", -EINVAL},
                     {"/v1/units?pattern=", -EINVAL},
                     {"/v1/units?pattern=%", -EINVAL},
                     {"/v1/units?patern=a", -EINVAL},
                     {"/v1/units?PATTERN=a", -EINVAL},
                     {"/v1/units?patern=7", -EINVAL}, // a value that something else takes
                     {"/v1/nodes?limit=7", -EINVAL},
                     {"/v1/units?=a", -EINVAL},
                     {"/v1/nodes?pattern=a", -EINVAL},
                     {"/v1/units?node=", -EINVAL},
                     {"/v1/nodes?state=", -EINVAL},
                     {"/v1/nodes?state=looping", -EINVAL},
                     {"/v1/units?state=loopin", -EINVAL},
                     {"/v1/unit-files?state=active", -EINVAL},
                     {"/v1/hosts?label=a=b", -EINVAL},
                     {"/v1/jobs/", -ENOENT},
                     {"/v1/jobs/0", -EINVAL},
                     {"/v1/jobs/7x", -EINVAL},
                     {"/v1/jobs/-7", -EINVAL},
                     {"/v1/jobs/%37", -EINVAL},
                     {"/v1/jobs/99999999999999999999", -EINVAL},
                     {"/v1/jobs/1111111111111111111111111111111111111", -EINVAL},
                     {"/v1/jobs?state=active", -EINVAL},
                     {"/v1/jobs?limit=0", -EINVAL},
                     {"/v1/jobs?limit=1001", -EINVAL},
                     {"/v1/jobs?limit=1&limit=1", -EINVAL},
                     {"/v1/jobs?page=7", -EINVAL},
                     {"/v1/jobs?page=p17", -EINVAL},
                     {"/v1/jobs?page=p", -EINVAL},
                     {"/v1/jobs?label=a%3Db", -EINVAL},
                     {"/v1/jobs?author=a&author=b", -EINVAL},
                     {"/v1/units?limit=0", -EINVAL},
                     {"/v1/units?page=p17", -EINVAL},
                     {"/v1/units?label=disk", -EINVAL},
                     {"/v1/units?label=disk%3D", -EINVAL},
                     {"/v1/units?label=disk%3Dsolid%20state", -EINVAL},
                     {"/v1/nodes?page=p1", -EINVAL},
                     {"/v1/events?since=1", -EINVAL},
                     {"/v1/events?since=@0", -EINVAL},
                     {"/v1/events?since=0&since=0", -EINVAL},
                     {"/v1/events?kind=weather", -EINVAL},
                     {"/v1/jobs/7?wait=0", -EINVAL},
                     {"/v1/jobs/7?wait=61", -EINVAL},
                     {"/v1/jobs/7?wait=1&wait=1", -EINVAL},
                     {"/v1/state?since=0", -EINVAL},
                     {"/v1/state?since=p7", -EINVAL},
                     {"/v1/state?since=" CURSOR "&since=" CURSOR, -EINVAL},
                     {"/v1/state?pattern=a", -EINVAL},
                     {"/metrics?a=b", -EINVAL},
                     {"/healthz?a=b", -EINVAL}};

        for (size_t i = 0; i < ELEMENTSOF(cases); i++) {
                HttpTarget t;
                const char *why = NULL;

                assert_int_equal(http_target_parse(cases[i].text, HTTP_GET, &t, &why), cases[i].error);
                assert_true(*why);
                http_target_done(&t);
        }
}

static void a_method_is_one_of_those_that_fit(void **state) {
        static const struct {
                const char *text, *methods;
                HttpMethod method;
                int error;
        } cases[] = {{"/v1/jobs", "GET, HEAD, POST", HTTP_POST, 0},
                     {"/v1/jobs?wait=5", "GET, HEAD, POST", HTTP_POST, 0},
                     {"/v1/jobs", "GET, HEAD, POST", HTTP_PUT, -EPERM},
                     {"/v1/jobs", "GET, HEAD, POST", 0, -EPERM},
                     {"/v1/unit-files/a.service", "GET, HEAD, PUT, DELETE", HTTP_PUT, 0},
                     {"/v1/unit-files/a.service", "GET, HEAD, PUT, DELETE", HTTP_DELETE, 0},
                     {"/v1/unit-files/a.service", "GET, HEAD, PUT, DELETE", HTTP_POST, -EPERM},
                     {"/v1/secrets", "GET, HEAD", HTTP_PUT, -EPERM},
                     {"/v1/secrets/db", "PUT, DELETE", HTTP_PUT, 0},
                     {"/v1/secrets/db", "PUT, DELETE", HTTP_DELETE, 0},
                     {"/v1/secrets/db", "PUT, DELETE", HTTP_GET, -EPERM}, // nothing reads one back
                     {"/v1/secrets/.db", "PUT, DELETE", HTTP_PUT, -EINVAL},
                     {"/v1/secrets/a%2Fb", "PUT, DELETE", HTTP_PUT, -EINVAL},
                     {"/v1/units", "GET, HEAD", HTTP_POST, -EPERM},
                     {"/v1/nope", "", HTTP_POST, -ENOENT}};

        for (size_t i = 0; i < ELEMENTSOF(cases); i++) {
                char methods[HTTP_METHODS_SIZE];
                const char *why;
                HttpTarget t;

                http_target_methods(cases[i].text, methods);
                assert_string_equal(methods, cases[i].methods);
                assert_int_equal(http_target_parse(cases[i].text, cases[i].method, &t, &why),
                                 cases[i].error);
                http_target_done(&t);
        }
        assert_int_equal(http_method_from_string("HEAD"), HTTP_GET);
        assert_int_equal(http_method_from_string("DELETE"), HTTP_DELETE);
        assert_int_equal(http_method_from_string("get"), 0);
        assert_int_equal(http_method_from_string("PATCH"), 0);
}

static void events_are_asked_for_behind_the_cursor(void **state) {
        _cleanup_(http_target_done) HttpTarget t = parsed("/v1/events?since=@7&kind=job");
        _cleanup_(message_freep) Argosy__Request *q =
                http_resource_events(&t, "", ARGOSY__REQUEST__EVENTS__LEAD__SOMEBODY);

        assert_int_equal(q->events->since_job, 7);
        assert_false(q->events->from_now);
        assert_int_equal(q->events->kinds[0], ARGOSY__EVENT_KIND__EVENT_JOB);
        message_free(q);
        q = http_resource_events(&t, "ab", ARGOSY__REQUEST__EVENTS__LEAD__SOMEBODY);
        assert_string_equal(q->events->cursor, "ab");
        assert_int_equal(q->events->since_job, 0);
        message_free(q);
        http_target_done(&t);
        t = parsed("/v1/events");
        q = http_resource_events(&t, "", ARGOSY__REQUEST__EVENTS__LEAD__SOMEBODY);
        assert_true(q->events->from_now);
}

static void a_journal_has_its_own_parameters(void **state) {
        static const char *const bad[] = {"/v1/journal/",
                                          "/v1/journal/a",
                                          "/v1/journal/a.service?lines=100001",
                                          "/v1/journal/a.service?follow=maybe",
                                          "/v1/journal/a.service?node=a&node=b",
                                          "/v1/journal/a.service?lines=10&lines=20",
                                          "/v1/journal/a.service?follow=1&follow=0",
                                          "/v1/journal/a.service?pattern=b",
                                          "/v1/units/a.service?lines=1"};
        HttpTarget t = parsed("/v1/journal/a.service?follow=true&lines=0&node=n1");
        Argosy__Request *q = http_resource_request(&t);

        assert_true(http_target_is(&t, HTTP_IS_STREAM));
        assert_true(q->journal->follow);
        assert_int_equal(q->journal->lines, 0);
        assert_string_equal(q->journal->node, "n1");
        message_free(q);
        http_target_done(&t);
        t = parsed("/v1/journal/a.service?follow=0");
        q = http_resource_request(&t);
        assert_false(q->journal->follow);
        assert_int_equal(q->journal->lines, HTTP_JOURNAL_LINES);
        message_free(q);
        q = http_resource_journal(&t, true);
        assert_int_equal(q->journal->lines, 0);
        message_free(q);
        http_target_done(&t);
        for (size_t i = 0; i < ELEMENTSOF(bad); i++) {
                const char *why;

                assert_true(http_target_parse(bad[i], HTTP_GET, &t, &why) < 0);
                assert_true(*why);
        }
}

static void parameters_may_come_several_times(void **state) {
        _cleanup_(http_target_done) HttpTarget t =
                parsed("/v1/units?pattern=a*&state=failed&pattern=b%26c=d&state=active");

        assert_int_equal(t.n_patterns, 2);
        assert_string_equal(t.patterns[0], "a*");
        assert_string_equal(t.patterns[1], "b&c=d");
        assert_int_equal(t.n_states, 2);
        assert_string_equal(t.states[1], "active");
}

static void only_what_is_on_the_nodes_that_are_named_is_wanted(void **state) {
        _cleanup_(http_target_done) HttpTarget t = parsed("/v1/units?node=n1&node=n2&state=failed"),
                                               all = parsed("/v1/unit-files");
        Argosy__Response__UnitRow row = UNIT_ROW_OF(.active = (char *) "failed", .node = (char *) "n2");
        Argosy__Response__UnitFileRow file = UNIT_FILE_ROW_OF(.node = (char *) "n3");

        assert_true(http_filter_wants_unit(&t, &row, NULL));
        row.node = (char *) "n21";
        assert_false(http_filter_wants_unit(&t, &row, NULL));
        row.node = (char *) "n1";
        row.active = (char *) "active";
        assert_false(http_filter_wants_unit(&t, &row, NULL));
        assert_true(http_filter_wants_file(&all, &file, NULL));
}

static void parameters_have_a_limit(void **state) {
        char text[32 * HTTP_PATTERNS_MAX] = "/v1/units?state=failed";
        const char *why;

        for (size_t i = 0; i < HTTP_PATTERNS_MAX; i++)
                strcat(text, "&pattern=a");
        HttpTarget t = parsed(text);
        assert_int_equal(t.n_patterns, HTTP_PATTERNS_MAX);
        http_target_done(&t);
        strcat(text, "&pattern=a");
        assert_int_equal(http_target_parse(text, HTTP_GET, &t, &why), -E2BIG);
        assert_int_equal(t.n_patterns, 0);
}

static void it_becomes_the_request_that_argosyctl_would_send(void **state) {
        _cleanup_(http_target_done) HttpTarget t = parsed("/v1/units?pattern=a*&pattern=b");
        _cleanup_(message_freep) Argosy__Request *q = http_resource_request(&t);

        assert_int_equal(q->what_case, ARGOSY__REQUEST__WHAT_LIST_UNITS);
        assert_int_equal(q->list_units->n_patterns, 2);
        assert_string_equal(q->list_units->patterns[1], "b");
        assert_true(q->list_units->parts);
        message_free(q);
        http_target_done(&t);

        t = parsed("/v1/unit-files/a.service");
        q = http_resource_request(&t);
        assert_int_equal(q->what_case, ARGOSY__REQUEST__WHAT_LIST_UNIT_FILES);
        assert_int_equal(q->list_unit_files->n_patterns, 1);
        assert_string_equal(q->list_unit_files->patterns[0], "a.service");
        message_free(q);
        http_target_done(&t);

        t = parsed("/v1/unit-files/a.service?rev=" REV);
        q = http_resource_aside(&t);
        assert_int_equal(q->what_case, ARGOSY__REQUEST__WHAT_CAT);
        assert_int_equal(q->cat->n_revs, 1);
        assert_string_equal(q->cat->revs[0], REV);
        message_free(q);
        http_target_done(&t);

        t = parsed("/v1/nodes");
        q = http_resource_request(&t);
        assert_int_equal(q->what_case, ARGOSY__REQUEST__WHAT_LIST_NODES);
        message_free(q);
        http_target_done(&t);

        t = parsed("/metrics");
        q = http_resource_request(&t);
        assert_int_equal(q->what_case, ARGOSY__REQUEST__WHAT_COUNTERS);
}

static void jobs_are_chosen_and_come_in_pages(void **state) {
        static const char chosen[] =
                "/v1/jobs?state=failed&author=ann@*&pattern=web*&limit=20&state=done&node=n1&node=n2";
        char page[HTTP_PAGE_SIZE], text[sizeof(chosen) + sizeof("&page=") + HTTP_PAGE_SIZE];
        _cleanup_(http_target_done) HttpTarget t = parsed(chosen);

        http_page_format(&(HttpPage){.before = UINT64_MAX}, http_filter_question(&t), page);
        http_target_done(&t);
        str_fit(text, sizeof(text), "%s&page=%s", chosen, page);
        t = parsed(text);
        _cleanup_(message_freep) Argosy__Request *q = http_resource_request(&t);
        assert_int_equal(q->what_case, ARGOSY__REQUEST__WHAT_LIST_JOBS);
        assert_int_equal(q->list_jobs->limit, 20);
        assert_true(q->list_jobs->before == UINT64_MAX);
        assert_int_equal(q->list_jobs->number, 0);
        assert_string_equal(q->list_jobs->author, "ann@*");
        assert_string_equal(q->list_jobs->patterns[0], "web*");
        assert_int_equal(q->list_jobs->n_states, 2);
        assert_int_equal(q->list_jobs->states[0], ARGOSY__JOB_STATE__JOB_FAILED);
        assert_int_equal(q->list_jobs->n_nodes, 2);
        assert_string_equal(q->list_jobs->nodes[1], "n2");
        message_free(q);
        http_target_done(&t);

        t = parsed("/v1/jobs/18446744073709551615");
        q = http_resource_request(&t);
        assert_true(q->list_jobs->number == UINT64_MAX);
        assert_string_equal(q->list_jobs->author, "");
}

static void one_thing_may_not_be_there(void **state) {
        static const struct {
                HttpResource resource;
                bool one;
        } cases[] = {{HTTP_UNIT, true},   {HTTP_UNIT_FILE, true}, {HTTP_JOB, true}, {HTTP_JOB_TARGETS, true},
                     {HTTP_UNITS, false}, {HTTP_NODES, false},    {HTTP_JOBS, false}};

        for (size_t i = 0; i < ELEMENTSOF(cases); i++)
                assert_int_equal(http_target_is(&(HttpTarget){.resource = cases[i].resource}, HTTP_IS_ONE),
                                 cases[i].one);
}

static void rows_are_wanted_by_any_of_their_states(void **state) {
        Argosy__Response__UnitRow row = UNIT_ROW_OF(.load = "loaded", .active = "active", .sub = "running");
        _cleanup_(http_target_done) HttpTarget any = parsed("/v1/units"),
                                               some = parsed("/v1/units?state=failed&state=not-found"),
                                               sub = parsed("/v1/units?state=running");

        assert_true(http_filter_wants_unit(&any, &row, NULL));
        assert_false(http_filter_wants_unit(&some, &row, NULL));
        assert_true(http_filter_wants_unit(&sub, &row, NULL));
        row.load = "not-found";
        assert_true(http_filter_wants_unit(&some, &row, NULL));
}

static void only_how_the_process_is_may_be_known_by_anybody(void **state) {
        HttpTarget t = {.resource = HTTP_HEALTHZ};

        assert_true(http_target_is(&t, HTTP_IS_OPEN));
        t.resource = HTTP_READYZ;
        assert_true(http_target_is(&t, HTTP_IS_OPEN));
        for (t.resource = HTTP_UNITS; t.resource < HTTP_RESOURCES; t.resource++)
                assert_false(http_target_is(&t, HTTP_IS_OPEN));
}

static void a_page_of_another_origin_is_foreign(void **state) {
        static const struct {
                const char *origin, *host;
                bool ours;
        } cases[] = {{NULL, "h", true},          {NULL, NULL, true},           {"http://h:80", "h:80", true},
                     {"https://H", "h", true},   {"http://g", "h", false},     {"http://h.g", "h", false},
                     {"null", "h", false},       {"h", "h", false},            {"http://h", NULL, false},
                     {"http://h/", "h", false}};

        for (size_t i = 0; i < ELEMENTSOF(cases); i++)
                assert_int_equal(http_origin_is_ours(cases[i].origin, cases[i].host), cases[i].ours);
}

RUN_TESTS(
        cmocka_unit_test(a_page_of_another_origin_is_foreign),
        cmocka_unit_test(paths_name_resources),
        cmocka_unit_test(what_is_no_proper_target_is_refused),
        cmocka_unit_test(a_method_is_one_of_those_that_fit),
        cmocka_unit_test(events_are_asked_for_behind_the_cursor),
        cmocka_unit_test(a_journal_has_its_own_parameters),
        cmocka_unit_test(parameters_may_come_several_times),
        cmocka_unit_test(only_what_is_on_the_nodes_that_are_named_is_wanted),
        cmocka_unit_test(parameters_have_a_limit),
        cmocka_unit_test(it_becomes_the_request_that_argosyctl_would_send),
        cmocka_unit_test(jobs_are_chosen_and_come_in_pages),
        cmocka_unit_test(one_thing_may_not_be_there),
        cmocka_unit_test(rows_are_wanted_by_any_of_their_states),
        cmocka_unit_test(only_how_the_process_is_may_be_known_by_anybody)
)
