// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// The replicated state: what the log says. Every voter has one and applies the same batches in the same
// order, so everything here is deterministic: no clock, no randomness, and no rule of today's program (what
// a valid unit name is, say) that a later version might change. The leader decides what is right before it
// proposes; what is applied is only checked for fitting together, and what does not fit is skipped, the same
// on every voter. What a build does not know is never skipped: others do know it (log-format.h).
//
// Revisions: one counter that every operation that changes something raises by one. A unit's record carries
// the counter as of its last put. An outcome is a finding and not a wish, so it raises the counter but not
// the record's revision.
//
// Everything borrowed from here is valid until the next cluster_state_apply() or cluster_state_restore().
// Records do not change: a change makes another one. To read all of them for longer, take a snapshot
// (cluster-snapshot.h).
//
// Not here: what units are doing at the moment, and who is alive (src/leader).

#include "access.h"
#include "argosy.pb-c.h"
#include "buf.h"
#include "counter.h"
#include "hash.h"
#include "list.h"
#include "map.h"
#include "unit-file.h"

enum {
        CLUSTER_UNITS_MAX = 1000000,
        CLUSTER_HOSTS_MAX = 16384,
        // removed hosts that are remembered; the oldest go first, those without set labels before the others
        CLUSTER_FORMER_HOSTS_MAX = 1024,
        CLUSTER_ROLLOUTS_MAX = 1024,     // of those that have ended the oldest go first
        CLUSTER_ROLES_MAX = 1024,
        CLUSTER_POOLS_MAX = 256,
        CLUSTER_GRANTS_MAX = 512,
        CLUSTER_ACCESS_TOKENS_MAX = 1024, // of those that are over the oldest go first
        CLUSTER_ACCESS_TOKEN_DAYS = 30,   // that one is kept when it is over, by cluster_state_counted_us()
        CLUSTER_ACCESS_TOKENS_DROPPED = 64, // of these, by one entry
        CLUSTER_ACCESS_TOKEN_BY_MAX = 1024, // bytes of who made one
        CLUSTER_SECRETS_MAX = 1024,
        CLUSTER_SECRET_VERSIONS_MAX = 64, // of one: the newest, and those that units still have
        CLUSTER_SECRET_SEALED_MAX = 64 * 1024 + 256, // bytes of one version, sealed
        CLUSTER_SECRETS_BYTES_MAX = 16 * 1024 * 1024, // of all of them
        CLUSTER_SECRET_BY_MAX = 1024,                // bytes of who set one
        CLUSTER_SET_NAME_MAX = 63, // bytes
        CLUSTER_TOKENS_MAX = 1024, // expired ones go when a token is added
        CLUSTER_TOMBSTONES_MAX = 1000000, // no unit is removed that would leave more
        // What is kept of jobs: no more than so many, of so many MiB packed, and none that is older. Of
        // those beyond an entry drops so many at a time, or twice as many as it brings.
        CLUSTER_JOBS_MAX = 100000,
        // of jobs, and as many of former contents (QueueRecord.history_mib), which may be up to
        CLUSTER_HISTORY_MIB_DEFAULT = 16,
        CLUSTER_HISTORY_MIB_MAX = 256,
        CLUSTER_JOB_DAYS_MAX = 30, // by cluster_state_counted_us()
        CLUSTER_TIME_SETS_MAX = 16, // within these days that set the time to a later one than those before
        CLUSTER_JOBS_DROPPED = 512,
        CLUSTER_JOB_BYTES_MAX = 1024 * 1024, // of one; units beyond that are not named
        CLUSTER_KEYS_MIN = 1000000,          // ids of requests that are remembered at least
        // Requests of jobs that are held back: so many, of so many bytes each and all.
        CLUSTER_STORED_REQUESTS_MAX = 10000,
        CLUSTER_STORED_REQUEST_MAX = 1024 * 1024,
        CLUSTER_STORED_BYTES_MAX = 64 * 1024 * 1024,
        CLUSTER_OPEN_JOBS_DEFAULT = 10000, // of one author (QueueRecord.open_max), which may be up to
        CLUSTER_OPEN_JOBS_MAX = 1000000,
        CLUSTER_STORED_AFTER_MAX = 100, // jobs that one waits for
        CLUSTER_QUEUE_RULES_MAX = 64,
        CLUSTER_QUEUE_BYTES_MAX = 64 * 1024,
        // Contents that no unit has any more are kept as long as a job names them, up to
        // cluster_state_history_bytes(): their own bytes, and so many more for each.
        CLUSTER_FORMER_SPEC_EXTRA = 256,
        // of files that come with units which are in the cluster now
        CLUSTER_FILES_BYTES_MAX = 64 * 1024 * 1024,
};

