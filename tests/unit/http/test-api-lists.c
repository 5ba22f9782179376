// SPDX-License-Identifier: LGPL-2.1-or-later

// Lists and pages, what one unit is and why, and what units use: what comes in parts or page by page is one
// document.

#include "test.h"

#include "api-world.h"
#include "error-response.h"
#include "messages.h"

static bool has_more; // what the leader says of a list
static const char *tag;        // of it; NULL: none

static void respond_units(HttpCall *call, uint32_t first, size_t n, bool final) {
        Argosy__Response r = ARGOSY__RESPONSE__INIT;
        Argosy__Response__UnitRow row = ARGOSY__RESPONSE__UNIT_ROW__INIT, *rows[] = {&row, &row, &row};
        char name[32];

        str_fit(name, sizeof(name), "from-%u.service", first);
        row.unit = name;
        Argosy__Response__Units units =
                MESSAGE_OF(response__units, .rows = rows, .n_rows = n, .first = first, .more = has_more);
        if (tag)
                r.tag = (char *) tag;
        r.unchanged = tag && n == 0;
        r.what_case = ARGOSY__RESPONSE__WHAT_UNITS;
        r.units = &units;
        r.final = final;
        http_call_respond(call, &r);
}

static void a_list_in_parts_begins_anew_with_its_first_part(void **state) {
        Client *c = say_and_wait(GET("/v1/units"));

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
        w.waits = has_more = true;
        Client *c = say(0, GET("/v1/units?page_is_not_asked=for"));
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
}

static void who_has_a_list_is_not_sent_it_again(void **state) {
        char text[256];

        w.waits = true;
        tag = "0123456789abcdef0123456789abcdef";
        Client *c = say(0, GET("/v1/units"));
        RUN_UNTIL(w.n_calls == 1);
        assert_string_equal(w.known, "");
        respond_units(w.calls[0], 0, 3, true);
        RUN_UNTIL(has(c, "]}\n"));
        const char *etag = memmem(c->got.data, c->got.len, "ETag: ", 6);
        assert_non_null(etag);
        str_fit(text, sizeof(text), "GET /v1/units HTTP/1.1\r\nHost: x\r\nIf-None-Match: %.*s\r\n\r\n",
                (int) strcspn(etag + 6, "\r"), etag + 6);
        c = say(1, text);
        RUN_UNTIL(w.n_calls == 2);
        assert_string_equal(w.known, tag);
        respond_units(w.calls[1], 0, 0, true);
        RUN_UNTIL(has(c, "\r\n\r\n"));
        assert_true(has(c, "HTTP/1.1 304 "));
        assert_true(has(c, "ETag: \"0123456789abcdef0123456789abcdef-"));
        str_fit(text, sizeof(text),
                "GET /v1/units?limit=9 HTTP/1.1\r\nHost: x\r\nIf-None-Match: %.*s\r\n\r\n",
                (int) strcspn(etag + 6, "\r"), etag + 6);
        c = say(2, text); // another list
        RUN_UNTIL(w.n_calls == 3);
        assert_string_equal(w.known, "");
        respond_units(w.calls[2], 0, 3, true);
        RUN_UNTIL(has(c, "]}\n"));
        tag = NULL;
}

static void a_list_of_which_a_part_is_missing_is_none(void **state) {
        Client *c = say_and_wait(GET("/v1/units"));

        respond_units(w.calls[0], 0, 3, false);
        respond_units(w.calls[0], 4, 3, false);
        respond_units(w.calls[0], 7, 1, true); // he who answers goes on
        RUN_UNTIL(has(c, "the leader changed in the middle of the list"));
        assert_true(has(c, "HTTP/1.1 503 "));
}

// number 0: that was the last; status: of what there is to say.
static void respond_why(HttpCall *call, uint32_t number, const char *why, int status) {
        Argosy__Response r = RESPONSE_WITH(.status = status, .final = number == 0);
        Argosy__Response__UnitRow row = UNIT_ROW_OF(.unit = (char *) "a.service");
        Argosy__Response__Status s = STATUS_OF(.row = &row, .why = (char *) why, .number = number);

        r.what_case = r.final || status != 0 ? ARGOSY__RESPONSE__WHAT__NOT_SET
                                             : ARGOSY__RESPONSE__WHAT_STATUS_REPLY;
        r.status_reply = &s;
        http_call_respond(call, &r);
}

