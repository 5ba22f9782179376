// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A certificate for a client of HTTP: a new key, a certificate that the key signs itself, both appended as
// PEM, and the certificate's proof, by which the cluster recognises the client (access-token.h). Failures:
// x509's errno; what is appended by then is the caller's to throw away. The key's own buffer is wiped.

#include "client-certificate.h"

#include "access-token.h"
#include "x509.h"

enum { DAY_SEC = 24 * 3600 };

int client_certificate_new(const char *name, uint32_t ttl_sec, Buf *ret_certificate, Buf *ret_key,
                           Hash *ret_proof) {
        _cleanup_buf_ Buf der = {};
        const X509Template template = {.common_name = name, .days = ttl_sec / DAY_SEC + 1};
        _cleanup_(gnutls_x509_privkey_deinitp) gnutls_x509_privkey_t key = NULL;
        _cleanup_(buf_wipe) Buf secret = {};
        int r = x509_key_new(&secret);

        if (r == 0)
                r = x509_key_read(secret.data, secret.len, &key);
        if (r == 0)
                r = x509_cert_own(&template, key, &der);
        if (r == 0)
                r = x509_append_key_pem(ret_key, key);
        if (r == 0)
                r = x509_append_pem(ret_certificate, "CERTIFICATE", &der);
        if (r == 0)
                *ret_proof = access_token_certificate_proof(der.data, der.len);
        return r;
}
