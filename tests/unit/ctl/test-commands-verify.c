// SPDX-License-Identifier: LGPL-2.1-or-later
//
// verify, without a daemon: what argosy says of files, what this machine's systemd does, and the exit status
// of both.
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "command-words.h"

#include "exit-code.h"
#include "fileio.h"
#include "json.h"
#include "messages.h"
#include "printed.h"
#include "str.h"

static char dir[32];

static void put(const char *name, const char *text) {
        assert_int_equal(file_replace(AT_FDCWD, printed("%s/%s", dir, name), text, strlen(text), 0600, 0),
                         0);
}

FIXTURE(setup) {
        strcpy(dir, "/tmp/argosy-test-XXXXXX");
        assert_non_null(mkdtemp(dir));
}

FIXTURE(teardown) {
        dir_empty(AT_FDCWD, dir);
        rmdir(dir);
}

static Outcome verify(const char *before, const char *name) {
        return run_at("/nowhere", printed("verify %s %s/%s", before, dir, name));
}

static bool has_analyze(void) {
        return access("/usr/bin/systemd-analyze", X_OK) == 0;
}

static void expect_line(const char *out, const char *behind_dir) {
        _cleanup_free_ char *line = str_printf("%s/%s\n", dir, behind_dir);

        if (!strstr(out, line))
                fail_msg("'%s' is not in '%s'", line, out);
}

static void options_of_argosy_need_no_systemd(void **state) {
        _cleanup_outcome_ Outcome o = {};

        put("a.service", "[Service]\nExecStart=/bin/true\n[X-Argosy]\nHots=a\n");
        o = verify("", "a.service");
        assert_int_equal(o.code, EXIT_FAILED);
        expect_line(o.out, "a.service:4: error: unknown option Hots= in [X-Argosy]");
}

static void all_that_is_wrong_in_a_file_is_said(void **state) {
        _cleanup_outcome_ Outcome o = {};

        put("a.service", "[Service]\nExecStart=/bin/true\n[X-Argosy]\nHots=a\nGlobal=per\\\n "
                         "haps\nMachineOf=b c\nLink=x\n[X-Argosi]\nFoo=1\n");
        o = verify("", "a.service");
        assert_int_equal(o.code, EXIT_FAILED);
        expect_line(o.out, "a.service:4: error: unknown option Hots= in [X-Argosy]");
        assert_non_null(strstr(o.out, "a.service:5: error: "));
        assert_non_null(strstr(o.out, "a.service:8: error: "));
        assert_non_null(strstr(o.out, "a.service:9: error: [X-Argosi] means nothing"));
}

static void sections_and_names_are_looked_at(void **state) {
        _cleanup_outcome_ Outcome section = {}, name = {};

        put("a.service", "[Service]\nExecStart=/bin/true\n[X-Argosi]\n");
        put("argosyd-x.service", "[Service]\nExecStart=/bin/true\n");
        section = verify("", "a.service");
        name = verify("", "argosyd-x.service");
        assert_prints_also(section, EXIT_FAILED, "a.service:3: error: [X-Argosi] means nothing");
        assert_int_equal(name.code, EXIT_FAILED);
        expect_line(
                name.out,
                "argosyd-x.service: error: this name belongs to the system: argosy manages it on no node");
}

static void a_folder_is_read_to_its_end(void **state) {
        _cleanup_outcome_ Outcome o = {};

        put("a.service", "[Service]\nExecStart=/bin/true\n[X-Argosy]\nHots=a\n");
        put("b.service", "[Service]\nExecStart=/bin/true\n[X-Argosy]\nGlobal=perhaps\n");
        put("argosy.set", "launched nobody.service\n");
        o = verify("", "");
        assert_prints_also(o, EXIT_FAILED, "/a.service:4: error: ");
        assert_non_null(strstr(o.out, "/b.service:4: error: "));
        assert_non_null(strstr(o.out, "/argosy.set:1: error: nobody.service has no file in the folder"));
}

static void what_is_no_file_is_refused(void **state) {
        _cleanup_outcome_ Outcome missing = verify("", "nobody.service"), empty = verify("", ""),
                                  unnamed = run_at("/nowhere", "verify argosy-no-such-unit");

        assert_int_equal(missing.code, EXIT_FAILED);
        assert_int_equal(empty.code, EXIT_FAILED);
        assert_warns_of(unnamed, EXIT_FAILED, "there is no file of argosy-no-such-unit.service here");
}

static void clean_files_are_clean(void **state) {
        _cleanup_outcome_ Outcome o = {};

        put("a.service", "[Unit]\nDescription=a\n[Service]\nExecStart=/nowhere/a\n");
        o = verify("", "a.service");
        assert_string_equal(o.out, "");
        assert_int_equal(o.code, has_analyze() ? EXIT_OK : EXIT_UNKNOWN);
        assert_true(has_analyze() || strstr(o.err, "no systemd-analyze"));
}

