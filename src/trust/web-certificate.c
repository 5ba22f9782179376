// SPDX-License-Identifier: LGPL-2.1-or-later
//
// web_certificate_own(): http.pem has a key, else a new one -> its certificate does, else a new one for the
// names of now and of before -> written -> used.
//
// What others think of the certificate (who signed it, until when it is good) is theirs to judge: it is
// shown as it is. Only that key and certificate belong together is looked at, since no handshake could
// succeed otherwise.

#include "web-certificate.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "clock.h"
#include "fileio.h"
#include "str.h"
#include "x509.h"

#define OWN_FILE "http.pem"

enum { NAME_SIZE = 256 };

void web_certificate_done(WebCertificate *c) {
        for (unsigned i = 0; i < c->n; i++)
                gnutls_x509_crt_deinit(c->chain[i]);
        if (c->key)
                gnutls_x509_privkey_deinit(c->key);
        *c = (WebCertificate){};
}

// ---- reading

static int read_chain(const Buf *pem, WebCertificate *c) {
        gnutls_datum_t in = {pem->data, (unsigned) pem->len};
        unsigned n = WEB_CERTIFICATE_CHAIN_MAX;
        int r = gnutls_x509_crt_list_import(c->chain, &n, &in, GNUTLS_X509_FMT_PEM,
                                            GNUTLS_X509_CRT_LIST_IMPORT_FAIL_IF_EXCEED);

        if (r < 0)
                return x509_errno(r, -EBADMSG);
        c->n = n;
        return n > 0 ? 0 : -EBADMSG;
}

static int read_key(const Buf *pem, WebCertificate *c) {
        gnutls_datum_t in = {pem->data, (unsigned) pem->len};
        int r;

        if (gnutls_x509_privkey_init(&c->key) < 0)
                return -ENOMEM;
        r = gnutls_x509_privkey_import2(c->key, &in, GNUTLS_X509_FMT_PEM, NULL, GNUTLS_PKCS_PLAIN);
        return r < 0 ? x509_errno(r, -EBADMSG) : 0;
}

static bool belong_together(const WebCertificate *c) {
        Hash of_certificate, of_key;

        return x509_cert_pin(c->chain[0], &of_certificate) == 0 && x509_key_pin(c->key, &of_key) == 0 &&
               hash_equal(&of_certificate, &of_key);
}

static int read_file(const char *path, Buf *ret, char **ret_why) {
        int r = file_read(AT_FDCWD, path, WEB_CERTIFICATE_FILE_MAX, ret);

        if (r < 0)
                *ret_why = str_printf("%s cannot be read: %s", path, strerror(-r));
        return r;
}

int web_certificate_load(const char *certificate, const char *key, WebCertificate *ret, char **ret_why) {
        _cleanup_(web_certificate_done) WebCertificate c = {};
        _cleanup_buf_ Buf chain = {};
        _cleanup_(buf_wipe) Buf secret = {};
        int r;

        *ret_why = NULL;
        r = read_file(certificate, &chain, ret_why);
        if (r == 0)
                r = read_file(key, &secret, ret_why);
        if (r < 0)
                return r;
        r = read_chain(&chain, &c);
        if (r < 0) {
                *ret_why = str_printf("%s has no certificates in PEM, or too many", certificate);
                return r;
        }
        r = read_key(&secret, &c);
        if (r < 0) {
                *ret_why =
                        str_printf("%s has no private key in PEM that can be read without a password", key);
                return r;
        }
        if (!belong_together(&c)) {
                *ret_why = str_printf("the key in %s is not that of the first certificate in %s", key,
                                      certificate);
                return -EBADMSG;
        }
        *ret = c;
        c = (WebCertificate){};
        return 0;
}

// ---- our own

// False: there is none at that place, or it is no name that we write.
static bool name_at(gnutls_x509_crt_t cert, unsigned i, char ret[NAME_SIZE]) {
        char name[NAME_SIZE];
        size_t size = sizeof(name) - 1;
        int type = gnutls_x509_crt_get_subject_alt_name(cert, i, name, &size, NULL);

        if (type == GNUTLS_SAN_IPADDRESS)
                return inet_ntop(size == sizeof(struct in_addr) ? AF_INET : AF_INET6, name, ret, NAME_SIZE);
        if (type != GNUTLS_SAN_DNSNAME)
                return false;
        name[size] = 0;
        return str_copy(ret, NAME_SIZE, name);
}

static bool has_name(gnutls_x509_crt_t cert, const char *wanted) {
        char name[NAME_SIZE];

        for (unsigned i = 0; name_at(cert, i, name); i++)
                if (streq(name, wanted))
                        return true;
        return false;
}

// Whether our own would do for these names at that time.
static bool does(const WebCertificate *c, const char *const *names, size_t n, uint64_t wall_us) {
        const time_t now = (time_t) (wall_us / USEC_PER_SEC),
                     renew = (time_t) WEB_CERTIFICATE_RENEW_DAYS * 24 * 3600;

        if (c->n != 1 || !belong_together(c) || gnutls_x509_crt_get_activation_time(c->chain[0]) > now ||
            gnutls_x509_crt_get_expiration_time(c->chain[0]) < now + renew)
                return false;
        for (size_t i = 0; i < n; i++)
                if (!has_name(c->chain[0], names[i]))
                        return false;
        return true;
}

// As much as there is of it: a certificate that cannot be read is none.
static int read_own(const char *path, WebCertificate *c) {
        _cleanup_(buf_wipe) Buf text = {};
        int r = file_read(AT_FDCWD, path, WEB_CERTIFICATE_FILE_MAX, &text);

        if (r == 0)
                r = read_key(&text, c);
        if (r == 0 && read_chain(&text, c) == -ENOMEM)
                r = -ENOMEM;
        return r;
}

