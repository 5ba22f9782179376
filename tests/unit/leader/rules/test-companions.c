// SPDX-License-Identifier: LGPL-2.1-or-later
#include "test.h"

#include <stdio.h>

#include "companions.h"

typedef struct Fixture {
        Companions c;
        char changed[128], found[128];
} Fixture;

static Fixture f;

FIXTURE(teardown) {
        companions_done(&f.c);
        f = (Fixture){};
}

static void on_changed(uint32_t node, void *userdata) {
        snprintf(f.changed + strlen(f.changed), sizeof(f.changed) - strlen(f.changed), "%u ", node);
}

static void on_template(const char *template, void *userdata) {
        snprintf(f.found + strlen(f.found), sizeof(f.found) - strlen(f.found), "%s ", template);
}

static void on_node(uint32_t node, void *userdata) {
        snprintf(f.found + strlen(f.found), sizeof(f.found) - strlen(f.found), "%u ", node);
}

// Which nodes need others than before.
static void set(const char *name, uint32_t node, char *template, const char *changed) {
        f.changed[0] = 0;
        assert_int_equal(companions_set(&f.c, name, node, &template, template != NULL, on_changed, NULL), 0);
        assert_string_equal(f.changed, changed);
}

static void assert_on(uint32_t node, const char *templates) {
        f.found[0] = 0;
        companions_foreach(&f.c, node, on_template, NULL);
        assert_string_equal(f.found, templates);
}

static void a_template_is_there_as_long_as_one_needs_it(void **state) {
        set("a.service", 1, (char *) "al@.service", "1 ");
        set("b.service", 1, (char *) "al@.service", ""); // it is there already
        set("b.service", 1, (char *) "al@.service", "");
        assert_on(1, "al@.service ");
        set("a.service", 0, NULL, "");
        assert_on(1, "al@.service ");
        set("b.service", 0, NULL, "1 ");
        assert_on(1, "");
        set("b.service", 0, NULL, "");
        assert_int_equal(f.c.users.count + f.c.nodes.count, 0);
}

static void it_moves_with_the_unit(void **state) {
        set("a.service", 1, (char *) "al@.service", "1 ");
        set("a.service", 2, (char *) "al@.service", "1 2 ");
        assert_on(1, "");
        assert_on(2, "al@.service ");
        set("a.service", 2, (char *) "other@.service", "2 2 ");
        assert_on(2, "other@.service ");
}

static void who_needs_it_is_found(void **state) {
        set("a.service", 1, (char *) "al@.service", "1 ");
        set("b.service", COMPANIONS_EVERYWHERE, (char *) "al@.service", "0 ");
        set("c.service", 3, (char *) "other@.service", "3 ");
        f.found[0] = 0;
        companions_foreach_node(&f.c, "other@.service", on_node, NULL);
        assert_string_equal(f.found, "3 ");
        f.found[0] = 0;
        companions_foreach_node(&f.c, "al@.service", on_node, NULL);
        assert_int_equal(strlen(f.found), strlen("0 1 "));
        assert_non_null(strstr(f.found, "0 "));
        assert_non_null(strstr(f.found, "1 "));
}

RUN_TESTS(
        cmocka_unit_test_teardown(a_template_is_there_as_long_as_one_needs_it, teardown),
        cmocka_unit_test_teardown(it_moves_with_the_unit, teardown),
        cmocka_unit_test_teardown(who_needs_it_is_found, teardown)
)
