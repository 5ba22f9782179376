// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The key and the certificates of one host. What they contain is X.509's business (x509.c), what is trusted
// is the key alone: names and dates in the certificates are for people who look at them with other tools.
//
// An Identity grows: key (identity_request) -> certificate and CA certificate (identity_install).
// identity_create() does all of it at once. Nothing is taken over from a file or a peer before the check
// that it belongs to what is there, so an Identity that exists is consistent.
#include <errno.h>

#include "ca.h"
#include "identity-check.h"
#include "x509.h"

void identity_done(Identity *i) {
        buf_wipe(&i->key);
        buf_done(&i->cert);
        buf_done(&i->ca_cert);
        *i = (Identity){};
}

int identity_copy(const Identity *i, Identity *ret) {
        _cleanup_(identity_done) Identity copy = {.pin = i->pin};

        if (buf_append(&copy.key, i->key.data, i->key.len) < 0 ||
            buf_append(&copy.cert, i->cert.data, i->cert.len) < 0 ||
            buf_append(&copy.ca_cert, i->ca_cert.data, i->ca_cert.len) < 0)
                return -ENOMEM;
        *ret = copy;
        copy = (Identity){};
        return 0;
}

static int key_pin(const Buf *der, Hash *ret) {
        _cleanup_(gnutls_x509_privkey_deinitp) gnutls_x509_privkey_t key = NULL;
        int r;

        r = x509_key_read(der->data, der->len, &key);
        if (r < 0)
                return r;
        return x509_key_pin(key, ret);
}

int identity_create(const char *host_name, const Ca *ca, Identity *ret) {
        _cleanup_(identity_done) Identity i = {};
        _cleanup_buf_ Buf csr = {};
        int r;

        r = x509_key_new(&i.key);
        if (r == 0)
                r = identity_renew(&i, host_name, &csr);
        if (r == 0)
                r = ca_sign(ca, csr.data, csr.len, host_name, &i.cert, &i.pin);
        if (r == 0)
                r = buf_append(&i.ca_cert, ca->cert.data, ca->cert.len);
        if (r < 0)
                return r;
        *ret = i;
        i = (Identity){};
        return 0;
}

int identity_request(const char *host_name, Identity *ret, Buf *ret_csr) {
        _cleanup_(identity_done) Identity i = {};
        int r;

        r = x509_key_new(&i.key);
        if (r < 0)
                return r;
        r = key_pin(&i.key, &i.pin);
        if (r < 0)
                return r;
        r = identity_renew(&i, host_name, ret_csr);
        if (r < 0)
                return r;
        *ret = i;
        i = (Identity){};
        return 0;
}

int identity_renew(const Identity *i, const char *host_name, Buf *ret_csr) {
        _cleanup_(gnutls_x509_privkey_deinitp) gnutls_x509_privkey_t key = NULL;
        int r;

        r = x509_key_read(i->key.data, i->key.len, &key);
        if (r < 0)
                return r;
        return x509_request(host_name, key, ret_csr);
}

// Whether a certificate is for the key with this pin and signed by that CA.
static int check_cert(const Hash *pin, const void *cert_der, size_t cert_len, const void *ca_der,
                      size_t ca_len) {
        _cleanup_(gnutls_x509_crt_deinitp) gnutls_x509_crt_t cert = NULL, ca = NULL;
        Hash cert_pin;
        int r;

        r = x509_cert_read(cert_der, cert_len, &cert);
        if (r < 0)
                return r;
        r = x509_cert_read(ca_der, ca_len, &ca);
        if (r < 0)
                return r;
        r = x509_cert_pin(cert, &cert_pin);
        if (r < 0)
                return r;
        return hash_equal(&cert_pin, pin) && x509_is_signed_by(cert, ca) ? 0 : -EKEYREJECTED;
}

int identity_check(Identity *i) {
        int r;

        r = key_pin(&i->key, &i->pin);
        if (r < 0)
                return r;
        return check_cert(&i->pin, i->cert.data, i->cert.len, i->ca_cert.data, i->ca_cert.len);
}

static void replace(Buf *where, Buf *with) {
        buf_done(where);
        *where = *with;
        *with = (Buf){};
}

int identity_install(Identity *i, const void *cert, size_t cert_len, const void *ca_cert,
                     size_t ca_cert_len) {
        _cleanup_buf_ Buf new_cert = {}, new_ca = {};
        int r;

        if (!ca_cert) {
                ca_cert = i->ca_cert.data;
                ca_cert_len = i->ca_cert.len;
        }
        r = check_cert(&i->pin, cert, cert_len, ca_cert, ca_cert_len);
        if (r < 0)
                return r;
        r = buf_append(&new_cert, cert, cert_len);
        if (r < 0)
                return r;
        r = buf_append(&new_ca, ca_cert, ca_cert_len);
        if (r < 0)
                return r;
        replace(&i->cert, &new_cert);
        replace(&i->ca_cert, &new_ca);
        return 0;
}

int identity_days_left(const Identity *i, uint64_t wall_us) {
        _cleanup_(gnutls_x509_crt_deinitp) gnutls_x509_crt_t cert = NULL;
        const int64_t seconds_per_day = 24 * 60 * 60;
        int64_t left;

        if (x509_cert_read(i->cert.data, i->cert.len, &cert) < 0)
                return -1;
        left = (int64_t) gnutls_x509_crt_get_expiration_time(cert) - (int64_t) (wall_us / 1000000);
        return (int) (left >= 0 ? left / seconds_per_day
                                : -((-left + seconds_per_day - 1) / seconds_per_day));
}
