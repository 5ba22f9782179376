// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Who is stopped with whom, as files say it: from either side, and as they change.
#include "test.h"

#include <stdio.h>

#include "stop-dependents.h"

static StopDependents m;
static char found[128];

FIXTURE(teardown) {
        stop_dependents_done(&m);
}

static void set(const char *name, const char *bound_to, const char *stops) {
        assert_int_equal(stop_dependents_set(&m, name, bound_to, stops), 0);
}

static void on_name(const char *name, void *userdata) {
        snprintf(found + strlen(found), sizeof(found) - strlen(found), "%s ", name);
}

static void assert_stopped_with(const char *name, const char *names) {
        found[0] = 0;
        stop_dependents_each(&m, name, on_name, NULL);
        assert_string_equal(found, names);
        assert_int_equal(stop_dependents_has(&m, name), *names != 0);
}

static void assert_stopped_by(const char *name, const char *names) {
        found[0] = 0;
        stop_dependents_each_origin(&m, name, on_name, NULL);
        assert_string_equal(found, names);
        assert_int_equal(stop_dependents_has_origin(&m, name), *names != 0);
}

static void either_of_two_may_say_it(void **state) {
        set("b.service", "a.service  c.service", NULL);
        set("a.service", NULL, "d.service");
        assert_stopped_with("a.service", "b.service d.service ");
        assert_stopped_with("c.service", "b.service ");
        assert_stopped_with("b.service", "");
        assert_stopped_by("b.service", "a.service c.service ");
        assert_stopped_by("d.service", "a.service ");
        assert_stopped_by("a.service", "");
}

static void what_a_file_says_takes_the_place_of_what_it_said(void **state) {
        set("b.service", "a.service", NULL);
        set("b.service", "c.service", "d.service");
        assert_stopped_with("a.service", "");
        assert_stopped_with("c.service", "b.service ");
        assert_stopped_with("b.service", "d.service ");
        set("b.service", NULL, NULL);
        assert_stopped_with("c.service", "");
        assert_stopped_with("b.service", "");
        assert_int_equal(m.names.count, 0); // nothing is left of it
}

static void what_others_say_of_a_unit_stays_when_its_own_file_goes(void **state) {
        set("b.service", "a.service", NULL);
        set("a.service", "b.service", NULL); // both ways
        set("a.service", NULL, NULL);
        assert_stopped_with("a.service", "b.service ");
        assert_stopped_with("b.service", "");
}

static void nobody_is_stopped_with_itself(void **state) {
        set("a.service", "a.service", "a.service");
        assert_int_equal(m.names.count, 0);
}

RUN_TESTS(
        cmocka_unit_test_teardown(either_of_two_may_say_it, teardown),
        cmocka_unit_test_teardown(what_a_file_says_takes_the_place_of_what_it_said, teardown),
        cmocka_unit_test_teardown(what_others_say_of_a_unit_stays_when_its_own_file_goes, teardown),
        cmocka_unit_test_teardown(nobody_is_stopped_with_itself, teardown)
)
