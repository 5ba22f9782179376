// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Requests about who may do what, about tokens, and about secrets.
#include "asks-private.h"

#include <stdio.h>

#include "access-token.h"

static const char *const groups[] = {"dev", "ops", "argosy"};

// Those with the most rights are given no more often than others.
bool ask_access_change(Draw *d, void *message) {
        Argosy__Request__AccessChange *m = message;

        m->revoke = draw_one_in(d, 3);
        m->right = asks_right(d);
        if (draw_one_in(d, 3))
                m->group = (char *) DRAW_PICK(d, groups);
        else
                m->user = (char *) world_authors[AUTHOR_ALICE + draw_below(d, 3)];
        if (!*m->group && draw_one_in(d, 4))
                m->host = (char *) asks_node(d);
        if (m->right <= ARGOSY__RIGHT__RIGHT_OPERATE && draw_one_in(d, 4))
                m->role = (char *) asks_role(d);
        return true;
}

// A right of one role alone, so that somebody has several of them, which one job needs.
bool ask_right_of_role(Draw *d, void *message) {
        Argosy__Request__AccessChange *m = message;

        m->revoke = draw_one_in(d, 4);
        m->right = draw_below(d, 4) > 0 ? ARGOSY__RIGHT__RIGHT_OPERATE : ARGOSY__RIGHT__RIGHT_VIEW;
        m->role = (char *) asks_role(d);
        if (draw_one_in(d, 4))
                m->group = (char *) DRAW_PICK(d, groups);
        else
                m->user = (char *) world_authors[AUTHOR_ALICE + draw_below(d, 2)];
        if (!*m->group && draw_one_in(d, 3))
                m->host = (char *) asks_node(d);
        return true;
}

// Of a group that only one of the authors is in, among many.
bool ask_right_of_group(Draw *d, void *message) {
        Argosy__Request__AccessChange *m = message;

        m->revoke = draw_one_in(d, 3);
        m->right = asks_right(d);
        m->group = asks_printf("g%u", 1 + draw_below(d, asks.swarm.groups + 1));
        return true;
}

bool ask_right_check(Draw *d, void *message) {
        Argosy__Request__RightCheck *m = message;

        m->right = asks_right(d);
        return true;
}

// ------------------------------------------------------------------------------------------------ tokens

Hash asks_token_proof(unsigned number) {
        char text[32];

        return hash_of(text, (size_t) snprintf(text, sizeof(text), "token %u", number));
}

bool ask_token_create(Draw *d, void *message) {
        static const char *const names[] = {"ci", "bot", "probe"};
        Argosy__Request__TokenCreate *m = message;
        Hash proof = asks_token_proof(++asks.n_tokens), *hash = asks_alloc(sizeof(*hash));

        *hash = access_token_hash(&proof);
        m->name = (char *) DRAW_PICK(d, names);
        m->hash = (ProtobufCBinaryData){HASH_SIZE, hash->bytes};
        m->right = asks_right(d);
        m->ttl_sec = draw_one_in(d, 2) ? draw_log(d, 1, 86400) : 0;
        if (m->right <= ARGOSY__RIGHT__RIGHT_OPERATE && draw_one_in(d, 4))
                m->role = (char *) asks_role(d);
        return true;
}

bool ask_token_of_role(Draw *d, void *message) {
        Argosy__Request__TokenCreate *m = message;

        (void) ask_token_create(d, message);
        m->right = ARGOSY__RIGHT__RIGHT_OPERATE;
        m->role = (char *) asks_role(d);
        m->ttl_sec = draw_one_in(d, 2) ? draw_log(d, 1, 600) : 0;
        return true;
}

static const char *draw_token(Draw *d) {
        static const char *const names[] = {"ci", "bot", "probe", "nobody's"};

        return DRAW_PICK(d, names);
}

bool ask_token_revoke(Draw *d, void *message) {
        Argosy__Request__TokenRevoke *m = message;

        m->tokens = asks_words(d, &m->n_tokens, 2, draw_token);
        return m->n_tokens > 0;
}

// ------------------------------------------------------------------------------------------------ secrets

bool ask_secret_set(Draw *d, void *message) {
        Argosy__Request__SecretSet *m = message;
        size_t len = 1 + (size_t) draw_log(d, 1, 64);
        uint8_t *value = asks_alloc(len);

        for (size_t i = 0; i < len; i++)
                value[i] = (uint8_t) draw_word(d);
        m->name = (char *) asks_secret(d);
        m->value = (ProtobufCBinaryData){len, value};
        return true;
}

bool ask_secret_delete(Draw *d, void *message) {
        Argosy__Request__SecretDelete *m = message;

        m->names = asks_words(d, &m->n_names, 2, asks_secret);
        return m->n_names > 0;
}

bool ask_secret_list(Draw *d, void *message) {
        Argosy__Request__SecretList *m = message;

        m->names = asks_words(d, &m->n_names, 2, asks_secret);
        m->stale = draw_one_in(d, 2);
        return true;
}

bool ask_secret_rotate_key(Draw *d, void *message) {
        Argosy__Request__SecretRotateKey *m = message;

        m->abort = draw_one_in(d, 3);
        return true;
}
