// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The tables of the replicated state: nodes, tokens, requests. Units, specs, hosts, rollouts, roles, rights,
// tombstones, jobs and keys have files of their own. Which operation of a batch changes them is in
// cluster-state-apply.c, how they become bytes in cluster-encoder.c, and come back in cluster-state-image.c.
//
// A state_*() function that adds or replaces keeps the tables and their indexes together, or returns
// -ENOMEM, after which the state is not used any more. Applying an operation puts a changed unit on the
// dirty list; a removed one lives until the leader has taken it from there.

#include "cluster-state-private.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "array.h"
#include "feature-level.h"
#include "log-format.h"
#include "message.h"

// ------------------------------------------------------------------------------------------------ nodes

NodeIndex *state_find_node(const ClusterState *s, uint32_t node) {
        return map_find(&s->nodes, &node, sizeof node);
}

NodeIndex *state_need_node(ClusterState *s, uint32_t node) {
        NodeIndex *n = state_find_node(s, node);

        if (n)
                return n;
        n = calloc(1, sizeof *n);
        if (!n)
                return NULL;
        n->node = node;
        list_init(&n->units);
        list_init(&n->tombstones);
        if (map_add(&s->nodes, &n->node, sizeof n->node, n) < 0) {
                free(n);
                return NULL;
        }
        return n;
}

void state_drop_unused_node(ClusterState *s, NodeIndex *n) {
        if (n->host > 0 || n->n_units > 0 || !list_is_empty(&n->tombstones))
                return;
        map_take(&s->nodes, &n->node, sizeof n->node);
        free(n);
}

const ListNode *cluster_state_units_on(const ClusterState *s, uint32_t node, size_t *ret_n) {
        NodeIndex *n = state_find_node(s, node);

        if (ret_n)
                *ret_n = n ? n->n_units : 0;
        return n && n->n_units > 0 ? &n->units : NULL;
}

const ListNode *cluster_state_global_units(const ClusterState *s, size_t *ret_n) {
        if (ret_n)
                *ret_n = s->n_globals;
        return s->n_globals > 0 ? &s->globals : NULL;
}

// ------------------------------------------------------------------------------------------------ tokens

size_t cluster_state_n_tokens(const ClusterState *s) {
        return s->n_tokens;
}

const Argosy__TokenRecord *cluster_state_find_token(const ClusterState *s, const char *id) {
        return named_find(s->tokens, s->n_tokens, id);
}

// ------------------------------------------------------------------------------------------------ the whole

const Argosy__ClusterRecord *cluster_state_cluster(const ClusterState *s) {
        return s->cluster;
}

uint64_t cluster_state_revision(const ClusterState *s) {
        return s->revision;
}

uint64_t cluster_state_voters_revision(const ClusterState *s) {
        return s->voters_revision;
}

uint64_t cluster_state_pools_revision(const ClusterState *s) {
        return s->pools_revision;
}

uint64_t cluster_state_hosts_revision(const ClusterState *s) {
        return s->hosts_revision;
}

ClusterRevisions cluster_state_revisions(const ClusterState *s) {
        return (ClusterRevisions){.hosts = s->hosts_revision,
                                  .rollouts = cluster_state_rollouts_revision(s),
                                  .roles = cluster_state_roles_revision(s),
                                  .grants = cluster_state_grants_revision(s),
                                  .queue = cluster_state_queue_revision(s)};
}

uint32_t cluster_state_feature_level(const ClusterState *s) {
        return s->cluster ? MAX_OF(s->cluster->feature_level, (uint32_t) FEATURE_BASE) : FEATURE_BASE;
}

uint32_t cluster_state_next_raft_id(const ClusterState *s) {
        return MAX_OF(s->last_raft_id, s->cluster ? s->cluster->raft_id_floor : 0) + 1;
}

bool cluster_state_raft_id_is_retired(const ClusterState *s, uint32_t raft_id) {
        for (size_t i = 0; i < s->n_hosts; i++)
                if (s->hosts[i].record->raft_id == raft_id)
                        return false;
        return raft_id > 0 && raft_id <= s->last_raft_id;
}

