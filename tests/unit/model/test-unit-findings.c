// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What is made of systemd's words: those of versions 252 and 257, as they printed them.

#include "test.h"

#include "buf.h"
#include "unit-findings.h"

#define T_252                                                                               \
        "/d/t.service:2: Unknown key 'Descripton' in section [Unit], ignoring.\n"          \
        "/d/t.service:11: Failed to parse service restart specifier, ignoring: allways\n"  \
        "/d/t.service:17: Unknown section 'Instal'. Ignoring.\n"                            \
        "t.service: Command /nope/nope is not executable: No such file or directory\n"
#define T_257                                                                               \
        "/d/t.service:2: Unknown key 'Descripton' in section [Unit], ignoring.\n"          \
        "/d/t.service:11: Failed to parse Restart=allways, ignoring: Invalid argument\n"   \
        "/d/t.service:17: Unknown section 'Instal'. Ignoring.\n"                            \
        "t.service: Command /nope/nope is not executable: No such file or directory\n"
#define NO_START                                                                            \
        "/d/t.service:2: Unknown key 'ExecStat' in section [Service], ignoring.\n"         \
        "t.service: Service has no ExecStart=, ExecStop=, or SuccessAction=. Refusing.\n"  \
        "Unit t.service has a bad unit file setting.\n"

static UnitFindings parse(const char *unit, const char *file, const char *output) {
        const UnitFindingsOf of = {unit, file};
        UnitFindings f = {};

        assert_int_equal(unit_findings_parse("/d", &of, 1, output, strlen(output), &f), 0);
        return f;
}

static UnitFindings parse_t(const char *output) {
        return parse("t.service", "t.service", output);
}

static void expect(const UnitFindings *f, size_t i, unsigned line, UnitFindingKind kind, const char *text) {
        assert_true(i < f->n);
        assert_int_equal(f->list[i].line, line);
        assert_int_equal(f->list[i].kind, kind);
        assert_string_equal(f->list[i].text, text);
}

static void lines_that_systemd_ignores_are_warnings(void **state) {
        _cleanup_unit_findings_ UnitFindings old = parse_t(T_252), new = parse_t(T_257);

        assert_int_equal(old.n, 4);
        assert_int_equal(new.n, 4);
        assert_false(old.refused || new.refused);
        expect(&old, 0, 2, UNIT_FINDING_WARNING, "Unknown key 'Descripton' in section [Unit], ignoring");
        expect(&old, 1, 11, UNIT_FINDING_WARNING,
               "Failed to parse service restart specifier, ignoring: allways");
        expect(&new, 1, 11, UNIT_FINDING_WARNING,
               "Failed to parse Restart=allways, ignoring: Invalid argument");
        expect(&old, 2, 17, UNIT_FINDING_WARNING, "Unknown section 'Instal'. Ignoring");
        expect(&old, 3, 0, UNIT_FINDING_MISSING,
               "Command /nope/nope is not executable: No such file or directory");
}

static void a_refused_unit_has_the_reason_and_not_the_verdict(void **state) {
        _cleanup_unit_findings_ UnitFindings f = parse_t(NO_START);

        assert_true(f.refused);
        assert_int_equal(f.n, 2);
        expect(&f, 0, 2, UNIT_FINDING_WARNING, "Unknown key 'ExecStat' in section [Service], ignoring");
        expect(&f, 1, 0, UNIT_FINDING_REFUSED,
               "Service has no ExecStart=, ExecStop=, or SuccessAction=. Refusing");
        assert_ptr_equal(unit_findings_refusal(&f), &f.list[1]);
}

static void the_line_that_is_fatal_is_the_reason(void **state) {
        _cleanup_unit_findings_ UnitFindings f = parse_t(
                "/d/t.service:1: Assignment outside of section. Ignoring.\n"
                "/d/t.service:2: Neither a valid executable name nor an absolute path: relative/sleep\n"
                "t.service: Unit configuration has fatal error, unit will not be started.\n"
                "Unit t.service has a bad unit file setting.\n");

        assert_int_equal(f.n, 2);
        expect(&f, 0, 1, UNIT_FINDING_WARNING, "Assignment outside of section. Ignoring");
        expect(&f, 1, 2, UNIT_FINDING_REFUSED,
               "Neither a valid executable name nor an absolute path: relative/sleep");
}

static void a_file_that_systemd_cannot_read_is_refused(void **state) {
        _cleanup_unit_findings_ UnitFindings f =
                parse_t("/d/t.service:2: Invalid section header '[Service'\n"
                        "Unit t.service failed to load properly, please adjust/correct and reload service "
                        "manager: Bad message\n");
        _cleanup_unit_findings_ UnitFindings masked = parse_t("Unit t.service is masked.\n");
        _cleanup_unit_findings_ UnitFindings wordless =
                parse_t("Unit t.service has a bad unit file setting.\n");

        expect(&f, 0, 2, UNIT_FINDING_REFUSED, "Invalid section header '[Service'");
        expect(&masked, 0, 0, UNIT_FINDING_REFUSED, "The unit is masked");
        expect(&wordless, 0, 0, UNIT_FINDING_REFUSED, "The file has a bad setting");
}

