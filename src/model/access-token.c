// SPDX-License-Identifier: LGPL-2.1-or-later
//
// See access-token.h. The list is in the order of its ids, so the record of somebody who asks is found by
// comparing a few; the hash of a proof is looked for once, when a request comes in. Hashes are of what
// nobody can choose, so that comparing them takes longer or shorter tells nobody anything.
//
// A token that is over is still found, so that who shows it is told what became of it.

#include "access-token.h"

#include <errno.h>
#include <string.h>

#include "author.h"
#include "macro.h"
#include "request-key.h"
#include "sorted.h"
#include "str.h"
#include "utc-time.h"

static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

// ------------------------------------------------------------------------------------------------ texts

void access_token_secret_text(const uint8_t secret[ACCESS_TOKEN_SECRET_SIZE],
                              char ret[ACCESS_TOKEN_SECRET_LEN + 1]) {
        unsigned bits = 0, n_bits = 0;
        size_t at = 0;

        for (size_t i = 0; i < ACCESS_TOKEN_SECRET_SIZE; i++) {
                bits = bits << 8 | secret[i];
                for (n_bits += 8; n_bits >= 6; n_bits -= 6)
                        ret[at++] = alphabet[bits >> (n_bits - 6) & 63];
        }
        ret[at++] = alphabet[bits << (6 - n_bits) & 63];
        ret[at] = 0;
}

bool access_token_is_secret(const char *text, size_t len) {
        if (len != ACCESS_TOKEN_SECRET_LEN)
                return false;
        for (size_t i = 0; i < len; i++)
                if (!text[i] || !strchr(alphabet, text[i]))
                        return false;
        return true;
}

void access_token_text(const uint8_t secret[ACCESS_TOKEN_SECRET_SIZE], char ret[ACCESS_TOKEN_TEXT_LEN + 1]) {
        size_t prefix = strlen(ACCESS_TOKEN_PREFIX);

        memcpy(ret, ACCESS_TOKEN_PREFIX, prefix);
        access_token_secret_text(secret, ret + prefix);
}

bool access_token_proof(const char *text, Hash *ret) {
        size_t prefix = strlen(ACCESS_TOKEN_PREFIX);

        if (strnlen(text, ACCESS_TOKEN_TEXT_LEN + 1) != ACCESS_TOKEN_TEXT_LEN ||
            !str_has_prefix(text, ACCESS_TOKEN_PREFIX) ||
            !access_token_is_secret(text + prefix, ACCESS_TOKEN_TEXT_LEN - prefix))
                return false;
        *ret = hash_of(text, ACCESS_TOKEN_TEXT_LEN);
        return true;
}

Hash access_token_certificate_proof(const void *der, size_t len) {
        return hash_of(der, len);
}

Hash access_token_hash(const Hash *proof) {
        return hash_of(proof->bytes, HASH_SIZE);
}

void access_token_id(const Hash *hash, char ret[ACCESS_TOKEN_ID_LEN + 1]) {
        hash_hex(hash, ACCESS_TOKEN_ID_LEN / 2, ret);
}

static bool looks_like_id(const char *word) {
        return strlen(word) == ACCESS_TOKEN_ID_LEN &&
               strspn(word, "0123456789abcdef") == ACCESS_TOKEN_ID_LEN;
}

bool access_token_name_is_valid(const char *name) {
        return request_key_is_valid(name) && strlen(name) <= ACCESS_TOKEN_NAME_MAX && !looks_like_id(name);
}

// ------------------------------------------------------------------------------------------------ records

static uint64_t expires_counted_us(const Argosy__AccessTokenRecord *token) {
        uint64_t ttl = token->expires_us > token->created_us ? token->expires_us - token->created_us : 0;

        return token->created_counted_us + MIN_OF(ttl, UINT64_MAX - token->created_counted_us);
}

AccessTokenState access_token_state(const Argosy__AccessTokenRecord *token, AccessTime now) {
        if (token->revoked_us > 0)
                return ACCESS_TOKEN_REVOKED;
        if (token->expires_us <= now.wall_us || expires_counted_us(token) <= now.counted_us)
                return ACCESS_TOKEN_EXPIRED;
        return ACCESS_TOKEN_ACTIVE;
}

const char *access_token_state_to_string(AccessTokenState state) {
        static const char *const words[] = {
                [ACCESS_TOKEN_ACTIVE] = "active",
                [ACCESS_TOKEN_EXPIRED] = "expired",
                [ACCESS_TOKEN_REVOKED] = "revoked",
        };

        return words[state];
}

