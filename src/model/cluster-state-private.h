// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Inside of the replicated state, shared by its files: the tables and lookups (cluster-state.c, and cluster-state-units.c,
// cluster-state-hosts.c, cluster-state-rollouts.c, cluster-state-roles.c, cluster-state-tombstones.c), what
// batches do to them (cluster-state-apply.c), snapshots (cluster-snapshot.c), and the image (cluster-encoder.c,
// cluster-state-image.c).
//
// What a snapshot reaches is never changed: records, specs, tombstones, applied requests and their names are made whole,
// put into a table, replaced and retired (state_retire()). The loop's own ways to them (maps, lists, sorted arrays) no
// snapshot knows.

#include "cluster-state.h"
#include "paged-table.h"

enum { REQUEST_ID_SIZE = 16, UNREADABLE_SIZE = 320 };
#define REVISION_MAX  \
        (UINT64_MAX / \
         2) // that an image may hold: far beyond what batches can reach, and raising it cannot overflow

// A node number in use: by a host, by units placed there, or by both.
typedef struct NodeIndex {
        uint32_t node; // the map's key
        uint32_t host; // 0: the host is gone
        ListNode units;
        size_t n_units;
        ListNode tombstones; // oldest first
} NodeIndex;

typedef struct AppliedRequest {
        uint8_t id[REQUEST_ID_SIZE]; // the map's key
        uint64_t revision;
} AppliedRequest;

// What the table of units holds, at UnitEntry.number.
static_assert(CLUSTER_UNITS_MAX < 1 << 29);
typedef struct UnitVersion {
        Argosy__UnitRecord *record;
        SpecEntry *spec;
} UnitVersion;

// Everything that an image says. The arrays are the state's own, or copies.
typedef struct StateView {
        Argosy__ClusterRecord *cluster;
        uint64_t revision;
        uint32_t last_host, last_node, last_raft_id;
        PagedView units, specs, hosts, tombstones, applied; // UnitVersion; pointers to the others
        uint32_t next_applied;
        Argosy__TokenRecord **tokens;
        Argosy__RolloutRecord **rollouts;
        Argosy__RoleRecord **roles;
        Argosy__PoolRecord **pools;
        Argosy__FormerHost **former;
        size_t n_tokens, n_rollouts, n_roles, n_pools, n_former;
} StateView;

struct ClusterState {
        SnapshotClock *clock;
        struct ClusterSnapshot *newest; // NULL: it has ended
        uint64_t version;               // raised by each batch

        Argosy__ClusterRecord *cluster;
        uint64_t revision, hosts_revision;
        uint32_t last_host, last_node, last_raft_id;

        HostEntry *hosts; // by number
        size_t n_hosts;
        PagedTable host_records;
        Map pins;  // key pin -> record of hosts; those with a proper pin
        Map nodes; // number -> NodeIndex

        Map units; // name -> UnitEntry
        PagedTable unit_records;
        ListNode all;   // UnitEntry.all, as they came
        ListNode *walk; // that cluster_state_walk_next() comes to next; NULL: none is under way
        ListNode globals;
        size_t n_globals;
        UnitEntry **sorted; // by name; NULL: to be sorted again
        Map specs;          // hash -> SpecEntry
        PagedTable spec_entries;
        ListNode idle;      // specs without users, to be dropped at the end of the batch

        Argosy__TokenRecord **tokens; // by id
        size_t n_tokens;

        Argosy__RolloutRecord **rollouts; // by name
        size_t n_rollouts;
        uint64_t rollouts_revision;

        Argosy__RoleRecord **roles; // by name
        size_t n_roles;
        uint64_t roles_revision;
        Argosy__PoolRecord **pools; // by name
        size_t n_pools;

        PagedTable tombstone_entries;
        uint64_t last_order;    // that a tombstone got
        ListNode fresh;         // those that cluster_state_next_tombstone() has not named yet
        Map tombstones_by_key;  // {node, name} -> Tombstone
        Map tombstones_by_name; // -> TombstoneName

        Argosy__FormerHost **former; // oldest first
        size_t n_former;

        PagedTable applied;    // ring of CLUSTER_REQUESTS_REMEMBERED
        uint32_t next_applied; // the oldest, once it is full
        Map applied_by_id;

        ListNode dirty;
        uint32_t *dirty_hosts; // numbers, each once, in the order in which they became so
        size_t n_dirty_hosts, n_dirty_hosts_taken, dirty_hosts_allocated;

        uint32_t build_level;             // FEATURE_LEVEL, unless a test says otherwise
        char unreadable[UNREADABLE_SIZE]; // cluster_state_unreadable()
};

// Whether the build can read it and all that is in it: 0, or -EPROTONOSUPPORT and the reason in `unreadable`.
int state_check_readable(ClusterState *s, const ProtobufCMessage *message);
// Likewise: a log at that feature level.
int state_check_level(ClusterState *s, const Argosy__ClusterRecord *cluster);
void state_init_lists(ClusterState *s);
// An empty one. The clock is borrowed.
void state_init(ClusterState *s, SnapshotClock *clock);
// Frees what the state holds, not the state and its clock.
void state_done(ClusterState *s);

// When no snapshot can reach it any more: free(), or message_free() of a whole message. NULL is fine.
void state_retire(ClusterState *s, void *memory, size_t bytes);
void state_retire_message(ClusterState *s, void *message);

