// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Seals a secret's value with a key (secret-box.h): AES-256-GCM by gnutls, nonce in front, tag behind, label
// authenticated. secret_box_seal() appends SECRET_BOX_EXTRA bytes more than the value -> secret_box_open()
// with the same key and label. Failures: -ENOMEM; -EBADMSG for what is too short, changed, or of another
// label. Copies of the value are wiped.

#include "random.h"
#include "secret-box.h"

#include <endian.h>
#include <errno.h>
#include <gnutls/crypto.h>
#include <string.h>

enum { NONCE_SIZE = 12, TAG_SIZE = 16 };
static_assert(SECRET_BOX_EXTRA == NONCE_SIZE + TAG_SIZE);

static int open_cipher(const uint8_t *key, gnutls_aead_cipher_hd_t *ret) {
        gnutls_datum_t datum = {(unsigned char *) key, SECRET_KEY_SIZE};

        return gnutls_aead_cipher_init(ret, GNUTLS_CIPHER_AES_256_GCM, &datum) < 0 ? -ENOMEM : 0;
}

static int append_label(const SecretLabel *label, Buf *ret) {
        static const char words[] = "argosy secret";
        uint32_t key = htobe32(label->key);
        uint64_t version = htobe64(label->version);

        if (buf_append(ret, words, sizeof(words)) < 0 || buf_append(ret, &key, sizeof(key)) < 0 ||
            buf_append(ret, &version, sizeof(version)) < 0)
                return -ENOMEM;
        return buf_append(ret, label->name, strlen(label->name));
}

static int seal(gnutls_aead_cipher_hd_t cipher, const Buf *beside, const void *value, size_t len,
                uint8_t *out) {
        size_t written = len + TAG_SIZE;

        random_bytes(out, NONCE_SIZE);
        if (gnutls_aead_cipher_encrypt(cipher, out, NONCE_SIZE, beside->data, beside->len, TAG_SIZE, value,
                                       len, out + NONCE_SIZE, &written) < 0)
                return -ENOMEM;
        return 0;
}

int secret_box_seal(const uint8_t key[static SECRET_KEY_SIZE], const SecretLabel *label, const void *value,
                    size_t len, Buf *ret) {
        _cleanup_buf_ Buf beside = {};
        gnutls_aead_cipher_hd_t cipher;
        uint8_t *out;
        int r = append_label(label, &beside);

        if (r < 0)
                return r;
        out = buf_reserve(ret, len + SECRET_BOX_EXTRA);
        r = out ? open_cipher(key, &cipher) : -ENOMEM;
        if (r < 0)
                return r;
        r = seal(cipher, &beside, value, len, out);
        gnutls_aead_cipher_deinit(cipher);
        if (r == 0)
                ret->len += len + SECRET_BOX_EXTRA;
        return r;
}

int secret_box_open(const uint8_t key[static SECRET_KEY_SIZE], const SecretLabel *label, const void *sealed,
                    size_t len, SecretBytes *ret) {
        _cleanup_buf_ Buf beside = {};
        _cleanup_(secret_bytes_done) SecretBytes value = {};
        gnutls_aead_cipher_hd_t cipher;
        const uint8_t *in = sealed;
        size_t written;
        int r;

        if (len <= SECRET_BOX_EXTRA)
                return -EBADMSG;
        r = append_label(label, &beside);
        if (r == 0)
                r = secret_bytes_new(len - SECRET_BOX_EXTRA, &value);
        if (r == 0)
                r = open_cipher(key, &cipher);
        if (r < 0)
                return r;
        written = value.len;
        r = gnutls_aead_cipher_decrypt(cipher, in, NONCE_SIZE, beside.data, beside.len, TAG_SIZE,
                                       in + NONCE_SIZE, len - NONCE_SIZE, value.data, &written);
        gnutls_aead_cipher_deinit(cipher);
        if (r < 0 || written != value.len)
                return -EBADMSG;
        *ret = value;
        value = (SecretBytes){};
        return 0;
}
