// SPDX-License-Identifier: LGPL-2.1-or-later
#include "test.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ca.h"
#include "clock.h"
#include "fileio.h"
#include "identity.h"
#include "str.h"
#include "x509.h"

static char dir[] = "/tmp/argosy-test-XXXXXX";
static Ca ca;
static Identity first; // that it signed

static int setup(void **state) {
        return mkdtemp(dir) && ca_create(&ca) == 0 && identity_create("first", &ca, &first) == 0 ? 0 : -1;
}

static int teardown(void **state) {
        identity_done(&first);
        ca_done(&ca);
        assert_int_equal(dir_empty(AT_FDCWD, dir), 0);
        return rmdir(dir);
}

static void assert_same(const Buf *a, const Buf *b) {
        assert_int_equal(a->len, b->len);
        if (a->len > 0)
                assert_memory_equal(a->data, b->data, a->len);
}

static void what_is_saved_is_loaded(void **state) {
        _cleanup_(identity_done) Identity i = {};
        _cleanup_free_ char *why = NULL, *path = str_printf("%s/identity.pem", dir);
        struct stat st;

        assert_int_equal(identity_load(dir, &i, &why), -ENOENT);
        assert_null(why);
        assert_int_equal(identity_save(dir, &first), 0);
        assert_int_equal(stat(path, &st), 0);
        assert_int_equal(st.st_mode & 07777, 0600);
        assert_int_equal(identity_load(dir, &i, &why), 0);
        assert_same(&i.key, &first.key);
        assert_same(&i.cert, &first.cert);
        assert_same(&i.ca_cert, &first.ca_cert);
        assert_memory_equal(&i.pin, &first.pin, sizeof(Hash));
        assert_int_equal(identity_remove(dir), 0);
        assert_int_equal(identity_remove(dir), 0);
}

static void a_joiner_becomes_a_member(void **state) {
        _cleanup_(identity_done) Identity joiner = {}, loaded = {};
        const Ca without_key = {.cert = ca.cert};
        _cleanup_buf_ Buf csr = {}, cert = {};
        _cleanup_free_ char *why = NULL;
        Hash pin;

        assert_int_equal(identity_request("second", &joiner, &csr), 0);
        assert_int_equal(identity_save(dir, &joiner), -EINVAL);
        assert_int_equal(ca_sign(&without_key, csr.data, csr.len, "second", &cert, &pin), -ENOKEY);
        assert_int_equal(ca_sign(&ca, csr.data, csr.len, "second", &cert, &pin), 0);
        assert_memory_equal(&pin, &joiner.pin, sizeof(Hash));
        assert_int_equal(
                identity_install(&joiner, cert.data, cert.len, first.ca_cert.data, first.ca_cert.len), 0);
        assert_int_equal(identity_save(dir, &joiner), 0);
        assert_int_equal(identity_load(dir, &loaded, &why), 0);
        assert_same(&loaded.cert, &cert);
        identity_remove(dir);
}

static void a_renewed_certificate_keeps_the_pin(void **state) {
        _cleanup_(identity_done) Identity i = {};
        _cleanup_buf_ Buf csr = {}, cert = {}, renewal = {}, renewed = {};
        Hash pin;

        assert_int_equal(identity_request("host", &i, &csr), 0);
        assert_int_equal(ca_sign(&ca, csr.data, csr.len, "host", &cert, NULL), 0);
        assert_int_equal(identity_install(&i, cert.data, cert.len, first.ca_cert.data, first.ca_cert.len),
                         0);
        assert_int_equal(identity_renew(&i, "host", &renewal), 0);
        assert_int_equal(ca_sign(&ca, renewal.data, renewal.len, "host", &renewed, &pin), 0);
        assert_memory_equal(&pin, &i.pin, sizeof(Hash));
        assert_int_equal(identity_install(&i, renewed.data, renewed.len, NULL, 0), 0);
        assert_same(&i.cert, &renewed);
        assert_same(&i.ca_cert, &first.ca_cert);
}

