// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What argosy remembers of images that it has pulled: the order of pulls, what units had before, and nothing
// of a text that is not whole.
#include <errno.h>

#include "test.h"

#include "image-record.h"

static ImageRecord r;

FIXTURE(teardown) {
        image_record_done(&r);
}

static void pulled(const char *image, uint64_t at_us) {
        assert_int_equal(image_record_add(&r, image, at_us), 0);
}

static bool keeps_a(const char *image, void *userdata) {
        return strcmp(image, "a") == 0;
}

static void the_first_that_was_pulled_goes_first_whatever_clocks_say(void **state) {
        pulled("a", 30);
        pulled("b", 20);
        pulled("c", 10);
        assert_string_equal(image_record_oldest(&r, NULL, NULL)->name, "a");
        assert_string_equal(image_record_oldest(&r, keeps_a, NULL)->name, "b");
        pulled("b", 5); // again: somebody had removed it
        assert_string_equal(image_record_oldest(&r, keeps_a, NULL)->name, "c");
        image_record_drop(&r, "c");
        image_record_drop(&r, "b");
        assert_null(image_record_oldest(&r, keeps_a, NULL));
}

static void a_unit_has_one_image_of_before(void **state) {
        assert_true(image_record_set_former(&r, "web.service", "a"));
        assert_false(image_record_set_former(&r, "web.service", "a"));
        assert_true(image_record_is_former(&r, "a"));
        assert_true(image_record_set_former(&r, "web.service", "b"));
        assert_false(image_record_is_former(&r, "a"));
        assert_true(image_record_set_former(&r, "web.service", NULL));
        assert_false(image_record_set_former(&r, "web.service", NULL));
        assert_false(image_record_is_former(&r, "b"));
}

static void fill(void) {
        pulled("reg.example/a@sha256:0", 7);
        pulled("reg.example/b@sha256:1", 8);
        assert_true(image_record_set_former(&r, "web@1.service", "reg.example/a@sha256:0"));
        assert_true(image_record_set_store(&r, "/var/lib/con tainers/overlay-images/images.json"));
}

static void it_is_read_as_it_was_written(void **state) {
        _cleanup_buf_ Buf text = {};
        _cleanup_(image_record_done) ImageRecord again;

        fill();
        assert_int_equal(image_record_compose(&r, &text), 0);
        assert_int_equal(image_record_parse(text.data, text.len, &again), 0);
        assert_int_equal(again.pulled.count, 2);
        assert_string_equal(image_record_oldest(&again, NULL, NULL)->name, "reg.example/a@sha256:0");
        assert_int_equal(image_record_find(&again, "reg.example/b@sha256:1")->at_us, 8);
        assert_true(image_record_is_former(&again, "reg.example/a@sha256:0"));
        assert_string_equal(again.store, r.store);
        assert_int_equal(image_record_add(&again, "c", 9), 0);
        assert_int_equal(image_record_find(&again, "c")->number, 3);
}

static void of_a_damaged_one_nothing_is_believed(void **state) {
        _cleanup_buf_ Buf text = {};
        ImageRecord again;

        fill();
        assert_int_equal(image_record_compose(&r, &text), 0);
        for (size_t len = 0; len < text.len; len++) {
                assert_int_equal(image_record_parse(text.data, len, &again), -EBADMSG);
                assert_int_equal(again.pulled.count, 0);
        }
        for (size_t i = 0; i < text.len; i++) {
                text.data[i] ^= 1;
                assert_int_equal(image_record_parse(text.data, text.len, &again), -EBADMSG);
                assert_int_equal(again.pulled.count + again.former.count, 0);
                text.data[i] ^= 1;
        }
}

RUN_TESTS(
        cmocka_unit_test_teardown(the_first_that_was_pulled_goes_first_whatever_clocks_say,
                                  teardown),
        cmocka_unit_test_teardown(a_unit_has_one_image_of_before, teardown),
        cmocka_unit_test_teardown(it_is_read_as_it_was_written, teardown),
        cmocka_unit_test_teardown(of_a_damaged_one_nothing_is_believed, teardown)
)
