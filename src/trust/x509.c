// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Keys, certificates and signing requests, as gnutls makes and reads them. There is one kind: ECDSA on
// P-256, SHA-256, version 3, with random serials. Everything goes in and out as DER; secrets are wiped in
// gnutls's memory as soon as they were copied.
//
// gnutls's errors become -ENOMEM or what the caller's function is called for: -EBADMSG for what was read,
// -EINVAL for what was to be made, -EIO for lack of randomness. Times are not checked anywhere: a pinned key
// is trusted by its pin.

#include <arpa/inet.h>
#include <errno.h>
#include <gnutls/crypto.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "clock.h"
#include "random.h"
#include "x509.h"

enum {
        COMMON_NAME_MAX = 64, // ub-common-name of RFC 5280
        SERIAL_SIZE = 16,
        BACKDATE_SECONDS =
                24 * 60 * 60, // for clocks of other programs that look at our certificates; we never do
        SECONDS_PER_DAY = 24 * 60 * 60,
};

int x509_errno(int gnutls_error, int otherwise) {
        if (gnutls_error >= 0)
                return 0;
        return gnutls_error == GNUTLS_E_MEMORY_ERROR ? -ENOMEM : otherwise;
}

int x509_take(gnutls_datum_t *datum, Buf *out) {
        int r = buf_append(out, datum->data, datum->size);

        if (datum->data)
                gnutls_memset(datum->data, 0, datum->size);
        gnutls_free(datum->data);
        datum->size = 0;
        return r;
}

int x509_cert_read(const void *der, size_t len, gnutls_x509_crt_t *ret) {
        _cleanup_(gnutls_x509_crt_deinitp) gnutls_x509_crt_t cert = NULL;
        gnutls_datum_t datum = {(unsigned char *) der, (unsigned) len};
        int r;

        r = gnutls_x509_crt_init(&cert);
        if (r < 0)
                return -ENOMEM;
        r = gnutls_x509_crt_import(cert, &datum, GNUTLS_X509_FMT_DER);
        if (r < 0)
                return x509_errno(r, -EBADMSG);
        *ret = TAKE_PTR(cert);
        return 0;
}

int x509_key_read(const void *der, size_t len, gnutls_x509_privkey_t *ret) {
        _cleanup_(gnutls_x509_privkey_deinitp) gnutls_x509_privkey_t key = NULL;
        gnutls_datum_t datum = {(unsigned char *) der, (unsigned) len};
        int r;

        r = gnutls_x509_privkey_init(&key);
        if (r < 0)
                return -ENOMEM;
        r = gnutls_x509_privkey_import_pkcs8(key, &datum, GNUTLS_X509_FMT_DER, NULL, GNUTLS_PKCS_PLAIN);
        if (r < 0)
                return x509_errno(r, -EBADMSG);
        *ret = TAKE_PTR(key);
        return 0;
}

int x509_key_new(Buf *out) {
        _cleanup_(gnutls_x509_privkey_deinitp) gnutls_x509_privkey_t key = NULL;
        gnutls_datum_t der = {};
        int r;

        r = gnutls_x509_privkey_init(&key);
        if (r < 0)
                return -ENOMEM;
        r = gnutls_x509_privkey_generate(key, GNUTLS_PK_ECDSA,
                                         GNUTLS_CURVE_TO_BITS(GNUTLS_ECC_CURVE_SECP256R1), 0);
        if (r < 0)
                return x509_errno(r, -EIO);
        r = gnutls_x509_privkey_export2_pkcs8(key, GNUTLS_X509_FMT_DER, NULL, GNUTLS_PKCS_PLAIN, &der);
        if (r < 0)
                return x509_errno(r, -EIO);
        return x509_take(&der, out);
}

int x509_pubkey_pin(gnutls_pubkey_t pubkey, Hash *ret) {
        gnutls_datum_t der = {};
        int r;

        r = gnutls_pubkey_export2(pubkey, GNUTLS_X509_FMT_DER, &der);
        if (r < 0)
                return x509_errno(r, -EBADMSG);
        *ret = hash_of(der.data, der.size);
        gnutls_free(der.data);
        return 0;
}

