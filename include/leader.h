// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// The cluster: who is alive, what units do, and every decision. Exists on every voter, idle unless
// leader_set_leading(true).
//
// All decisions of one turn of the loop go into one log batch; while a batch is on its way nothing else is
// decided (so no decision builds on one that may be rolled back). Pure parts: scheduler.c (where), lease.c
// (who is lost), request.c (what a request means).

#include <stdbool.h>
#include <uv.h>

#include "argosy.pb-c.h"
#include "cluster-state.h"
#include "store.h"

typedef struct Leader Leader;

typedef struct LeaderOps {
        int (*to_host)(uint32_t host, const Argosy__ToHost *message, void *userdata);
        void (*drop_host)(uint32_t host, void *userdata);
        // CA key and the like for signing joiners; see include/identity.h. Borrowed.
        const struct Identity *(*identity)(void *userdata);
        // Membership of the log, forwarded to the store.
        int (*member_add)(uint32_t raft_id, StoreMemberDone done, void *done_data, void *userdata);
        int (*member_remove)(uint32_t raft_id, StoreMemberDone done, void *done_data, void *userdata);
        int (*transfer)(uint32_t raft_id, StoreMemberDone done, void *done_data, void *userdata);
        int (*submit)(const void *data, size_t len, StoreDone done, void *done_data, void *userdata);
        int (*barrier)(StoreDone done, void *done_data, void *userdata);
        void (*stats)(StoreStats *ret, void *userdata);
} LeaderOps;

typedef struct LeaderConfig {
        uv_loop_t *loop;
        ClusterState *state; // borrowed; the daemon applies batches to it
        uint32_t self;       // host number
        unsigned lease_ms, beat_ms;
        // Boot and wall clock in microseconds; NULL: the real ones. They get the userdata of the ops.
        uint64_t (*now_us)(void *userdata);
        uint64_t (*wall_us)(void *userdata);
} LeaderConfig;

int leader_new(const LeaderConfig *config, const LeaderOps *ops, void *userdata, Leader **ret);
void leader_close(Leader *l, void (*closed)(void *userdata), void *userdata);
void leader_set_leading(Leader *l, bool leading, uint64_t term);
// The daemon has applied a batch to the state (also on followers, who drop the dirty lists).
void leader_on_applied(Leader *l, uint64_t index);
void leader_on_message(Leader *l, uint32_t host, const Argosy__ToVoter *message);
void leader_on_host_link(Leader *l, uint32_t host,
                         const Argosy__ToVoter__Hello *hello); // hello NULL: link lost

// Requests of local clients (those of other hosts arrive as Forward messages). `respond` fires one or more
// times, the last with final.
typedef void (*LeaderRespond)(const Argosy__Response *response, void *userdata);
// 0 and *ret_cancel (0 if finished already). -EAGAIN: not leading.
int leader_request(Leader *l, const Argosy__Request *request, LeaderRespond respond, void *userdata,
                   uint64_t *ret_cancel);
void leader_cancel(Leader *l, uint64_t cancel);
// Reading requests without a leader: from the replicated state alone; observed states are `unknown`.
void leader_answer_stale(Leader *l, const Argosy__Request *request, LeaderRespond respond, void *userdata);
