// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// The key that seals secrets in the log, one of the voters' secrets, and `secret rotate-key`, which puts
// another in its place:
//
//   SETTLED -> HAND_OUT: the next key is made and comes to the disk of every voter
//           -> SEAL:     it seals, and each entry brings some of the versions that the log has, sealed with
//                        it
//           -> COMPACT:  every voter takes a snapshot, in which nothing is sealed with a former key
//           -> SETTLED:  the former keys are gone from the log, and so from the voters' disks
//
// A next key that no voter has any more is made again, under another number. If that has become of the key
// that seals, a rotation may begin in each phase behind HAND_OUT.
//
// The phase is the log's, and so is what is sealed with which key: a new leader goes on where the last one
// was.

#include "batch-builder.h"
#include "leader-core.h"

#define SECRETS_KEY_LOST                                                                                  \
        "no voter has the key of the secrets any more (`argosyctl secret rotate-key` makes another one, " \
        "and "                                                                                            \
        "each secret has to be set anew)"

SecretsKeyController *secrets_key_controller_new(void); // NULL: out of memory
SecretsKeyController *secrets_key_controller_free(SecretsKeyController *c); // or NULL
void secrets_key_controller_retire(Leader *l);                              // it leads no more

// The number of the key that seals. 0: there is none.
uint32_t secrets_key_in_use(const Leader *l);
// No voter has the key that seals any more: what is sealed with it nobody reads, and only another key can
// seal.
bool secrets_key_is_lost(const Leader *l);
// A voter has it as far as anybody knows, or there is none yet. Of voters that have not said the log knows.
bool secrets_key_is_kept(const Leader *l);
// The first key of a cluster. -EBUSY: it is on its way into the log; -EIO: there is no randomness; those of
// voter_secrets_controller_make().
int secrets_key_make_first(Leader *l);

// As handlers.h has it.
int secrets_key_controller_plan(Leader *l, PendingRequest *t, BatchBuilder *b);
// The next step, into the entry. 0 or -ENOMEM.
int secrets_key_controller_decide(Leader *l, BatchBuilder *b);
// For people: how far a rotation is, and whom it waits for; empty: none is under way. 0 or -ENOMEM.
int secrets_key_controller_notice(const Leader *l, char **notice);