typedef struct ClusterState ClusterState;

typedef struct SpecEntry {
        Hash hash;
        uint8_t *content;
        size_t len;
        // unit records and contents that refer to it; without any, and no job, it is gone at the end of the
        // batch
        size_t users;
        // private: the contents of the files that its manifest names (carried-files.h); NULL: none
        struct SpecFiles *files;
        uint64_t job;        // private: the newest that names it; 0: none
        uint64_t former;     // private: its place among those without users that are kept; 0: it is none
        UnitFile *lazy_file; // private: NULL until asked for, see spec_entry_file()
        ListNode idle;       // private
        uint32_t number;     // private
        uint32_t former_users : 29; // private: how many of `users` are contents that no unit has any more
        bool is_linked : 1;         // private: `files` are known
        bool is_file : 1;           // a content names it as one of its files
} SpecEntry;

typedef struct HostEntry {
        Argosy__HostRecord *record; // another one after each change
        bool dirty;                 // private
        uint32_t number;            // private
} HostEntry;

typedef struct UnitEntry {
        // another one after each change; its name is the unit's name and never moves
        Argosy__UnitRecord *record;
        SpecEntry *spec;            // NULL once removed, and the record has no hash then
        ListNode placed; // among the units of its node, or among the global ones; unlinked if neither

        // What it was when it became dirty:
        uint32_t node_before; // node that it was placed on, 0 if none
        uint32_t number : 28; // private
        bool dirty : 1;       // private
        bool global_before : 1;
        bool existed : 1;
        bool removed : 1; // it is gone: the caller of cluster_state_next_dirty() holds the last of it
        char name[];      // that of its records, too
} UnitEntry;

// A node that may still run a unit of this name that is not wanted there. One for each name and node: a
// second one takes the place of the first, and covers both.
typedef struct Tombstone {
        ListNode by_name, on_node; // cluster_state_tombstones_of(), cluster_state_tombstones_on()
        ListNode fresh;            // private
        uint64_t order;            // private: later ones have greater numbers
        uint32_t number;           // private
        const void *replaced;      // the tombstone in whose place it came, to be compared with only: it may
                                   // be freed; NULL: none
        uint64_t revision;         // of the operation that left it
        uint64_t fence_us;         // its guard ends it so long after its host is lost; 0: it has none
        bool unguarded;            // it may be content without a guard: only its host can tell
        uint32_t node;
        char name[];
} Tombstone;

// What is remembered of a request by its id.
typedef struct RequestKey {
        uint64_t job;     // its number; the job itself may be forgotten
        uint64_t content; // as LogOp.JobPut has it
        bool more;        // not all of it is in the log
        uint32_t done;    // of that: as LogOp.JobPut has it
        bool given_up;    // only a part of it is in the log, and how far that came is not remembered: nobody
                          // can go on with it
} RequestKey;

// What an entry has brought of a job.
typedef struct JobNews {
        uint64_t number;
        size_t from; // where that begins in what is packed of the job; 0: with the job
        bool only_state; // it has ended, or is held by less than before; of its units nothing was said
} JobNews;

ClusterState *cluster_state_new(void); // NULL: out of memory
ClusterState *cluster_state_free(ClusterState *s);
DEFINE_CLEANUP(ClusterState *, cluster_state_free)

