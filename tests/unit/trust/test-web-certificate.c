// SPDX-License-Identifier: LGPL-2.1-or-later
#include "tmpdir.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "clock.h"
#include "fileio.h"
#include "macro.h"
#include "str.h"
#include "web-certificate.h"

static const char *const names[] = {"10.0.7.12", "::1", "argosy.example.org"};
#define DAY_US (UINT64_C(24) * 3600 * USEC_PER_SEC)

static WebCertificateMade own(const char *dir, size_t n, uint64_t wall_us) {
        WebCertificate c = {};
        WebCertificateMade made;

        assert_int_equal(web_certificate_own(dir, names, n, wall_us, &c, &made), 0);
        assert_int_equal(c.n, 1);
        assert_non_null(c.key);
        web_certificate_done(&c);
        return made;
}

static void ours_is_made_once_and_for_all_names(void **state) {
        uint64_t now = clock_wall_us();
        _cleanup_(web_certificate_done) WebCertificate c = {};
        WebCertificateMade made;

        assert_true(own(*state, 3, now));
        assert_int_equal(web_certificate_own(*state, names, 3, now, &c, &made), 0);
        assert_false(made);
        assert_true(gnutls_x509_crt_check_hostname(c.chain[0], "argosy.example.org"));
        assert_true(gnutls_x509_crt_check_hostname(c.chain[0], "10.0.7.12"));
        assert_true(gnutls_x509_crt_check_hostname(c.chain[0], "::1"));
        assert_false(gnutls_x509_crt_check_hostname(c.chain[0], "example.org"));
}

static void summary(const char *dir, const char *const *texts, size_t n, uint64_t wall_us,
                    WebCertificateSummary *ret) {
        _cleanup_buf_ Buf pem = {};
        _cleanup_(web_certificate_done) WebCertificate c = {};
        WebCertificateMade made;

        assert_int_equal(web_certificate_own(dir, texts, n, wall_us, &c, &made), 0);
        assert_int_equal(web_certificate_append_pem(&c, &pem), 0);
        assert_int_equal(web_certificate_summary(pem.data, pem.len, ret), 0);
}

static void ours_is_made_anew_for_more_names_and_before_it_ends(void **state) {
        uint64_t now = clock_wall_us();

        assert_int_equal(own(*state, 2, now), WEB_CERTIFICATE_NEW);
        assert_int_equal(own(*state, 3, now), WEB_CERTIFICATE_RENEWED);
        assert_int_equal(own(*state, 2, now), WEB_CERTIFICATE_KEPT); // one that is not ours at the moment
        assert_int_equal(own(*state, 3, now), WEB_CERTIFICATE_KEPT); // and back
        assert_int_equal(
                own(*state, 2, now + (WEB_CERTIFICATE_DAYS - WEB_CERTIFICATE_RENEW_DAYS - 1) * DAY_US),
                WEB_CERTIFICATE_KEPT);
        assert_int_equal(
                own(*state, 2, now + (WEB_CERTIFICATE_DAYS - WEB_CERTIFICATE_RENEW_DAYS + 1) * DAY_US),
                WEB_CERTIFICATE_RENEWED);
        // it is not good yet by that clock
        assert_int_equal(own(*state, 2, now - 30 * DAY_US), WEB_CERTIFICATE_RENEWED);
}

static void the_key_stays_and_names_only_grow(void **state) {
        const char *const other[] = {"192.0.2.7"};
        uint64_t now = clock_wall_us();
        WebCertificateSummary first, then;

        summary(*state, names, 3, now, &first);
        assert_int_equal(first.n_names, 3);
        summary(*state, other, 1, now, &then);
        assert_string_equal(then.key, first.key);
        assert_false(hash_equal(&then.certificate, &first.certificate));
        assert_int_equal(then.n_names, 4);
        assert_string_equal(then.names[0], "192.0.2.7");
        assert_string_equal(then.names[1], names[0]);
        assert_true(then.until > (int64_t) (now / USEC_PER_SEC));
        assert_int_equal(strlen(then.key), 44);
}

