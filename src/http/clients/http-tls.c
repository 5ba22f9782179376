// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The certificate that listeners of HTTP show, and the client's certificate.
//
//      http_tls_set_certificate() in the loop
//          -> http_tls_on_certificate() in a listener's thread, per handshake: a copy
//
// gnutls frees the copy with the handshake, so the certificate can be replaced at any time, under a lock.
// Failure: without a certificate or memory the handshake fails.

#include "http-tls.h"

#include <microhttpd.h>
#include <pthread.h>
#include <string.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static WebCertificate current;

bool http_tls_is_possible(void) {
        return MHD_is_feature_supported(MHD_FEATURE_SSL) == MHD_YES &&
               MHD_is_feature_supported(MHD_FEATURE_HTTPS_CERT_CALLBACK2) == MHD_YES;
}

void http_tls_set_certificate(WebCertificate *c) {
        WebCertificate before;

        pthread_mutex_lock(&lock);
        before = current;
        current = *c;
        pthread_mutex_unlock(&lock);
        *c = (WebCertificate){};
        web_certificate_done(&before);
}

int http_tls_append_pem(Buf *out) {
        int r;

        pthread_mutex_lock(&lock);
        r = web_certificate_append_pem(&current, out);
        pthread_mutex_unlock(&lock);
        return r;
}

static gnutls_privkey_t copy_key(void) {
        gnutls_privkey_t key;

        if (gnutls_privkey_init(&key) < 0)
                return NULL;
        if (gnutls_privkey_import_x509(key, current.key, GNUTLS_PRIVKEY_IMPORT_COPY) >= 0)
                return key;
        gnutls_privkey_deinit(key);
        return NULL;
}

static gnutls_pcert_st *copy_chain(void) {
        gnutls_pcert_st *chain = gnutls_calloc(current.n, sizeof(*chain));
        unsigned n = 0;

        while (chain && n < current.n && gnutls_pcert_import_x509(&chain[n], current.chain[n], 0) >= 0)
                n++;
        if (!chain || n == current.n)
                return chain;
        while (n > 0)
                gnutls_pcert_deinit(&chain[--n]);
        gnutls_free(chain);
        return NULL;
}

static int copy(gnutls_pcert_st **ret_chain, unsigned *ret_n, gnutls_privkey_t *ret_key) {
        gnutls_privkey_t key = current.n > 0 ? copy_key() : NULL;
        gnutls_pcert_st *chain = key ? copy_chain() : NULL;

        if (!chain) {
                if (key)
                        gnutls_privkey_deinit(key);
                return -1; // the handshake fails
        }
        *ret_chain = chain;
        *ret_n = current.n;
        *ret_key = key;
        return 0;
}

int http_tls_on_certificate(gnutls_session_t session, const struct gnutls_cert_retr_st *info,
                            gnutls_pcert_st **ret_chain, unsigned *ret_n, gnutls_ocsp_data_st **ret_ocsp,
                            unsigned *ret_n_ocsp, gnutls_privkey_t *ret_key, unsigned *ret_flags) {
        int r;

        pthread_mutex_lock(&lock);
        r = copy(ret_chain, ret_n, ret_key);
        pthread_mutex_unlock(&lock);
        *ret_ocsp = NULL;
        *ret_n_ocsp = 0;
        *ret_flags = GNUTLS_CERT_RETR_DEINIT_ALL;
        return r;
}

void http_tls_ask_for_certificate(gnutls_session_t session) {
        gnutls_certificate_server_set_request(session, GNUTLS_CERT_REQUEST);
}

const void *http_tls_certificate_of(gnutls_session_t session, size_t *ret_len) {
        unsigned n = 0;
        const gnutls_datum_t *chain = session ? gnutls_certificate_get_peers(session, &n) : NULL;

        *ret_len = n > 0 ? chain[0].size : 0;
        return n > 0 ? chain[0].data : NULL;
}
