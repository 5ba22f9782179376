// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Tokens: one small table in the order of their ids. Records are replaced and never changed, as a snapshot
// may have them.
//
// One that is over, revoked or expired, stays for CLUSTER_ACCESS_TOKEN_DAYS, so that people see what became
// of it and who shows it is told; if there is no room for a new one, those go first that have been over for
// longest. By counted time alone: all voters drop the same ones with the same entry, and no clock that is
// wrong drops any. When the next is due is known, so an entry that drops none looks at none.

#include <errno.h>
#include <string.h>

#include "access-token.h"
#include "author.h"
#include "clock.h"
#include "cluster-state-private.h"
#include "message.h"
#include "unit-options.h"

#define KEPT_US ((uint64_t) CLUSTER_ACCESS_TOKEN_DAYS * 24 * 3600 * USEC_PER_SEC)

// What the table relies on, and nothing that a later version may see otherwise.
bool state_access_token_fits(const Argosy__AccessTokenRecord *t) {
        return strlen(t->id) == ACCESS_TOKEN_ID_LEN && t->hash.len == HASH_SIZE && *t->name &&
               strlen(t->name) <= AUTHOR_NAME_MAX && strlen(t->role) <= LABEL_MAX &&
               strlen(t->created_by) <= CLUSTER_ACCESS_TOKEN_BY_MAX &&
               strlen(t->revoked_by) <= CLUSTER_ACCESS_TOKEN_BY_MAX;
}

static uint64_t due_us(const Argosy__AccessTokenRecord *t) {
        uint64_t end = access_token_end_counted_us(t);

        return end > UINT64_MAX - KEPT_US ? UINT64_MAX : end + KEPT_US;
}

static void find_next_due(ClusterState *s) {
        s->access_tokens_due_us = UINT64_MAX;
        for (size_t i = 0; i < s->n_access_tokens; i++)
                s->access_tokens_due_us = MIN_OF(s->access_tokens_due_us, due_us(s->access_tokens[i]));
}

// The one that has been over for longest. There is one, or the new one was refused (cluster-state-limits.h).
static void make_room(ClusterState *s) {
        size_t oldest = 0;

        for (size_t i = 1; i < s->n_access_tokens; i++)
                if (due_us(s->access_tokens[i]) < due_us(s->access_tokens[oldest]))
                        oldest = i;
        state_drop_named(s, &s->access_tokens, &s->n_access_tokens, oldest);
}

bool state_has_access_token(const ClusterState *s, const char *id) {
        return named_find(s->access_tokens, s->n_access_tokens, id) != NULL;
}

static int insert(ClusterState *s, Argosy__AccessTokenRecord *token) {
        bool found;
        size_t i = named_index(s->access_tokens, s->n_access_tokens, token->id, &found);

        if (state_insert_named(&s->access_tokens, &s->n_access_tokens, i, token) < 0)
                return -ENOMEM;
        s->access_tokens_due_us =
                s->n_access_tokens == 1 ? due_us(token) : MIN_OF(s->access_tokens_due_us, due_us(token));
        return 0;
}

int state_put_access_token(ClusterState *s, const Argosy__AccessTokenRecord *token) {
        Argosy__AccessTokenRecord *copy;
        int r;

        if (s->n_access_tokens >= s->refused.limits[REFUSAL_ACCESS_TOKENS])
                make_room(s);
        copy = message_copy(token);
        if (copy)
                copy->created_counted_us = s->counted_us;
        r = copy ? insert(s, copy) : -ENOMEM;
        if (r < 0)
                message_free(copy);
        else
                s->access_revision = ++s->revision;
        return r;
}

// A copy of `changed` takes the place of the record, whose fields it shares but for some.
static int replace(ClusterState *s, size_t i, const Argosy__AccessTokenRecord *changed) {
        Argosy__AccessTokenRecord *copy = message_copy(changed);

        if (!copy)
                return -ENOMEM;
        state_retire_message(s, s->access_tokens[i]);
        s->access_tokens[i] = copy;
        return 0;
}

int state_end_access_token(ClusterState *s, const Argosy__LogOp__AccessTokenEnd *end) {
        Argosy__AccessTokenRecord changed;
        bool found;
        size_t i = named_index(s->access_tokens, s->n_access_tokens, end->id, &found);
        int r;

        if (!found || s->access_tokens[i]->revoked_us > 0)
                return 0;
        changed = *s->access_tokens[i];
        changed.revoked_us = end->at_us;
        changed.revoked_counted_us = s->counted_us;
        changed.revoked_by = end->by;
        r = replace(s, i, &changed);
        if (r < 0)
                return r;
        find_next_due(s);
        s->access_revision = ++s->revision;
        return 0;
}

// What is noted of a use changes nobody's rights, and is nobody's wish: no revision is given for it.
int state_note_access_token_uses(ClusterState *s, const Argosy__LogOp__AccessTokenUses *uses) {
        for (size_t i = 0; i < uses->n_uses; i++) {
                Argosy__AccessTokenRecord changed;
                bool found;
                size_t k = named_index(s->access_tokens, s->n_access_tokens, uses->uses[i]->id, &found);

                if (!found || s->access_tokens[k]->used_us >= uses->uses[i]->at_us)
                        continue;
                changed = *s->access_tokens[k];
                changed.used_us = uses->uses[i]->at_us;
                if (replace(s, k, &changed) < 0)
                        return -ENOMEM;
        }
        return 0;
}

int state_correct_access_tokens(ClusterState *s, uint64_t to_us) {
        for (size_t i = 0; i < s->n_access_tokens; i++) {
                Argosy__AccessTokenRecord changed = *s->access_tokens[i];
                uint64_t ahead_us = changed.created_us > to_us ? changed.created_us - to_us : 0;

                if (ahead_us == 0 && changed.used_us <= to_us && changed.revoked_us <= to_us)
                        continue;
                changed.created_us -= ahead_us;
                changed.expires_us -= MIN_OF(ahead_us, changed.expires_us);
                changed.used_us = MIN_OF(changed.used_us, to_us);
                changed.revoked_us = MIN_OF(changed.revoked_us, to_us);
                if (replace(s, i, &changed) < 0)
                        return -ENOMEM;
                s->access_revision = s->revision;
        }
        return 0;
}

void state_drop_old_access_tokens(ClusterState *s) {
        unsigned n = 0;

        if (s->n_access_tokens == 0 || s->counted_us < s->access_tokens_due_us)
                return;
        for (size_t i = s->n_access_tokens; i-- > 0 && n < CLUSTER_ACCESS_TOKENS_DROPPED;)
                if (due_us(s->access_tokens[i]) <= s->counted_us) {
                        state_drop_named(s, &s->access_tokens, &s->n_access_tokens, i);
                        n++;
                }
        find_next_due(s);
}

int state_load_access_token(ClusterState *s, Argosy__AccessTokenRecord *token) {
        if (!state_access_token_fits(token) || s->n_access_tokens >= CLUSTER_ACCESS_TOKENS_MAX ||
            (s->n_access_tokens > 0 && strcmp(s->access_tokens[s->n_access_tokens - 1]->id, token->id) >= 0))
                return -EBADMSG;
        return insert(s, token);
}