static void certificates_of_others_are_not_installed(void **state) {
        _cleanup_(identity_done) Identity i = {}, other_cluster = {};
        _cleanup_(ca_done) Ca other_ca = {};
        _cleanup_buf_ Buf csr = {}, cert = {};

        assert_int_equal(ca_create(&other_ca), 0);
        assert_int_equal(identity_create("elsewhere", &other_ca, &other_cluster), 0);
        assert_int_equal(identity_request("host", &i, &csr), 0);
        assert_int_equal(ca_sign(&ca, csr.data, csr.len, "host", &cert, NULL), 0);
        assert_int_equal(identity_install(&i, cert.data, cert.len, other_cluster.ca_cert.data,
                                          other_cluster.ca_cert.len),
                         -EKEYREJECTED);
        assert_int_equal(
                identity_install(&i, first.cert.data, first.cert.len, first.ca_cert.data, first.ca_cert.len),
                -EKEYREJECTED);
        assert_int_equal(identity_install(&i, "rubbish", 7, first.ca_cert.data, first.ca_cert.len),
                         -EBADMSG);
        assert_int_equal(i.cert.len, 0);
        assert_int_equal(i.ca_cert.len, 0);
}

static void a_copy_is_whole_and_stands_alone(void **state) {
        _cleanup_(identity_done) Identity copy = {};

        assert_int_equal(identity_copy(&first, &copy), 0);
        assert_same(&copy.key, &first.key);
        assert_same(&copy.cert, &first.cert);
        assert_same(&copy.ca_cert, &first.ca_cert);
        assert_memory_equal(&copy.pin, &first.pin, sizeof(Hash));
        assert_ptr_not_equal(copy.key.data, first.key.data);
}

// A CA is somebody who may sign; a member's certificate is not.
static void a_member_cannot_sign_as_a_ca(void **state) {
        _cleanup_(identity_done) Identity victim = {};
        const Ca imposter = {.key = first.key, .cert = first.cert};
        _cleanup_buf_ Buf csr = {}, cert = {};

        assert_int_equal(identity_request("victim", &victim, &csr), 0);
        assert_int_equal(ca_sign(&imposter, csr.data, csr.len, "victim", &cert, NULL), 0);
        assert_int_equal(identity_install(&victim, cert.data, cert.len, first.cert.data, first.cert.len),
                         -EKEYREJECTED);
}

static void forged_requests_are_not_signed(void **state) {
        _cleanup_(identity_done) Identity i = {};
        _cleanup_buf_ Buf csr = {}, cert = {};

        assert_int_equal(identity_request("host", &i, &csr), 0);
        assert_int_equal(ca_sign(&ca, csr.data, csr.len / 2, "host", &cert, NULL), -EBADMSG);
        csr.data[csr.len - 1] ^= 1; // in the signature
        assert_int_equal(ca_sign(&ca, csr.data, csr.len, "host", &cert, NULL), -EBADMSG);
        assert_int_equal(ca_sign(&ca, NULL, 0, "host", &cert, NULL), -EBADMSG);
        assert_int_equal(cert.len, 0);
}

static void keys_of_another_kind_are_not_signed(void **state) {
        _cleanup_(gnutls_x509_privkey_deinitp) gnutls_x509_privkey_t key = NULL;
        _cleanup_buf_ Buf csr = {}, cert = {};

        assert_int_equal(gnutls_x509_privkey_init(&key), 0);
        assert_int_equal(gnutls_x509_privkey_generate(key, GNUTLS_PK_RSA, 1024, 0), 0);
        assert_int_equal(x509_request("weak", key, &csr), 0);
        assert_int_equal(ca_sign(&ca, csr.data, csr.len, "weak", &cert, NULL), -EKEYREJECTED);
}

static void long_and_empty_names_are_no_obstacle(void **state) {
        _cleanup_(identity_done) Identity i = {};
        _cleanup_buf_ Buf csr = {}, cert = {};
        char name[256];

        memset(name, 'x', sizeof(name) - 1);
        name[sizeof(name) - 1] = 0;
        assert_int_equal(identity_request(name, &i, &csr), 0);
        assert_int_equal(ca_sign(&ca, csr.data, csr.len, name, &cert, NULL), 0);
        assert_int_equal(identity_install(&i, cert.data, cert.len, first.ca_cert.data, first.ca_cert.len),
                         0);
}

