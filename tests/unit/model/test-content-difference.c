// SPDX-License-Identifier: LGPL-2.1-or-later
#include "test.h"

#include <errno.h>

#include "carried-files.h"
#include "content-difference.h"

#define UNIT "[Service]\nExecStart=/bin/web\n"
#define A "\n# web.service.d/a.conf\n[Service]\nNice=1\n"
#define B "\n# web.service.d/b.conf\n[Service]\nNice=2\n"
#define C "\n# web.service.d/c.conf\n[Service]\nNice=3\n"

static int tell(const char *part, size_t len, PartChange change, void *userdata) {
        return buf_printf(userdata, "%.*s %s\n", (int) len, part, part_change_to_string(change));
}

static void assert_differ(const char *before, const char *after, const char *expected) {
        _cleanup_buf_ Buf told = {};

        assert_int_equal(
                content_difference("web.service", before, strlen(before), after, strlen(after), tell, &told),
                0);
        assert_int_equal(buf_append(&told, "", 1), 0);
        assert_string_equal((const char *) told.data, expected);
}

static void what_is_alike_differs_in_nothing(void **state) {
        assert_differ(UNIT, UNIT, "");
        assert_differ(UNIT A B, UNIT A B, "");
        assert_differ("", "", "");
}

static void the_unit_file_is_called_as_it_is_told(void **state) {
        assert_differ(UNIT, "[Service]\nExecStart=/bin/other\n", "web.service changed\n");
        assert_differ(UNIT A, "[Service]\n" A, "web.service changed\n");
}

static void drop_ins_come_go_and_change_by_their_names(void **state) {
        assert_differ(UNIT, UNIT A B, "web.service.d/a.conf added\nweb.service.d/b.conf added\n");
        assert_differ(UNIT A B C, UNIT B, "web.service.d/a.conf removed\nweb.service.d/c.conf removed\n");
        assert_differ(UNIT A C, UNIT B C, "web.service.d/a.conf removed\nweb.service.d/b.conf added\n");
        assert_differ(UNIT A B, UNIT "\n# web.service.d/a.conf\n[Service]\nNice=9\n" B,
                      "web.service.d/a.conf changed\n");
        assert_differ("[Service]\n" A, UNIT B,
                      "web.service changed\nweb.service.d/a.conf removed\nweb.service.d/b.conf added\n");
}

static void the_digest_of_an_image_is_no_drop_in_of_somebody(void **state) {
#define PIN(word) "\n# web.container.d/~0-image.conf\n[X-Argosy]\nImagePin=" word "\n"
        assert_differ("[Container]\n" PIN("a"), "[Container]\n" PIN("b"), "image changed\n");
        assert_differ("[Container]\n", "[Container]\n" PIN("b"), "image added\n");
}

// An instance has its own in place of its template's.
static void a_drop_in_of_another_folder_is_another_one(void **state) {
        assert_differ(UNIT "\n# web@.service.d/a.conf\n[Service]\nNice=1\n",
                      UNIT "\n# web@1.service.d/a.conf\n[Service]\nNice=1\n",
                      "web@.service.d/a.conf removed\nweb@1.service.d/a.conf added\n");
}

typedef struct File {
        const char *name, *content;
        bool executable;
} File;

static char *with_files(const char *text, const File *list, size_t n) {
        _cleanup_carried_files_ CarriedFiles files = {};
        _cleanup_(unit_file_freep) UnitFile *parsed = NULL;
        _cleanup_free_ char *why = NULL;
        Buf content = {};

        assert_int_equal(unit_file_parse("web.service", text, strlen(text), &parsed, &why), 0);
        for (size_t i = 0; i < n; i++) {
                Hash hash = hash_of(list[i].content, strlen(list[i].content));

                assert_int_equal(carried_files_add(&files, list[i].name, list[i].executable,
                                                   strlen(list[i].content), &hash),
                                 0);
        }
        assert_int_equal(buf_append(&content, text, strlen(text)), 0);
        assert_int_equal(carried_files_compose("web.service", parsed, &files, &content, &why), 0);
        return buf_take_string(&content);
}

static void files_come_go_and_change_and_their_list_is_no_part(void **state) {
        static const File some[] = {{"d/a", "1"}, {"d/b", "1"}, {"d/c", "1"}, {"d/d", "1"}},
                          others[] = {{"d/a", "1"}, {"d/b", "2"}, {"d/d", "1", true}, {"d/e", "1"}};
        _cleanup_free_ char *before = with_files(UNIT "[X-Argosy]\nFile=d\n" A, some, 4),
                            *after = with_files(UNIT "[X-Argosy]\nFile=d\n" A, others, 4),
                            *none = strdup(UNIT "[X-Argosy]\nFile=d\n" A);

        assert_differ(before, before, "");
        assert_differ(before, after, "d/b changed\nd/c removed\nd/d changed\nd/e added\n");
        assert_differ(none, before, "d/a added\nd/b added\nd/c added\nd/d added\n");
}

static int refuse(const char *part, size_t len, PartChange change, void *userdata) {
        return -EIO;
}

static void who_is_told_may_end_it(void **state) {
        assert_int_equal(content_difference("web.service", UNIT A, strlen(UNIT A), UNIT B, strlen(UNIT B),
                                            refuse, NULL),
                         -EIO);
}

RUN_TESTS(
        cmocka_unit_test(what_is_alike_differs_in_nothing),
        cmocka_unit_test(the_unit_file_is_called_as_it_is_told),
        cmocka_unit_test(the_digest_of_an_image_is_no_drop_in_of_somebody),
        cmocka_unit_test(drop_ins_come_go_and_change_by_their_names),
        cmocka_unit_test(a_drop_in_of_another_folder_is_another_one),
        cmocka_unit_test(files_come_go_and_change_and_their_list_is_no_part),
        cmocka_unit_test(who_is_told_may_end_it)
)
