// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The cluster's CA: a key and a certificate that the key signs itself; it signs hosts' certificates.
//
//      ca_create() once per cluster
//      ca_sign(): a certificate request -> its key and pin -> a certificate of CERT_DAYS
//
// Failures: without the CA's key -ENOKEY; a request that is malformed, forged or above IDENTITY_CSR_MAX
// bytes -EBADMSG; -ENOMEM. Nothing is appended then.

#include "ca.h"

#include <errno.h>

#include "identity.h"
#include "voter-secrets.h"
#include "x509.h"

void ca_done(Ca *ca) {
        buf_wipe(&ca->key);
        buf_done(&ca->cert);
}

static int sign_itself(Ca *ca) {
        _cleanup_(gnutls_x509_privkey_deinitp) gnutls_x509_privkey_t key = NULL;
        _cleanup_(gnutls_pubkey_deinitp) gnutls_pubkey_t pubkey = NULL;
        int r;

        r = x509_key_read(ca->key.data, ca->key.len, &key);
        if (r == 0)
                r = x509_key_public(key, &pubkey);
        if (r < 0)
                return r;
        return x509_cert_sign(&(X509Template){"argosy cluster CA", true, CA_DAYS}, pubkey, NULL, key,
                              &ca->cert);
}

int ca_create(Ca *ret) {
        _cleanup_(ca_done) Ca ca = {};
        int r;

        r = x509_key_new(&ca.key);
        if (r == 0)
                r = sign_itself(&ca);
        if (r < 0)
                return r;
        *ret = ca;
        ca = (Ca){};
        return 0;
}

static int sign_key(const Ca *ca, gnutls_pubkey_t pubkey, const char *host_name, Buf *ret_cert) {
        _cleanup_(gnutls_x509_privkey_deinitp) gnutls_x509_privkey_t key = NULL;
        _cleanup_(gnutls_x509_crt_deinitp) gnutls_x509_crt_t cert = NULL;
        int r;

        r = x509_cert_read(ca->cert.data, ca->cert.len, &cert);
        if (r == 0)
                r = x509_key_read(ca->key.data, ca->key.len, &key);
        if (r < 0)
                return r;
        return x509_cert_sign(&(X509Template){host_name, false, CERT_DAYS}, pubkey, cert, key, ret_cert);
}

int ca_sign(const Ca *ca, const void *csr, size_t csr_len, const char *host_name, Buf *ret_cert,
            Hash *ret_pin) {
        _cleanup_(gnutls_pubkey_deinitp) gnutls_pubkey_t pubkey = NULL;
        Hash pin;
        int r;

        if (ca->key.len == 0)
                return -ENOKEY;
        if (csr_len > IDENTITY_CSR_MAX)
                return -EBADMSG;
        r = x509_request_key(csr, csr_len, &pubkey);
        if (r == 0)
                r = x509_pubkey_pin(pubkey, &pin);
        if (r == 0)
                r = sign_key(ca, pubkey, host_name, ret_cert);
        if (r == 0 && ret_pin)
                *ret_pin = pin;
        return r;
}

int ca_record_sign(const Argosy__CaRecord *record, const VoterSecrets *secrets, ProtobufCBinaryData csr,
                   const char *host_name, Buf *ret_cert, Hash *ret_pin) {
        const SecretBytes *key =
                record ? voter_secrets_find(secrets, VOTER_SECRET_CA, record->number) : NULL;
        const Ca ca = {
                .cert = record ? (Buf){.data = record->cert.data, .len = record->cert.len} : (Buf){},
                .key = key ? (Buf){.data = key->data, .len = key->len} : (Buf){},
        };

        return ca_sign(&ca, csr.data, csr.len, host_name, ret_cert, ret_pin);
}