// A unit that is not here may be on another node, and other files are not ours.
static void what_is_about_others_is_left_out(void **state) {
        _cleanup_unit_findings_ UnitFindings f = parse_t(
                "/lib/systemd/system/foo.service:3: Unknown key 'X' in section [Unit], ignoring.\n"
                "/d/other.service:3: Unknown key 'X' in section [Unit], ignoring.\n"
                "/d/t.service.d/a.conf:3: Unknown key 'X' in section [Unit], ignoring.\n"
                "other.service: Service has no ExecStart=. Refusing.\n"
                "Unit other.service has a bad unit file setting.\n"
                "t.service: Failed to create t.service/start: Unit nowhere.service not found.\n"
                "t.service: service ok7.service not loaded, socket cannot be started.\n"
                "t.service: Command /root/x is not executable: Permission denied\n"
                "Accepting user/group name 'a b', which does not match strict user/group name rules.\n"
                "\n:\n");

        assert_int_equal(f.n, 0);
        assert_false(f.refused);
}

static void a_template_is_known_by_its_file_and_by_its_instance(void **state) {
        static const char content[] = "[Socket]\nListenStream=%i\nMode=%Q\n";
        static const char output[] =
                "/d/a@.socket:2: Failed to parse address value in 'x', ignoring: Invalid argument\n"
                "/d/a@.socket:3: Failed to resolve unit specifiers in '%Q': Invalid slot\n"
                "a@x.socket: Unit has no Listen setting. Refusing.\n"
                "Unit a@x.socket has a bad unit file setting.\n";
        _cleanup_unit_findings_ UnitFindings f = parse("a@x.socket", "a@.socket", output);

        assert_int_equal(f.n, 3);
        assert_true(unit_findings_are_of_instance(&f, content, strlen(content)));
        unit_findings_drop_instance(&f, content, strlen(content));
        assert_int_equal(f.n, 2);
        expect(&f, 0, 3, UNIT_FINDING_REFUSED, "Failed to resolve unit specifiers in '%Q': Invalid slot");
        assert_false(unit_findings_are_of_instance(&f, content, strlen(content)));
}

static void names_with_colons_are_no_lines(void **state) {
        _cleanup_unit_findings_ UnitFindings f =
                parse("a:1.timer", "a:1.timer",
                      "/d/a:1.timer:4: Unknown key 'b:2: c' in section [Timer], ignoring.\n");

        expect(&f, 0, 4, UNIT_FINDING_WARNING, "Unknown key 'b:2: c' in section [Timer], ignoring");
}

static void there_are_not_too_many_and_they_are_printable(void **state) {
        _cleanup_buf_ Buf output = {};
        _cleanup_free_ char *text = NULL;

        for (int i = 1; i <= 3 * UNIT_FINDINGS_MAX; i++)
                assert_int_equal(buf_printf(&output, "/d/t.service:%d: \033[31mx\001, ignoring.\n", i), 0);
        assert_int_equal(buf_printf(&output, "t.service: It is bad. Refusing.\n"), 0);
        text = buf_take_string(&output);
        _cleanup_(unit_findings_done) UnitFindings f = parse_t(text);
        assert_int_equal(f.n, UNIT_FINDINGS_MAX + 2);
        expect(&f, 0, 1, UNIT_FINDING_WARNING, "?[31mx?, ignoring");
        expect(&f, UNIT_FINDINGS_MAX, 0, UNIT_FINDING_WARNING, "There is more, which is left out");
        expect(&f, UNIT_FINDINGS_MAX + 1, 0, UNIT_FINDING_REFUSED, "It is bad. Refusing");
}

// A host may say anything of what it was asked.
static void a_kind_that_nobody_knows_has_a_word(void **state) {
        assert_string_equal(unit_finding_kind_to_string(UNIT_FINDING_MISSING), "missing");
        assert_string_equal(unit_finding_kind_to_string((UnitFindingKind) 1000000), "warning");
}

RUN_TESTS(
        cmocka_unit_test(a_kind_that_nobody_knows_has_a_word),
        cmocka_unit_test(lines_that_systemd_ignores_are_warnings),
        cmocka_unit_test(a_refused_unit_has_the_reason_and_not_the_verdict),
        cmocka_unit_test(the_line_that_is_fatal_is_the_reason),
        cmocka_unit_test(a_file_that_systemd_cannot_read_is_refused),
        cmocka_unit_test(what_is_about_others_is_left_out),
        cmocka_unit_test(a_template_is_known_by_its_file_and_by_its_instance),
        cmocka_unit_test(names_with_colons_are_no_lines),
        cmocka_unit_test(there_are_not_too_many_and_they_are_printable)
)
