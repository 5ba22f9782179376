// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// The voters' secrets on this host, while it is a voter (voter-secrets.h).

#include "argosy.pb-c.h"

typedef struct Daemon Daemon;

// Some that the leader hands over: answered when they are on the disk. Ignored where there is no log.
void daemon_secrets_on_message(Daemon *d, const Argosy__ToHost__VoterSecrets *message);
// Says to the leader which are there.
void daemon_secrets_report(Daemon *d);
// That alone seals all secrets of the log as it is now. 0: several do.
uint32_t daemon_secrets_only_key(const Daemon *d);
// The log's snapshot on the disk has secrets that are sealed with that key alone: the leader hears of it.
void daemon_secrets_on_compacted(Daemon *d, uint32_t key);
// Those that the log names no more go.
void daemon_secrets_drop_old(Daemon *d);