static void lines_that_systemd_ignores_are_warnings(void **state) {
        _cleanup_outcome_ Outcome o = {}, json = {};

        if (!has_analyze())
                skip();
        put("a@.service",
            "[Service]\nExecStart=/bin/true\nRestat=always\nNice=%i\n[Instal]\nWantedBy=x.target\n");
        o = verify("", "a@.service");
        assert_int_equal(o.code, EXIT_WARNINGS);
        expect_line(o.out, "a@.service:3: warning: Unknown key 'Restat' in section [Service], ignoring");
        expect_line(o.out, "a@.service:5: warning: Unknown section 'Instal'. Ignoring");
        assert_null(strstr(o.out, ":4:")); // depends on the instance
        json = verify("--json=short", "a@x.service");
        assert_prints_also(json, EXIT_WARNINGS, "\"line\":3,\"severity\":\"warning\",\"by\":\"systemd\"");
        assert_non_null(strstr(json.out, "\"line\":4,"));
}

static void what_systemd_would_refuse_is_an_error(void **state) {
        _cleanup_outcome_ Outcome o = {};

        if (!has_analyze())
                skip();
        put("a.service", "[Service]\nExecStat=/bin/true\n");
        o = verify("", "a.service");
        assert_prints_also(o, EXIT_FAILED, "/a.service: error: Service has no ExecStart=");
        expect_line(o.out, "a.service:2: warning: Unknown key 'ExecStat' in section [Service], ignoring");
}

// ---- nodes

static void reply_node(FakeDaemon *d, const char *node, const char *text, uint32_t nodes, bool final) {
        Argosy__Response__FileFindings file = ARGOSY__RESPONSE__FILE_FINDINGS__INIT, *files[] = {&file};
        Argosy__Response__Verify verify =
                MESSAGE_OF(response__verify, .node = (char *) node, .systemd = (char *) "systemd 252",
                           .files = files, .n_files = 1, .nodes = nodes);
        Argosy__Response r = RESPONSE_OF(VERIFY, verify, &verify, .final = final);
        Argosy__Response__Finding finding = MESSAGE_OF(response__finding, .line = 2,
                                                       .kind = ARGOSY__FINDING_KIND__FINDING_WARNING,
                                                       .text = (char *) text),
                                  *findings[] = {&finding};

        file.findings = findings;
        file.n_findings = text != NULL;
        fake_reply(d, &r);
}

static void read_verify(FakeDaemon *d) {
        Argosy__Request *q = fake_take(d);

        assert(q->what_case == ARGOSY__REQUEST__WHAT_VERIFY && q->verify->n_files == 1);
        argosy__request__free_unpacked(q, NULL);
}

static void nodes_differ(FakeDaemon *d) {
        read_verify(d);
        reply_node(d, "n1", "it is odd", 2, false);
        reply_node(d, "n2", NULL, 2, true);
}

static void nodes_agree(FakeDaemon *d) {
        read_verify(d);
        reply_node(d, "n1", "it is odd", 40, false);
        reply_node(d, "n2", "it is odd", 40, true);
}

static void one_cannot(FakeDaemon *d) {
        read_verify(d);
        reply_node(d, "n1", NULL, 2, false);
        reply_error(d, EOPNOTSUPP, "n2: there is no systemd-analyze", false);
}

static void none_may(FakeDaemon *d) {
        read_verify(d);
        reply_error(d, EACCES, "the right deploy is missing", false);
}

static Outcome ask_nodes(FakeScript script, const char *options) {
        put("a.service", "[Service]\nExecStart=/bin/true\n");
        return run(script, printed("verify %s %s/a.service", options, dir));
}

static void nodes_that_differ_are_named(void **state) {
        _cleanup_outcome_ Outcome differ = ask_nodes(nodes_differ, ""), agree = ask_nodes(nodes_agree, ""),
                                  json = ask_nodes(nodes_differ, "--json=short");

        assert_int_equal(differ.code, EXIT_WARNINGS);
        expect_line(differ.out, "a.service:2: warning: it is odd (n1)");
        assert_int_equal(agree.code, EXIT_WARNINGS);
        expect_line(agree.out, "a.service:2: warning: it is odd");
        assert_non_null(strstr(agree.err, "2 of 40 nodes were asked"));
        assert_non_null(strstr(json.out, "\"nodes\":[\"n1\"]"));
}

static void one_takes_too_long(FakeDaemon *d) {
        read_verify(d);
        reply_node(d, "n1", NULL, 2, false);
        reply_error(d, ETIMEDOUT, "n2: podman's generator and systemd-analyze did not end in time", false);
}