// Applies one committed batch; borrows it. -ENOMEM leaves the state unusable: exit. -EPROTONOSUPPORT: this
// build cannot read the batch (log-format.h, or it raises the feature level above the build's own); nothing
// of it was applied, and nothing that follows may be: exit. Otherwise its content is no reason to fail: what
// it has no effect for by what it means is skipped; what should not be in it is refused
// (cluster-state-limits.h), and told.
//
//      unit put     Refused: unknown spec, a name of 0 or more than UNIT_NAME_MANAGED_MAX bytes, a set of
//                   more than
//                   CLUSTER_SET_NAME_MAX, CLUSTER_UNITS_MAX. Skipped: if_revision given and different (or no
//                   such unit).
//                   The applier fills in the revisions and keeps the outcomes; bump_start or a change of
//                   `global` drops
//                   them. A global unit has no node.
//      outcome      Skipped: no such unit, or start_rev is not the record's; for a global unit also an
//                   unknown node. One per unit, for global ones one per node; kind NONE takes it back.
//      spec         Refused: its hash is not that of the content. Dropped at the end of a batch in which
//                   nobody uses it any more, unless a job names it; then with that, or when there are too
//                   many.
//      spec forget  Drops those that are kept for jobs alone.
//      host         host 0: gets the next number, and so do nodes with number 0. Refused: a number that is
//                   not in use (a removed host never comes back), a node number that this host does not
//                   have, a key pin or raft id of another host, a raft id that was used before,
//                   CLUSTER_HOSTS_MAX.
//      host remove  Touches no unit: what is still placed there stays so until the leader moves it. Its
//                   set_labels are remembered under its host id until that is a host again.
//      rollout      Takes the place of one of the same name. Refused: a spec that is unknown, a name that is
//                   too long, or CLUSTER_ROLLOUTS_MAX are under way. Revisions that are 0 are filled in.
//      role, pool   Takes the place of one of the same name. Refused: a name of 0 or more than LABEL_MAX
//                   bytes, CLUSTER_ROLES_MAX, CLUSTER_POOLS_MAX.
//      unit remove  Leaves tombstones on its nodes, as a tombstone put does. Skipped: no such unit. Refused:
//                   CLUSTER_TOMBSTONES_MAX.
//      tombstone    One on each of these nodes that is a node of a host. Refused: a name of 0 or more than
//                   UNIT_NAME_MANAGED_MAX bytes, CLUSTER_TOMBSTONES_MAX. Those of a host or node that is
//                   removed go with it.
//      tombstone clear
//                   Those of one host's nodes up to a revision: all, or those that a guard ends within a
//                   time.
//      cluster      A revision_floor above the counter raises it, and with it the revision of every unit;
//                   one beyond what an image may hold is skipped.
//      grant        A right that somebody has from now on, or has no more. Skipped: one that is there, or is
//                   not. Refused: one that
//                   is of no user and no group, or of both; a name of more than AUTHOR_NAME_MAX bytes, a
//                   role of more
//                   than LABEL_MAX, users of an unknown host, CLUSTER_GRANTS_MAX. What a host's users have
//                   goes with
//                   the host.
//      access token A token that can be used from now on. Refused: one of that id is there, an id, hash,
//      name or role of a
//                   length that none has, CLUSTER_ACCESS_TOKENS_MAX of which none is over.
//      access token end, uses
//                   It cannot be used any more; it was used at that time. Skipped: it is not there, it was
//                   revoked
//                   before, or used later. Each entry drops some of those that have been over for
//                   CLUSTER_ACCESS_TOKEN_DAYS.
//      job          Gets the next number, or is the next part of one that is kept. The applier fills in what
//                   the
//                   operations before it have changed of units. Its request's id is remembered as a key.
//                   What the cluster did by itself (JobRecord.own) has said all of it, and is about no
//                   operation.
//                   One that is held back brings its request, and is cancelled at once if that does not fit
//                   (cluster_state_stores_request(), or it waits for one that did not come before it).
//      job ends     Of each of these jobs it is said how it ended. Skipped: one that has ended.
//      release      Of a job that is held back nothing is left that holds it but the rules of the queue, or
//                   not these
//                   either. Skipped: it is not held.
//      queue        The rules of the queue are these from now on. Refused: too many.
//      secret       One more version of a secret. Refused: a name that is none, nothing sealed or too much,
//                   a number that does not follow that of
//                   the newest, CLUSTER_SECRETS_MAX, _VERSIONS_MAX, _BYTES_MAX.
//      secret remove, prune
//                   All of it; older versions that the leader says nobody has.
//      secret reseal
//                   Versions are sealed with another key; their values do not change. Refused: one is not
//                   there, or gets another length.
//      token        Takes the place of one with the same id. Drops those that expired before the batch's
//                   at_us. Refused: CLUSTER_TOKENS_MAX.
int cluster_state_apply(ClusterState *s, const Argosy__LogBatch *batch) _warn_unused_;

