// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Join tokens: the hash of the CA, by which a new host knows the cluster that it joins, an id, by which the
// cluster finds the token, and the secret. The text has one length and one form; what differs is told apart
// for people (no token at all, cut short, mistyped), and nothing of it is used.

#include <ctype.h>
#include <errno.h>
#include <stdio.h>

#include "join-token.h"
#include "random.h"
#include "str.h"

#define PREFIX "argosy1."

enum { ID_BYTES = 4, TOKEN_LENGTH = 8 + 64 + 1 + 8 + 1 + 32 };

void join_token_new(const void *ca_cert, size_t len, JoinToken *ret) {
        JoinToken t = {.ca_hash = hash_of(ca_cert, len)};
        uint8_t id[ID_BYTES];

        random_bytes(id, sizeof(id));
        random_bytes(t.secret, sizeof(t.secret));
        hex_encode(id, sizeof(id), t.id);
        *ret = t;
}

char *join_token_format(const JoinToken *t) {
        char hash[HASH_HEX_SIZE], secret[2 * sizeof(t->secret) + 1];

        hash_hex(&t->ca_hash, HASH_SIZE, hash);
        hex_encode(t->secret, sizeof(t->secret), secret);
        return str_printf(PREFIX "%s.%s.%s", hash, t->id, secret);
}

// Cuts `len` digits off the front, and the dot behind them; NULL if it is not that.
static const char *hex_field(const char *s, void *ret, size_t len, char end) {
        char digits[HASH_HEX_SIZE];

        if (strnlen(s, 2 * len) < 2 * len || s[2 * len] != end)
                return NULL;
        memcpy(digits, s, 2 * len);
        digits[2 * len] = 0;
        return hex_decode(digits, ret, len) ? s + 2 * len + (end != 0) : NULL;
}

static bool parse_fields(const char *s, JoinToken *ret) {
        uint8_t id[ID_BYTES];

        s = hex_field(s + strlen(PREFIX), ret->ca_hash.bytes, HASH_SIZE, '.');
        if (s)
                s = hex_field(s, id, sizeof(id), '.');
        if (s)
                s = hex_field(s, ret->secret, sizeof(ret->secret), 0);
        if (!s)
                return false;
        hex_encode(id, sizeof(id), ret->id);
        return true;
}

int join_token_parse(const char *text, JoinToken *ret, const char **ret_why) {
        char trimmed[TOKEN_LENGTH + 1];
        size_t len;

        while (isspace((unsigned char) *text))
                text++;
        for (len = strlen(text); len > 0 && isspace((unsigned char) text[len - 1]); len--)
                ;
        if (len < strlen(PREFIX) || memcmp(text, PREFIX, strlen(PREFIX)) != 0) {
                *ret_why = "not a join token: they begin with " PREFIX;
                return -EINVAL;
        }
        if (len != TOKEN_LENGTH) {
                *ret_why = len < TOKEN_LENGTH ? "the join token is cut short" : "the join token is too long";
                return -EINVAL;
        }
        memcpy(trimmed, text, len);
        trimmed[len] = 0;
        if (!parse_fields(trimmed, ret)) {
                *ret_why = "the join token is mistyped";
                return -EINVAL;
        }
        return 0;
}