static void who_does_not_answer_is_named_and_the_rest_is_told(void **state) {
        _cleanup_outcome_ Outcome o = ask_nodes(one_takes_too_long, "");

        assert_non_null(strstr(o.err, "Warning: not all is checked: n2: podman's generator and "));
}

static void one_secret_is_there(FakeDaemon *d) {
        Argosy__Response__SecretRow row = ARGOSY__RESPONSE__SECRET_ROW__INIT, *rows[] = {&row};
        Argosy__Response__Secrets secrets = MESSAGE_OF(response__secrets, .rows = rows, .n_rows = 1);

        read_verify(d);
        reply_node(d, "n1", NULL, 1, true);
        Argosy__Request *q = fake_read(d);
        assert(q->what_case == ARGOSY__REQUEST__WHAT_SECRET_LIST && q->secret_list->n_names == 0);
        argosy__request__free_unpacked(q, NULL);
        row.name = (char *) "there";
        fake_reply(d, A_RESPONSE(SECRETS, secrets, &secrets, .final = true));
}

// Of a template each instance may name another one.
static void a_secret_that_is_not_there_is_a_warning(void **state) {
        _cleanup_outcome_ Outcome o = {}, template = {};

        put("a.service", "[Service]\nExecStart=/bin/true\n[X-Argosy]\nSecret=there\nSecret=gone:key\n");
        o = run(one_secret_is_there, printed("verify %s/a.service", dir));
        assert_int_equal(o.code, EXIT_WARNINGS);
        expect_line(o.out, "a.service:5: warning: Secret=gone: there is no such secret; `argosyctl secret "
                           "set gone` makes it");
        assert_null(strstr(o.out, "Secret=there"));
        put("a@.service", "[Service]\nExecStart=/bin/true\n[X-Argosy]\nSecret=key-%i\n");
        template = run(one_secret_is_there, printed("verify %s/a@.service", dir));
        assert_int_equal(template.code, EXIT_OK);
}

// Nobody is told that all is well where it is not known.
static void a_node_that_cannot_tell_is_said(void **state) {
        _cleanup_outcome_ Outcome o = ask_nodes(one_cannot, ""), refused = ask_nodes(none_may, "");

        assert_warns_of(o, EXIT_UNKNOWN, "n2: there is no systemd-analyze");
        assert_warns_of(refused, EXIT_FAILED, "the right deploy is missing");
}

// ---- the verbs that hand files in

static void take_submit(FakeDaemon *d) {
        fake_accept(d);
        Argosy__Request *q = read_change(d, ARGOSY__VERB__VERB_SUBMIT);
        assert(q->change->n_files == 1);
        argosy__request__free_unpacked(q, NULL);
        reply_change(d, RESULTS({"a.service", .revision = 5}));
}

static void submit_prints_the_same_as_warnings(void **state) {
        _cleanup_outcome_ Outcome o = {}, quiet = {};

        if (!has_analyze())
                skip();
        put("a.service", "[Service]\nExecStart=/bin/true\nRestat=always\n");
        o = run(take_submit, printed("submit %s/a.service", dir));
        assert_warns_of(o, EXIT_OK, "Warning: ");
        expect_line(o.err, "a.service:3: Unknown key 'Restat' in section [Service], ignoring");
        quiet = run(take_submit, printed("submit --quiet %s/a.service", dir));
        assert_string_equal(quiet.err, "");
}

RUN_TESTS(
        cmocka_unit_test_setup_teardown(options_of_argosy_need_no_systemd, setup, teardown),
        cmocka_unit_test_setup_teardown(all_that_is_wrong_in_a_file_is_said, setup, teardown),
        cmocka_unit_test_setup_teardown(sections_and_names_are_looked_at, setup, teardown),
        cmocka_unit_test_setup_teardown(a_folder_is_read_to_its_end, setup, teardown),
        cmocka_unit_test_setup_teardown(what_is_no_file_is_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(clean_files_are_clean, setup, teardown),
        cmocka_unit_test_setup_teardown(lines_that_systemd_ignores_are_warnings, setup, teardown),
        cmocka_unit_test_setup_teardown(what_systemd_would_refuse_is_an_error, setup, teardown),
        cmocka_unit_test_setup_teardown(who_does_not_answer_is_named_and_the_rest_is_told, setup, teardown),
        cmocka_unit_test_setup_teardown(nodes_that_differ_are_named, setup, teardown),
        cmocka_unit_test_setup_teardown(a_secret_that_is_not_there_is_a_warning, setup, teardown),
        cmocka_unit_test_setup_teardown(a_node_that_cannot_tell_is_said, setup, teardown),
        cmocka_unit_test_setup_teardown(submit_prints_the_same_as_warnings, setup, teardown)
)