static void of_one_unit_it_is_told_why_it_is_as_it_is(void **state) {
        Client *c = say_and_wait(GET("/v1/units/a.service"));

        assert_int_equal(w.last_what, ARGOSY__REQUEST__WHAT_WHY);
        respond_why(w.calls[0], 1, "the leader before said so", 0);
        respond_why(w.calls[0], 1, "its disk is full", 0); // asked again: another leader
        respond_why(w.calls[0], 2, "", 0);
        respond_why(w.calls[0], 0, "", 0);
        RUN_UNTIL(w.n_calls == 2);
        assert_int_equal(w.last_what, ARGOSY__REQUEST__WHAT_LIST_UNITS);
        respond_units(w.calls[1], 0, 2, true);
        RUN_UNTIL(has(c, "\"why\":[{\"unit\":\"a.service\""));
        assert_true(has(c, "\"why\":\"its disk is full\"") && has(c, "\"as_wanted\":false") &&
                    has(c, "\"as_wanted\":true"));
        assert_false(has(c, "the leader before"));
}

// Of which nodes have nothing to say.
// number 0: the last, and of no node.
static void respond_usage(HttpCall *call, uint32_t number, const char *node, const char *unit,
                          const char *error) {
        Argosy__Response__UsageRow row = MESSAGE_OF(response__usage_row, .unit = (char *) unit, .known = 1,
                                                    .cpu_us = 17),
                                   *rows[] = {&row};
        Argosy__Response__Usage usage = MESSAGE_OF(response__usage, .node = (char *) node, .rows = rows,
                                                   .n_rows = unit ? 1 : 0, .number = number, .gone = !unit);

        http_call_respond(call, A_RESPONSE_WITH(.status = error ? EIO : 0, .message = (char *) (error ?: ""),
                                                .final = !node,
                                                .what_case = error || !node ? ARGOSY__RESPONSE__WHAT__NOT_SET
                                                                            : ARGOSY__RESPONSE__WHAT_USAGE,
                                                .usage = &usage));
}

static void what_units_use_comes_from_each_node(void **state) {
        Client *c = say_and_wait(GET("/v1/usage?node=n1&node=n2"));

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
        assert_true(has(c, "{\"no_leader\":false,\"usage\":[{\"unit\":\"b.service\",\"node\":\"n2\","
                           "\"tasks\":null,\"memory\":null,\"cpu-time\":17,"));
        assert_true(has(c, "{\"unit\":\"a.service\",\"node\":\"n1\"") &&
                    has(c, "\"errors\":[\"n4: its disk is full\",\"n5: it has gone away\"]}"));
        assert_false(has(c, "lost.service") || has(c, "other.service") || has(c, "of the leader before"));
}

static void what_nobody_can_say_of_usage_is_a_problem(void **state) {
        Argosy__Response r = error_response(EHOSTUNREACH, "no node can be reached");
        Client *c = say_and_wait(GET("/v1/usage"));

        http_call_respond(w.calls[0], &r);
        RUN_UNTIL(has(c, "no node can be reached"));
        assert_false(has(c, " 200 "));
}

static void a_unit_that_nobody_wants_is_there_all_the_same(void **state) {
        Client *c = say_and_wait(GET("/v1/units/a.service"));

        respond_why(w.calls[0], 1, "nobody wants it loaded", 0);
        respond_why(w.calls[0], 0, "", 0);
        RUN_UNTIL(w.n_calls == 2);
        respond_units(w.calls[1], 0, 0, true);
        RUN_UNTIL(has(c, "\"units\":[],\"why\":[{\"unit\":\"a.service\""));
        assert_true(has(c, "HTTP/1.1 200 "));
}

static void why_nobody_leads_is_a_problem_as_of_anything(void **state) {
        Client *c = say_and_wait(GET("/v1/units/a.service"));

        respond_why(w.calls[0], 0, "", ETIMEDOUT);
        RUN_UNTIL(has(c, "HTTP/1.1 504 ") || has(c, "HTTP/1.1 503 "));
        assert_int_equal(w.n_calls, 1);
}

static void a_unit_that_is_not_there_is_not_found(void **state) {
        Client *c = say_and_wait(GET("/v1/units/a.service"));

        respond_why(w.calls[0], 1, "", ENOENT);
        respond_why(w.calls[0], 0, "", 0);
        RUN_UNTIL(w.n_calls == 2);
        respond_units(w.calls[1], 0, 0, true);
        RUN_UNTIL(has(c, "there is no such thing, or you may not see it"));
        assert_true(has(c, "HTTP/1.1 404 "));
}

RUN_TESTS(
        API_TEST(a_list_in_parts_begins_anew_with_its_first_part),
        API_TEST(a_list_of_which_a_part_is_missing_is_none),
        API_TEST(a_page_says_where_the_next_one_is),
        API_TEST(who_has_a_list_is_not_sent_it_again),
        API_TEST(of_one_unit_it_is_told_why_it_is_as_it_is),
        API_TEST(what_units_use_comes_from_each_node),
        API_TEST(what_nobody_can_say_of_usage_is_a_problem),
        API_TEST(a_unit_that_nobody_wants_is_there_all_the_same),
        API_TEST(why_nobody_leads_is_a_problem_as_of_anything),
        API_TEST(a_unit_that_is_not_there_is_not_found)
)
