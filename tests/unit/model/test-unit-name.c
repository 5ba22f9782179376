// SPDX-License-Identifier: LGPL-2.1-or-later
#include "test.h"

#include "buf.h"
#include "unit-name.h"

static void names_are_plain_templates_or_instances(void **state) {
        static const struct {
                const char *name;
                UnitNameKind kind;
        } cases[] = {
                {"web.service", UNIT_NAME_PLAIN},         {"a.b:c-d_e\\x2d.timer", UNIT_NAME_PLAIN},
                {"srv-data.mount", UNIT_NAME_PLAIN},      {"app.slice", UNIT_NAME_PLAIN},
                {"web@.service", UNIT_NAME_TEMPLATE},     {"web@1.service", UNIT_NAME_INSTANCE},
                {"web@a@b.c.socket", UNIT_NAME_INSTANCE},
        };

        for (size_t i = 0; i < ELEMENTSOF(cases); i++)
                assert_int_equal(unit_name_kind(cases[i].name, NULL), cases[i].kind);
}

static void what_is_not_a_name_says_why(void **state) {
        static const struct {
                const char *name, *why;
        } cases[] = {
                {"", "empty"},
                {"web", "unit type"},
                {"web.conf", "unit type"},
                {".service", "nothing before"},
                {"@.service", "nothing before"},
                {"@1.service", "nothing before"},
                {"we b.service", "consists of"},
                {"../web.service", "consists of"},
                {"w\xc3\xa9.service", "consists of"},
                {"web%i.service", "consists of"},
                {"run-1.scope", "scopes"},
                {"sda.device", "devices"},
                {"a@1.mount", "templates"},
                {"a@.slice", "templates"},
        };

        for (size_t i = 0; i < ELEMENTSOF(cases); i++) {
                const char *why = NULL;

                assert_int_equal(unit_name_kind(cases[i].name, &why), UNIT_NAME_INVALID);
                assert_non_null(strstr(why, cases[i].why));
        }
}

static void a_name_has_at_most_255_bytes(void **state) {
        char name[300];

        memset(name, 'a', sizeof name);
        strcpy(name + 255 - strlen(".service"), ".service");
        assert_int_equal(unit_name_kind(name, NULL), UNIT_NAME_PLAIN);
        memset(name, 'a', sizeof name);
        strcpy(name + 256 - strlen(".service"), ".service");
        assert_int_equal(unit_name_kind(name, NULL), UNIT_NAME_INVALID);
}

static void assert_reserved(const char *name, const char *words) {
        const char *why = unit_name_reserved(name);

        assert_int_not_equal(unit_name_kind(name, NULL), UNIT_NAME_INVALID);
        if (!words) {
                assert_null(why);
                return;
        }
        assert_non_null(why);
        assert_non_null(strstr(why, words));
}

static void slices_that_systemd_puts_instances_into_are_reserved(void **state) {
        assert_reserved("system-getty.slice", "puts instances of a template into");
        assert_reserved("app-web.slice", "puts instances of a template into");
        assert_reserved("system-web.service", NULL);
        assert_reserved("web-system.slice", NULL);
        assert_reserved("app.service", NULL);
}

static void names_that_machines_depend_on_are_reserved(void **state) {
        static const char *const reserved[] = {
                "argosyd.service", "argosy.target",  "argosy-07.slice", "systemd-journald.service",
                "dbus.socket",     "user@0.service", "-.slice",         "system.slice", "-.mount"};
        static const char *const free_names[] = {"argo.service", "web.service", "user.service",
                                                 "my-systemd-x.service"};

        for (size_t i = 0; i < ELEMENTSOF(reserved); i++)
                assert_reserved(reserved[i], "belongs to the system");
        for (size_t i = 0; i < ELEMENTSOF(free_names); i++)
                assert_reserved(free_names[i], NULL);
}

static void names_that_systemd_starts_by_itself_are_reserved(void **state) {
        static const char *const reserved[] = {
                "app.slice",      "default.target",    "ctrl-alt-del.target", "xdg-desktop-autostart.target",
                "syslog.socket",  "autovt@1.service",  "getty@tty1.service",  "blockdev@x.target",
                "network.target", "soft-reboot.target"};
        static const char *const free_names[] = {"app.target", "my-default.target", "syslog.service",
                                                 "gettys.service", "networks.target"};

        for (size_t i = 0; i < ELEMENTSOF(reserved); i++)
                assert_reserved(reserved[i], "systemd.special(7)");
        for (size_t i = 0; i < ELEMENTSOF(free_names); i++)
                assert_reserved(free_names[i], NULL);
}

