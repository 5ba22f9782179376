// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Requests about tokens (access-token.h), and who comes with one.

#include "access-token.h"
#include "batch-builder.h"
#include "leader-core.h"

int access_tokens_plan_create(Leader *l, PendingRequest *t, BatchBuilder *b); // as Handler.plan
int access_tokens_plan_revoke(Leader *l, PendingRequest *t, BatchBuilder *b);
Argosy__Response *access_tokens_answer_list(Leader *l, const Argosy__Request *request);
Argosy__Response *access_tokens_answer_check(Leader *l, const Argosy__Author *author,
                                             const Argosy__Request *request);

// An author as the leader judges it. What it has borrowed lives as long as the records stay as they are.
typedef struct Asker {
        Argosy__Author author;
        char user[ACCESS_TOKEN_NAME_MAX + 16];
} Asker;

// `author`, or the author by the token that was shown, in `ret`; a leader notes that the token was used now.
const Argosy__Author *access_tokens_asker(Leader *l, const Argosy__Author *author, Asker *ret);
// What the log does not say yet of when tokens were used. 0 or negative errno.
int access_tokens_decide(Leader *l, BatchBuilder *b);
// When the next one expires, by leader_now(); 0: none will.
uint64_t access_tokens_next_expiry(const Leader *l);
void access_tokens_retire(Leader *l);
