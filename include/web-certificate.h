// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Key and certificate with which this host shows itself to browsers and programs over HTTP. They are never
// those of the mesh: a client that trusts them trusts a web page, and not a member of the cluster. The
// administrator's, from two files of PEM, or our own:
//
//   http.pem   0600, in the state directory: an ECDSA key on P-256, and a certificate that it signs itself,
//              with all names
//
// Our own key stays, so that clients may pin it; it is made anew only when it cannot be read. The
// certificate is made anew when fewer than WEB_CERTIFICATE_RENEW_DAYS are left, when it lacks a name, and
// when it cannot be read. Names that are not ours at the moment stay in it, as far as there is room: a boot
// before the network must not take the address out that is back a moment later.

#include <gnutls/abstract.h>
#include <stdbool.h>
#include <stdint.h>

#include "buf.h"
#include "hash.h"

enum {
        WEB_CERTIFICATE_DAYS = 397, // browsers take none for longer
        WEB_CERTIFICATE_RENEW_DAYS = 30,
        WEB_CERTIFICATE_CHAIN_MAX = 8,
        WEB_CERTIFICATE_NAMES_MAX = 64, // of our own; those of now come first
        WEB_CERTIFICATE_FILE_MAX = 256 * 1024, // bytes
};

typedef struct WebCertificate {
        gnutls_x509_crt_t chain[WEB_CERTIFICATE_CHAIN_MAX]; // the host's is the first
        unsigned n;
        gnutls_x509_privkey_t key;
} WebCertificate;

// A zero-initialised one is empty and valid.
void web_certificate_done(WebCertificate *c);
// From files of the administrator. -EBADMSG: one cannot be read as what it is, or they do not belong
// together; or another errno of reading; *ret_why (malloc'd, may be NULL) says which. `ret` is empty then.
int web_certificate_load(const char *certificate, const char *key, WebCertificate *ret, char **ret_why);
typedef enum WebCertificateMade {
        WEB_CERTIFICATE_KEPT,
        WEB_CERTIFICATE_RENEWED,
        WEB_CERTIFICATE_NEW
} WebCertificateMade; // with a new key

// Our own in `dir`, for these names and addresses, of which WEB_CERTIFICATE_NAMES_MAX count. *ret_made: what
// was done for it. 0 or negative errno.
int web_certificate_own(const char *dir, const char *const *names, size_t n, uint64_t wall_us,
                        WebCertificate *ret, WebCertificateMade *ret_made);
// A chain as it is shown, in PEM, appended to *out. 0, -EBADMSG or -ENOMEM.
int web_certificate_append_pem(const WebCertificate *c, Buf *out);

// What clients compare: SHA-256 of the certificate, and of its public key (SubjectPublicKeyInfo); until when
// it is good, and its names.
typedef struct WebCertificateSummary {
        Hash certificate;
        char key[48]; // in base64, as curl --pinnedpubkey has it behind "sha256//"
        int64_t until; // seconds since 1970
        char names[WEB_CERTIFICATE_NAMES_MAX][256];
        size_t n_names;
} WebCertificateSummary;

// Summarises the first certificate in this PEM. -EBADMSG: there is none.
int web_certificate_summary(const void *pem, size_t len, WebCertificateSummary *ret);
