// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// GnuTLS' X.509 objects at our border: DER in and out, its error numbers as errno, and cleanup functions.

#include <gnutls/abstract.h>
#include <gnutls/x509.h>

#include <stdbool.h>

#include "buf.h"
#include "hash.h"

DEFINE_CLEANUP(gnutls_x509_crt_t, gnutls_x509_crt_deinit)
DEFINE_CLEANUP(gnutls_x509_crq_t, gnutls_x509_crq_deinit)
DEFINE_CLEANUP(gnutls_x509_privkey_t, gnutls_x509_privkey_deinit)
DEFINE_CLEANUP(gnutls_pubkey_t, gnutls_pubkey_deinit)

// -ENOMEM where it is that, else `otherwise`.
int x509_errno(int gnutls_error, int otherwise);
// Appends what GnuTLS allocated and frees it, wiped if it is secret.
int x509_take(gnutls_datum_t *datum, Buf *out);

// From DER. -EBADMSG: cannot be read.
int x509_cert_read(const void *der, size_t len, gnutls_x509_crt_t *ret);
int x509_key_read(const void *der, size_t len, gnutls_x509_privkey_t *ret);
// A new ECDSA key on P-256, appended to *out as PKCS#8.
int x509_key_new(Buf *out);
int x509_key_public(gnutls_x509_privkey_t key, gnutls_pubkey_t *ret);

// SHA-256 of the SubjectPublicKeyInfo. `pubkey` is not consumed.
int x509_pubkey_pin(gnutls_pubkey_t pubkey, Hash *ret);
int x509_cert_pin(gnutls_x509_crt_t cert, Hash *ret);
int x509_key_pin(gnutls_x509_privkey_t key, Hash *ret);

// Whether `ca` is a CA and signed `cert`, whatever the dates say.
bool x509_is_signed_by(gnutls_x509_crt_t cert, gnutls_x509_crt_t ca);

// A certificate signed by `ca` (NULL: by itself) with `ca_key`. `subject_key` is not consumed. Appends DER
// to *out.
typedef struct X509Template {
        const char *common_name; // cut to what X.509 allows
        bool is_ca;
        unsigned days;
        const char *const *names; // of a web server, and addresses: subjectAltName
        size_t n_names;
} X509Template;
int x509_cert_sign(const X509Template *template, gnutls_pubkey_t subject_key, gnutls_x509_crt_t ca,
                   gnutls_x509_privkey_t ca_key, Buf *out);
// A certificate that the key signs itself: its DER is appended to *out.
int x509_cert_own(const X509Template *template, gnutls_x509_privkey_t key, Buf *out);
// A block of PEM.
int x509_append_pem(Buf *out, const char *label, const Buf *der);
// Appends a private key as PKCS#8. The owner of *out wipes it.
int x509_append_key_pem(Buf *out, gnutls_x509_privkey_t key);
// A signing request of that key, DER appended to *out.
int x509_request(const char *common_name, gnutls_x509_privkey_t key, Buf *out);
// The key of a request whose self-signature verifies: -EBADMSG, -EKEYREJECTED (not ECDSA on P-256).
int x509_request_key(const void *csr, size_t len, gnutls_pubkey_t *ret);
