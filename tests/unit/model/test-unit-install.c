// SPDX-License-Identifier: LGPL-2.1-or-later
#include "test.h"

#include "buf.h"
#include "unit-install.h"

static UnitFile *parse(const char *text) {
        _cleanup_free_ char *why = NULL;
        UnitFile *f = NULL;

        if (unit_file_parse("x.service", text, strlen(text), &f, &why) < 0)
                fail_msg("%s", why);
        return f;
}

// The links, or the names of Also= behind a '+', separated by blanks.
static void assert_links(const char *text, const char *name, const char *expected) {
        _cleanup_(unit_file_freep) UnitFile *f = parse(text);
        _cleanup_free_ char *why = NULL;
        _cleanup_buf_ Buf seen = {};
        UnitInstall i;

        if (unit_install_expand(f, name, name, &i, &why) < 0)
                fail_msg("%s", why);
        for (size_t k = 0; k < i.n; k++) {
                _cleanup_free_ char *link = unit_install_link(&i.entries[k], name);

                assert_int_equal(buf_printf(&seen, "%s%s%s", k > 0 ? " " : "",
                                            i.entries[k].kind == UNIT_INSTALL_ALSO ? "+" : "", link),
                                 0);
        }
        unit_install_done(&i);
        assert_int_equal(buf_append(&seen, "", 1), 0);
        assert_string_equal((char *) seen.data, expected);
}

static void assert_refused(const char *text, const char *name, const char *expected) {
        _cleanup_(unit_file_freep) UnitFile *f = parse(text);
        _cleanup_free_ char *why = NULL;
        UnitInstall i;

        assert_int_equal(unit_install_expand(f, "/u/x", name, &i, &why), -EINVAL);
        if (!strstr(why, expected))
                fail_msg("\"%s\" does not say \"%s\"", why, expected);
        assert_int_equal(unit_install_expand(f, "/u/x", name, &i, NULL), -EINVAL);
}

static void lines_become_links(void **state) {
        assert_links("[Service]\nExecStart=/bin/true\n", "web.service", "");
        assert_links("[Install]\nWantedBy=multi-user.target app.target\nRequiredBy=db.service\n"
                     "Alias=www.service\nAlso=web.socket\n",
                     "web.service",
                     "multi-user.target.wants/web.service app.target.wants/web.service "
                     "db.service.requires/web.service www.service +web.socket");
        assert_links("[Install]\nWantedBy=dev-sda1.device\n", "web.service",
                     "dev-sda1.device.wants/web.service");
}

static void an_empty_line_undoes_those_of_its_key(void **state) {
        assert_links("[Install]\nWantedBy=a.target\nRequiredBy=b.target\nWantedBy=\nWantedBy=c.target\n",
                     "web.service", "b.target.requires/web.service c.target.wants/web.service");
}

static void what_is_said_twice_counts_once(void **state) {
        assert_links("[Install]\nWantedBy=a.target a.target\nWantedBy=a.target\nAlias=web.service\n",
                     "web.service", "a.target.wants/web.service");
}

static void specifiers_are_those_of_the_instance(void **state) {
        static const char text[] = "[Install]\nWantedBy=%p-%i.target all.target\nAlias=www@%i.service\n";

        assert_links(text, "web@2.service",
                     "web-2.target.wants/web@2.service all.target.wants/web@2.service www@2.service");
        assert_links(text, "web@.service", "all.target.wants/web@.service"); // the rest is the instances'
}

static void what_cannot_work_is_refused_with_its_line(void **state) {
        assert_refused("[Install]\n\nWantedBy=app\n", "web.service", "/u/x:3: WantedBy=app: ");
        assert_refused("[Install]\nWantedBy=../../etc.target\n", "web.service", "/u/x:2: ");
        assert_refused("[Install]\nWantedBy=a/b.device\n", "web.service", "/u/x:2: ");
        assert_refused("[Install]\nWantedBy=app@.target\n", "web.service", "a template cannot be meant");
        assert_refused("[Install]\nAlso=dev-sda1.device\n", "web.service", "devices are made by the kernel");
        assert_refused("[Install]\nAlias=www.socket\n", "web.service", "of the same type");
        assert_refused("[Install]\nAlias=data2.mount\n", "data.mount", "one name only");
        assert_refused("[Install]\nAlias=dbus-org.example.service\n", "web.service",
                       "belongs to the system");
        assert_refused("[Install]\nAlias=www.service\n", "web@1.service", "the name of an instance");
        assert_refused("[Install]\nAlias=www.service\n", "web@.service", "the name of an instance");
        assert_refused("[Install]\nAlias=www@1.service\n", "web.service", "the name of an instance");
        assert_refused("[Install]\nAlias=www@1.service\n", "web@2.service", "alias of another instance");
        assert_refused("[Install]\nWantedBy=x%i\n", "web@1.service", "WantedBy=x1: ");
}