void state_init_lists(ClusterState *s) {
        list_init(&s->globals);
        list_init(&s->idle);
        list_init(&s->former_specs);
        list_init(&s->fresh);
}

static const char *unit_name_of(const void *unit) {
        return ((const UnitEntry *) unit)->name;
}

void state_init(ClusterState *s, SnapshotClock *clock) {
        *s = (ClusterState){.clock = clock, .build_level = FEATURE_LEVEL, .units.name_of = unit_name_of};
        state_init_lists(s);
        paged_table_init(&s->unit_records, clock, sizeof(Argosy__UnitRecord *));
        paged_table_init(&s->spec_entries, clock, sizeof(SpecVersion));
        paged_table_init(&s->host_records, clock, sizeof(Argosy__HostRecord *));
        paged_table_init(&s->tombstone_entries, clock, sizeof(Tombstone *));
        state_jobs_init(s);
        state_limits_init(s);
}

ClusterState *cluster_state_new(void) {
        ClusterState *s = malloc(sizeof *s);
        SnapshotClock *clock = malloc(sizeof *clock);

        if (!s || !clock) {
                free(s);
                free(clock);
                return NULL;
        }
        snapshot_clock_init(clock);
        state_init(s, clock);
        return s;
}

void state_retire(ClusterState *s, void *memory, size_t bytes) {
        if (memory)
                snapshot_clock_retire(s->clock, memory, free, bytes);
}

// About what a record has beside its fields: two or three short strings.
enum { MESSAGE_MORE_BYTES = 128 };

void state_retire_message(ClusterState *s, void *message) {
        if (message)
                snapshot_clock_retire(s->clock, message, message_free,
                                      ((ProtobufCMessage *) message)->descriptor->sizeof_message +
                                              MESSAGE_MORE_BYTES);
}

void cluster_state_set_build_level(ClusterState *s, uint32_t level) {
        s->build_level = level;
}

const char *cluster_state_unreadable(const ClusterState *s) {
        return s->unreadable;
}

int state_check_readable(ClusterState *s, const ProtobufCMessage *message) {
        char what[LOG_FORMAT_WHAT_MAX];
        int r = log_format_check(message, s->build_level, what);

        if (r < 0)
                snprintf(s->unreadable, sizeof s->unreadable,
                         "it contains what only a newer argosyd can read (%s); this one has feature level "
                         "%" PRIu32 ". Install the newer one again",
                         what, s->build_level);
        return r;
}

int state_check_level(ClusterState *s, const Argosy__ClusterRecord *cluster) {
        if (!cluster || cluster->feature_level <= s->build_level)
                return 0;
        snprintf(s->unreadable, sizeof s->unreadable,
                 "the cluster is at feature level %" PRIu32 ", this argosyd has %" PRIu32
                 ". Install the newer one again",
                 cluster->feature_level, s->build_level);
        return -EPROTONOSUPPORT;
}

static void units_done(ClusterState *s) {
        name_table_foreach(u, &s->units)
                state_free_unit(s, u);
        name_table_done(&s->units);
        state_sets_done(s);
        paged_table_done(&s->unit_records);
        state_specs_done(s);
}

// Snapshots may outlive this, in cluster_state_restore().
void state_done(ClusterState *s) {
        cluster_state_drop_dirty(s); // frees the removed ones; the others are in the table
        units_done(s);
        state_tombstones_done(s);
        map_done_with(&s->nodes, free);
        state_hosts_done(s);
        state_retire_message(s, s->cluster);
        state_named_done(s, s->tokens, s->n_tokens);
        state_named_done(s, s->rollouts, s->n_rollouts);
        state_named_done(s, s->roles, s->n_roles);
        state_named_done(s, s->pools, s->n_pools);
        state_named_done(s, s->access_tokens, s->n_access_tokens);
        state_named_done(s, s->secrets, s->n_secrets);
        state_access_done(s);
        state_stored_requests_done(s);
        state_jobs_done(s);
        state_keys_done(s);
        unit_order_done(&s->by_name);
}

ClusterState *cluster_state_free(ClusterState *s) {
        if (!s)
                return NULL;
        state_done(s);
        snapshot_clock_done(s->clock);
        free(s->clock);
        free(s);
        return NULL;
}
