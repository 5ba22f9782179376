// SPDX-License-Identifier: LGPL-2.1-or-later
//
// web_certificate_own(): http.pem is there and does -> it is used; else a new key and certificate -> written -> used.
//
// What others think of the certificate (who signed it, until when it is good) is theirs to judge: it is shown as it is. Only that key and
// certificate belong together is looked at, since no handshake could succeed otherwise.

#include "web-certificate.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
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

bool web_certificate_does(const WebCertificate *c, const char *const *names, size_t n, uint64_t wall_us) {
        const time_t now = (time_t) (wall_us / USEC_PER_SEC),
                     renew = (time_t) WEB_CERTIFICATE_RENEW_DAYS * 24 * 3600;
        char name[NAME_SIZE];

        if (c->n != 1 || gnutls_x509_crt_get_activation_time(c->chain[0]) > now ||
            gnutls_x509_crt_get_expiration_time(c->chain[0]) < now + renew)
                return false;
        for (size_t i = 0; i < n; i++)
                if (!name_at(c->chain[0], (unsigned) i, name) || !streq(name, names[i]))
                        return false;
        return !name_at(c->chain[0], (unsigned) n, name);
}

static int read_own(const char *path, WebCertificate *c) {
        _cleanup_(buf_wipe) Buf text = {};
        int r = file_read(AT_FDCWD, path, WEB_CERTIFICATE_FILE_MAX, &text);

        if (r == 0)
                r = read_chain(&text, c);
        if (r == 0)
                r = read_key(&text, c);
        return r == 0 && !belong_together(c) ? -EBADMSG : r;
}

static int make_own(const char *const *names, size_t n, Buf *ret) {
        _cleanup_buf_ Buf cert = {};
        const X509Template template = {.common_name = n > 0 ? names[0] : "argosy",
                                       .days = WEB_CERTIFICATE_DAYS,
                                       .names = names,
                                       .n_names = n};
        int r = x509_cert_own(&template, &cert, ret);

        return r == 0 ? x509_append_pem(ret, "CERTIFICATE", &cert) : r;
}

int web_certificate_own(const char *dir, const char *const *names, size_t n, uint64_t wall_us,
                        WebCertificate *ret, bool *ret_made) {
        _cleanup_(web_certificate_done) WebCertificate c = {};
        _cleanup_free_ char *path = str_printf("%s/" OWN_FILE, dir);
        _cleanup_(buf_wipe) Buf text = {};
        int r;

        if (!path)
                return -ENOMEM;
        r = read_own(path, &c);
        if (r == -ENOMEM)
                return r;
        *ret_made = r < 0 || !web_certificate_does(&c, names, n, wall_us);
        if (*ret_made) {
                web_certificate_done(&c);
                r = make_own(names, n, &text);
                if (r == 0)
                        r = file_replace(AT_FDCWD, path, text.data, text.len, 0600,
                                         0); // lost, it is made anew
                if (r == 0)
                        r = read_own(path, &c);
                if (r < 0)
                        return r;
        }
        *ret = c;
        c = (WebCertificate){};
        return 0;
}
