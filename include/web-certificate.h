// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Key and certificate with which this host shows itself to browsers and programs over HTTP. They are never those of the mesh: whoever
// trusts them trusts a web page, and not a member of the cluster. The administrator's, from two files of PEM, or our own:
//
//   http.pem   0600, in the state directory: an ECDSA key on P-256, and a certificate that it signs itself, with all names
//
// Our own are made anew when fewer than WEB_CERTIFICATE_RENEW_DAYS are left, when the names are others, and when the file is damaged.

#include <gnutls/abstract.h>
#include <stdbool.h>
#include <stdint.h>

enum {
        WEB_CERTIFICATE_DAYS = 397, // browsers take none for longer
        WEB_CERTIFICATE_RENEW_DAYS = 30,
        WEB_CERTIFICATE_CHAIN_MAX = 8,
        WEB_CERTIFICATE_FILE_MAX = 256 * 1024, // bytes
};

typedef struct WebCertificate {
        gnutls_x509_crt_t chain[WEB_CERTIFICATE_CHAIN_MAX]; // the host's is the first
        unsigned n;
        gnutls_x509_privkey_t key;
} WebCertificate;

// A zero-initialised one is empty and valid.
void web_certificate_done(WebCertificate *c);
// From files of the administrator. -EBADMSG: one cannot be read as what it is, or they do not belong together; or another errno of
// reading; *ret_why (malloc'd, may be NULL) says which. `ret` is empty then.
int web_certificate_load(const char *certificate, const char *key, WebCertificate *ret, char **ret_why);
// Our own in `dir`, for these names and addresses in their order. *ret_made: it is new. 0 or negative errno.
int web_certificate_own(const char *dir, const char *const *names, size_t n, uint64_t wall_us,
                        WebCertificate *ret, bool *ret_made);
// Whether our own would do for these names at that time. Pure.
bool web_certificate_does(const WebCertificate *c, const char *const *names, size_t n, uint64_t wall_us);
