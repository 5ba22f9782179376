// SPDX-License-Identifier: LGPL-2.1-or-later
#include "test.h"

#include "http-problem.h"
#include "macro.h"

static void a_problem_says_status_title_and_why(void **state) {
        _cleanup_free_ char *text = http_problem(&(HttpProblem){.status = 403, .detail = "no \"view\""});

        assert_string_equal(text, "{\"type\":\"about:blank\",\"title\":\"Forbidden\",\"status\":403,"
                                  "\"detail\":\"no \\\"view\\\"\"}\n");
}

static void without_words_there_is_no_detail(void **state) {
        _cleanup_free_ char *none = http_problem(&(HttpProblem){.status = 404}),
                             *empty = http_problem(&(HttpProblem){.status = 404, .detail = ""});

        assert_string_equal(none, "{\"type\":\"about:blank\",\"title\":\"Not Found\",\"status\":404}\n");
        assert_string_equal(empty, none);
}

static void a_problem_of_a_unit_says_where(void **state) {
        _cleanup_free_ char *text = http_problem(
                &(HttpProblem){.status = 400, .unit = "web.service", .node = "n1", .line = 3});

        assert_string_equal(text, "{\"type\":\"about:blank\",\"title\":\"Bad Request\",\"status\":400,"
                                  "\"unit\":\"web.service\",\"node\":\"n1\",\"line\":3}\n");
}

static void errors_have_the_status_that_says_who_is_to_do_something(void **state) {
        assert_int_equal(http_status_of(EINVAL), 400);
        assert_int_equal(http_status_of(EACCES), 403);
        assert_int_equal(http_status_of(ENOENT), 404);
        assert_int_equal(http_status_of(E2BIG), 413);
        assert_int_equal(http_status_of(EOPNOTSUPP), 501);
        assert_int_equal(http_status_of(EBUSY), 503);
        assert_int_equal(http_status_of(EHOSTUNREACH), 503);
        assert_int_equal(http_status_of(ETIMEDOUT), 503);
        assert_int_equal(http_status_of(EINPROGRESS), 504);
        assert_int_equal(http_status_of(EIO), 500);
        assert_int_equal(http_status_of(EREMOTEIO), 502); // a registry
}

// Each of these the leader says of a request that it has understood, and that is no fault of ours.
static void what_a_leader_refuses_is_no_fault_of_ours(void **state) {
        assert_int_equal(http_status_of(ENOTCONN), 409);        // the unit is not loaded
        assert_int_equal(http_status_of(ENODATA), 409);         // the file of then is not kept any more
        assert_int_equal(http_status_of(EPROTONOSUPPORT), 409); // that host cannot be a voter yet
        assert_int_equal(http_status_of(EDQUOT), 429);          // so many jobs of his are open
}

RUN_TESTS(
        cmocka_unit_test(a_problem_says_status_title_and_why),
        cmocka_unit_test(without_words_there_is_no_detail),
        cmocka_unit_test(a_problem_of_a_unit_says_where),
        cmocka_unit_test(errors_have_the_status_that_says_who_is_to_do_something),
        cmocka_unit_test(what_a_leader_refuses_is_no_fault_of_ours)
)