// NAME.d and the like are for others, too.
static void names_that_stand_for_all_that_begin_so_are_reserved(void **state) {
        static const char *const of_many[] = {
                "probe-.service", "probe--.service", "--.service", "probe-@.service", "probe-@1.service",
                "a-b-.timer",     "srv-.mount",      "x-.slice",   "a-.socket",       "probe-@1-2.service"};
        static const char *const of_one[] = {"probe.service",   "-.service",        "-probe.service",
                                             "probe@-.service", "probe@1-.service", "a-b.service"};

        for (size_t i = 0; i < ELEMENTSOF(of_many); i++) {
                assert_true(unit_name_is_of_many(of_many[i]));
                assert_reserved(of_many[i], "all units whose names begin so");
        }
        for (size_t i = 0; i < ELEMENTSOF(of_one); i++) {
                assert_false(unit_name_is_of_many(of_one[i]));
                assert_reserved(of_one[i], NULL);
        }
        assert_true(unit_name_is_of_many("dev-.device")); // which has links below it
        assert_false(unit_name_is_of_many("-.mount"));    // the root, and nothing else
}

// Directories of systemd that are of no unit: none of them can be had by a name.
static void directories_of_systemd_are_no_names(void **state) {
        static const char *const dirs[] = {
                "service.d",          "target.d",          "service",     "multi-user.target.wants",
                "a.service.requires", "a.service.upholds", "a.service.d", "probe-.service.d",
                "service.wants"};

        for (size_t i = 0; i < ELEMENTSOF(dirs); i++)
                assert_int_equal(unit_name_kind(dirs[i], NULL), UNIT_NAME_INVALID);
}

static void a_name_has_room_for_what_is_made_of_it(void **state) {
        char name[UNIT_NAME_MAX + 1] = "";

        for (size_t len = UNIT_NAME_MANAGED_MAX - 1; len <= UNIT_NAME_MAX; len++) {
                memset(name, 'a', len);
                strcpy(name + len - strlen(".service"), ".service");
                assert_reserved(name, len > UNIT_NAME_MANAGED_MAX ? "longer than 237 bytes" : NULL);
        }
}

static void assert_parts(const char *name, const char *prefix, const char *instance, const char *suffix) {
        size_t len;
        const char *p = unit_name_prefix(name, &len);

        assert_int_equal(len, strlen(prefix));
        assert_memory_equal(p, prefix, len);
        p = unit_name_instance(name, &len);
        assert_int_equal(len, strlen(instance));
        assert_memory_equal(p, instance, len);
        assert_string_equal(unit_name_suffix(name), suffix);
}

static void names_have_parts(void **state) {
        _cleanup_free_ char *template = unit_name_template("web@a@b.c.socket");

        assert_parts("web.service", "web", "", ".service");
        assert_parts("web@.service", "web", "", ".service");
        assert_parts("web@1.service", "web", "1", ".service");
        assert_parts("web@a@b.c.socket", "web", "a@b.c", ".socket");
        assert_string_equal(template, "web@.socket");
        assert_null(unit_name_suffix("web"));
}

static void a_bare_word_is_a_service(void **state) {
        static const char *const cases[][2] = {
                {"web", "web.service"}, {"web@1", "web@1.service"}, {"web.timer", "web.timer"},
                {"a.b", "a.b.service"}, {"x.scope", "x.scope"},     {"x.device", "x.device"},
        };

        for (size_t i = 0; i < ELEMENTSOF(cases); i++) {
                _cleanup_free_ char *name = unit_name_mangle(cases[i][0]);

                assert_string_equal(name, cases[i][1]);
        }
}

static int collect(void *userdata, const char *name) {
        return buf_printf(userdata, "%s ", name);
}

static int expand(const char *arg, size_t max, char **ret) {
        Buf out = {0};
        int r = unit_name_expand(arg, max, collect, &out);

        *ret = buf_take_string(&out);
        return r;
}

