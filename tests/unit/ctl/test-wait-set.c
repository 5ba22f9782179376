// SPDX-License-Identifier: LGPL-2.1-or-later
#include "test.h"

#include "wait-set.h"

static void only_open_units_are_asked_for_again(void **state) {
        _cleanup_wait_set_ WaitSet w = {};
        _cleanup_free_ Argosy__Request__Wait__Item **items = NULL;
        size_t n;

        assert_int_equal(wait_set_add(&w, "a.service", 7, 0), 0);
        assert_int_equal(wait_set_add(&w, "b.service", 8, 0), 0);
        assert_int_equal(wait_set_add(&w, "c.service", 9, 0), 0);
        assert_int_equal(wait_set_add(&w, "b.service", 10, 0), -EEXIST);
        assert_true(wait_set_finish(&w, "b.service", false));
        assert_int_equal(wait_set_open(&w), 2);
        items = wait_set_request(&w, &n);
        assert_int_equal(n, 2);
        assert_string_equal(items[0]->name, "a.service");
        assert_int_equal(items[0]->revision, 7);
        assert_string_equal(items[1]->name, "c.service");
        assert_int_equal(items[1]->revision, 9);
}

static void a_result_counts_once(void **state) {
        _cleanup_wait_set_ WaitSet w = {};

        assert_int_equal(wait_set_add(&w, "a.service", 1, 0), 0);
        assert_true(wait_set_finish(&w, "a.service", true));
        assert_false(wait_set_finish(&w, "a.service", true));
        assert_false(wait_set_finish(&w, "never-asked.service", true));
        assert_int_equal(w.n_done, 1);
        assert_int_equal(w.n_failed, 1);
        assert_int_equal(wait_set_open(&w), 0);
}

static void an_end_is_judged_by_what_is_open(void **state) {
        _cleanup_wait_set_ WaitSet w = {};

        assert_int_equal(wait_set_add(&w, "a.service", 1, 0), 0);
        // daemon gone, daemon without a leader, an answer that says no, Ctrl-C
        assert_int_equal(wait_set_next(&w, true, -ECONNRESET, 0, false), WAIT_REDIAL);
        assert_int_equal(wait_set_next(&w, false, 0, ETIMEDOUT, false), WAIT_ASK_AGAIN);
        assert_int_equal(wait_set_next(&w, false, 0, EAGAIN, false), WAIT_ASK_AGAIN);
        assert_int_equal(wait_set_next(&w, false, 0, EIO, true), WAIT_ASK_AGAIN);
        assert_int_equal(wait_set_next(&w, false, 0, EINVAL, false), WAIT_GIVE_UP);
        assert_int_equal(wait_set_next(&w, false, -EINTR, 0, false), WAIT_GIVE_UP);
        // ours, not the daemon's
        assert_int_equal(wait_set_next(&w, false, -ETIMEDOUT, 0, false), WAIT_GIVE_UP);
        // said to be the end, and a unit without a result
        assert_int_equal(wait_set_next(&w, false, 0, 0, false), WAIT_GIVE_UP);

        wait_set_finish(&w, "a.service", true);
        assert_int_equal(wait_set_next(&w, false, 0, 0, false), WAIT_FINISHED);
        assert_int_equal(wait_set_next(&w, true, -ECONNRESET, 0, false), WAIT_FINISHED);
}

static void assert_goes_on(const WaitSet *sets, size_t n, const char *words) {
        _cleanup_buf_ Buf text = {};

        assert_int_equal(wait_sets_append_open(sets, n, true, &text), 0);
        assert_int_equal(text.len, strlen(words));
        assert_memory_equal(text.data, words, text.len);
}

static void assert_may_have_ended(const WaitSet *sets, size_t n, const char *words) {
        _cleanup_buf_ Buf text = {};

        assert_int_equal(wait_sets_append_open(sets, n, false, &text), 0);
        assert_int_equal(text.len, strlen(words));
        assert_memory_equal(text.data, words, text.len);
}

static void what_goes_on_is_waited_for_by_its_jobs(void **state) {
        WaitSet w[2] = {};
        char name[] = "a.service";

        assert_int_equal(wait_set_add(&w[0], "old.service", 1, 0), 0);
        assert_goes_on(w, 2, "the cluster goes on with 1 unit (see argosyctl list-units)");
        for (uint64_t i = 0; i < 4; i++, name[0]++)
                assert_int_equal(wait_set_add(&w[i % 2], name, i, 7 + i / 2), 0);
        assert_goes_on(w, 2, "the cluster goes on with 5 units (see argosyctl job wait 7 8)");
        assert_may_have_ended(w, 2, "5 units may have come to an end since (see argosyctl job wait 7 8)");
        wait_set_finish(&w[0], "a.service", false);
        wait_set_finish(&w[1], "b.service", false);
        assert_goes_on(w, 2, "the cluster goes on with 3 units (see argosyctl job wait 8)");
        for (uint64_t i = 0; i < 10; i++, name[0]++)
                assert_int_equal(wait_set_add(&w[0], name, i, 20 + i), 0);
        assert_goes_on(w, 2, "the cluster goes on with 13 units (see argosyctl list-jobs)");
        wait_set_done(&w[0]);
        wait_set_done(&w[1]);
}

RUN_TESTS(
        cmocka_unit_test(only_open_units_are_asked_for_again),
        cmocka_unit_test(a_result_counts_once),
        cmocka_unit_test(what_goes_on_is_waited_for_by_its_jobs),
        cmocka_unit_test(an_end_is_judged_by_what_is_open)
)