int x509_cert_pin(gnutls_x509_crt_t cert, Hash *ret) {
        _cleanup_(gnutls_pubkey_deinitp) gnutls_pubkey_t pubkey = NULL;
        int r;

        r = gnutls_pubkey_init(&pubkey);
        if (r < 0)
                return -ENOMEM;
        r = gnutls_pubkey_import_x509(pubkey, cert, 0);
        if (r < 0)
                return x509_errno(r, -EBADMSG);
        return x509_pubkey_pin(pubkey, ret);
}

int x509_key_public(gnutls_x509_privkey_t key, gnutls_pubkey_t *ret) {
        _cleanup_(gnutls_pubkey_deinitp) gnutls_pubkey_t pubkey = NULL;
        gnutls_privkey_t abstract = NULL;
        int r;

        r = gnutls_pubkey_init(&pubkey);
        if (r < 0)
                return -ENOMEM;
        r = gnutls_privkey_init(&abstract);
        if (r < 0)
                return -ENOMEM;
        r = gnutls_privkey_import_x509(abstract, key, 0); // borrows the key
        if (r >= 0)
                r = gnutls_pubkey_import_privkey(pubkey, abstract, 0, 0);
        gnutls_privkey_deinit(abstract);
        if (r < 0)
                return x509_errno(r, -EBADMSG);
        *ret = TAKE_PTR(pubkey);
        return 0;
}

int x509_key_pin(gnutls_x509_privkey_t key, Hash *ret) {
        _cleanup_(gnutls_pubkey_deinitp) gnutls_pubkey_t pubkey = NULL;
        int r;

        r = x509_key_public(key, &pubkey);
        if (r < 0)
                return r;
        return x509_pubkey_pin(pubkey, ret);
}

bool x509_is_signed_by(gnutls_x509_crt_t cert, gnutls_x509_crt_t ca) {
        const unsigned flags = GNUTLS_VERIFY_DISABLE_TIME_CHECKS | GNUTLS_VERIFY_DISABLE_TRUSTED_TIME_CHECKS;
        unsigned status = 0;

        return gnutls_x509_crt_verify(cert, &ca, 1, flags, &status) >= 0 && status == 0;
}

static int set_serial(gnutls_x509_crt_t cert) {
        uint8_t serial[SERIAL_SIZE];

        random_bytes(serial, sizeof(serial));
        serial[0] = (serial[0] & 0x7f) | 0x40; // positive, and always the same length
        return gnutls_x509_crt_set_serial(cert, serial, sizeof(serial));
}

static int set_validity(gnutls_x509_crt_t cert, unsigned days) {
        time_t now = (time_t) (clock_wall_us() / USEC_PER_SEC);
        int r;

        r = gnutls_x509_crt_set_activation_time(cert, now > BACKDATE_SECONDS ? now - BACKDATE_SECONDS : 0);
        if (r < 0)
                return r;
        return gnutls_x509_crt_set_expiration_time(cert, now + (time_t) days * SECONDS_PER_DAY);
}

static int set_usage(gnutls_x509_crt_t cert, bool is_ca) {
        int r;

        r = gnutls_x509_crt_set_basic_constraints(cert, is_ca, is_ca ? 0 : -1);
        if (r < 0)
                return r;
        if (is_ca)
                return gnutls_x509_crt_set_key_usage(cert, GNUTLS_KEY_KEY_CERT_SIGN | GNUTLS_KEY_CRL_SIGN);
        r = gnutls_x509_crt_set_key_usage(cert, GNUTLS_KEY_DIGITAL_SIGNATURE);
        if (r < 0)
                return r;
        r = gnutls_x509_crt_set_key_purpose_oid(cert, GNUTLS_KP_TLS_WWW_SERVER, 0);
        if (r < 0)
                return r;
        return gnutls_x509_crt_set_key_purpose_oid(cert, GNUTLS_KP_TLS_WWW_CLIENT, 0);
}

