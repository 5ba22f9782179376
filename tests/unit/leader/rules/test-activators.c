// SPDX-License-Identifier: LGPL-2.1-or-later
#include "test.h"

#include "activators.h"

static Activators m;

FIXTURE(teardown) {
        activators_done(&m);
}

static bool append(const char *name, void *userdata) {
        char *text = userdata;

        strcat(strcat(text, text[0] ? " " : ""), name);
        return false;
}

static void assert_activators(const char *name, const char *expected) {
        char seen[256] = "";

        assert_null(activators_find(&m, name, append, seen));
        assert_string_equal(seen, expected);
        assert_int_equal(activators_has_any(&m, name), *expected != 0);
}

static void both_directions_are_known(void **state) {
        assert_int_equal(
                activators_set(&m, "a.timer", "a.service") | activators_set(&m, "b.socket", "a.service"), 0);
        assert_string_equal(activators_activated(&m, "a.timer"), "a.service");
        assert_null(activators_activated(&m, "a.service"));
        assert_activators("a.service", "a.timer b.socket");
        assert_activators("a.timer", "");
        assert_activators("other.service", "");
}

static void a_unit_may_activate_another_one_or_none_any_more(void **state) {
        assert_int_equal(
                activators_set(&m, "a.timer", "a.service") | activators_set(&m, "a.timer", "b.service"), 0);
        assert_activators("a.service", "");
        assert_activators("b.service", "a.timer");
        assert_int_equal(activators_set(&m, "a.timer", NULL) | activators_set(&m, "never.timer", NULL), 0);
        assert_null(activators_activated(&m, "a.timer"));
        assert_int_equal(m.names.count, 0); // nothing stays behind
}

static void chains_and_cycles_are_no_trouble(void **state) {
        assert_int_equal(activators_set(&m, "a.path", "b.timer") | activators_set(&m, "b.timer", "a.path"),
                         0);
        assert_int_equal(activators_set(&m, "self.path", "self.path"), 0);
        assert_activators("b.timer", "a.path");
        assert_activators("a.path", "b.timer");
        assert_activators("self.path", "self.path");
        assert_int_equal(activators_set(&m, "a.path", NULL) | activators_set(&m, "b.timer", NULL), 0);
        assert_int_equal(activators_set(&m, "self.path", NULL), 0);
        assert_int_equal(m.names.count, 0);
}

static bool is_b(const char *name, void *userdata) {
        return strcmp(name, "b.socket") == 0;
}

static void the_search_ends_at_the_first_that_is_meant(void **state) {
        assert_int_equal(
                activators_set(&m, "a.timer", "a.service") | activators_set(&m, "b.socket", "a.service"), 0);
        assert_string_equal(activators_find(&m, "a.service", is_b, NULL), "b.socket");
}

RUN_TESTS(
        cmocka_unit_test_teardown(both_directions_are_known, teardown),
        cmocka_unit_test_teardown(a_unit_may_activate_another_one_or_none_any_more, teardown),
        cmocka_unit_test_teardown(chains_and_cycles_are_no_trouble, teardown),
        cmocka_unit_test_teardown(the_search_ends_at_the_first_that_is_meant, teardown)
)
