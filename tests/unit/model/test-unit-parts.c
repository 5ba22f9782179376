// SPDX-License-Identifier: LGPL-2.1-or-later
#include "test.h"

#include <errno.h>

#include "str.h"
#include "unit-file.h"
#include "unit-parts.h"

#define UNIT "[Service]\nExecStart=/bin/web\n"
#define LIMITS "\n# web.service.d/10-limits.conf\n[Service]\nMemoryMax=1G\n"
#define PLACE "\n# web.service.d/20-place.conf\n[X-Argosy]\nHost=n1\n"

static UnitPart drop_in(const char *path, const char *content) {
        return (UnitPart){path, strlen(path), content, strlen(content)};
}

static void assert_composed(const char *file, const UnitPart *list, size_t n, const char *expected) {
        _cleanup_buf_ Buf content = {}, why = {};

        assert_int_equal(unit_parts_compose(file, strlen(file), list, n, &content, &why), 0);
        assert_int_equal(buf_append(&content, "", 1), 0);
        assert_string_equal((const char *) content.data, expected);
}

static void assert_refused(const char *file, const UnitPart *list, size_t n, int error,
                           const char *expected) {
        _cleanup_buf_ Buf content = {}, why = {};

        assert_int_equal(unit_parts_compose(file, strlen(file), list, n, &content, &why), error);
        assert_int_equal(buf_append(&why, "", 1), 0);
        if (!str_has_prefix((const char *) why.data, expected))
                fail_msg("\"%s\" does not begin with \"%s\"", (const char *) why.data, expected);
}

static size_t count(const char *content) {
        UnitPart part;
        UnitParts p;
        size_t n = 0;

        unit_parts_begin(&p, content, strlen(content));
        while (unit_parts_next(&p, &part))
                n++;
        return n;
}

static void a_file_without_drop_ins_is_its_content(void **state) {
        assert_composed(UNIT, NULL, 0, UNIT);
        assert_composed("[Service]\nNice=1", NULL, 0, "[Service]\nNice=1");
        assert_false(unit_parts_has_drop_ins(UNIT, strlen(UNIT)));
}

static void drop_ins_stand_behind_the_file_each_below_its_path(void **state) {
        UnitPart list[] = {drop_in("web.service.d/10-limits.conf", "[Service]\nMemoryMax=1G\n"),
                           drop_in("web.service.d/20-place.conf", "[X-Argosy]\nHost=n1\n")};

        assert_composed(UNIT, list, 2, UNIT LIMITS PLACE);
}

static void a_part_whose_last_line_does_not_end_gets_the_end(void **state) {
        UnitPart list[] = {drop_in("web.service.d/a.conf", "[Service]\nNice=1"),
                           drop_in("web.service.d/b.conf", "[Service]\nNice=2")};

        assert_composed("[Service]", list, 2,
                        "[Service]\n\n# web.service.d/a.conf\n[Service]\nNice=1\n\n# "
                        "web.service.d/b.conf\n[Service]\nNice=2");
}

static void an_empty_file_stays_empty_whatever_is_beside_it(void **state) {
        UnitPart one = drop_in("web.service.d/a.conf", "[Service]\nNice=1\n");

        assert_composed("", &one, 1, "");
}

static void the_parts_come_back(void **state) {
        const char *content = UNIT LIMITS PLACE;
        UnitPart part;
        UnitParts p;

        unit_parts_begin(&p, content, strlen(content));
        assert_true(unit_parts_next(&p, &part));
        assert_null(part.path);
        assert_int_equal(part.len, strlen(UNIT));
        assert_true(unit_parts_next(&p, &part));
        assert_memory_equal(part.path, "web.service.d/10-limits.conf", part.path_len);
        assert_int_equal(part.len, strlen("[Service]\nMemoryMax=1G\n"));
        assert_true(unit_parts_next(&p, &part));
        assert_memory_equal(part.path, "web.service.d/20-place.conf", part.path_len);
        assert_memory_equal(part.content, "[X-Argosy]\nHost=n1\n", part.len);
        assert_false(unit_parts_next(&p, &part));
}

