// SPDX-License-Identifier: LGPL-2.1-or-later
#include "test.h"

#include "buf.h"
#include "unit-install.h"

#define BELOW(WORD, LINE)                                                                                  \
        "/u/x:" #LINE ": " WORD " is ignored: the name ends in '-', and systemd takes links below it for " \
                                "all units whose names begin so"

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

// What is ignored is said, with its line, and nothing else is.
static void assert_ignored(const char *text, const char *name, const char *links, const char *said) {
        _cleanup_(unit_file_freep) UnitFile *f = parse(text);
        _cleanup_free_ char *why = NULL;
        _cleanup_(unit_install_done) UnitInstall i;

        assert_links(text, name, links);
        if (unit_install_expand(f, "/u/x", name, &i, &why) < 0)
                fail_msg("%s", why);
        assert_non_null(i.ignored);
        assert_string_equal(i.ignored, said);
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
        assert_links("[Install]\nWantedBy=%j.target\n", "web-app@2.service",
                     "app.target.wants/web-app@2.service");
}

static void who_wants_it_may_be_a_template_or_made_from_no_file(void **state) {
        assert_links("[Install]\nWantedBy=site@.target\nRequiredBy=app@.target\n", "web@1.service",
                     "site@.target.wants/web@1.service app@.target.requires/web@1.service");
        assert_links("[Install]\nWantedBy=site@.target\n", "web.service", "site@.target.wants/web.service");
        assert_links("[Install]\nWantedBy=run.scope x@.mount\n", "web.service",
                     "run.scope.wants/web.service x@.mount.wants/web.service");
}

static void an_alias_of_a_template_is_one_of_its_instances(void **state) {
        assert_links("[Install]\nAlias=www@.service\n", "web@1.service", "www@1.service");
        assert_links("[Install]\nAlias=www@.service www@2.service\n", "web@.service", "");
        assert_links("[Install]\nAlias=www@2.service\n", "web@2.service", "www@2.service");
}

static void an_alias_in_a_directory_of_links_is_such_a_link(void **state) {
        assert_links("[Install]\nAlias=app.target.wants/web.service db.service.requires/web.service\n",
                     "web.service", "app.target.wants/web.service db.service.requires/web.service");
        assert_links("[Install]\nAlias=app.target.wants/web@%i.service\n", "web@1.service",
                     "app.target.wants/web@1.service");
        assert_refused("[Install]\nAlias=app.target.wants/other.service\n", "web.service",
                       "neither a name nor");
        assert_refused("[Install]\nAlias=app.target.upholds/web.service\n", "web.service",
                       "neither a name nor");
        assert_refused("[Install]\nAlias=.wants/web.service\n", "web.service", "/u/x:2: ");
        assert_refused("[Install]\nAlias=x/../y.wants/web.service\n", "web.service", "/u/x:2: ");
        assert_refused("[Install]\nAlias=../app.target.wants/web.service\n", "web.service", "/u/x:2: ");
}

static void what_systemctl_takes_and_argosy_cannot_do_is_ignored_and_said(void **state) {
        assert_ignored(
                "[Install]\nAlias=dbus-org.example.service\nWantedBy=a.target\n", "web.service",
                "a.target.wants/web.service",
                "/u/x:2: Alias=dbus-org.example.service is ignored: this name belongs to the system: argosy "
                "manages it on no node");
        assert_ignored("[Install]\nAlias=probe-.service display-manager.service\nWantedBy=a.target\n",
                       "web.service", "a.target.wants/web.service",
                       "/u/x:2: Alias=probe-.service is ignored: the name ends in '-', and systemd takes "
                       "what is said of such a name for "
                       "all units whose names begin so (systemd.unit(5)): argosy manages it on no node;\n"
                       "/u/x:2: Alias=display-manager.service is ignored: systemd gives this name a meaning "
                       "of its own "
                       "(systemd.special(7)): argosy manages it on no node");
        assert_ignored("[Install]\nWantedBy=dev-.device "
                       "multi-user.target\nRequiredBy=probe-@.target\nAlias=x-.target.wants/web.service\n",
                       "web.service", "multi-user.target.wants/web.service",
                       BELOW("WantedBy=dev-.device", 2) ";\n" BELOW("RequiredBy=probe-@.target",
                                                                    3) ";\n" BELOW("Alias=x-.target", 4));
        assert_ignored("[Install]\nAlias=data2.mount\n", "data.mount", "",
                       "/u/x:2: Alias=data2.mount is ignored: units of this type have one name only");
        assert_ignored("[Install]\nAlias=www@1.service\n", "web@2.service", "",
                       "/u/x:2: Alias=www@1.service is ignored: it is an alias of another instance");
        assert_ignored("[Install]\nWantedBy=x-%H.target\nUpheldBy=a.target\n", "web.service", "",
                       "/u/x:2: WantedBy=x-%H.target is ignored: %H is known on the node only;\n/u/x:3: "
                       "UpheldBy=a.target is ignored: Restart=always is what argosy's units have for it");
        assert_ignored(
                "[Install]\nAlso=x@.service dev-sda1.device b.service\n", "web.service", "+b.service",
                "/u/x:2: Also=x@.service is ignored: a template cannot be loaded, only an instance of it;\n"
                "/u/x:2: Also=dev-sda1.device is ignored: devices are made by the kernel, not from unit "
                "files");
        assert_ignored("[Install]\nWantedBy=a.target \"b.target\n", "web.service",
                       "a.target.wants/web.service",
                       "/u/x:2: WantedBy=b.target is ignored: a quotation does not end");
}