// Appends an image of the whole state: equal states, equal bytes. Cost: proportional to the state; who has
// no time for that takes a snapshot and has the pool encode it (cluster-snapshot.h).
int cluster_state_encode(const ClusterState *s, Buf *ret) _warn_unused_;
// Replaces everything by an image; an empty one is the state of cluster_state_new(). -EBADMSG: not an image,
// or one that contradicts itself; -ENOMEM; after both the state is as before. Afterwards nothing is dirty: a
// leader begins by looking at everything anyhow. -EPROTONOSUPPORT: this build cannot read it; as before. No
// entry from cluster_state_next_dirty() may be outstanding.
int cluster_state_restore(ClusterState *s, const void *data, size_t len) _warn_unused_;

// Why apply or restore returned -EPROTONOSUPPORT, and what helps: for people.
const char *cluster_state_unreadable(const ClusterState *s);
// As if this were a build of another feature level: for tests.
void cluster_state_set_build_level(ClusterState *s, uint32_t level);

const Argosy__ClusterRecord *cluster_state_cluster(const ClusterState *s); // NULL before the first batch
uint64_t cluster_state_revision(const ClusterState *s);
// Newest level (feature-level.h) that may be written into the log now; FEATURE_BASE before the first batch.
uint32_t cluster_state_feature_level(const ClusterState *s);
// Next raft id to give: greater than any that was ever in a host record.
uint32_t cluster_state_next_raft_id(const ClusterState *s);
// Whether a record had this raft id and none has it any more: its server was taken out of the log, for good,
// since no id is given twice. An id that this state has never heard of is not retired.
bool cluster_state_raft_id_is_retired(const ClusterState *s, uint32_t raft_id);

UnitEntry *cluster_state_find_unit(const ClusterState *s, const char *name);
size_t cluster_state_n_units(const ClusterState *s);
// Ends the round with anything but 0.
typedef int (*UnitEntryEach)(UnitEntry *u, void *userdata);
// Calls `each` for the units whose names begin so, in their order: O(log n), and those. 0, or what `each`
// returned. No unit is added or removed meanwhile.
int cluster_state_each_unit(const ClusterState *s, const char *prefix, UnitEntryEach each, void *userdata);
// The first one behind that name, which no unit needs to have; "": the first of all. NULL: there is none.
UnitEntry *cluster_state_next_unit(const ClusterState *s, const char *name);
// Each unit, sorted by name (bytes). None is removed meanwhile.
#define cluster_state_foreach_unit(u, s)                            \
        for (UnitEntry *u = cluster_state_next_unit((s), ""); u; \
             u = cluster_state_next_unit((s), u->record->name))
// Likewise, one with each call, and for less where nothing came and went since the last one; NULL: these
// were all. There is one walk at a time, and begin() begins it anew. Batches may be applied in between: none
// that was there at the begin and still is, is left out; one that is new may be, but is dirty.
void cluster_state_walk_begin(ClusterState *s);
UnitEntry *cluster_state_walk_next(ClusterState *s);
// The units placed on a node, also on one whose host is gone, and the global ones: rings of UnitEntry.placed
// in no particular order; *ret_n may be NULL. NULL: none. For walking: list_foreach (n, head)
// CONTAINER_OF(n, UnitEntry, placed).
const ListNode *cluster_state_units_on(const ClusterState *s, uint32_t node, size_t *ret_n);
const ListNode *cluster_state_global_units(const ClusterState *s, size_t *ret_n);
// The units of a set: name -> UnitEntry, in no particular order. NULL: it has none.
const Map *cluster_state_units_of_set(const ClusterState *s, const char *set);
// The revision by which a unit was removed, or left its set, last.
uint64_t cluster_state_left_revision(const ClusterState *s);