static void what_only_looks_like_a_part_stays_a_comment(void **state) {
        assert_int_equal(count(UNIT LIMITS), 2);
        // no empty line before it
        assert_int_equal(count(UNIT "# web.service.d/a.conf\n[Service]\n"), 1);
        assert_int_equal(count(UNIT "\n#web.service.d/a.conf\n[Service]\n"), 1);
        // what systemctl cat says
        assert_int_equal(count(UNIT "\n# /etc/web.service.d/a.conf\n[Service]\n"), 1);
        assert_int_equal(count(UNIT "\n# web.service.d/a.txt\n[Service]\n"), 1);
        assert_int_equal(count(UNIT "\n# web.service.d/.conf\n[Service]\n"), 1);
        assert_int_equal(count(UNIT "\n# web.service.d/../a.conf\n[Service]\n"), 1);
        assert_int_equal(count(UNIT "\n# service.d/a.conf\n[Service]\n"), 1);          // of all services
        assert_int_equal(count(UNIT "\n# web.service.d/a.conf\nNice=1\n"),
                         1);                                         // its section is another part's
        assert_int_equal(count(UNIT "\n# web.service.d/a.conf"), 1); // the line does not end
        assert_int_equal(count(UNIT "\n# web.service.d/a.conf\n# all of it is a comment\n"), 2);
        assert_int_equal(count(UNIT PLACE LIMITS), 2); // out of order
        assert_int_equal(count(UNIT LIMITS LIMITS), 2);
}

static void what_could_not_be_told_apart_again_is_refused(void **state) {
        UnitPart plain = drop_in("web.service.d/50.conf", "[Service]\nNice=1\n");
        UnitPart naked = drop_in("web.service.d/50.conf", "Nice=1\n"),
                 nested = drop_in("web.service.d/05.conf", "[Service]\nNice=1\n" LIMITS);

        assert_refused(UNIT, &naked, 1, -EINVAL, "web.service.d/50.conf does not begin with a section");
        assert_refused(UNIT LIMITS, &plain, 1, -EINVAL,
                       "web.service.d/10-limits.conf stands within another file");
        assert_refused(UNIT, &nested, 1, -EINVAL, "web.service.d/10-limits.conf stands within another file");
}

static void a_unit_has_so_many(void **state) {
        UnitPart list[UNIT_DROP_INS_MAX + 1];
        char paths[UNIT_DROP_INS_MAX + 1][32];
        _cleanup_buf_ Buf content = {}, why = {};

        for (size_t i = 0; i < ELEMENTSOF(list); i++) {
                str_fit(paths[i], sizeof(paths[i]), "web.service.d/%03zu.conf", i);
                list[i] = drop_in(paths[i], "[Service]\n");
        }
        assert_int_equal(unit_parts_compose(UNIT, strlen(UNIT), list, UNIT_DROP_INS_MAX, &content, &why), 0);
        assert_refused(UNIT, list, UNIT_DROP_INS_MAX + 1, -E2BIG,
                       "web.service.d/128.conf is one of 129 drop-ins");
}

static void an_error_names_the_line_of_its_part(void **state) {
        static const struct {
                const char *content, *expected;
        } cases[] = {
                {UNIT "[X-Argosy]\nHost=\nNonsense=1\n" LIMITS, "dir/web.service:5: "},
                {UNIT LIMITS PLACE "Nonsense=1\n", "dir/web.service.d/20-place.conf:3: "},
                {UNIT LIMITS "[Unit\n" PLACE, "dir/web.service.d/10-limits.conf:3: "},
        };

        for (size_t i = 0; i < ELEMENTSOF(cases); i++) {
                _cleanup_free_ char *why = NULL;
                UnitFile *file;

                assert_int_equal(unit_file_parse("dir/web.service", cases[i].content,
                                                 strlen(cases[i].content), &file, &why),
                                 -EINVAL);
                if (!str_has_prefix(why, cases[i].expected))
                        fail_msg("\"%s\" does not begin with \"%s\"", why, cases[i].expected);
        }
}