static void what_cannot_work_is_refused_with_its_line(void **state) {
        assert_refused("[Install]\n\nWantedBy=app\n", "web.service", "/u/x:3: WantedBy=app: ");
        assert_refused("[Install]\nWantedBy=../../etc.target\n", "web.service", "/u/x:2: ");
        assert_refused("[Install]\nWantedBy=a/b.device\n", "web.service", "/u/x:2: ");
        assert_refused("[Install]\nAlso=b\n", "web.service", "/u/x:2: Also=b: ");
        assert_refused("[Install]\nAlias=www@.service\n", "web.service", "the name of an instance");
        assert_refused("[Install]\nDefaultInstance=a/b\n", "web@.service", "/u/x:2: DefaultInstance=a/b");
        assert_refused("[Install]\nDefaultInstance=%z\n", "web@.service", "/u/x:2: DefaultInstance=%z");
        assert_refused("[Install]\nAlias=www.socket\n", "web.service", "of the same type");
        assert_refused("[Install]\nAlias=www.service\n", "web@1.service", "the name of an instance");
        assert_refused("[Install]\nAlias=www.service\n", "web@.service", "the name of an instance");
        assert_refused("[Install]\nAlias=www@1.service\n", "web.service", "the name of an instance");
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
                {"[Install]\nWantedBy=x%z.target\n", "x:2: \"%z\" in WantedBy= is not a specifier"},
                {"[Install]\nAlias=%H-%I.service\n", "x:2: \"%I\" in Alias= is not a specifier"},
                {"[X-Argosy]\nHost=%H\n", "x:2: \"%H\" in Host= is not a specifier"},
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
        assert_links("[Install]\nDefaultInstance=%H\n", "web@.service", "");
        assert_links("[Install]\nDefaultInstance=a/b\n", "web.service", ""); // of a template only
        assert_links("[Install]\nDefaultInstance=a/b\n", "web@1.service", "");
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

static void assert_companions(const char *text, const char *name, const char *templates, const char *plain) {
        _cleanup_(unit_file_freep) UnitFile *f = parse(text);
        const char *expected[] = {templates, plain};

        for (size_t i = 0; i < 2; i++) {
                _cleanup_buf_ Buf seen = {};
                char **names;
                size_t n;

                assert_int_equal((i == 0 ? unit_file_companions : unit_file_ends)(f, name, &names, &n), 0);
                for (size_t k = 0; k < n; k++) {
                        assert_int_equal(buf_printf(&seen, "%s%s", k > 0 ? " " : "", names[k]), 0);
                        free(names[k]);
                }
                free(names);
                assert_int_equal(buf_append(&seen, "", 1), 0);
                assert_string_equal((char *) seen.data, expected[i]);
        }
}

static void a_unit_may_need_templates_beside_it(void **state) {
        assert_companions("[Unit]\nOnFailure=al@%n.service\nOnSuccess=al@x.service ok@.service\n",
                          "web.service", "al@.service ok@.service", "");
        assert_companions("[Unit]\nOnFailure=mail.service al@1.service nonsense\n", "web.service",
                          "al@.service", "mail.service");
        assert_companions("[Socket]\nAccept=yes\n", "echo.socket", "echo@.service", "");
        assert_companions("[Socket]\nAccept=yes\n", "echo@1.socket", "echo@.service", "");
        assert_companions("[Socket]\nAccept=no\n", "echo.socket", "", "");
        assert_companions("[Service]\nExecStart=/bin/true\n", "web.service", "", "");
}

static void assert_own_socket(const char *text, const char *name, const char *expected) {
        _cleanup_(unit_file_freep) UnitFile *f = parse(text);
        _cleanup_free_ char *found = NULL;

        assert_int_equal(unit_file_own_socket(f, name, &found), 0);
        assert_string_equal(found ?: "", expected);
}

static void a_service_may_need_its_own_socket(void **state) {
        assert_own_socket("[Unit]\nRequires=a.socket web.socket\n", "web.service", "web.socket");
        assert_own_socket("[Unit]\nRequires=%p@%i.socket\n", "web@1.service", "web@1.socket");
        assert_own_socket("[Unit]\nBindsTo=web.socket\n", "web.service", "web.socket");
        assert_own_socket("[Service]\nSockets=a.socket\nSockets=web.socket\n", "web.service", "web.socket");
        assert_own_socket("[Service]\nSockets=web.socket\nSockets=\n", "web.service", "");
        assert_own_socket("[Unit]\nRequires=my-web.socket web.socketx\n", "web.service", "");
        assert_own_socket("[Unit]\nWants=web.socket\n", "web.service", "");
        assert_own_socket("[Unit]\nRequires=web.socket\n", "web.timer", "");
}

RUN_TESTS(
        cmocka_unit_test(lines_become_links),
        cmocka_unit_test(an_empty_line_undoes_those_of_its_key),
        cmocka_unit_test(what_is_said_twice_counts_once),
        cmocka_unit_test(specifiers_are_those_of_the_instance),
        cmocka_unit_test(who_wants_it_may_be_a_template_or_made_from_no_file),
        cmocka_unit_test(an_alias_of_a_template_is_one_of_its_instances),
        cmocka_unit_test(an_alias_in_a_directory_of_links_is_such_a_link),
        cmocka_unit_test(what_systemctl_takes_and_argosy_cannot_do_is_ignored_and_said),
        cmocka_unit_test(what_cannot_work_is_refused_with_its_line),
        cmocka_unit_test(a_directory_of_links_has_a_name_that_fits),
        cmocka_unit_test(what_the_parser_refuses),
        cmocka_unit_test(a_template_may_have_a_default_instance),
        cmocka_unit_test(a_unit_may_need_templates_beside_it),
        cmocka_unit_test(a_service_may_need_its_own_socket),
        cmocka_unit_test(timers_sockets_paths_and_automounts_activate)
)