static void ranges_expand_as_in_bash(void **state) {
        static const char *const cases[][2] = {
                {"web.service", "web.service "},
                {"web@{1..3}", "web@1 web@2 web@3 "},
                {"web@{08..11}.service", "web@08.service web@09.service web@10.service web@11.service "},
                {"{3..1}", "3 2 1 "},
                {"{1..9..4}", "1 5 9 "},
                {"{a..c}{1,2}", "a1 a2 b1 b2 c1 c2 "},
                {"x{a,b}y", "xay xby "},
                {"x{,b}", "x xb "},
                {"{a,{b,c}d}e", "ae bde cde "},
                {"{x,n{1..2}}", "x n1 n2 "},
                {"{7..7}", "7 "},
        };

        for (size_t i = 0; i < ELEMENTSOF(cases); i++) {
                _cleanup_free_ char *out = NULL;

                assert_int_equal(expand(cases[i][0], 100, &out), 0);
                assert_string_equal(out, cases[i][1]);
        }
}

static void malformed_ranges_are_refused(void **state) {
        static const char *const bad[] = {"{",     "}",       "a}",      "{a",       "{a}",
                                          "{}",    "{1..}",   "{..2}",   "{1..b}",   "{1..2..0}",
                                          "{1..2", "{-1..2}", "{1...2}", "{aa..bb}", "{1..9999999999}"};

        for (size_t i = 0; i < ELEMENTSOF(bad); i++) {
                _cleanup_free_ char *out = NULL;

                assert_int_equal(expand(bad[i], 100, &out), -EINVAL);
                assert_string_equal(out, "");
        }
}

static void an_expansion_is_bounded(void **state) {
        _cleanup_free_ char *exact = NULL, *over = NULL, *huge = NULL;
        char longest[UNIT_NAME_ARGUMENT_MAX + 2];
        _cleanup_buf_ Buf out = {0};

        assert_int_equal(expand("{1..3}", 3, &exact), 0);
        assert_int_equal(expand("{1..4}", 3, &over), -E2BIG);
        assert_string_equal(over, "1 2 3 ");
        assert_int_equal(expand("{1..99999999}{1..99999999}{1..99999999}", 2, &huge), -E2BIG);

        memset(longest, 'a', sizeof longest);
        longest[sizeof longest - 1] = 0;
        assert_int_equal(unit_name_expand(longest, 10, collect, &out), -EINVAL);
}

static void instances_are_of_their_template_and_type(void **state) {
        assert_true(unit_name_is_instance_of("web@1.service", "web@.service"));
        assert_true(unit_name_is_instance_of("web@a@b.service", "web@.service"));
        assert_false(unit_name_is_instance_of("web@1.timer", "web@.service"));
        assert_false(unit_name_is_instance_of("web@.service", "web@.service"));
        assert_false(unit_name_is_instance_of("web2@1.service", "web@.service"));
        assert_false(unit_name_is_instance_of("web@1.service", "web.service"));
        assert_false(unit_name_is_instance_of("web@1.service", "web@1.service"));
        assert_false(unit_name_is_instance_of("web", "web"));
}

static int stop_at_two(void *userdata, const char *name) {
        return ++*(int *) userdata == 2 ? -ECANCELED : 0;
}

static void who_receives_names_can_stop(void **state) {
        int n = 0;

        assert_int_equal(unit_name_expand("{1..9}", 100, stop_at_two, &n), -ECANCELED);
        assert_int_equal(n, 2);
}

RUN_TESTS(
        cmocka_unit_test(names_are_plain_templates_or_instances),
        cmocka_unit_test(instances_are_of_their_template_and_type),
        cmocka_unit_test(what_is_not_a_name_says_why),
        cmocka_unit_test(a_name_has_at_most_255_bytes),
        cmocka_unit_test(names_that_machines_depend_on_are_reserved),
        cmocka_unit_test(slices_that_systemd_puts_instances_into_are_reserved),
        cmocka_unit_test(a_name_has_room_for_what_is_made_of_it),
        cmocka_unit_test(directories_of_systemd_are_no_names),
        cmocka_unit_test(names_that_stand_for_all_that_begin_so_are_reserved),
        cmocka_unit_test(names_that_systemd_starts_by_itself_are_reserved),
        cmocka_unit_test(names_have_parts),
        cmocka_unit_test(a_bare_word_is_a_service),
        cmocka_unit_test(ranges_expand_as_in_bash),
        cmocka_unit_test(malformed_ranges_are_refused),
        cmocka_unit_test(an_expansion_is_bounded),
        cmocka_unit_test(who_receives_names_can_stop)
)