static void a_misspelt_section_is_found_in_its_part(void **state) {
        static const char content[] = UNIT LIMITS "\n# web.service.d/20-x.conf\n[x-argosy]\n";
        _cleanup_free_ char *why = NULL;

        assert_int_equal(unit_file_check_sections("web.service", content, strlen(content), &why), -EINVAL);
        assert_true(str_has_prefix(why, "web.service.d/20-x.conf:1: "));
}

static void the_whole_means_what_systemd_makes_of_file_and_drop_ins(void **state) {
        UnitPart list[] = {
                drop_in("web.service.d/10.conf", "[Service]\nType=oneshot\n[X-Argosy]\nHost=n3\n"),
                drop_in("web.service.d/20.conf",
                        "[X-Argosy]\nHost=\nHost=n2\n[Install]\nWantedBy=multi-user.target\n")};
        // the backslash continues nothing that stands in a drop-in
        static const char file[] = "[X-Argosy]\nHost=n1\n[Service]\nExecStart=/bin/true \\";
        _cleanup_(unit_options_unrefp) UnitOptions *options = NULL;
        _cleanup_(unit_file_freep) UnitFile *parsed = NULL;
        _cleanup_buf_ Buf content = {}, why = {};

        assert_int_equal(unit_parts_compose(file, strlen(file), list, 2, &content, &why), 0);
        assert_int_equal(unit_file_parse("web.service", content.data, content.len, &parsed, NULL), 0);
        assert_true(parsed->oneshot);
        assert_true(parsed->has_install);
        assert_int_equal(unit_file_expand(parsed, "web.service", "web.service", &options, NULL), 0);
        assert_string_equal(options->hosts[0], "n2");
        assert_null(options->hosts[1]);
}

static void names_of_drop_ins_and_their_directories(void **state) {
        char long_name[UNIT_DROP_IN_NAME_MAX + 2];

        memset(long_name, 'a', sizeof(long_name));
        str_fit(long_name + UNIT_DROP_IN_NAME_MAX - 4, 6, ".conf");
        assert_true(unit_drop_in_name_is_valid("10-a.conf"));
        assert_false(unit_drop_in_name_is_valid(long_name));
        assert_false(unit_drop_in_name_is_valid(".a.conf"));
        assert_false(unit_drop_in_name_is_valid("a.conf~"));
        assert_false(unit_drop_in_name_is_valid("a\nb.conf"));
        assert_true(unit_drop_in_directory_is_valid("web@.service.d"));
        assert_true(unit_drop_in_directory_is_valid("web@1.timer.d"));
        assert_false(unit_drop_in_directory_is_valid("service.d"));
        assert_false(unit_drop_in_directory_is_valid("web.d"));
        assert_false(unit_drop_in_directory_is_valid("web.service"));
}

RUN_TESTS(
        cmocka_unit_test(a_file_without_drop_ins_is_its_content),
        cmocka_unit_test(drop_ins_stand_behind_the_file_each_below_its_path),
        cmocka_unit_test(a_part_whose_last_line_does_not_end_gets_the_end),
        cmocka_unit_test(an_empty_file_stays_empty_whatever_is_beside_it),
        cmocka_unit_test(the_parts_come_back),
        cmocka_unit_test(what_only_looks_like_a_part_stays_a_comment),
        cmocka_unit_test(what_could_not_be_told_apart_again_is_refused),
        cmocka_unit_test(a_unit_has_so_many),
        cmocka_unit_test(an_error_names_the_line_of_its_part),
        cmocka_unit_test(a_misspelt_section_is_found_in_its_part),
        cmocka_unit_test(the_whole_means_what_systemd_makes_of_file_and_drop_ins),
        cmocka_unit_test(names_of_drop_ins_and_their_directories)
)