static void the_pin_is_the_hash_of_the_public_key_info(void **state) {
        _cleanup_(gnutls_x509_crt_deinitp) gnutls_x509_crt_t cert = NULL;
        uint8_t id[HASH_SIZE];
        size_t size = sizeof(id);

        assert_int_equal(x509_cert_read(first.cert.data, first.cert.len, &cert), 0);
        assert_int_equal(gnutls_x509_crt_get_key_id(cert, GNUTLS_KEYID_USE_SHA256, id, &size), 0);
        assert_memory_equal(first.pin.bytes, id, sizeof(id));
}

static void days_left_go_down_to_below_zero(void **state) {
        uint64_t now_us = clock_wall_us(), day_us = 24 * 3600 * USEC_PER_SEC;

        assert_in_range(identity_days_left(&first, now_us), CERT_DAYS - 1, CERT_DAYS);
        assert_in_range(identity_days_left(&first, now_us + 60 * day_us), CERT_DAYS - 61, CERT_DAYS - 60);
        assert_true(identity_days_left(&first, now_us + (CERT_DAYS + 1) * day_us) < 0);
}

// Each of these files is refused with its name, and nothing is half loaded.
static void damaged_files_are_named(void **state) {
        _cleanup_(identity_done) Identity other = {};
        _cleanup_(ca_done) Ca other_ca = {};
        _cleanup_free_ char *path = str_printf("%s/identity.pem", dir);
        _cleanup_buf_ Buf good = {};

        assert_int_equal(identity_save(dir, &first), 0);
        assert_int_equal(file_read(AT_FDCWD, path, 65536, &good), 0);
        for (size_t keep = 0; keep < good.len; keep += keep < good.len - 250 ? 97 : 1) {
                _cleanup_(identity_done) Identity i = {};
                _cleanup_free_ char *why = NULL;

                assert_int_equal(file_replace(AT_FDCWD, path, good.data, keep, 0600, 0), 0);
                int r = identity_load(dir, &i, &why);
                if (r == 0) { // cut behind the last block
                        assert_same(&i.ca_cert, &first.ca_cert);
                        continue;
                }
                assert_int_equal(r, -EBADMSG);
                assert_true(str_has_prefix(why, path));
                assert_int_equal(i.key.len, 0);
        }

        // Whole, but the parts of two clusters.
        assert_int_equal(ca_create(&other_ca), 0);
        assert_int_equal(identity_create("elsewhere", &other_ca, &other), 0);
        assert_int_equal(identity_save(dir, &(Identity){first.key, first.cert, other.ca_cert, first.pin}),
                         0);
        _cleanup_free_ char *why = NULL;
        Identity i = {};
        assert_int_equal(identity_load(dir, &i, &why), -EBADMSG);
        assert_non_null(strstr(why, "do not belong together"));
        identity_remove(dir);
}

static void a_file_that_cannot_be_read_is_named(void **state) {
        _cleanup_free_ char *path = str_printf("%s/identity.pem", dir), *why = NULL;
        Identity i = {};

        assert_int_equal(mkdir(path, 0700), 0);
        assert_int_equal(identity_load(dir, &i, &why), -EISDIR);
        assert_true(str_has_prefix(why, path));
        assert_int_equal(rmdir(path), 0);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(what_is_saved_is_loaded),
                cmocka_unit_test(a_joiner_becomes_a_member),
                cmocka_unit_test(a_renewed_certificate_keeps_the_pin),
                cmocka_unit_test(certificates_of_others_are_not_installed),
                cmocka_unit_test(a_copy_is_whole_and_stands_alone),
                cmocka_unit_test(a_member_cannot_sign_as_a_ca),
                cmocka_unit_test(forged_requests_are_not_signed),
                cmocka_unit_test(keys_of_another_kind_are_not_signed),
                cmocka_unit_test(long_and_empty_names_are_no_obstacle),
                cmocka_unit_test(the_pin_is_the_hash_of_the_public_key_info),
                cmocka_unit_test(days_left_go_down_to_below_zero),
                cmocka_unit_test(damaged_files_are_named),
                cmocka_unit_test(a_file_that_cannot_be_read_is_named),
        };

        return cmocka_run_group_tests(tests, setup, teardown);
}
