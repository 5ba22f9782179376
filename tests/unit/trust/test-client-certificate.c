// SPDX-License-Identifier: LGPL-2.1-or-later
#include "test.h"

#include <gnutls/x509.h>
#include <string.h>
#include <time.h>

#include "access-token.h"
#include "client-certificate.h"

enum { DAY_SEC = 24 * 3600 };

static gnutls_x509_crt_t certificate_of(const Buf *pem) {
        gnutls_datum_t in = {pem->data, (unsigned) pem->len};
        gnutls_x509_crt_t cert;

        assert_int_equal(gnutls_x509_crt_init(&cert), 0);
        assert_int_equal(gnutls_x509_crt_import(cert, &in, GNUTLS_X509_FMT_PEM), 0);
        return cert;
}

static void it_is_known_by_what_it_is(void **state) {
        _cleanup_buf_ Buf pem = {};
        _cleanup_(buf_wipe) Buf key = {};
        gnutls_datum_t der = {};
        Hash proof, shown;

        assert_int_equal(client_certificate_new("ci", 30 * DAY_SEC, &pem, &key, &proof), 0);
        gnutls_x509_crt_t cert = certificate_of(&pem);
        assert_int_equal(gnutls_x509_crt_export2(cert, GNUTLS_X509_FMT_DER, &der), 0);
        shown = access_token_certificate_proof(der.data, der.size);
        assert_true(hash_equal(&shown, &proof));
        gnutls_free(der.data);
        gnutls_x509_crt_deinit(cert);
}

static void its_key_belongs_to_it_and_both_are_new_each_time(void **state) {
        _cleanup_buf_ Buf pem = {}, other = {};
        _cleanup_(buf_wipe) Buf key = {}, other_key = {};
        gnutls_certificate_credentials_t both;
        Hash proof, other_proof;

        assert_int_equal(client_certificate_new("ci", DAY_SEC, &pem, &key, &proof), 0);
        assert_int_equal(client_certificate_new("ci", DAY_SEC, &other, &other_key, &other_proof), 0);
        assert_false(hash_equal(&proof, &other_proof));
        assert_int_equal(gnutls_certificate_allocate_credentials(&both), 0);
        for (int i = 0; i < 2; i++) { // it looks whether they belong together
                gnutls_datum_t cert = {pem.data, (unsigned) pem.len},
                               secret = i == 0 ? (gnutls_datum_t){key.data, (unsigned) key.len}
                                               : (gnutls_datum_t){other_key.data, (unsigned) other_key.len};

                assert_int_equal(
                        gnutls_certificate_set_x509_key_mem(both, &cert, &secret, GNUTLS_X509_FMT_PEM) >= 0,
                        i == 0);
        }
        gnutls_certificate_free_credentials(both);
}

static void it_outlives_its_token_by_a_day_at_most(void **state) {
        static const uint32_t ttl_sec[] = {1, DAY_SEC - 1, DAY_SEC, ACCESS_TOKEN_TTL_SEC,
                                           ACCESS_TOKEN_TTL_MAX_SEC};
        time_t now = time(NULL);

        for (size_t i = 0; i < ELEMENTSOF(ttl_sec); i++) {
                _cleanup_buf_ Buf pem = {};
                _cleanup_(buf_wipe) Buf key = {};
                Hash proof;

                assert_int_equal(client_certificate_new("ci", ttl_sec[i], &pem, &key, &proof), 0);
                gnutls_x509_crt_t cert = certificate_of(&pem);
                time_t ends = gnutls_x509_crt_get_expiration_time(cert);
                assert_in_range(ends, now + (time_t) ttl_sec[i], now + (time_t) ttl_sec[i] + DAY_SEC + 60);
                gnutls_x509_crt_deinit(cert);
        }
}

RUN_TESTS(
        cmocka_unit_test(it_is_known_by_what_it_is),
        cmocka_unit_test(its_key_belongs_to_it_and_both_are_new_each_time),
        cmocka_unit_test(it_outlives_its_token_by_a_day_at_most)
)
