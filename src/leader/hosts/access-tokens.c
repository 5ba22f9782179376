// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Tokens are made and revoked as one record of the log each. Both need the right 'admin', which has all
// others, so no author gives more than it has. The leader sees the hash of a new one and never the secret;
// the id follows from that, so a request that is sent again is known by it.
//
// A token is looked up once, when its request comes in: from there on the author is the token's id, by which
// it is judged again whenever any author is. The time of use is kept here, and goes into the log once a day;
// it is lost with the leader, so what a list says of the last use is true to within a day.

#include "access-tokens.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "author.h"
#include "authorization.h"
#include "clock.h"
#include "message-of.h"
#include "message.h"
#include "pending-requests.h"
#include "response.h"
#include "str.h"
#include "turn.h"
#include "unit-options.h"

#define USE_STEP_US (UINT64_C(24) * 3600 * USEC_PER_SEC) // between two words of the log about one

typedef struct TokenUse {
        uint64_t at_us;
        char id[ACCESS_TOKEN_ID_LEN + 1]; // the map's key
} TokenUse;

// ------------------------------------------------------------------------------------------------ rows

static uint64_t last_use(const Leader *l, const Argosy__AccessTokenRecord *token) {
        const TokenUse *use = map_find_str(&l->token_uses, token->id);

        return use ? MAX_OF(use->at_us, token->used_us) : token->used_us;
}

static int add_row(const Leader *l, Argosy__Response__Tokens *tokens, const Argosy__AccessTokenRecord *token,
                   AccessTime now) {
        Argosy__Response__TokenRow *row = calloc(1, sizeof(*row));
        Argosy__AccessTokenRecord shown = *token;

        if (!row)
                return -ENOMEM;
        argosy__response__token_row__init(row);
        shown.hash = (ProtobufCBinaryData){};
        shown.used_us = MIN_OF(last_use(l, token), now.wall_us); // a clock that was ahead said when
        row->token = message_copy(&shown);
        if (FIELD_APPEND(tokens->rows, tokens->n_rows, row) < 0 || !row->token)
                return -ENOMEM;
        return field_set(&row->state, access_token_state_to_string(access_token_state(token, now)));
}

static Argosy__Response *answer_one(const Leader *l, const Argosy__AccessTokenRecord *token,
                                    AccessTime now) {
        _cleanup_response_ Argosy__Response *r = response_new(ARGOSY__RESPONSE__WHAT_TOKENS);

        return r && add_row(l, r->tokens, token, now) == 0 ? TAKE_PTR(r) : NULL;
}

static int by_name(const void *a, const void *b) {
        const Argosy__Response__TokenRow *x = *(Argosy__Response__TokenRow *const *) a,
                                         *y = *(Argosy__Response__TokenRow *const *) b;
        int r = strcmp(x->token->name, y->token->name);

        return r ? r : strcmp(x->token->id, y->token->id);
}

Argosy__Response *access_tokens_answer_list(Leader *l, const Argosy__Request *request) {
        _cleanup_response_ Argosy__Response *r = response_new(ARGOSY__RESPONSE__WHAT_TOKENS);
        AccessList list = authorization_list(l);

        for (size_t i = 0; r && i < list.n_tokens; i++)
                if (add_row(l, r->tokens, list.tokens[i], list.now) < 0)
                        return NULL;
        if (r && r->tokens->n_rows > 0)
                qsort(r->tokens->rows, r->tokens->n_rows, sizeof *r->tokens->rows, by_name);
        return TAKE_PTR(r);
}

Argosy__Response *access_tokens_answer_check(Leader *l, const Argosy__Author *author,
                                             const Argosy__Request *request) {
        char who[AUTHOR_TEXT_SIZE];
        Argosy__Right right = request->right_check->right;

        if (access_has(authorization_list(l), author, right, NULL))
                return response_new(ARGOSY__RESPONSE__WHAT__NOT_SET);
        return response_error(EACCES, "this needs the right '%s' on all units, which %s does not have",
                              right_to_string(right), author_text(author, who));
}

// ----------------------------------------------------------------------------------------------- making one

