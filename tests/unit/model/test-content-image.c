// SPDX-License-Identifier: LGPL-2.1-or-later
#include "test.h"

#include <errno.h>

#include "carried-files.h"
#include "content-image.h"
#include "hash.h"
#include "quadlet.h"
#include "str.h"
#include "unit-file.h"
#include "unit-parts.h"

#define HEX "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define DIGEST "sha256:" HEX
#define OTHER "sha256:" "ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff"
#define IMAGE "[Container]\nImage=docker.io/library/web:1\n"
#define PIN "\n# web.container.d/~0-image.conf\n[X-Argosy]\nImagePin=docker.io/library/web:1@" DIGEST "\n"

static void assert_image(const char *unit, const char *content, ContentImageKind kind, const char *name,
                         const char *digest) {
        _cleanup_content_image_ ContentImage i = {};

        assert_int_equal(content_image_read(unit, content, strlen(content), &i), 0);
        assert_int_equal(i.kind, kind);
        if (name)
                assert_string_equal(i.name, name);
        else
                assert_null(i.name);
        assert_string_equal(i.digest, digest);
}

static void assert_pinned(const char *unit, const char *content, const char *expected) {
        _cleanup_buf_ Buf pinned = {};
        _cleanup_free_ char *why = NULL;

        assert_int_equal(content_image_pin(unit, content, strlen(content), "docker.io/library/web:1", DIGEST,
                                           &pinned, &why),
                         0);
        assert_int_equal(buf_append(&pinned, "", 1), 0);
        assert_string_equal((const char *) pinned.data, expected);
}

static void a_content_says_which_image_it_runs(void **state) {
        assert_image("web.service", "[Service]\nExecStart=/bin/x\n", CONTENT_IMAGE_NONE, NULL, "");
        assert_image("web.service", IMAGE, CONTENT_IMAGE_TAG, "docker.io/library/web:1", "");
        assert_image("web.service", "[Container]\nImage=a.b/web\nImage=a.b/other:2\n", CONTENT_IMAGE_TAG,
                     "a.b/other:2", "");
        assert_image("web.service", "[Container]\nImage=a.b/web@" DIGEST "\n", CONTENT_IMAGE_DIGEST_GIVEN,
                     "a.b/web@" DIGEST, DIGEST);
        assert_image("web.service", "[Container]\nImage=localhost/web:1\n", CONTENT_IMAGE_LOCAL,
                     "localhost/web:1", "");
        assert_image("web.service", "[Container]\nImage=" DIGEST "\n", CONTENT_IMAGE_LOCAL, DIGEST, "");
        assert_image("web.service", "[Container]\nImage=\"localhost/web:1\"\n", CONTENT_IMAGE_LOCAL,
                     "localhost/web:1", "");
        assert_image("web.service", "[Container]\nImage=\"docker.io/library/web:1\"\n" PIN,
                     CONTENT_IMAGE_TAG, "docker.io/library/web:1", DIGEST);
        assert_image("web.service", "[Container]\nRootfs=/srv/web\n", CONTENT_IMAGE_LOCAL, NULL, "");
        assert_image("web.service", IMAGE PIN, CONTENT_IMAGE_TAG, "docker.io/library/web:1", DIGEST);
}

static void an_instance_has_its_own_image(void **state) {
        assert_image("db@.service", "[Container]\nImage=a.b/db:%i\n", CONTENT_IMAGE_VARIES, "a.b/db:%i", "");
        assert_image("db@15.service", "[Container]\nImage=a.b/db:%i\n", CONTENT_IMAGE_TAG, "a.b/db:15", "");
        assert_image("db@.service", "[Container]\nImage=a.b/db:1\n", CONTENT_IMAGE_TAG, "a.b/db:1", "");
}

static void a_pin_counts_for_the_image_that_it_names(void **state) {
        assert_image("web.service", "[Container]\nImage=docker.io/library/web:2\n" PIN, CONTENT_IMAGE_TAG,
                     "docker.io/library/web:2", "");
        assert_image("web.service", IMAGE "[X-Argosy]\nImagePin=docker.io/library/web:1@sha256:0\n",
                     CONTENT_IMAGE_TAG, "docker.io/library/web:1", "");
}

static void a_pin_is_put_behind_what_people_wrote_and_before_the_list_of_files(void **state) {
        static const char drop_in[] = "\n# web.container.d/10-a.conf\n[Service]\nNice=5\n",
                          files[] = "\n# web.container.d/" CARRIED_FILES_DROP_IN "\n[Service]\nNice=6\n";
        _cleanup_free_ char *with = str_printf(IMAGE "%s%s", drop_in, files),
                            *expected = str_printf(IMAGE "%s" PIN "%s", drop_in, files);

        assert_pinned("web.service", IMAGE, IMAGE PIN);
        assert_pinned("web.service", with, expected);
        assert_pinned("web.service", expected, expected);
}

static void a_pin_is_replaced(void **state) {
        _cleanup_buf_ Buf other = {};
        _cleanup_free_ char *why = NULL;

        assert_int_equal(content_image_pin("web.service", IMAGE PIN, strlen(IMAGE PIN),
                                           "docker.io/library/web:1", OTHER, &other, &why),
                         0);
        assert_int_equal(buf_append(&other, "", 1), 0);
        assert_image("web.service", (const char *) other.data, CONTENT_IMAGE_TAG, "docker.io/library/web:1",
                     OTHER);
        assert_null(strstr((const char *) other.data, DIGEST));
}

