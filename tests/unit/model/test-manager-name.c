// SPDX-License-Identifier: LGPL-2.1-or-later
#include "test.h"

#include "manager-name.h"
#include "str.h"

static void a_name_says_what_it_is(void **state) {
        static const struct {
                const char *name;
                ManagerKind kind;
        } cases[] = {
                {"system", MANAGER_SYSTEM},           {"user@1000", MANAGER_USER},
                {"user@4294967294", MANAGER_USER},    {"user@4294967295", MANAGER_INVALID},
                {"user@0", MANAGER_INVALID}, // nobody to be guarded against
                {"user@01000", MANAGER_INVALID},      {"user@", MANAGER_INVALID},
                {"user@alice", MANAGER_INVALID},      {"user@1000/..", MANAGER_INVALID},
                {"container@web", MANAGER_CONTAINER}, {"container@web-1.example_2", MANAGER_CONTAINER},
                {"container@", MANAGER_INVALID},      {"container@.", MANAGER_INVALID},
                {"container@..", MANAGER_INVALID},    {"container@a/b", MANAGER_INVALID},
                {"container@-x", MANAGER_INVALID},    {"container@user@1000", MANAGER_INVALID},
                {"System", MANAGER_INVALID},          {"", MANAGER_INVALID},
        };

        for (size_t i = 0; i < ELEMENTSOF(cases); i++)
                if (manager_name_kind(cases[i].name) != cases[i].kind)
                        fail_msg("%s", cases[i].name);
        assert_int_equal(manager_name_uid("user@1000"), 1000);
        assert_string_equal(manager_name_machine("container@web"), "web");
}

static void nodes_have_names_for_people(void **state) {
        _cleanup_free_ char *a = manager_node_name("n1", "system"), *b = manager_node_name("n1", "user@7"),
                            *c = manager_node_name("n1", "container@web");

        assert_string_equal(a, "n1");
        assert_string_equal(b, "n1/user@7");
        assert_string_equal(c, "n1/web");
        assert_true(manager_name_is("container@web", "web"));
        assert_true(manager_name_is("container@web", "container@web"));
        assert_true(manager_name_is("user@7", "user@7"));
        assert_false(manager_name_is("user@7", "7"));
        assert_true(manager_name_is("system", "system"));
        assert_false(manager_name_is("container@system", "system"));
        assert_true(manager_name_is("container@system", "container@system"));
}

RUN_TESTS(
        cmocka_unit_test(a_name_says_what_it_is),
        cmocka_unit_test(nodes_have_names_for_people)
)