// Finds a content, also one that no unit has any more and a job names.
SpecEntry *cluster_state_find_spec(const ClusterState *s, const Hash *hash);
// The revision of the newest job that is kept and has brought it to a unit, or replaced it there; 0: none.
uint64_t cluster_state_spec_revision(const ClusterState *s, const SpecEntry *spec);
static inline bool spec_entry_is_former(const SpecEntry *spec) {
        return spec->users == 0;
}
// Whether it is a content that units have or had, and its manifest names the file.
bool spec_entry_names(const SpecEntry *spec, const SpecEntry *file);
// Whether all files that its manifest names are there.
bool cluster_state_has_files_of(const ClusterState *s, const SpecEntry *spec);
// Bytes of all files that contents name which are in use, and how many more it would be if this one were,
// too.
size_t cluster_state_files_bytes(const ClusterState *s);
size_t cluster_state_files_bytes_to_come(const ClusterState *s, const SpecEntry *spec);
// What those take that only jobs name.
size_t cluster_state_former_specs_bytes(const ClusterState *s);
// The content as unit_file_parse() understands it, parsed at the first call. -EINVAL: this program does not
// accept it (the one that proposed it did); -ENOMEM.
int spec_entry_file(SpecEntry *spec, const UnitFile **ret) _warn_unused_;
// What a unit that runs with the one content does for the other (carried_files_change()). Without memory it
// is restarted.
Argosy__FileChange spec_entry_change(const SpecEntry *now, SpecEntry *next);

// All hosts, by ascending number.
const HostEntry *cluster_state_hosts(const ClusterState *s, size_t *ret_n);
size_t cluster_state_n_hosts(const ClusterState *s);
// The one with the next higher number; NULL: there is none.
const Argosy__HostRecord *cluster_state_next_host(const ClusterState *s, uint32_t after);
const Argosy__HostRecord *cluster_state_find_host(const ClusterState *s, uint32_t host);
const Argosy__HostRecord *cluster_state_find_host_by_pin(const ClusterState *s, const Hash *pin);
const Argosy__HostRecord *cluster_state_find_host_by_node(const ClusterState *s, uint32_t node);
// One with that name, or that host id, but for one of them (NULL: any). NULL: there is none.
const Argosy__HostRecord *cluster_state_other_by_name(const ClusterState *s, const char *name,
                                                      const Argosy__HostRecord *than);
const Argosy__HostRecord *cluster_state_other_by_id(const ClusterState *s, const void *id, size_t len,
                                                    const Argosy__HostRecord *than);
// Finds a host by name, host id (32 hex digits), machine id, or a prefix (>= 4 characters) of the ids. NULL
// and *ret_ambiguous (may be NULL) false: none; true: several.
const Argosy__HostRecord *cluster_state_resolve_host(const ClusterState *s, const char *word,
                                                     bool *ret_ambiguous);
// "HOST", its system manager, or "HOST/MANAGER" as in manager-name.h; HOST as above. NULL also if the host
// has no such manager.
const Argosy__HostRecord *cluster_state_resolve_node(const ClusterState *s, const char *word,
                                                     uint32_t *ret_node, bool *ret_ambiguous);
