// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// The replicated log on this host: batches are applied, leadership comes and goes, and this host becomes or
// ceases to be a voter.

#include <stdbool.h>

#include "argosy.pb-c.h"
#include "buf.h"

typedef struct Daemon Daemon;

int daemon_log_open(Daemon *d, bool bootstrap, char **ret_why);
void daemon_log_close(Daemon *d, void (*closed)(Daemon *d));
void daemon_log_on_hosts(void *userdata);
void daemon_log_on_store_open(Daemon *d, const Argosy__ToHost__StoreOpen *message);
void daemon_log_on_store_close(Daemon *d, uint32_t raft_id);
// At the start: a host that was killed on its way to being a voter, or from there, keeps nothing of it.
void daemon_log_tidy(Daemon *d);
// From time to time: what could not be cleared away then, or later, goes.
void daemon_log_tidy_again(Daemon *d);
// Writes the peers file if what the log (or the leader) says about the cluster differs from it.
void daemon_update_peers(Daemon *d, Argosy__Voter *const *voters, size_t n_voters, uint64_t generation);

// daemon-log-snapshot.c: StoreOps, and the drain that frees what snapshots kept.
int daemon_log_snapshot(void **ret, void *userdata);
int daemon_log_snapshot_encode(void *snapshot, Buf *ret); // in a worker
bool daemon_log_snapshot_is_cut(const void *snapshot);
void daemon_log_snapshot_release(void *snapshot, void *userdata);
void daemon_log_snapshot_written(void *userdata);
void daemon_log_on_reclaim(void *userdata);