static void what_there_is_no_room_for_are_the_oldest_names(void **state) {
        char texts[WEB_CERTIFICATE_NAMES_MAX + 2][16];
        const char *list[WEB_CERTIFICATE_NAMES_MAX + 2];
        WebCertificateSummary s;

        for (size_t i = 0; i < ELEMENTSOF(texts); i++) {
                snprintf(texts[i], sizeof(texts[i]), "n%zu.example", i);
                list[i] = texts[i];
        }
        summary(*state, list, ELEMENTSOF(list), clock_wall_us(), &s); // more than there may be
        assert_int_equal(s.n_names, WEB_CERTIFICATE_NAMES_MAX);
        summary(*state, names, 1, clock_wall_us(), &s);
        assert_int_equal(s.n_names, WEB_CERTIFICATE_NAMES_MAX);
        assert_string_equal(s.names[0], names[0]);
        assert_string_equal(s.names[1], texts[0]);
        assert_int_equal(own(*state, 1, clock_wall_us()), WEB_CERTIFICATE_KEPT);
}

static void nobody_else_can_read_ours(void **state) {
        _cleanup_free_ char *path = str_printf("%s/http.pem", (char *) *state);
        struct stat st;

        assert_true(own(*state, 1, clock_wall_us()));
        assert_int_equal(stat(path, &st), 0);
        assert_int_equal(st.st_mode & 07777, 0600);
}

static void what_is_damaged_is_made_anew(void **state) {
        _cleanup_free_ char *path = str_printf("%s/http.pem", (char *) *state);

        assert_true(own(*state, 1, clock_wall_us()));
        assert_int_equal(truncate(path, 300), 0);
        assert_true(own(*state, 1, clock_wall_us()));
        assert_false(own(*state, 1, clock_wall_us()));
}

static void load_fails(const char *certificate, const char *key, int error, const char *saying) {
        _cleanup_free_ char *why = NULL;
        WebCertificate c = {};

        assert_int_equal(web_certificate_load(certificate, key, &c, &why), error);
        assert_non_null(strstr(why, saying));
        assert_int_equal(c.n, 0);
        assert_null(c.key);
}

static void that_of_the_administrator_is_two_files(void **state) {
        _cleanup_free_ char *path = str_printf("%s/http.pem", (char *) *state),
                            *other = str_printf("%s/other", (char *) *state), *why = NULL,
                            *old = str_printf("%s/old.pem", (char *) *state);
        WebCertificate c = {};

        assert_true(own(*state, 1, clock_wall_us()));
        assert_int_equal(web_certificate_load(path, path, &c, &why), 0);
        assert_int_equal(c.n, 1);
        web_certificate_done(&c);
        assert_int_equal(file_replace(AT_FDCWD, other, "what?\n", 6, 0600, 0), 0);
        load_fails(other, path, -EBADMSG, "no certificates");
        load_fails(path, other, -EBADMSG, "no private key");
        load_fails("/nowhere", path, -ENOENT, "/nowhere cannot be read");
        load_fails(path, "/nowhere", -ENOENT, "/nowhere cannot be read");
        assert_int_equal(rename(path, old), 0);
        assert_true(own(*state, 1, clock_wall_us()));
        load_fails(path, old, -EBADMSG, "is not that of the first certificate");
}

RUN_TESTS(
        cmocka_unit_test_setup_teardown(ours_is_made_once_and_for_all_names, tmpdir_make,
                                        tmpdir_drop),
        cmocka_unit_test_setup_teardown(ours_is_made_anew_for_more_names_and_before_it_ends,
                                        tmpdir_make, tmpdir_drop),
        cmocka_unit_test_setup_teardown(the_key_stays_and_names_only_grow, tmpdir_make, tmpdir_drop),
        cmocka_unit_test_setup_teardown(what_there_is_no_room_for_are_the_oldest_names, tmpdir_make,
                                        tmpdir_drop),
        cmocka_unit_test_setup_teardown(nobody_else_can_read_ours, tmpdir_make, tmpdir_drop),
        cmocka_unit_test_setup_teardown(what_is_damaged_is_made_anew, tmpdir_make, tmpdir_drop),
        cmocka_unit_test_setup_teardown(that_of_the_administrator_is_two_files, tmpdir_make,
                                        tmpdir_drop)
)
