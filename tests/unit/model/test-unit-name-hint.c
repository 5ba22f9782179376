// SPDX-License-Identifier: LGPL-2.1-or-later
#include "test.h"

#include "unit-name-hint.h"

static void files_of_others_are_known_by_their_ending(void **state) {
        static const struct {
                const char *name, *is, *advice;
        } rows[] = {
                {"x/blog.pod", "Quadlet", "makes blog-pod.service of this one"},
                {"x/data.volume", "Quadlet", "Volume=NAME.volume:PATH"},
                {"front.network", "systemd-networkd", "Network=NAME.network"},
                {"10-x.conf", "drop-in", "beside the unit file"},
                {"web.service.d", "folder of drop-ins", "beside the unit file"},
                {"docker-compose.yml", "YAML", "one for each service"},
        };
        UnitNameMistake m;

        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                assert_true(unit_name_mistake(rows[i].name, &m));
                assert_non_null(strstr(m.is, rows[i].is));
                assert_non_null(strstr(m.advice, rows[i].advice));
        }
        assert_false(unit_name_mistake("web.service", &m));
        assert_false(unit_name_mistake("blog.container", &m)); // which is one of argosy's
        assert_false(unit_name_mistake("notes.txt", &m));
        assert_false(unit_name_mistake(".conf", &m));
        assert_false(unit_name_mistake("", &m));
}

// Compared with systemd-escape --template=backup@.service, with --path for those that begin with '/'.
static void an_instance_is_escaped_as_systemd_escape_does_it(void **state) {
        static const struct {
                const char *word, *escaped;
        } rows[] = {
                {"backup@/srv/data", "backup@srv-data.service"},
                {"backup@/srv//my-data/", "backup@srv-my\\x2ddata.service"},
                {"backup@a/b.timer", "backup@a-b.timer"},
                {"./units/backup@/srv/.x", "backup@srv-.x.service"},
                {"backup@/.x", "backup@\\x2ex.service"},
                {"backup@/", "backup@-.service"},
                {"backup@//", "backup@-.service"},
                {"backup@/a b", "backup@a\\x20b.service"},
                {"backup@1", NULL},
                {"units/backup@1", NULL},
                {"units/web", NULL},
                {"@/srv", NULL},
        };

        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                _cleanup_free_ char *escaped = NULL;

                assert_int_equal(unit_name_escape(rows[i].word, &escaped), 0);
                if (rows[i].escaped)
                        assert_string_equal(escaped, rows[i].escaped);
                else
                        assert_null(escaped);
        }
}

static void a_slip_or_two_is_near(void **state) {
        static const struct {
                const char *typed, *name;
                int distance;
        } rows[] = {
                {"wbe.service", "web.service", 2},
                {"weeb.service", "web.service", 2},
                {"wb.service", "web.service", -1}, // two letters may be anything
                {"web.service", "web.timer", 1},
                {"wbe.service", "web.timer", 3},
                {"bakcpu@.service", "backup@.service", 4},
                {"db.servcie.service", "db.service", 2},
                {"backup.service", "backup@.service", 0},
                {"web.service", "db.service", -1},
                {"a.service", "b.service", -1},
                {"web.service", "no-unit", -1},
                {"web", "web.service", -1},
        };
        char longest[UNIT_NAME_MAX + 1], other[UNIT_NAME_MAX + 1];

        for (size_t i = 0; i < ELEMENTSOF(rows); i++)
                assert_int_equal(unit_name_distance(rows[i].typed, rows[i].name), rows[i].distance);
        memset(longest, 'a', UNIT_NAME_MAX);
        memset(other, 'b', UNIT_NAME_MAX);
        strcpy(longest + UNIT_NAME_MAX - strlen(".service"), ".service");
        strcpy(other + UNIT_NAME_MAX - strlen(".service"), ".service");
        assert_int_equal(unit_name_distance(longest, longest), 0);
        assert_int_equal(unit_name_distance(longest, other), -1);
}

RUN_TESTS(
        cmocka_unit_test(files_of_others_are_known_by_their_ending),
        cmocka_unit_test(an_instance_is_escaped_as_systemd_escape_does_it),
        cmocka_unit_test(a_slip_or_two_is_near)
)