static int set_key_ids(gnutls_x509_crt_t cert, gnutls_x509_crt_t ca) {
        uint8_t id[64];
        size_t size = sizeof(id);
        int r;

        r = gnutls_x509_crt_get_key_id(cert, 0, id, &size);
        if (r < 0)
                return r;
        r = gnutls_x509_crt_set_subject_key_id(cert, id, size);
        if (r < 0 || !ca)
                return r;
        size = sizeof(id);
        r = gnutls_x509_crt_get_subject_key_id(ca, id, &size, NULL);
        if (r < 0)
                return r;
        return gnutls_x509_crt_set_authority_key_id(cert, id, size);
}

static size_t common_name_length(const char *name) {
        return strnlen(name, COMMON_NAME_MAX);
}

static int add_name(gnutls_x509_crt_t cert, const char *name) {
        struct in6_addr address;

        if (inet_pton(AF_INET, name, &address) == 1)
                return gnutls_x509_crt_set_subject_alt_name(cert, GNUTLS_SAN_IPADDRESS, &address,
                                                            sizeof(struct in_addr), GNUTLS_FSAN_APPEND);
        if (inet_pton(AF_INET6, name, &address) == 1)
                return gnutls_x509_crt_set_subject_alt_name(cert, GNUTLS_SAN_IPADDRESS, &address,
                                                            sizeof(address), GNUTLS_FSAN_APPEND);
        return gnutls_x509_crt_set_subject_alt_name(cert, GNUTLS_SAN_DNSNAME, name, (unsigned) strlen(name),
                                                    GNUTLS_FSAN_APPEND);
}

static int add_names(gnutls_x509_crt_t cert, const X509Template *template) {
        int r = 0;

        for (size_t i = 0; i < template->n_names && r >= 0; i++)
                r = add_name(cert, template->names[i]);
        return r;
}

static int fill(gnutls_x509_crt_t cert, const X509Template *template, gnutls_pubkey_t subject_key,
                gnutls_x509_crt_t ca) {
        int r;

        r = gnutls_x509_crt_set_version(cert, 3);
        if (r >= 0)
                r = gnutls_x509_crt_set_dn_by_oid(cert, GNUTLS_OID_X520_COMMON_NAME, 0,
                                                  template->common_name,
                                                  (unsigned) common_name_length(template->common_name));
        if (r >= 0)
                r = gnutls_x509_crt_set_pubkey(cert, subject_key);
        if (r >= 0)
                r = set_serial(cert);
        if (r >= 0)
                r = set_validity(cert, template->days);
        if (r >= 0)
                r = set_usage(cert, template->is_ca);
        if (r >= 0)
                r = add_names(cert, template);
        if (r >= 0)
                r = set_key_ids(cert, ca);
        return r;
}

int x509_cert_sign(const X509Template *template, gnutls_pubkey_t subject_key, gnutls_x509_crt_t ca,
                   gnutls_x509_privkey_t ca_key, Buf *out) {
        _cleanup_(gnutls_x509_crt_deinitp) gnutls_x509_crt_t cert = NULL;
        gnutls_datum_t der = {};
        int r;

        r = gnutls_x509_crt_init(&cert);
        if (r < 0)
                return -ENOMEM;
        r = fill(cert, template, subject_key, ca);
        if (r < 0)
                return x509_errno(r, -EINVAL);
        r = gnutls_x509_crt_sign2(cert, ca ?: cert, ca_key, GNUTLS_DIG_SHA256, 0);
        if (r < 0)
                return x509_errno(r, -EINVAL);
        r = gnutls_x509_crt_export2(cert, GNUTLS_X509_FMT_DER, &der);
        if (r < 0)
                return x509_errno(r, -EINVAL);
        return x509_take(&der, out);
}