// cluster-snapshot.c
struct ClusterSnapshot;
StateView state_view(const ClusterState *s);
const StateView *cluster_snapshot_view(const struct ClusterSnapshot *snapshot);

// The functions below return 0 or -ENOMEM, and unless they say otherwise take what they are given only on
// success.

// -EEXIST: that hash is there. Takes `content`. The spec begins idle.
int state_add_spec(ClusterState *s, const Hash *hash, uint8_t *content, size_t len);
int state_drop_idle_specs(ClusterState *s);
// One more, or one less, that keeps the spec from being dropped.
void state_use_spec(SpecEntry *spec);
void state_unuse_spec(ClusterState *s, SpecEntry *spec);
// A new unit of this record, clean.
int state_add_unit(ClusterState *s, Argosy__UnitRecord *record, SpecEntry *spec, UnitEntry **ret);
// Puts `record`, which has neither name nor outcomes, in the place of the unit's own. `inherit`: it gets that one's
// outcomes. Takes `record` also on failure.
int state_replace_unit(ClusterState *s, UnitEntry *u, Argosy__UnitRecord *record, bool inherit, SpecEntry *spec);
// Takes the unit out of every table; it stays in the dirty list if it is there.
int state_take_unit(ClusterState *s, UnitEntry *u);
void state_free_unit(ClusterState *s, UnitEntry *u);

// cluster-state-records.c
// A record that shares all that the unit's own points to, to be changed before it takes its place by
// state_put_twin(), or is freed. Its name, its spec and its place stay. NULL: out of memory.
Argosy__UnitRecord *state_make_twin(const UnitEntry *u);
// Takes it. What only the one before points to is the caller's to retire. 0 or -ENOMEM.
int state_put_twin(ClusterState *s, UnitEntry *u, Argosy__UnitRecord *twin);
// A record whose name and outcomes are another one's now.
void state_retire_body(ClusterState *s, Argosy__UnitRecord *record);
void state_retire_outcomes(ClusterState *s, const Argosy__UnitRecord *record);
// The unit has this outcome instead of those that it replaces; kind NONE: instead of them none.
int state_put_outcome(ClusterState *s, UnitEntry *u, const Argosy__Outcome *outcome);

// For sorting many things by name: most names differ in what stands here, so comparing them comes by no other memory.
typedef struct NameKey {
        uint8_t head[16]; // of the name; 0 behind a shorter one
        const char *name;
        void *thing;
} NameKey;
NameKey name_key(const char *name, void *thing);
void name_keys_sort(NameKey *keys, size_t n);

// cluster-state-hosts.c
// Both take the record also on failure, which leaves the tables of hosts inconsistent. -EEXIST: a node
// number or key pin is in use. Appended behind all others: its number must be the greatest.
int state_append_host(ClusterState *s, Argosy__HostRecord *record);
int state_replace_host(ClusterState *s, Argosy__HostRecord *record);
int state_remove_host(ClusterState *s, uint32_t host);
// For cluster_state_next_dirty_host(); the host is there.
int state_mark_host(ClusterState *s, uint32_t host);
int state_mark_all_hosts(ClusterState *s);

// Takes `former` on success. The oldest goes if there are CLUSTER_FORMER_HOSTS_MAX.
int state_add_former(ClusterState *s, Argosy__FormerHost *former);
void state_drop_former(ClusterState *s, const void *host_id, size_t len);
void state_hosts_done(ClusterState *s);

// cluster-state-rollouts.c. Takes the record on success. -ENOENT: a spec of it is unknown; -ENOSPC.
int state_put_rollout(ClusterState *s, Argosy__RolloutRecord *record);

// cluster-state-roles.c. They take the record on success; -ENOSPC: there are as many as there may be,
// -EINVAL: its name is empty or too long.
int state_put_role(ClusterState *s, Argosy__RoleRecord *record);
int state_put_pool(ClusterState *s, Argosy__PoolRecord *record);
bool state_remove_role(ClusterState *s, const char *name); // false: there was none
bool state_remove_pool(ClusterState *s, const char *name);
void state_roles_done(ClusterState *s);

// cluster-state-tombstones.c. Nodes that are no host's are left out.
int state_put_tombstones(ClusterState *s, const char *name, const uint32_t *nodes, size_t n,
                         uint64_t fence_us, uint64_t revision);
// Appended behind all others: its revision must not be smaller. -EEXIST, -EINVAL: it does not fit.
int state_add_tombstone(ClusterState *s, const Argosy__TombstoneRecord *record);
// Of one node, up to a revision; fence_us as in LogOp.TombstoneClear. Adds to *ret_n how many there were.
int state_clear_tombstones(ClusterState *s, uint32_t node, uint64_t revision, uint64_t fence_us, size_t *ret_n);
void state_tombstones_done(ClusterState *s);

int state_put_token(ClusterState *s, Argosy__TokenRecord *token);
void state_remove_token(ClusterState *s, size_t i);
// Index of the token, or where it would go with *ret_found false.
size_t state_token_index(const ClusterState *s, const char *id, bool *ret_found);

// Known ids are left as they are.
int state_remember_request(ClusterState *s, const uint8_t id[REQUEST_ID_SIZE], uint64_t revision);
NodeIndex *state_find_node(const ClusterState *s, uint32_t node);
NodeIndex *state_need_node(ClusterState *s, uint32_t node); // NULL: out of memory
void state_drop_unused_node(ClusterState *s, NodeIndex *n);
