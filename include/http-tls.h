// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// The certificate that is shown over TLS, which may change while there are connections: each handshake takes
// the newest. libmicrohttpd has gnutls ask for it by a function that is given nothing of ours, so there is
// one for the process.

#include <gnutls/abstract.h>
#include <stdbool.h>

#include "web-certificate.h"

// For MHD_OPTION_HTTPS_PRIORITIES.
#define HTTP_TLS_PRIORITIES "NORMAL:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2:%SERVER_PRECEDENCE"

// Whether libmicrohttpd was built with what this needs.
bool http_tls_is_possible(void);
// From now on. Taken over, and *c is empty then.
void http_tls_set_certificate(WebCertificate *c);
// What is shown, in PEM, appended to *out: nothing if there is none. 0 or negative errno.
int http_tls_append_pem(Buf *out);
// For MHD_OPTION_HTTPS_CERT_CALLBACK2.
int http_tls_on_certificate(gnutls_session_t session, const struct gnutls_cert_retr_st *info,
                            gnutls_pcert_st **ret_chain, unsigned *ret_n, gnutls_ocsp_data_st **ret_ocsp,
                            unsigned *ret_n_ocsp, gnutls_privkey_t *ret_key, unsigned *ret_flags);

// Client certificates: a client without one is accepted all the same, and gets an answer that says so. What
// a certificate says is not looked at, only whether its key is the client's. The first is called before the
// handshake; the second at any time after it, and its result is borrowed until the connection ends; NULL:
// the client has shown none, or `session` is NULL.
void http_tls_ask_for_certificate(gnutls_session_t session);
const void *http_tls_certificate_of(gnutls_session_t session, size_t *ret_len);
