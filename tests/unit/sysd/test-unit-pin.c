// SPDX-License-Identifier: LGPL-2.1-or-later
#include "test.h"

#include <errno.h>

#include "unit-pin.h"

static void a_pin_names_its_unit(void **state) {
        static const char *const units[] = {"job.service", "job@1.service", "a\\x2db@c\\x20d.service", "a"};
        char pin[UNIT_NAME_MAX + 1], unit[UNIT_NAME_MAX + 1];

        for (size_t i = 0; i < ELEMENTSOF(units); i++) {
                assert_int_equal(unit_pin_name(units[i], pin), 0);
                assert_true(unit_pin_parse(pin, unit));
                assert_string_equal(unit, units[i]);
        }
        assert_int_equal(unit_pin_name("job.service", pin), 0);
        assert_string_equal(pin, "argosy-pin@job.service.target");
}

static void other_names_are_no_pins(void **state) {
        static const char *const names[] = {"",
                                            "argosy-pin@.target",
                                            "argosy-pin@",
                                            ".target",
                                            "job.service",
                                            "argosy-pin@job.service",
                                            "argosy.target",
                                            "argosy-pin@.targe"};
        char unit[UNIT_NAME_MAX + 1];

        for (size_t i = 0; i < ELEMENTSOF(names); i++)
                assert_false(unit_pin_parse(names[i], unit));
}

static void a_long_name_has_none(void **state) {
        char name[UNIT_NAME_MAX + 1], pin[UNIT_NAME_MAX + 1], unit[UNIT_NAME_MAX + 1];
        size_t max = UNIT_NAME_MAX - strlen("argosy-pin@.target");

        memset(name, 'x', sizeof(name));
        name[max] = 0;
        assert_int_equal(unit_pin_name(name, pin), 0);
        assert_true(unit_pin_parse(pin, unit));
        assert_string_equal(unit, name);
        name[max] = 'x';
        name[max + 1] = 0;
        assert_int_equal(unit_pin_name(name, pin), -ENAMETOOLONG);
}

RUN_TESTS(
        cmocka_unit_test(a_pin_names_its_unit),
        cmocka_unit_test(other_names_are_no_pins),
        cmocka_unit_test(a_long_name_has_none)
)