// What is remembered of a removed host. NULL: nothing.
const Argosy__FormerHost *cluster_state_find_former(const ClusterState *s, const void *host_id, size_t len);
// Likewise, by the key that it had. Walks over all of them (CLUSTER_FORMER_HOSTS_MAX): for strangers, whose
// handshake costs a hundred times as much.
const Argosy__FormerHost *cluster_state_find_former_by_pin(const ClusterState *s, const Hash *pin);
// The rollout of this name, also when it has ended. NULL: none.
const Argosy__RolloutRecord *cluster_state_find_rollout(const ClusterState *s, const char *name);
// By name.
Argosy__RolloutRecord *const *cluster_state_rollouts(const ClusterState *s, size_t *ret_n);
// The revision of the last change of any of them.
uint64_t cluster_state_rollouts_revision(const ClusterState *s);
// Running or returning.
static inline bool rollout_is_under_way(const Argosy__RolloutRecord *r) {
        return r && r->phase <= ARGOSY__ROLLOUT_PHASE__ROLLOUT_RETURNING;
}
// All roles, by name. Units name roles, and may name one that is not there.
Argosy__RoleRecord *const *cluster_state_roles(const ClusterState *s, size_t *ret_n);
const Argosy__RoleRecord *cluster_state_find_role(const ClusterState *s, const char *name); // NULL: none
// The revision of the last change of any of them.
uint64_t cluster_state_roles_revision(const ClusterState *s);
// All pools, by name. A change of a pool counts as one of hosts, too (cluster_state_hosts_revision()).
Argosy__PoolRecord *const *cluster_state_pools(const ClusterState *s, size_t *ret_n);
const Argosy__PoolRecord *cluster_state_find_pool(const ClusterState *s, const char *name); // NULL: none
// Whether the host is named by the pool or has one of its labels.
bool pool_has_host(const Argosy__PoolRecord *pool, const Argosy__HostRecord *host);
// All secrets, by name, sealed. A record has at least one version, the oldest first.
Argosy__SecretRecord *const *cluster_state_secrets(const ClusterState *s, size_t *ret_n);
const Argosy__SecretRecord *cluster_state_find_secret(const ClusterState *s, const char *name); // NULL: none
// The revision by which one was set or deleted last.
uint64_t cluster_state_secrets_revision(const ClusterState *s);
size_t cluster_state_secrets_bytes(const ClusterState *s);
// What of UnitExtra a record has: NULL, 0 if nothing.
static inline const Argosy__Trial *unit_record_trial(const Argosy__UnitRecord *r) {
        return r->extra ? r->extra->trial : NULL;
}
static inline uint64_t unit_record_secrets(const Argosy__UnitRecord *r) {
        return r->extra ? r->extra->secrets : 0;
}
static inline uint64_t unit_record_former_fence_us(const Argosy__UnitRecord *r) {
        return r->extra ? r->extra->former_fence_us : 0;
}
static inline uint32_t unit_record_data_node(const Argosy__UnitRecord *r) {
        return r->node || !r->extra ? r->node : r->extra->data_node;
}
// `extra` with what the record has and another trial, for a record that is to be put: NULL if there is
// nothing in it.
static inline Argosy__UnitExtra *unit_extra_with_trial(Argosy__UnitExtra *extra, const Argosy__UnitRecord *r,
                                                       Argosy__Trial *trial) {
        argosy__unit_extra__init(extra);
        extra->trial = trial;
        extra->secrets = unit_record_secrets(r);
        return extra->trial || extra->secrets ? extra : NULL;
}
const Argosy__SecretVersion *secret_record_newest(const Argosy__SecretRecord *record);
// That a unit has whose secrets are as of that revision (UnitExtra.secrets).
const Argosy__SecretVersion *secret_record_at(const Argosy__SecretRecord *record, uint64_t revision);
// All grants, in the order of grant_compare(). Before the first change: access_of_new_cluster(). Tokens are
// judged as of cluster_state_time_us(), which stands still while nothing comes to the log.
AccessList cluster_state_access(const ClusterState *s);
// The revision of the last change of that; and of what is given to users and groups.
uint64_t cluster_state_access_revision(const ClusterState *s);
uint64_t cluster_state_grants_revision(const ClusterState *s);
// Tombstones of a name, and on a node with the oldest first: rings of Tombstone.by_name and .on_node. NULL:
// none.
const ListNode *cluster_state_tombstones_of(const ClusterState *s, const char *name);
const ListNode *cluster_state_tombstones_on(const ClusterState *s, uint32_t node);
const Tombstone *cluster_state_find_tombstone(const ClusterState *s, const char *name, uint32_t node);
size_t cluster_state_n_tombstones(const ClusterState *s);
// One that was put since it was last asked and is still there; NULL: no more.
const Tombstone *cluster_state_next_tombstone(ClusterState *s);
size_t cluster_state_n_tokens(const ClusterState *s); // expired ones count until they are dropped
// When a token of hosts that may join is over by counted time; and whether it is by whichever of the two is
// later.
uint64_t token_record_end_counted_us(const Argosy__TokenRecord *token);
bool token_record_is_over(const Argosy__TokenRecord *token, AccessTime now);
// How many are not over by counted time alone: those that the next one leaves there.
size_t cluster_state_n_tokens_kept(const ClusterState *s, uint64_t counted_us);
// The number of join tokens with which hosts may still join.
size_t cluster_state_n_tokens_open(const ClusterState *s, AccessTime now);
const Argosy__TokenRecord *cluster_state_find_token(const ClusterState *s, const char *id);

// Jobs: what was asked for and is in the log, by number and without a gap. The last number that was given,
// 0: none yet; the first that is still kept, last + 1: none. Those are kept that are older than this first
// one and have not ended, or that one which is held back waits for.
uint64_t cluster_state_last_job(const ClusterState *s);
uint64_t cluster_state_first_job(const ClusterState *s);
// The next one that is kept, from a number that need not be one: with a smaller number, with a greater one.
// 0: none.
uint64_t cluster_state_job_before(const ClusterState *s, uint64_t number);
uint64_t cluster_state_job_after(const ClusterState *s, uint64_t number);
// JOB_UNKNOWN: nobody has written it down, or the job is not kept.
Argosy__JobState cluster_state_job_state(const ClusterState *s, uint64_t number);
// One of those that are kept, to be freed with message_free(): 0, -ENOENT or -ENOMEM.
int cluster_state_read_job(const ClusterState *s, uint64_t number, Argosy__JobRecord **ret) _warn_unused_;
// The revision of the job's last change, or of its release; 0: the job is not kept.
uint64_t cluster_state_job_revision(const ClusterState *s, uint64_t number);
// The same of what is packed of it from there on (JobNews.from).
int cluster_state_read_job_from(const ClusterState *s, uint64_t number, size_t from,
                                Argosy__JobRecord **ret) _warn_unused_;
