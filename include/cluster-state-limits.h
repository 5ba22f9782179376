// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Why an operation of the log is not carried out: as much of a kind is there as there may be, or it
// contradicts what is there. One table and one judge (model/cluster-state-limits.c) for both who ask: the
// leader, for each operation before it goes into an entry, counting what the entry holds already; and every
// voter that applies it. So what the leader refuses is refused to the person, in these words, and what an
// entry has is carried out.
//
// If an operation is refused all the same, when it is applied, every voter leaves it out: it is counted
// (state_operations_refused), the daemon says so (cluster_state_next_refused()), and the job that it was a
// part of has failed.

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "argosy.pb-c.h"
#include "cluster-state.h"
#include "hash.h"

// name, how many or how much, of what
#define CLUSTER_LIMITS(LIMIT)                                                                   \
        LIMIT(UNITS, CLUSTER_UNITS_MAX, "units")                                                \
        LIMIT(HOSTS, CLUSTER_HOSTS_MAX, "hosts")                                                \
        LIMIT(ROLLOUTS, CLUSTER_ROLLOUTS_MAX, "updates and restarts under way")                 \
        LIMIT(ROLES, CLUSTER_ROLES_MAX, "roles")                                                \
        LIMIT(POOLS, CLUSTER_POOLS_MAX, "pools")                                                \
        LIMIT(GRANTS, CLUSTER_GRANTS_MAX, "rights")                                             \
        LIMIT(JOIN_TOKENS, CLUSTER_TOKENS_MAX, "join tokens that have not expired")             \
        LIMIT(ACCESS_TOKENS, CLUSTER_ACCESS_TOKENS_MAX, "access tokens that can be used")       \
        LIMIT(SECRETS, CLUSTER_SECRETS_MAX, "secrets")                                          \
        LIMIT(SECRET_BYTES, CLUSTER_SECRETS_BYTES_MAX, "bytes of secrets")                      \
        LIMIT(TOMBSTONES, CLUSTER_TOMBSTONES_MAX,                                               \
              "units that may still run on silent hosts (remove those that are gone for good)") \
        LIMIT(QUEUE_RULES, CLUSTER_QUEUE_RULES_MAX, "rules of the queue")                       \
        LIMIT(QUEUE_BYTES, CLUSTER_QUEUE_BYTES_MAX, "bytes of rules of the queue")              \
        LIMIT(FILES_BYTES, CLUSTER_FILES_BYTES_MAX, "bytes of files that come with units")      \
        LIMIT(STORED_REQUESTS, CLUSTER_STORED_REQUESTS_MAX, "jobs that are held back")          \
        LIMIT(STORED_BYTES, CLUSTER_STORED_BYTES_MAX, "bytes of requests of jobs that are held back")

#define CLUSTER_CONTRADICTIONS(WHY)                                                                  \
        WHY(LENGTH, "a name or another word of it has a length that none can have")                  \
        WHY(CONTENT,                                                                                 \
            "its content, or a file of it, is not in the log, or is another one than its hash says") \
        WHY(HOST, "a number, a key or a node of it is none that its host can have")                  \
        WHY(TWICE, "there is one of that id")                                                        \
        WHY(SECRET_VERSIONS, "units still have 64 older versions of it: restart these")              \
        WHY(EMPTY, "it says nothing, or two things at once")

#define CLUSTER_REFUSAL(NAME, ...) REFUSAL_##NAME,
typedef enum ClusterRefusal {
        REFUSAL_NONE,
        CLUSTER_LIMITS(CLUSTER_REFUSAL) CLUSTER_CONTRADICTIONS(CLUSTER_REFUSAL) CLUSTER_REFUSALS
} ClusterRefusal;

// What an entry that is being made holds already. Zeroes: nothing.
typedef struct ClusterHeld {
        // the log's time when it is applied (cluster_state_counted_us()): what is over makes room
        uint64_t counted_us;
        // Whether it brings this content. NULL: it brings none.
        bool (*has_spec)(const Hash *hash, void *userdata);
        void *userdata;
        int64_t more[CLUSTER_REFUSALS]; // of each limit, as operations change it
} ClusterHeld;

// Whether the operation, as the next of an entry that holds this, is carried out. Changes nothing.
ClusterRefusal cluster_state_judge(const ClusterState *s, const ClusterHeld *held, const Argosy__LogOp *op);
// Counts one that is not refused.
void cluster_held_add(ClusterHeld *held, const ClusterState *s, const Argosy__LogOp *op);

enum { CLUSTER_REFUSAL_SIZE = 160 };
// A clause: "there are as many units as there may be (1000000)". Returns `ret`.
const char *cluster_refusal_words(const ClusterState *s, ClusterRefusal refusal,
                                  char ret[CLUSTER_REFUSAL_SIZE]);

// An operation that was refused as it was applied.
typedef struct ClusterRefused {
        ClusterRefusal refusal;
        char what[64]; // which, for people: cut if need be
} ClusterRefused;
// Each of those that came last, once, the oldest first. NULL: these were all.
const ClusterRefused *cluster_state_next_refused(ClusterState *s);

// For tests: the state has another limit; whether anybody judges operations of this kind.
void cluster_state_set_limit(ClusterState *s, ClusterRefusal limit, size_t max);
bool cluster_op_is_judged(Argosy__LogOp__OpCase what);