int x509_append_pem(Buf *out, const char *label, const Buf *der) {
        gnutls_datum_t in = {der->data, (unsigned) der->len}, pem = {};

        if (gnutls_pem_base64_encode2(label, &in, &pem) < 0)
                return -ENOMEM;
        return x509_take(&pem, out);
}

int x509_cert_own(const X509Template *template, gnutls_x509_privkey_t key, Buf *out) {
        _cleanup_(gnutls_pubkey_deinitp) gnutls_pubkey_t public = NULL;
        int r = x509_key_public(key, &public);

        return r == 0 ? x509_cert_sign(template, public, NULL, key, out) : r;
}

int x509_append_key_pem(Buf *out, gnutls_x509_privkey_t key) {
        _cleanup_(buf_wipe) Buf secret = {};
        gnutls_datum_t der = {};
        int r;

        if (gnutls_x509_privkey_export2_pkcs8(key, GNUTLS_X509_FMT_DER, NULL, GNUTLS_PKCS_PLAIN, &der) < 0)
                return -ENOMEM;
        r = x509_take(&der, &secret);
        return r == 0 ? x509_append_pem(out, "PRIVATE KEY", &secret) : r;
}

int x509_request(const char *common_name, gnutls_x509_privkey_t key, Buf *out) {
        _cleanup_(gnutls_x509_crq_deinitp) gnutls_x509_crq_t crq = NULL;
        gnutls_datum_t der = {};
        int r;

        r = gnutls_x509_crq_init(&crq);
        if (r < 0)
                return -ENOMEM;
        r = gnutls_x509_crq_set_version(crq, 1);
        if (r >= 0)
                r = gnutls_x509_crq_set_dn_by_oid(crq, GNUTLS_OID_X520_COMMON_NAME, 0, common_name,
                                                  (unsigned) common_name_length(common_name));
        if (r >= 0)
                r = gnutls_x509_crq_set_key(crq, key);
        if (r >= 0)
                r = gnutls_x509_crq_sign2(crq, key, GNUTLS_DIG_SHA256, 0);
        if (r >= 0)
                r = gnutls_x509_crq_export2(crq, GNUTLS_X509_FMT_DER, &der);
        if (r < 0)
                return x509_errno(r, -EINVAL);
        return x509_take(&der, out);
}

// Only what our own requests use: a stranger does not choose the strength of the cluster's keys.
static bool is_our_kind(gnutls_pubkey_t pubkey) {
        gnutls_ecc_curve_t curve = GNUTLS_ECC_CURVE_INVALID;

        return gnutls_pubkey_get_pk_algorithm(pubkey, NULL) == GNUTLS_PK_ECDSA &&
               gnutls_pubkey_export_ecc_raw2(pubkey, &curve, NULL, NULL, 0) >= 0 &&
               curve == GNUTLS_ECC_CURVE_SECP256R1;
}

int x509_request_key(const void *csr, size_t len, gnutls_pubkey_t *ret) {
        _cleanup_(gnutls_x509_crq_deinitp) gnutls_x509_crq_t crq = NULL;
        _cleanup_(gnutls_pubkey_deinitp) gnutls_pubkey_t pubkey = NULL;
        gnutls_datum_t datum = {(unsigned char *) csr, (unsigned) len};
        int r;

        r = gnutls_x509_crq_init(&crq);
        if (r < 0)
                return -ENOMEM;
        r = gnutls_x509_crq_import(crq, &datum, GNUTLS_X509_FMT_DER);
        if (r >= 0)
                r = gnutls_x509_crq_verify(crq, 0);
        if (r < 0)
                return x509_errno(r, -EBADMSG);
        r = gnutls_pubkey_init(&pubkey);
        if (r < 0)
                return -ENOMEM;
        r = gnutls_pubkey_import_x509_crq(pubkey, crq, 0);
        if (r < 0)
                return x509_errno(r, -EBADMSG);
        if (!is_our_kind(pubkey))
                return -EKEYREJECTED;
        *ret = TAKE_PTR(pubkey);
        return 0;
}
