// SPDX-License-Identifier: LGPL-2.1-or-later
//
// See sim-x509.h. Text in, text out; each ends with a hash of itself, which says whether it is whole.
#include "sim-x509.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ca.h"
#include "clock.h"
#include "random.h"
#include "sim-world.h"
#include "str.h"
#include "x509.h"

#define KEY "the key "
// Of functions of GnuTLS: the library's own calls of them are to stay its own.
#define HIDDEN __attribute__((visibility("hidden")))

enum { NAME_MAX_LEN = 64, TEXT_MAX = 1024, KEY_BYTES = 16 };

struct gnutls_x509_privkey_int {
        Hash public;
};

struct gnutls_pubkey_st {
        Hash public;
};

struct gnutls_x509_crt_int {
        Hash public, signer;
        bool is_ca;
        int64_t until;
        char name[NAME_MAX_LEN + 1];
};

void HIDDEN gnutls_x509_privkey_deinit(gnutls_x509_privkey_t key) {
        free(key);
}

void HIDDEN gnutls_pubkey_deinit(gnutls_pubkey_t key) {
        free(key);
}

void HIDDEN gnutls_x509_crt_deinit(gnutls_x509_crt_t cert) {
        free(cert);
}

time_t HIDDEN gnutls_x509_crt_get_expiration_time(gnutls_x509_crt_t cert) {
        return (time_t) cert->until;
}

int x509_errno(int gnutls_error, int otherwise) {
        return gnutls_error >= 0 ? 0 : otherwise;
}

int x509_take(gnutls_datum_t *datum, Buf *out) {
        abort(); // of GnuTLS' own memory there is nothing
}

// ------------------------------------------------------------------------------------------------ text

static int seal(Buf *text, Buf *out) {
        Hash hash = hash_of(text->data, text->len);
        char hex[HASH_HEX_SIZE];
        int r;

        hash_hex(&hash, HASH_SIZE, hex);
        r = buf_append(out, text->data, text->len);
        return r < 0 ? r : buf_append(out, hex, HASH_HEX_SIZE - 1);
}

// What stands before the hash, as a string.
static int unseal(const void *data, size_t len, char ret[TEXT_MAX]) {
        char hex[HASH_HEX_SIZE];
        size_t n = HASH_HEX_SIZE - 1;
        Hash hash;

        if (len < n || len - n >= TEXT_MAX)
                return -EBADMSG;
        hash = hash_of(data, len - n);
        hash_hex(&hash, HASH_SIZE, hex);
        if (memcmp((const char *) data + len - n, hex, n) != 0)
                return -EBADMSG;
        memcpy(ret, data, len - n);
        ret[len - n] = 0;
        return 0;
}

static bool read_hash(const char *hex, Hash *ret) {
        return hex_decode(hex, ret->bytes, HASH_SIZE);
}

// ------------------------------------------------------------------------------------------------ keys

void sim_x509_key(const char *name, Buf *ret) {
        if (buf_printf(ret, KEY "%s", name) < 0)
                abort();
}

int x509_key_new(Buf *out) {
        uint8_t bytes[KEY_BYTES];
        char hex[2 * KEY_BYTES + 1];

        random_bytes(bytes, sizeof(bytes));
        hex_encode(bytes, sizeof(bytes), hex);
        sim_x509_key(hex, out);
        return 0;
}

int x509_key_read(const void *der, size_t len, gnutls_x509_privkey_t *ret) {
        struct gnutls_x509_privkey_int *key;

        if (len < strlen(KEY) || memcmp(der, KEY, strlen(KEY)) != 0)
                return -EBADMSG;
        key = malloc(sizeof(*key));
        if (!key)
                return -ENOMEM;
        key->public = hash_of(der, len);
        *ret = key;
        return 0;
}

static int public_new(const Hash *hash, gnutls_pubkey_t *ret) {
        struct gnutls_pubkey_st *public = malloc(sizeof(*public));

        if (!public)
                return -ENOMEM;
        public->public = *hash;
        *ret = public;
        return 0;
}

int x509_key_public(gnutls_x509_privkey_t key, gnutls_pubkey_t *ret) {
        return public_new(&key->public, ret);
}

int x509_key_pin(gnutls_x509_privkey_t key, Hash *ret) {
        *ret = key->public;
        return 0;
}

