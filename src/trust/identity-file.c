// SPDX-License-Identifier: LGPL-2.1-or-later
//
// identity.pem: PEM blocks (RFC 7468) in this order, text between them ignored
//
//   PRIVATE KEY   of the host
//   CERTIFICATE   of the host
//   CERTIFICATE   of the CA
//
// `openssl x509 -in identity.pem` therefore shows the host's certificate.
#include <errno.h>
#include <fcntl.h>
#include <gnutls/gnutls.h>
#include <string.h>
#include <unistd.h>

#include "fileio.h"
#include "identity-check.h"
#include "str.h"

#define IDENTITY_FILE "identity.pem"
#define BEGIN "-----BEGIN "
#define END "-----END "

enum { IDENTITY_FILE_MAX = 64 * 1024 };

typedef struct Block {
        const char *label;
        size_t part; // offset of a Buf in Identity
} Block;

static const Block blocks[] = {
        {"PRIVATE KEY", offsetof(Identity, key)},
        {"CERTIFICATE", offsetof(Identity, cert)},
        {"CERTIFICATE", offsetof(Identity, ca_cert)},
};

static Buf *block_part(const Block *b, const Identity *i) {
        return (Buf *) ((char *) i + b->part);
}

static int append_block(Buf *out, const char *label, const Buf *der) {
        gnutls_datum_t in = {der->data, (unsigned) der->len}, pem = {};
        int r;

        if (gnutls_pem_base64_encode2(label, &in, &pem) < 0)
                return -ENOMEM;
        r = buf_append(out, pem.data, pem.size);
        explicit_bzero(pem.data, pem.size);
        gnutls_free(pem.data);
        return r;
}

int identity_save(const char *dir, const Identity *i) {
        _cleanup_free_ char *path = str_printf("%s/" IDENTITY_FILE, dir);
        _cleanup_(buf_wipe) Buf text = {};
        int r;

        if (!path)
                return -ENOMEM;
        if (i->key.len == 0 || i->cert.len == 0 || i->ca_cert.len == 0)
                return -EINVAL;
        for (size_t n = 0; n < ELEMENTSOF(blocks); n++) {
                r = append_block(&text, blocks[n].label, block_part(&blocks[n], i));
                if (r < 0)
                        return r;
        }
        return file_replace(AT_FDCWD, path, text.data, text.len, 0600, FILE_SYNC);
}

// Decodes the next block, which must have this label. Returns 1 and moves *text behind it, 0 when no block
// is left.
static int next_block(const char **text, const char *label, Buf *ret) {
        const char *begin = strstr(*text, BEGIN), *end;
        gnutls_datum_t in, der = {};
        int r;

        if (!begin)
                return 0;
        end = strstr(begin, END);
        end = end ? strchr(end, '\n') : NULL;
        if (!end)
                return -EBADMSG;
        in = (gnutls_datum_t){(unsigned char *) begin, (unsigned) (end - begin)};
        if (!str_has_prefix(begin + strlen(BEGIN), label) || gnutls_pem_base64_decode2(label, &in, &der) < 0)
                return -EBADMSG;
        r = buf_append(ret, der.data, der.size);
        explicit_bzero(der.data, der.size);
        gnutls_free(der.data);
        *text = end;
        return r < 0 ? r : 1;
}

static int parse(const char *text, Identity *ret) {
        size_t n = 0;
        int r = 1;

        for (; n < ELEMENTSOF(blocks) && r > 0; n += r > 0) {
                r = next_block(&text, blocks[n].label, block_part(&blocks[n], ret));
                if (r < 0)
                        return r;
        }
        if (n < ELEMENTSOF(blocks))
                return -EBADMSG;
        return identity_check(ret);
}

static const char *damage(int error) {
        return error == -EKEYREJECTED ? "its keys and certificates do not belong together"
                                      : "it is cut short or damaged";
}

int identity_load(const char *dir, Identity *ret, char **ret_why) {
        _cleanup_free_ char *path = str_printf("%s/" IDENTITY_FILE, dir);
        _cleanup_(identity_done) Identity i = {};
        _cleanup_(buf_wipe) Buf text = {};
        int r;

        *ret_why = NULL;
        if (!path)
                return -ENOMEM;
        r = file_read(AT_FDCWD, path, IDENTITY_FILE_MAX, &text);
        if (r == 0)
                r = buf_append(&text, "", 1);
        if (r == 0)
                r = parse((const char *) text.data, &i);
        if (r == -EKEYREJECTED || r == -EBADMSG || r == -EFBIG) {
                *ret_why = str_printf("%s: %s", path, damage(r));
                return -EBADMSG;
        }
        if (r < 0) {
                if (r != -ENOENT && r != -ENOMEM)
                        *ret_why = str_printf("%s cannot be read: %s", path, strerror(-r));
                return r;
        }
        *ret = i;
        i = (Identity){};
        return 0;
}

int identity_remove(const char *dir) {
        _cleanup_free_ char *path = str_printf("%s/" IDENTITY_FILE, dir);

        if (!path)
                return -ENOMEM;
        if (unlink(path) < 0)
                return errno == ENOENT ? 0 : -errno;
        return dir_sync(AT_FDCWD, dir);
}