// The same in pieces that take no turn of a loop long, for one that names thousands: all but the units,
// settings, ends and moves, and how many bytes are packed of it now; and the next piece of all of it from
// *at on, which is moved on, without correcting dates. -ENOENT: there is no more of it, or the job is not
// kept.
int cluster_state_read_job_head(const ClusterState *s, uint64_t number, Argosy__JobRecord **ret,
                                size_t *ret_bytes) _warn_unused_;
int cluster_state_read_job_piece(const ClusterState *s, uint64_t number, size_t *at,
                                 Argosy__JobRecord **ret) _warn_unused_;
// Whether units that it changes are its own from then on: it is kept, and does not only move them
// (request_verb_only_moves()).
bool cluster_state_job_takes_units(const ClusterState *s, uint64_t number);
// The one that gave the unit this revision of its record, which no other has; 0: none that is kept, or it
// was nobody's.
uint64_t cluster_state_find_job_of(const ClusterState *s, const char *unit, uint64_t revision);
// What the cluster did by itself: a job that gives no revision. The newest of a cause (of LOST and BACK,
// about that host): false: none is kept. Whether that host's newest of these two is LOST. How this unit was
// moved, or got a node, last: valid until the next batch; NULL: by none that is kept. Whether only the
// number is left of one.
enum { OWN_CAUSES = 7 }; // Argosy__OwnCause
typedef struct OwnJob {
        uint64_t number;
        Argosy__OwnCause cause;
        uint32_t host, times;
        size_t bytes;   // packed
        uint64_t at_us, counted_us; // of its last part; cluster_state_counted_us()
} OwnJob;
typedef struct OwnMove {
        uint64_t job, at_us, counted_us;
        const char *from, *to, *reason; // nodes by name, empty: none
} OwnMove;
bool cluster_state_last_own_job(const ClusterState *s, Argosy__OwnCause cause, uint32_t host, OwnJob *ret);
bool cluster_state_host_was_lost(const ClusterState *s, uint32_t host);
const OwnMove *cluster_state_own_move_of(const ClusterState *s, const char *unit);
bool cluster_state_job_is_dropped(const ClusterState *s, uint64_t number);
// The greatest revision that a job has given which is not kept any more: what has changed behind it, a job
// says that is kept, whenever that one began. 0: all are kept.
uint64_t cluster_state_jobs_complete_from(const ClusterState *s);
// What jobs before this one found is not kept whole any more, since there was no room for it: these may not
// be undone. 0: of all jobs that are kept it is.
uint64_t cluster_state_undo_from(const ClusterState *s);
// The newest that began before the counter of revisions was that. 0: none that is kept.
uint64_t cluster_state_job_begun_before(const ClusterState *s, uint64_t revision);
// Of those with a smaller number, so many that have changed something after that revision by a further entry
// than the one that their number is from (updates, and what was held back), the latest change first, each
// once.
size_t cluster_state_late_jobs(const ClusterState *s, uint64_t revision, uint64_t before, uint64_t *ret,
                               size_t max);
// How many bytes of jobs are kept, and as many of former contents.
size_t cluster_state_history_bytes(const ClusterState *s);
// The most bytes that a file of a unit may have, a unit with all of its files, and all files that come with
// units, as QueueRecord says.
size_t cluster_state_file_limit(const ClusterState *s);
size_t cluster_state_unit_files_limit(const ClusterState *s);
size_t cluster_state_files_limit(const ClusterState *s);
// Bytes of all of them, packed.
size_t cluster_state_jobs_bytes(const ClusterState *s);
// Memory of what a state has of units as they are to be, and keeps of the past.
#define STATE_COUNTERS(COUNTER, GAUGE)                                                                 \
        GAUGE(state_units_bytes,                                                                       \
              "memory of the records of units, as the cluster wants them, without texts")              \
        GAUGE(state_jobs_bytes, "memory of the jobs that are kept")                                    \
        GAUGE(state_former_files_bytes, "memory of unit files that no unit has any more, and jobs do") \
        COUNTER(state_operations_refused,                                                              \
                "operations of the log that no voter carries out: a limit, or a contradiction")