static void a_directory_of_links_has_a_name_that_fits(void **state) {
        char text[512], name[256] = "";

        memset(name, 'a', 250);
        snprintf(text, sizeof text, "[Install]\nWantedBy=%.*s.target\n", 243, name);
        assert_refused(text, "web.service", "too long");
}

static void what_the_parser_refuses(void **state) {
        static const struct {
                const char *text, *expected;
        } rows[] = {
                {"[Install]\nWantedBy=x%H.target\n", "x:2: \"%H\" in WantedBy= is not a specifier"},
                {"[Install]\nDefaultInstance=a/b\n", "x:2: DefaultInstance=a/b"},
                {"[Install]\nUpheldBy=a.target\n", "x:2: UpheldBy= is not supported"},
        };

        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                _cleanup_free_ char *why = NULL;
                UnitFile *f = NULL;

                assert_int_equal(unit_file_parse("x", rows[i].text, strlen(rows[i].text), &f, &why),
                                 -EINVAL);
                if (!strstr(why, rows[i].expected))
                        fail_msg("\"%s\" does not say \"%s\"", why, rows[i].expected);
        }
}

static void a_template_may_have_a_default_instance(void **state) {
        _cleanup_(unit_file_freep) UnitFile *f =
                parse("[Install]\nDefaultInstance=one\nDefaultInstance=main\n");

        assert_string_equal(f->default_instance, "main");
}

static void assert_activates(const char *text, const char *name, const char *expected) {
        _cleanup_(unit_file_freep) UnitFile *f = parse(text);
        _cleanup_free_ char *found = NULL;

        assert_int_equal(unit_file_activates(f, name, &found), 0);
        if (!expected)
                assert_null(found);
        else
                assert_string_equal(found, expected);
}

static void timers_sockets_paths_and_automounts_activate(void **state) {
        assert_activates("[Timer]\nOnBootSec=1\n", "backup.timer", "backup.service");
        assert_activates("[Timer]\nUnit=other.target\n", "backup.timer", "other.target");
        assert_activates("[Timer]\nUnit=other.target\nUnit=\n", "backup.timer", "backup.service");
        assert_activates("[Timer]\nUnit=job-%i.service\n", "backup@3.timer", "job-3.service");
        assert_activates("[Timer]\nOnBootSec=1\n", "backup@3.timer", "backup@3.service");
        assert_activates("[Path]\nUnit=x.service\n", "drop.path", "x.service");
        assert_activates("[Socket]\nListenStream=1\n", "web.socket", "web.service");
        assert_activates("[Socket]\nService=x.service\n", "web.socket", "x.service");
        assert_activates("[Socket]\nListenStream=1\nAccept=yes\n", "web.socket", NULL);
        assert_activates("[Automount]\nWhere=/data\n", "data.automount", "data.mount");
        assert_activates("[Service]\nExecStart=/bin/true\n", "web.service", NULL);
        assert_activates("[Timer]\nUnit=nonsense\n", "backup.timer", NULL);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(lines_become_links),
                cmocka_unit_test(an_empty_line_undoes_those_of_its_key),
                cmocka_unit_test(what_is_said_twice_counts_once),
                cmocka_unit_test(specifiers_are_those_of_the_instance),
                cmocka_unit_test(what_cannot_work_is_refused_with_its_line),
                cmocka_unit_test(a_directory_of_links_has_a_name_that_fits),
                cmocka_unit_test(what_the_parser_refuses),
                cmocka_unit_test(a_template_may_have_a_default_instance),
                cmocka_unit_test(timers_sockets_paths_and_automounts_activate),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