uint64_t access_token_left_us(const Argosy__AccessTokenRecord *token, AccessTime now) {
        return MIN_OF(token->expires_us - now.wall_us, expires_counted_us(token) - now.counted_us);
}

static uint64_t access_token_end_us(const Argosy__AccessTokenRecord *token) {
        return token->revoked_us > 0 ? MIN_OF(token->revoked_us, token->expires_us) : token->expires_us;
}

uint64_t access_token_end_counted_us(const Argosy__AccessTokenRecord *token) {
        uint64_t expires_us = expires_counted_us(token);

        return token->revoked_us > 0 ? MIN_OF(token->revoked_counted_us, expires_us) : expires_us;
}

const Argosy__AccessTokenRecord *access_token_find(AccessList list, const char *id) {
        size_t at = SORTED_COUNT(list.n_tokens, i, strcmp(list.tokens[i]->id, id) < 0);

        return at < list.n_tokens && streq(list.tokens[at]->id, id) ? list.tokens[at] : NULL;
}

const Argosy__AccessTokenRecord *access_token_resolve(AccessList list, const char *word) {
        const Argosy__AccessTokenRecord *by_id = access_token_find(list, word);

        if (by_id)
                return by_id;
        for (size_t i = 0; i < list.n_tokens; i++)
                if (streq(list.tokens[i]->name, word) &&
                    access_token_state(list.tokens[i], list.now) == ACCESS_TOKEN_ACTIVE)
                        return list.tokens[i];
        return NULL;
}

static const Argosy__AccessTokenRecord *find_by_proof(AccessList list, const ProtobufCBinaryData *bytes) {
        Hash proof, hash;

        if (!hash_from_bytes(bytes->data, bytes->len, &proof))
                return NULL;
        hash = access_token_hash(&proof);
        for (size_t i = 0; i < list.n_tokens; i++)
                if (memcmp(list.tokens[i]->hash.data, hash.bytes, HASH_SIZE) == 0)
                        return list.tokens[i];
        return NULL;
}

const Argosy__AccessTokenRecord *access_token_of(AccessList list, const Argosy__Author *author) {
        if (author->token_proof.len > 0)
                return find_by_proof(list, &author->token_proof);
        return *author->token ? access_token_find(list, author->token) : NULL;
}

// -------------------------------------------------------------------------------------------- who shows one

Argosy__Author access_token_author(AccessList list, const Argosy__Author *shown,
                                   char user[ACCESS_TOKEN_NAME_MAX + 16]) {
        const Argosy__AccessTokenRecord *token = access_token_of(list, shown);
        Argosy__Author author = ARGOSY__AUTHOR__INIT;

        author.host = shown->host;
        author.uid = UINT32_MAX;
        author.token = token ? token->id : (char *) ACCESS_TOKEN_UNKNOWN;
        if (token) {
                str_fit(user, ACCESS_TOKEN_NAME_MAX + 16, "%s%s", AUTHOR_TOKEN_PREFIX, token->name);
                author.user = user;
        }
        return author;
}

int access_token_error(AccessList list, const Argosy__Author *author, char why[ACCESS_TOKEN_WHY_SIZE]) {
        const Argosy__AccessTokenRecord *token = access_token_of(list, author);
        char at[UTC_TIME_SIZE];

        if (author->token_proof.len == 0 && !*author->token)
                return 0;
        if (!token) {
                str_fit(why, ACCESS_TOKEN_WHY_SIZE, "this token is not known");
                return EKEYREJECTED;
        }
        utc_time_format(access_token_end_us(token), at);
        switch (access_token_state(token, list.now)) {
        case ACCESS_TOKEN_REVOKED:
                str_fit(why, ACCESS_TOKEN_WHY_SIZE, "this token was revoked at %s", at);
                return EKEYREVOKED;
        case ACCESS_TOKEN_EXPIRED:
                if (token->expires_us <= list.now.wall_us)
                        str_fit(why, ACCESS_TOKEN_WHY_SIZE, "this token has expired at %s", at);
                else // the clocks went back meanwhile
                        str_fit(why, ACCESS_TOKEN_WHY_SIZE,
                                "this token has expired: it was there as long as it was to be");
                return EKEYEXPIRED;
        default:
                return 0;
        }
}
