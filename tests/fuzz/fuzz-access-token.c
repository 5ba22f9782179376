// SPDX-License-Identifier: LGPL-2.1-or-later

// Whatever is shown as a token: it is none, or has the one form that tokens have, and its proof lets in
// whoever has that one alone. And whatever is to be the name of one: it is none, or can be shown, and is no
// id.

#include <stdlib.h>
#include <string.h>

#include "access-token.h"
#include "author.h"
#include "macro.h"
#include "str.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_shown(const char *text) {
        char id[ACCESS_TOKEN_ID_LEN + 1], user[ACCESS_TOKEN_NAME_MAX + 16];
        Argosy__AccessTokenRecord token = ARGOSY__ACCESS_TOKEN_RECORD__INIT, *tokens[] = {&token};
        AccessList list = {.tokens = tokens, .n_tokens = 1};
        Argosy__Author shown, known;
        Hash proof, hash;

        if (!access_token_proof(text, &proof))
                return;
        if (strlen(text) != ACCESS_TOKEN_TEXT_LEN || !str_has_prefix(text, ACCESS_TOKEN_PREFIX))
                abort();
        hash = access_token_hash(&proof);
        access_token_id(&hash, id);
        token.id = id;
        token.name = (char *) "ci";
        token.hash = (ProtobufCBinaryData){HASH_SIZE, hash.bytes};
        token.right = ARGOSY__RIGHT__RIGHT_VIEW;
        token.expires_us = 1;
        shown = author_of_token(&proof);
        known = access_token_author(list, &shown, user);
        if (!access_has(list, &known, ARGOSY__RIGHT__RIGHT_VIEW, NULL))
                abort();
        proof.bytes[(unsigned char) text[ACCESS_TOKEN_TEXT_LEN - 1] % HASH_SIZE] ^= 1;
        if (access_has(list, &shown, ARGOSY__RIGHT__RIGHT_VIEW, NULL))
                abort();
}

static void check_name(const char *name) {
        AccessList none = {};

        if (access_token_resolve(none, name))
                abort();
        if (access_token_name_is_valid(name) &&
            (!*name || strlen(name) > ACCESS_TOKEN_NAME_MAX || !author_name_is_valid(name)))
                abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        _cleanup_free_ char *text = strndup((const char *) data, size);

        if (text) {
                check_shown(text);
                check_name(text);
        }
        return 0;
}
