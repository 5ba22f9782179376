// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Tokens of pages, targets and options of fleet's API.
#include "fleet-words.h"

// ---- pages

static void a_token_is_the_one_that_fleet_makes(void **state) {
        char token[FLEET_PAGE_SIZE];
        const char *why;
        uint16_t page;

        fleet_page_format(2, token);
        assert_string_equal(token, "ZAACAA==");
        for (unsigned i = 1; i <= UINT16_MAX; i += 77) {
                fleet_page_format((uint16_t) i, token);
                assert_int_equal(fleet_page_parse(token, &page, &why), 0);
                assert_int_equal(page, i);
        }
}

static void what_is_no_token_of_ours_is_refused(void **state) {
        static const struct {
                const char *token, *why;
        } all[] = {
                {"", "malformed page token"},
                {"x", "malformed page token"},
                {"ZAACAA=", "malformed page token"},
                {"ZAACAAAA", "malformed page token"},
                {"ZAA AA==", "malformed page token"},
                {"ZQACAA==", "token limit must be 100"},
                {"ZAEBAA==", "token limit must be 100"},
                {"ZAAAAA==", "token page must be greater than zero"},
        };
        const char *why;
        uint16_t page;

        for (size_t i = 0; i < ELEMENTSOF(all); i++) {
                assert_int_equal(fleet_page_parse(all[i].token, &page, &why), -EINVAL);
                assert_string_equal(why, all[i].why);
        }
}

// ---- targets

static unsigned status_of(const char *method, const char *text) {
        FleetTarget t = {};
        const char *why = NULL;
        unsigned status = fleet_target_parse(text, method, &t, &why);

        assert_non_null(why);
        fleet_target_done(&t);
        return status;
}

static void each_thing_has_its_methods(void **state) {
        static const struct {
                const char *method, *target;
                unsigned status;
        } all[] = {
                {"GET", "/fleet/v1/units", 0},
                {"GET", "/v1-alpha/units?alt=json", 0},
                {"GET", "/fleet/v1/units?nextPageToken=ZAACAA%3D%3D", 0},
                {"GET", "/fleet/v1/units?nextPageToken=ZAACAA%3D%3D&nextPageToken=ZAACAA%3D%3D", 400},
                {"GET", "/fleet/v1/units?nextPageToken=", 400},
                {"POST", "/fleet/v1/units", 405},
                {"PUT", "/fleet/v1/units", 405},
                {"GET", "/fleet/v1/units/", 404},
                {"GET", "/fleet/v1/units/a.service", 0},
                {"PUT", "/fleet/v1/units/a.service", 0},
                {"DELETE", "/fleet/v1/units/a.service", 0},
                {"PATCH", "/fleet/v1/units/a.service", 405},
                {"HEAD", "/fleet/v1/units/a.service", 405},
                {"GET", "/fleet/v1/units/a/b.service", 404},
                {"GET", "/fleet/v1/units/a%2Fb.service", 404},
                {"GET", "/fleet/v1/units/a%00.service", 404},
                {"GET", "/fleet/v1/state", 0},
                {"GET", "/fleet/v1/state/a.service", 0},
                {"PUT", "/fleet/v1/state/a.service", 405},
                {"GET", "/fleet/v1/machines", 0},
                {"PATCH", "/fleet/v1/machines", 0},
                {"DELETE", "/fleet/v1/machines", 405},
                {"GET", "/fleet/v1/machines/x", 404},
                {"GET", "/fleet/v1/discovery", 0},
                {"PUT", "/fleet/v1/discovery", 400},
                {"GET", "/fleet/v1", 405},
                {"GET", "/", 405},
                {"GET", "/fleet/v1x/units", 404},
                {"GET", "/v1/units", 404},
                {"", "/fleet/v1/units", 405},
        };

        for (size_t i = 0; i < ELEMENTSOF(all); i++)
                if (status_of(all[i].method, all[i].target) != all[i].status)
                        fail_msg("%s %s is not %u", all[i].method, all[i].target, all[i].status);
}

// ---- options

static void check_file(const char *text, const char *written, const char *hash) {
        _cleanup_(fleet_options_done) FleetOptions o;
        _cleanup_buf_ Buf buf = {};
        char seen[FLEET_HASH_SIZE];

        assert_int_equal(fleet_options_read(text, strlen(text), &o), 0);
        assert_int_equal(fleet_options_write(&o, &buf), 0);
        assert_int_equal(buf.len, strlen(written));
        assert_true(buf.len == 0 || memcmp(buf.data, written, buf.len) == 0);
        assert_int_equal(fleet_options_hash(&o, seen), 0);
        if (hash)
                assert_string_equal(seen, hash);
}

static void a_file_of_options_is_what_fleet_makes_of_it(void **state) {
        check_file("", "", "da39a3ee5e6b4b0d3255bfef95601890afd80709");
        check_file("# a\n[Unit]\n Description = x y \n\n;b\n[Service]\nExecStart=/bin/a \\\n  b\n",
                   "[Unit]\nDescription=x y\n\n[Service]\nExecStart=/bin/a \\\n  b\n", NULL);
        check_file("[A]\nx=1\n[B]\ny=\n[A]\nz=3\n", "[A]\nx=1\nz=3\n\n[B]\ny=\n", NULL);
        check_file("x=1\n[A]\nnonsense\r\n# c \\\nx=2\nx=3\r\n", "[A]\nx=3\n", NULL);
        check_file("[Service]\nExecStart=/usr/bin/sleep infinity\n",
                   "[Service]\nExecStart=/usr/bin/sleep infinity\n",
                   "40ea6646945809f4b420a50475ee68503088f127");
}

RUN_TESTS(cmocka_unit_test(a_token_is_the_one_that_fleet_makes),
          cmocka_unit_test(what_is_no_token_of_ours_is_refused),
          cmocka_unit_test(each_thing_has_its_methods),
          cmocka_unit_test(a_file_of_options_is_what_fleet_makes_of_it))
