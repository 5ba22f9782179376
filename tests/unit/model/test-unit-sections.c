// SPDX-License-Identifier: LGPL-2.1-or-later
#include "test.h"

#include "unit-file.h"

static void assert_meant(const char *section, const char *expected) {
        const char *meant = unit_file_section_meant(section);

        if (!meant || strcmp(meant, expected) != 0)
                fail_msg("[%s] is taken for [%s], not for [%s]", section, meant ?: "nothing", expected);
}

static void the_right_names_are_right(void **state) {
        assert_null(unit_file_section_meant("X-Argosy"));
        assert_null(unit_file_section_meant("X-Fleet"));
}

static void case_dashes_and_a_missing_x_are_found(void **state) {
        assert_meant("X-argosy", "X-Argosy");
        assert_meant("x-Argosy", "X-Argosy");
        assert_meant("X_Argosy", "X-Argosy");
        assert_meant("XArgosy", "X-Argosy");
        assert_meant("Argosy", "X-Argosy");
        assert_meant("X-Argosy ", "X-Argosy");
        assert_meant("X-fleet", "X-Fleet");
        assert_meant("X-FLEET", "X-Fleet");
        assert_meant("Fleet", "X-Fleet");
        assert_meant("xfleet", "X-Fleet");
}

static void one_slip_of_the_hand_is_found(void **state) {
        assert_meant("X-Argsoy", "X-Argosy");  // two letters in the wrong order
        assert_meant("X-Argoys", "X-Argosy");
        assert_meant("X-Argoy", "X-Argosy");   // one missing
        assert_meant("X-rgosy", "X-Argosy");
        assert_meant("X-Arrgosy", "X-Argosy"); // one too many
        assert_meant("X-Argosyd", "X-Argosy");
        assert_meant("X-Argosi", "X-Argosy");  // another one
        assert_meant("Z-Argosy", "X-Argosy");
        assert_meant("X-Flete", "X-Fleet");
        assert_meant("X-Fleets", "X-Fleet");
        assert_meant("X-Flet", "X-Fleet");
}

static void what_belongs_to_others_is_theirs(void **state) {
        static const char *const others[] = {"",          "X",          "X-",          "Unit",     "Service",
                                             "Install",   "X-Podman",   "X-Container", "X-Argus",  "X-Float",
                                             "X-Fleming", "X-FleetLab", "X-Fleet2000", "X-Argosy-Dashboard",
                                             "Timer",     "Path"};

        for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
                if (unit_file_section_meant(others[i]))
                        fail_msg("[%s] is taken for [%s]", others[i], unit_file_section_meant(others[i]));
}

static void a_file_is_refused_with_its_line(void **state) {
        static const char bad[] = "[Service]\nExecStart=/bin/true\n\n# [X-fleet]\n[X-fleet]\nGlobal=true\n",
                          good[] =
                                  "[Service]\nExecStart=/bin/true\n[X-Fleet]\nGlobal=true\n[X-Other]\na=b\n";
        _cleanup_free_ char *why = NULL;

        assert_int_equal(unit_file_check_sections("dir/x.service", bad, strlen(bad), &why), -EINVAL);
        assert_string_equal(
                why, "dir/x.service:5: [X-fleet] means nothing to argosy or systemd; write [X-Fleet]");
        assert_int_equal(unit_file_check_sections("dir/x.service", bad, strlen(bad), NULL), -EINVAL);
        assert_int_equal(unit_file_check_sections("dir/x.service", good, strlen(good), NULL), 0);
}

RUN_TESTS(
        cmocka_unit_test(the_right_names_are_right),
        cmocka_unit_test(case_dashes_and_a_missing_x_are_found),
        cmocka_unit_test(one_slip_of_the_hand_is_found),
        cmocka_unit_test(what_belongs_to_others_is_theirs),
        cmocka_unit_test(a_file_is_refused_with_its_line)
)
