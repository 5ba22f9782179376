// SPDX-License-Identifier: LGPL-2.1-or-later
//
//      USER:PASSWORD -> {"auths":{"reg.example:5000":{"auth":"VVNFUjpQQVNTV09SRA=="}}}
//
// Nothing of the value needs an escape, since it is in base64; the name of a registry has none to need, and
// what could have some is refused. The file is for that registry alone: where it leads podman is not shown
// it. Secrets are in pages of their own all the way (secret-bytes.h). Failures: what is not one line with a
// user and a password is refused before any registry is asked.

#include "registry-auth.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#define BEGIN "{\"auths\":{\""
#define MIDDLE "\":{\"auth\":\""
#define END "\"}}}\n"

static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

static char *put(char *at, const void *bytes, size_t len) {
        memcpy(at, bytes, len);
        return at + len;
}

static char *put_base64(char *at, const uint8_t *bytes, size_t len) {
        for (size_t i = 0; i < len; i += 3) {
                uint32_t second = i + 1 < len ? bytes[i + 1] : 0, third = i + 2 < len ? bytes[i + 2] : 0,
                         three = (uint32_t) bytes[i] << 16 | second << 8 | third;

                *at++ = letters[three >> 18];
                *at++ = letters[three >> 12 & 63];
                *at++ = i + 1 < len ? letters[three >> 6 & 63] : '=';
                *at++ = i + 2 < len ? letters[three & 63] : '=';
        }
        return at;
}

static size_t len_of_line(const SecretBytes *value) {
        size_t len = value->len;

        while (len > 0 && (value->data[len - 1] == '\n' || value->data[len - 1] == '\r'))
                len--;
        return len;
}

static bool is_valid(const SecretBytes *value, size_t len) {
        const uint8_t *colon = len > 0 ? memchr(value->data, ':', len) : NULL;

        for (size_t i = 0; i < len; i++)
                if (value->data[i] < ' ')
                        return false;
        return colon && colon > value->data && colon + 1 < value->data + len;
}

int registry_auth_compose(const char *image, const SecretBytes *value, SecretBytes *ret) {
        size_t len = len_of_line(value), host = strcspn(image, "/\"\\");
        char *at;
        int r;

        if (image[host] != '/' || host == 0 || !is_valid(value, len))
                return -EINVAL;
        r = secret_bytes_new(strlen(BEGIN MIDDLE END) + host + (len + 2) / 3 * 4, ret);
        if (r < 0)
                return r;
        at = put((char *) ret->data, BEGIN, strlen(BEGIN));
        at = put(at, image, host);
        at = put(at, MIDDLE, strlen(MIDDLE));
        at = put_base64(at, value->data, len);
        (void) put(at, END, strlen(END));
        return 0;
}
