// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Signing requests as a stranger may send them. Whatever is signed must be a certificate of this CA for the
// key that the signer was told.
#include <stdio.h>

#include "ca.h"
#include "x509.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        static Ca ca;
        _cleanup_(gnutls_x509_crt_deinitp) gnutls_x509_crt_t cert = NULL, ca_cert = NULL;
        _cleanup_buf_ Buf der = {};
        Hash pin, cert_pin;

        if (ca.key.len == 0 && ca_create(&ca) < 0)
                abort();
        if (ca_sign(&ca, data, size, "host", &der, &pin) < 0) {
                if (der.len > 0)
                        abort();
                return 0;
        }
        if (x509_cert_read(der.data, der.len, &cert) < 0 ||
            x509_cert_read(ca.cert.data, ca.cert.len, &ca_cert) < 0)
                abort();
        if (x509_cert_pin(cert, &cert_pin) < 0 || !hash_equal(&pin, &cert_pin) ||
            !x509_is_signed_by(cert, ca_cert))
                abort();
        return 0;
}