int x509_pubkey_pin(gnutls_pubkey_t pubkey, Hash *ret) {
        *ret = pubkey->public;
        return 0;
}

int x509_append_pem(Buf *out, const char *label, const Buf *der) {
        abort(); // of what is shown over HTTP
}

int x509_append_key_pem(Buf *out, gnutls_x509_privkey_t key) {
        abort();
}

// ------------------------------------------------------------------------------------------------ requests

int x509_request(const char *common_name, gnutls_x509_privkey_t key, Buf *out) {
        _cleanup_buf_ Buf text = {};
        char public[HASH_HEX_SIZE];
        int r;

        hash_hex(&key->public, HASH_SIZE, public);
        r = buf_printf(&text, "request %s %.*s\n", public, NAME_MAX_LEN, common_name);
        return r < 0 ? r : seal(&text, out);
}

int x509_request_key(const void *csr, size_t len, gnutls_pubkey_t *ret) {
        char text[TEXT_MAX], public[HASH_HEX_SIZE];
        Hash hash;
        int r = unseal(csr, len, text);

        if (r < 0)
                return r;
        if (sscanf(text, "request %64s", public) != 1 || !read_hash(public, &hash))
                return -EBADMSG;
        return public_new(&hash, ret);
}

// --------------------------------------------------------------------------------------------- certificates

// One that is made before the hosts' clocks run is good as of when they begin.
static uint64_t now_us(void) {
        return MAX_OF(clock_wall_us(), SIM_WALL_US);
}

static int write_cert(const X509Template *template, const Hash *subject, const Hash *signer, Buf *out) {
        _cleanup_buf_ Buf text = {};
        char public[HASH_HEX_SIZE], by[HASH_HEX_SIZE];
        int r;

        hash_hex(subject, HASH_SIZE, public);
        hash_hex(signer, HASH_SIZE, by);
        r = buf_printf(&text, "certificate %s by %s CA %i until %" PRIi64 " of %.*s\n", public, by,
                       template->is_ca,
                       (int64_t) (now_us() / USEC_PER_SEC) + (int64_t) template->days * 24 * 60 * 60,
                       NAME_MAX_LEN, template->common_name);
        return r < 0 ? r : seal(&text, out);
}

int x509_cert_sign(const X509Template *template, gnutls_pubkey_t subject_key, gnutls_x509_crt_t ca,
                   gnutls_x509_privkey_t ca_key, Buf *out) {
        if (ca && !hash_equal(&ca->public, &ca_key->public))
                return -EINVAL;
        return write_cert(template, &subject_key->public, &ca_key->public, out);
}

int x509_cert_own(const X509Template *template, gnutls_x509_privkey_t key, Buf *out) {
        return write_cert(template, &key->public, &key->public, out);
}

int x509_cert_read(const void *der, size_t len, gnutls_x509_crt_t *ret) {
        char text[TEXT_MAX], public[HASH_HEX_SIZE], signer[HASH_HEX_SIZE];
        struct gnutls_x509_crt_int cert = {};
        int is_ca, r = unseal(der, len, text);

        if (r < 0)
                return r;
        if (sscanf(text, "certificate %64s by %64s CA %i until %" SCNi64 " of %64[^\n]", public, signer,
                   &is_ca, &cert.until, cert.name) < 4 ||
            !read_hash(public, &cert.public) || !read_hash(signer, &cert.signer))
                return -EBADMSG;
        cert.is_ca = is_ca;
        *ret = malloc(sizeof(cert));
        if (!*ret)
                return -ENOMEM;
        **ret = cert;
        return 0;
}

int x509_cert_pin(gnutls_x509_crt_t cert, Hash *ret) {
        *ret = cert->public;
        return 0;
}

bool x509_is_signed_by(gnutls_x509_crt_t cert, gnutls_x509_crt_t ca) {
        return ca->is_ca && hash_equal(&cert->signer, &ca->public);
}

void sim_x509_ca(const char *name, Ca *ret) {
        gnutls_x509_privkey_t key = NULL;

        sim_x509_key(name, &ret->key);
        if (x509_key_read(ret->key.data, ret->key.len, &key) < 0 ||
            x509_cert_own(
                    &(X509Template){.common_name = "argosy cluster CA", .is_ca = true, .days = CA_DAYS}, key,
                    &ret->cert) < 0)
                abort();
        free(key);
}