static void without_its_pin_a_content_is_what_was_handed_in(void **state) {
        static const char cut[] = "[Container]\nImage=docker.io/library/web:1";
        _cleanup_buf_ Buf pinned = {}, source = {};
        _cleanup_free_ char *why = NULL;

        assert_int_equal(content_image_unpin(IMAGE PIN, strlen(IMAGE PIN), &source), 0);
        assert_int_equal(source.len, strlen(IMAGE));
        assert_memory_equal(source.data, IMAGE, source.len);
        assert_int_equal(content_image_same_source(IMAGE, strlen(IMAGE), IMAGE PIN, strlen(IMAGE PIN)), 1);
        assert_int_equal(
                content_image_same_source(IMAGE "#\n", strlen(IMAGE "#\n"), IMAGE PIN, strlen(IMAGE PIN)),
                0);
        assert_int_equal(content_image_pin("web.service", cut, strlen(cut), "docker.io/library/web:1",
                                           DIGEST, &pinned, &why),
                         0);
        assert_int_equal(content_image_same_source(cut, strlen(cut), pinned.data, pinned.len), 1);
}

static void a_content_may_have_no_room_for_a_pin(void **state) {
        _cleanup_buf_ Buf full = {}, ret = {};
        _cleanup_free_ char *why = NULL;

        assert_int_equal(buf_printf(&full, IMAGE), 0);
        for (int i = 0; i < UNIT_DROP_INS_MAX; i++)
                assert_int_equal(buf_printf(&full, "\n# web.container.d/%03d.conf\n[Service]\nNice=5\n", i),
                                 0);
        assert_int_equal(content_image_pin("web.service", full.data, full.len, "docker.io/library/web:1",
                                           DIGEST, &ret, &why),
                         -EINVAL);
        assert_non_null(strstr(why, "as many drop-ins"));
}

static void a_node_is_given_the_digest_in_place_of_the_tag(void **state) {
        static const char content[] =
                "[Container]\nImage=docker.io/library/web:1\nPull=newer\nAutoUpdate=registry\nExec=x\n" PIN;
        _cleanup_buf_ Buf text = {}, of_tag = {};

        assert_int_equal(content_image_for_generator("web.service", content, strlen(content), &text), 0);
        assert_int_equal(buf_append(&text, "", 1), 0);
        assert_string_equal((const char *) text.data, "[Container]\nImage=docker.io/library/web@" DIGEST
                                                      "\nPull=missing\nExec=x\n" PIN);
        assert_int_equal(content_image_for_generator("web.service", IMAGE "Pull=newer\n",
                                                     strlen(IMAGE "Pull=newer\n"), &of_tag),
                         0);
        assert_int_equal(buf_append(&of_tag, "", 1), 0);
        assert_string_equal((const char *) of_tag.data, IMAGE "Pull=newer\n");
}

static void assert_for_generator(const char *unit, const char *content, const char *expected) {
        _cleanup_buf_ Buf text = {};

        assert_int_equal(content_image_for_generator(unit, content, strlen(content), &text), 0);
        assert_int_equal(buf_append(&text, "", 1), 0);
        assert_string_equal((const char *) text.data, expected);
}

static void a_digest_in_the_file_asks_no_registry_at_each_start(void **state) {
        static const char given[] = "[Container]\nImage=a.b/web:1@" DIGEST "\nPull=always\n",
                          varies[] = "[Container]\nImage=a.b/%i@" DIGEST "\nPull=always\n";

        assert_for_generator("web.service", given,
                             "[Container]\nImage=a.b/web@" DIGEST "\nPull=missing\n");
        assert_for_generator("web@x.service", varies,
                             "[Container]\nImage=a.b/x@" DIGEST "\nPull=missing\n");
        assert_for_generator("web@.service", varies, varies);
}

static void what_is_pulled_has_no_tag(void **state) {
        static const char *const rows[][2] = {
                {"docker.io/library/web:1", "docker.io/library/web@" DIGEST},
                {"10.9.0.2:5000/web", "10.9.0.2:5000/web@" DIGEST},
                {"docker.io/library/web@" DIGEST, "docker.io/library/web@" DIGEST},
                {"10.9.0.2:5000/web:1@" DIGEST, "10.9.0.2:5000/web@" DIGEST},
                {"10.9.0.2:5000/a/web:x.y", "10.9.0.2:5000/a/web@" DIGEST},
        };

        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                _cleanup_free_ char *pulled = content_image_pulled(rows[i][0], DIGEST);

                assert_string_equal(pulled, rows[i][1]);
        }
}

static void a_pinned_content_is_a_unit_file(void **state) {
        _cleanup_(unit_file_freep) UnitFile *f = NULL;
        _cleanup_free_ char *why = NULL;

        assert_int_equal(unit_file_parse("web.service", IMAGE PIN, strlen(IMAGE PIN), &f, &why), 0);
}

RUN_TESTS(
        cmocka_unit_test(a_content_says_which_image_it_runs),
        cmocka_unit_test(an_instance_has_its_own_image),
        cmocka_unit_test(a_pin_counts_for_the_image_that_it_names),
        cmocka_unit_test(a_pin_is_put_behind_what_people_wrote_and_before_the_list_of_files),
        cmocka_unit_test(a_pin_is_replaced),
        cmocka_unit_test(without_its_pin_a_content_is_what_was_handed_in),
        cmocka_unit_test(a_content_may_have_no_room_for_a_pin),
        cmocka_unit_test(a_node_is_given_the_digest_in_place_of_the_tag),
        cmocka_unit_test(a_digest_in_the_file_asks_no_registry_at_each_start),
        cmocka_unit_test(what_is_pulled_has_no_tag),
        cmocka_unit_test(a_pinned_content_is_a_unit_file)
)