typedef struct StateFigures {
        STATE_COUNTERS(COUNTER_FIELD, COUNTER_FIELD)
} StateFigures;
StateFigures cluster_state_figures(const ClusterState *s);
// Whether so many more requests of which the log has a part are remembered, without giving up one that is
// under way.
bool cluster_state_takes_open_keys(const ClusterState *s, size_t n);
// False: no request of this id is remembered.
bool cluster_state_find_key(const ClusterState *s, const uint8_t id[16], RequestKey *ret);
// Requests of jobs that are held back, or of which a part has begun, by number of these; and one of them,
// NULL: none.
Argosy__StoredRequest *const *cluster_state_stored_requests(const ClusterState *s, size_t *ret_n);
const Argosy__StoredRequest *cluster_state_find_stored_request(const ClusterState *s, uint64_t job);
// Whether one more of so many bytes would be stored, if there were so many more with so many bytes before
// it.
bool cluster_state_stores_request(const ClusterState *s, size_t n_more, size_t bytes_more, size_t bytes);
// The rules of the queue, never NULL, and the revision by which they changed last.
const Argosy__QueueRecord *cluster_state_queue(const ClusterState *s);
uint64_t cluster_state_queue_revision(const ClusterState *s);
// Whether the job's request goes on in another entry, or would have if its leader had not been lost.
bool cluster_state_job_is_partial(const ClusterState *s, uint64_t number);
// Whether a request that was sent so long ago may have been carried out and not be remembered any more. By
// cluster_state_counted_us(), so that no two clocks are compared.
bool cluster_state_may_have_forgotten(const ClusterState *s, uint64_t age_ms);
// The log's time: what LogBatch.at_us said last, or more, since nothing but a TimeSet makes it go back.
uint64_t cluster_state_time_us(const ClusterState *s);
// How long leaders have counted, by boot clocks: by this alone something is deleted for its age.
uint64_t cluster_state_counted_us(const ClusterState *s);
// Whether the log's time can be set to that: there is room for one more correction of dates.
bool cluster_state_takes_time_set(const ClusterState *s, uint64_t to_us);

// What changed since it was last asked: units in the order in which they became dirty; NULL when there are
// no more. Each is handed out once, however often it changed; the fields *_before and `existed` compare.
// Units that came and went in between are left out.
//
// A removed unit has `removed` set, target INACTIVE, and in record->revision that of the removal; it belongs
// to the caller, who ends it by cluster_state_dirty_done() (which does nothing for the others, so call it
// for each). A unit that was removed and made again comes twice: the removed one, then the new one with
// `existed` false.
UnitEntry *cluster_state_next_dirty(ClusterState *s);
void cluster_state_dirty_done(ClusterState *s, UnitEntry *u);
// Likewise hosts, by number: those whose record has changed, and those that were removed. 0: no more.
uint32_t cluster_state_next_dirty_host(ClusterState *s);
// The next news of jobs, in the log's order; valid until the next batch. NULL: no more.
const JobNews *cluster_state_next_job(ClusterState *s);
// Those of which an entry has said how they ended, if that was not known before; and those that have begun,
// of jobs that were held back. 0: no more.
uint64_t cluster_state_next_ended_job(ClusterState *s);
// For those who do not lead.
void cluster_state_drop_dirty(ClusterState *s);
// The revision of the last change of hosts, tokens or the cluster record; code that follows these keeps the
// revision that it has seen.
uint64_t cluster_state_hosts_revision(const ClusterState *s);
// The same of pools alone.
uint64_t cluster_state_pools_revision(const ClusterState *s);
// The same of which hosts vote, by their records.
uint64_t cluster_state_voters_revision(const ClusterState *s);
// Those by which small tables have changed last, in one piece: each as the function of its name has it.
typedef struct ClusterRevisions {
        uint64_t hosts, rollouts, roles, grants, queue;
} ClusterRevisions;
ClusterRevisions cluster_state_revisions(const ClusterState *s);
