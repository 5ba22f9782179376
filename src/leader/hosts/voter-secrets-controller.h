// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// The voters' secrets (voter-secrets.h), as the leader sees to them: every voter has every secret that the
// log names, and the log says who has it.
//
//   make -> this host's disk -> the log names it -> the other voters' disks -> the log says so of each
//
// A secret may be used from when the log names it: this leader has it then. What must outlive this leader
// waits until all voters have it (voter_secrets_controller_all_have()).

#include "batch-builder.h"
#include "leader-core.h"
#include "voter-secrets.h"

VoterSecretsController *voter_secrets_controller_new(void); // NULL: out of memory
VoterSecretsController *voter_secrets_controller_free(VoterSecretsController *c); // or NULL
void voter_secrets_controller_retire(
        Leader *l); // it leads no more: what it made and the log does not name is forgotten

// Whether one of that name is being made: the log does not name it yet.
bool voter_secrets_controller_is_making(const Leader *l, const char *name);
// Makes another secret of that name, whose value is copied; *ret_number is what it will be called. It is
// there when voter_secrets_controller_value() has it; a leader that ends before forgets it. -EBUSY: one of
// that name is being made; -ENOSPC: there are as many as can be; -EINVAL: see voter_secrets_put(); -ENOMEM.
int voter_secrets_controller_make(Leader *l, const char *name, const void *value, size_t len,
                                  uint32_t *ret_number);
// what was made of that name and the log does not name yet
void voter_secrets_controller_forget(Leader *l, const char *name);
// Borrowed until the next turn. NULL: the log does not name it, or this host lacks it.
const SecretBytes *voter_secrets_controller_value(const Leader *l, const char *name, uint32_t number);
// The newest of that name that the log names. 0: there is none.
uint32_t voter_secrets_controller_newest(const Leader *l, const char *name);
// Whether the log says that every voter has it. Else `ret_missing` names those that have not, for people;
// empty: the log does not name it.
bool voter_secrets_controller_all_have(const Leader *l, const char *name, uint32_t number, char *ret_missing,
                                       size_t size);
// Whether a voter has it, as it has said last, or as the log says.
bool voter_secrets_controller_is_kept(const Leader *l, const char *name, uint32_t number);
// Whether every voter has said what it has, and none has that one: nobody can hand it out any more. False
// while a voter has not said.
bool voter_secrets_controller_is_lost(const Leader *l, const char *name, uint32_t number);
// The records without that one, borrowed, for a ClusterRecord that is to be put: with it the voters' disks
// lose the value, if a newer one of that name stays. How many they are.
size_t voter_secrets_controller_without(const Argosy__ClusterRecord *cluster, const char *name,
                                        uint32_t number, Argosy__VoterSecretRecord *ret[VOTER_SECRETS_MAX]);

// What a voter has on its disk. Reports of hosts that are no voters count for nothing.
void voter_secrets_controller_on_kept(Leader *l, Host *h, const Argosy__ToVoter__VoterSecretsKept *kept);
// 0 or -ENOMEM.
int voter_secrets_controller_decide(Leader *l, BatchBuilder *b);