static int new_key(WebCertificate *c) {
        _cleanup_(buf_wipe) Buf secret = {};
        int r = x509_key_new(&secret);

        web_certificate_done(c);
        return r == 0 ? x509_key_read(secret.data, secret.len, &c->key) : r;
}

// The names of now, and behind them those of before.
static size_t all_names(const WebCertificate *c, const char *const *names, size_t n,
                        char before[][NAME_SIZE], const char **ret) {
        size_t m = MIN_OF(n, (size_t) WEB_CERTIFICATE_NAMES_MAX), n_before = 0;
        char name[NAME_SIZE];

        for (size_t i = 0; i < m; i++)
                ret[i] = names[i];
        for (unsigned i = 0; c->n > 0 && m < WEB_CERTIFICATE_NAMES_MAX && name_at(c->chain[0], i, name);
             i++) {
                bool known = false;

                for (size_t k = 0; k < m; k++)
                        known = known || streq(ret[k], name);
                if (known)
                        continue;
                memcpy(before[n_before], name, NAME_SIZE);
                ret[m++] = before[n_before++];
        }
        return m;
}

static int write_own(const char *path, const WebCertificate *c, const char *const *names, size_t n) {
        _cleanup_buf_ Buf cert = {};
        _cleanup_(buf_wipe) Buf text = {};
        const X509Template template = {.common_name = n > 0 ? names[0] : "argosy",
                                       .days = WEB_CERTIFICATE_DAYS,
                                       .names = names,
                                       .n_names = n};
        int r = x509_cert_own(&template, c->key, &cert);

        if (r == 0)
                r = x509_append_key_pem(&text, c->key);
        if (r == 0)
                r = x509_append_pem(&text, "CERTIFICATE", &cert);
        // lost, it is made anew
        return r == 0 ? file_replace(AT_FDCWD, path, text.data, text.len, 0600, 0) : r;
}

int web_certificate_own(const char *dir, const char *const *names, size_t n, uint64_t wall_us,
                        WebCertificate *ret, WebCertificateMade *ret_made) {
        _cleanup_(web_certificate_done) WebCertificate c = {};
        _cleanup_free_ char *path = str_printf("%s/" OWN_FILE, dir);
        char before[WEB_CERTIFICATE_NAMES_MAX][NAME_SIZE];
        const char *all[WEB_CERTIFICATE_NAMES_MAX];
        int r;

        if (!path)
                return -ENOMEM;
        n = MIN_OF(n, (size_t) WEB_CERTIFICATE_NAMES_MAX);
        *ret_made = WEB_CERTIFICATE_KEPT;
        r = read_own(path, &c);
        if (r == -ENOMEM)
                return r;
        if (r < 0) {
                r = new_key(&c);
                *ret_made = WEB_CERTIFICATE_NEW;
        } else if (!does(&c, names, n, wall_us))
                *ret_made = WEB_CERTIFICATE_RENEWED;
        if (r == 0 && *ret_made != WEB_CERTIFICATE_KEPT) {
                r = write_own(path, &c, all, all_names(&c, names, n, before, all));
                web_certificate_done(&c);
                if (r == 0)
                        r = read_own(path, &c);
        }
        if (r < 0)
                return r;
        *ret = c;
        c = (WebCertificate){};
        return 0;
}

// ---- for people and programs that compare

int web_certificate_append_pem(const WebCertificate *c, Buf *out) {
        for (unsigned i = 0; i < c->n; i++) {
                gnutls_datum_t pem = {};
                int r = gnutls_x509_crt_export2(c->chain[i], GNUTLS_X509_FMT_PEM, &pem);

                r = r < 0 ? x509_errno(r, -EBADMSG) : x509_take(&pem, out);
                if (r < 0)
                        return r;
        }
        return 0;
}

static int hash_certificate(gnutls_x509_crt_t cert, Hash *ret) {
        size_t size = HASH_SIZE;

        return gnutls_x509_crt_get_fingerprint(cert, GNUTLS_DIG_SHA256, ret->bytes, &size) < 0 ? -EBADMSG
                                                                                               : 0;
}

static int hash_key(gnutls_x509_crt_t cert, char *ret, size_t size) {
        gnutls_datum_t text = {}, bytes;
        Hash pin;
        int r = x509_cert_pin(cert, &pin);

        if (r < 0)
                return r;
        bytes = (gnutls_datum_t){pin.bytes, HASH_SIZE};
        if (gnutls_base64_encode2(&bytes, &text) < 0)
                return -ENOMEM;
        snprintf(ret, size, "%.*s", (int) text.size, (const char *) text.data);
        gnutls_free(text.data);
        return 0;
}

int web_certificate_summary(const void *pem, size_t len, WebCertificateSummary *ret) {
        _cleanup_(web_certificate_done) WebCertificate c = {};
        const Buf text = {.data = (uint8_t *) pem, .len = len};
        int r = read_chain(&text, &c);

        *ret = (WebCertificateSummary){};
        if (r == 0)
                r = hash_certificate(c.chain[0], &ret->certificate);
        if (r == 0)
                r = hash_key(c.chain[0], ret->key, sizeof(ret->key));
        if (r < 0)
                return r;
        ret->until = gnutls_x509_crt_get_expiration_time(c.chain[0]);
        while (ret->n_names < WEB_CERTIFICATE_NAMES_MAX &&
               name_at(c.chain[0], (unsigned) ret->n_names, ret->names[ret->n_names]))
                ret->n_names++;
        return 0;
}