// Why there can be no such token, for people; NULL: there can.
static const char *create_error(const Argosy__Request__TokenCreate *m) {
        if (m->hash.len != HASH_SIZE)
                return "the hash of a token has 32 bytes";
        if (!access_token_name_is_valid(m->name))
                return "the name of a token is 1 to 64 characters of plain text, and not 8 hex digits, as "
                       "ids are";
        if (m->right < ARGOSY__RIGHT__RIGHT_VIEW || m->right > ARGOSY__RIGHT__RIGHT_ADMIN)
                return "that is no right";
        if (*m->role && m->right > ARGOSY__RIGHT__RIGHT_OPERATE)
                return "only view and operate can be about a role: who brings content is root on every node";
        if (*m->role && !label_is_valid(m->role))
                return "that is no name of a role";
        if (m->ttl_sec > ACCESS_TOKEN_TTL_MAX_SEC)
                return "a token may be valid for 5 years (1825d) at most";
        return NULL;
}

// What was asked for was made before: by the same request, since nobody else has its hash.
static bool is_same(const Argosy__AccessTokenRecord *token, const Argosy__Request__TokenCreate *m) {
        return token->hash.len == m->hash.len && memcmp(token->hash.data, m->hash.data, m->hash.len) == 0 &&
               streq(token->name, m->name) && token->right == m->right && streq(token->role, m->role);
}

static int put(Leader *l, PendingRequest *t, BatchBuilder *b, Argosy__AccessTokenRecord *record,
               AccessTime now) {
        int r = batch_builder_put_access_token(b, record);

        if (r < 0)
                return r;
        return request_prepare(t, answer_one(l, record, now));
}

int access_tokens_plan_create(Leader *l, PendingRequest *t, BatchBuilder *b) {
        const Argosy__Request__TokenCreate *m = t->request->token_create;
        Argosy__AccessTokenRecord record = ARGOSY__ACCESS_TOKEN_RECORD__INIT;
        const Argosy__AccessTokenRecord *there;
        AccessList list = authorization_list(l);
        const char *error = create_error(m);
        char id[ACCESS_TOKEN_ID_LEN + 1], by[CLUSTER_ACCESS_TOKEN_BY_MAX];
        Hash hash;

        if (error)
                return request_refuse(t, EINVAL, "%s", error);
        if (batch_builder_has_access(b))
                return -EBUSY;
        (void) hash_from_bytes(m->hash.data, m->hash.len, &hash); // it has that length
        access_token_id(&hash, id);
        there = access_token_find(list, id);
        if (there && is_same(there, m))
                return request_settle(t, answer_one(l, there, list.now));
        if (there)
                return request_refuse(
                        t, EEXIST, "there is a token with the id %s already: try again with another secret",
                        id);
        if (access_token_resolve(list, m->name))
                return request_refuse(t, EEXIST,
                                      "there is a token called '%s' already: argosyctl token list", m->name);
        authorization_author_at(l, t->author, by, sizeof(by));
        record.id = id;
        record.name = m->name;
        record.hash = m->hash;
        record.right = m->right;
        record.role = m->role;
        record.created_us = list.now.wall_us;
        record.created_counted_us = list.now.counted_us; // about as the applier will have it
        record.expires_us = list.now.wall_us + (m->ttl_sec ?: ACCESS_TOKEN_TTL_SEC) * USEC_PER_SEC;
        record.created_by = by;
        return put(l, t, b, &record, list.now);
}

// ------------------------------------------------------------------------------------------------ revoking

static int refuse_end(PendingRequest *t, AccessList list, const Argosy__AccessTokenRecord *token,
                      const char *word) {
        if (!token)
                return request_refuse(t, ENOENT,
                                     "no token that can be used is called '%s', or has that id: nothing was "
                                     "changed; argosyctl token list",
                                     word);
        return request_refuse(t, EALREADY, "the token '%s' is %s already: nothing was changed", token->name,
                             access_token_state_to_string(access_token_state(token, list.now)));
}

int access_tokens_plan_revoke(Leader *l, PendingRequest *t, BatchBuilder *b) {
        const Argosy__Request__TokenRevoke *m = t->request->token_revoke;
        AccessList list = authorization_list(l);
        char by[CLUSTER_ACCESS_TOKEN_BY_MAX];

        if (batch_builder_has_access(b))
                return -EBUSY;
        for (size_t i = 0; i < m->n_tokens; i++) {
                const Argosy__AccessTokenRecord *token = access_token_resolve(list, m->tokens[i]);

                if (!token || access_token_state(token, list.now) != ACCESS_TOKEN_ACTIVE)
                        return refuse_end(t, list, token, m->tokens[i]);
        }
        if (m->n_tokens == 0 || m->n_tokens > CLUSTER_ACCESS_TOKENS_MAX)
                return request_refuse(t, EINVAL, "this names %zu tokens", m->n_tokens);
        authorization_author_at(l, t->author, by, sizeof(by));
        for (size_t i = 0; i < m->n_tokens; i++) {
                int r = batch_builder_end_access_token(b, access_token_resolve(list, m->tokens[i])->id,
                                                       list.now.wall_us, by);

                if (r < 0)
                        return r;
        }
        return request_prepare(t, response_new(ARGOSY__RESPONSE__WHAT__NOT_SET));
}

