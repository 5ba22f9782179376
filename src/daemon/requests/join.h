// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// This host changes its membership: `cluster join` and `cluster leave`, and being removed.
// All of them end with a new identity in the state directory and a restart of this process.

#include "argosy.pb-c.h"

typedef struct Daemon Daemon;
typedef void (*JoinDone)(const Argosy__Response *response, void *userdata);

// Exactly one response, later. When it says success the daemon is about to restart.
void join_start(Daemon *d, const Argosy__Request__ClusterJoin *request, JoinDone done, void *userdata);
// The asker has gone: `done` of that userdata never fires. A join that waits for its answer is given up; one
// that has it goes on.
void join_abandon(Daemon *d, void *userdata);
// Forget the cluster: stop and remove our units, then become a fresh host. While a join is going on this
// waits, and follows if nothing comes of that one. `done` may be NULL; it never fires if the join succeeds,
// or if another reset is going on or waits.
void join_reset(Daemon *d, const char *why, JoinDone done, void *userdata);
// The daemon ends: what goes on is given up, no `done` fires any more. The agent is to be closed in the same
// turn. The user repeats what was not finished.
void join_close(Daemon *d);