// ------------------------------------------------------------------------------------------------ uses

static TokenUse *use_of(Leader *l, const char *id) {
        TokenUse *use = map_find_str(&l->token_uses, id);

        if (use)
                return use;
        if (l->token_uses.count >= CLUSTER_ACCESS_TOKENS_MAX) // of tokens that are gone, among others
                access_tokens_retire(l);
        use = calloc(1, sizeof(*use));
        if (!use)
                return NULL;
        (void) str_copy(use->id, sizeof(use->id), id);
        if (map_add_str(&l->token_uses, use->id, use) == 0)
                return use;
        free(use);
        return NULL;
}

static bool is_due(const Argosy__AccessTokenRecord *token, const TokenUse *use) {
        if (!use || use->at_us <= token->used_us)
                return false;
        return token->used_us == 0 || use->at_us - token->used_us >= USE_STEP_US;
}

static void note_use(Leader *l, const Argosy__AccessTokenRecord *token, uint64_t now_us) {
        TokenUse *use = use_of(l, token->id);

        if (!use) // short of memory: the next one is noted
                return;
        use->at_us = now_us;
        if (is_due(token, use)) {
                l->token_uses_due = true;
                leader_mark(l);
        }
}

const Argosy__Author *access_tokens_asker(Leader *l, const Argosy__Author *author, Asker *ret) {
        const Argosy__AccessTokenRecord *token;
        AccessList list;

        if (author->token_proof.len == 0)
                return author;
        list = authorization_list(l);
        ret->author = access_token_author(list, author, ret->user);
        token = access_token_of(list, &ret->author);
        if (l->leading && token && access_token_state(token, list.now) == ACCESS_TOKEN_ACTIVE)
                note_use(l, token, list.now.wall_us);
        return &ret->author;
}

int access_tokens_decide(Leader *l, BatchBuilder *b) {
        AccessList list = cluster_state_access(l->state);
        Argosy__LogOp__AccessTokenUses all = ARGOSY__LOG_OP__ACCESS_TOKEN_USES__INIT;
        _cleanup_free_ Argosy__LogOp__AccessTokenUse *uses = NULL;
        _cleanup_free_ Argosy__LogOp__AccessTokenUse **pointers = NULL;

        if (!l->token_uses_due)
                return 0;
        uses = calloc(list.n_tokens + 1, sizeof(*uses));
        pointers = calloc(list.n_tokens + 1, sizeof(*pointers));
        if (!uses || !pointers)
                return -ENOMEM;
        l->token_uses_due = false; // if the entry is lost, the next use says so again
        for (size_t i = 0; i < list.n_tokens; i++) {
                const TokenUse *use = map_find_str(&l->token_uses, list.tokens[i]->id);

                if (!is_due(list.tokens[i], use))
                        continue;
                pointers[all.n_uses] = &uses[all.n_uses];
                uses[all.n_uses] = (Argosy__LogOp__AccessTokenUse) MESSAGE_OF(log_op__access_token_use,
                                                                              .id = list.tokens[i]->id);
                uses[all.n_uses++].at_us = use->at_us;
        }
        all.uses = pointers;
        return all.n_uses > 0 ? batch_builder_note_access_token_uses(b, &all) : 0;
}

uint64_t access_tokens_next_expiry(const Leader *l) {
        AccessList list = authorization_list(l);
        uint64_t left_us = UINT64_MAX;

        for (size_t i = 0; i < list.n_tokens; i++)
                if (access_token_state(list.tokens[i], list.now) == ACCESS_TOKEN_ACTIVE)
                        left_us = MIN_OF(left_us, access_token_left_us(list.tokens[i], list.now));
        return left_us == UINT64_MAX ? 0 : leader_now(l) + left_us;
}

void access_tokens_retire(Leader *l) {
        map_done_with(&l->token_uses, free);
        l->token_uses_due = false;
}
