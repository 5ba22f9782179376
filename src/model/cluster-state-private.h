// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Inside of the replicated state, shared by its files: the tables and lookups (cluster-state.c, and
// cluster-state-units.c, cluster-state-sets.c, cluster-state-specs.c, cluster-state-hosts.c,
// cluster-state-named.c, cluster-state-rollouts.c, cluster-state-roles.c, cluster-state-access.c,
// cluster-state-access-tokens.c, cluster-state-secrets.c, cluster-state-tombstones.c, cluster-state-jobs.c,
// cluster-state-own-jobs.c, cluster-state-job-records.c, cluster-state-job-settings.c, cluster-state-keys.c,
// cluster-state-stored-requests.c), what batches do to them (cluster-state-apply.c), snapshots
// (cluster-snapshot.c), and the image (cluster-encoder.c, cluster-state-image.c).
//
// What a snapshot reaches is never changed: records, specs, tombstones and their names are made whole,
// put into a table, replaced and retired (state_retire()). The loop's own ways to them (maps, lists, sorted
// arrays) no snapshot knows.

#include "cluster-state-limits.h"
#include "cluster-state.h"
#include "name-table.h"
#include "paged-table.h"
#include "unit-order.h"

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

static_assert(CLUSTER_UNITS_MAX < 1 << 28); // UnitEntry.number

// What the table of contents holds, at SpecEntry.number.
typedef struct SpecVersion {
        SpecEntry *spec;
        uint64_t job, former; // as the entry has them
} SpecVersion;

// Revisions that one entry has given: those behind `before`, up to `last`.
typedef struct JobSpan {
        uint64_t before, last;
} JobSpan;

// A job that is kept, packed; behind that the spans of its entries, if they are several.
typedef struct JobEntry {
        uint64_t at_us, counted_us;         // of its last entry, as the record has them
        uint64_t revision_before, revision; // as the record has them
        // moves: its verb does nothing else; state: Argosy__JobState
        uint32_t len, n_spans : 27, moves : 1, state : 4;
        uint32_t own_host, times : 27, own : 4, dropped : 1; // own: Argosy__OwnCause
        uint8_t packed[];
} JobEntry;

// What a further entry has given for a job: later than its number says.
typedef struct LateSpan {
        JobSpan span;
        uint64_t job;
} LateSpan;

// Late changes of jobs by revision; also of jobs that are not kept any more (cluster-state-late-jobs.c).
typedef struct LateJobs {
        LateSpan *spans;
        size_t n, n_kept, n_looked, allocated;
} LateJobs;

// One that has not ended, or that others wait for, although it would have been dropped.
typedef struct HeldJob {
        uint64_t number;
        JobEntry *entry;
} HeldJob;

// What the cluster did by itself, of those jobs that are kept whole (cluster-state-own-jobs.c).
typedef struct OwnJobs {
        uint64_t *numbers; // the oldest at `first`
        size_t first, n, allocated, bytes;
        uint64_t last[OWN_CAUSES]; // the newest of each cause; 0: none
        Map hosts;                 // number of a host -> OwnHost
        Map units;                 // name -> OwnUnit: by which it was moved last
} OwnJobs;

// Numbers that no job has, behind a recovery of the cluster: `size` of them, before `first`. size 0: there
// are none.
typedef struct JobGap {
        uint64_t first, size;
} JobGap;

// Numbers without those: one behind the other. That of a number in the gap is that of the last one before
// it.
static inline uint64_t job_rank(JobGap gap, uint64_t number) {
        if (gap.size == 0 || number < gap.first - gap.size)
                return number;
        return number >= gap.first ? number - gap.size : gap.first - gap.size - 1;
}
static inline uint64_t job_of_rank(JobGap gap, uint64_t rank) {
        return gap.size > 0 && rank >= gap.first - gap.size ? rank + gap.size : rank;
}

// Jobs by number: a ring of JOBS_RING. What stands in it of those that are not kept is not looked at.
enum { JOBS_RING = 131072 };
static_assert(JOBS_RING > (size_t) CLUSTER_JOBS_MAX);
typedef struct JobTable {
        PagedTable entries; // pointers
        uint64_t base;      // rank of the one that came to the first place
        uint64_t last;      // number of the newest, or the last one of the gap
        JobGap gap;         // of those that are kept
        size_t n, bytes;
        HeldJob **held; // by number
        size_t n_held, held_allocated;
        LateJobs late;
        OwnJobs own;
        uint64_t complete_from; // cluster_state_jobs_complete_from()
        uint64_t undo_from;     // cluster_state_undo_from()
        size_t n_dropped; // of what the cluster did by itself, in the ring
        JobNews *news; // what cluster_state_next_job() has to tell
        size_t n_news, n_news_taken, news_allocated;
        uint64_t *ended; // what cluster_state_next_ended_job() has to tell
        size_t n_ended, n_ended_taken, ended_allocated;
} JobTable;

// Requests of jobs that are held back.
typedef struct StoredTable {
        Argosy__StoredRequest **requests; // by number of their jobs
        size_t n, allocated, bytes;
        Map awaited; // number -> AwaitedJob
} StoredTable;

// As a snapshot has them.
typedef struct JobView {
        PagedView entries;
        uint64_t base, last;
        JobGap gap;
        size_t n;
        HeldJob **held;
        size_t n_held;
        uint64_t complete_from, undo_from;
} JobView;

// What an operation of a batch has changed, for the job that it belongs to.
typedef struct JobNote {
        size_t op; // its place in the batch
        const char *name;
        bool existed, from_template; // before
        bool again;                  // the batch has changed it before
        char *set;                   // owned; NULL: none
        const char *set_after;       // of the batch
        Hash spec;
        Argosy__Target target;
        bool gone; // after it
        Hash spec_after;
        Argosy__Target target_after;
        uint64_t revision;
} JobNote;

// A setting that an operation may have changed; when that is applied, one that it has.
typedef struct SettingNote {
        size_t op; // its place in the batch
        Argosy__JobSetting *setting;
} SettingNote;

typedef struct JobNotes {
        JobNote *notes; // NULL: no operation of the batch is a job
        size_t n;
        SettingNote *settings;
        size_t n_settings, settings_allocated;
        uint64_t *before; // revision before each operation
        // why the last of those that were refused since the last job was, a clause; NULL: none was
        char *failure;
        size_t failed_op; // its place
        size_t n_jobs;    // that the batch has brought
} JobNotes;

enum { KEY_SEGMENTS_MAX = 17, KEY_SEGMENT_SIZE = 65536, OPEN_KEYS_MAX = 1024 };
static_assert((KEY_SEGMENTS_MAX - 1) * KEY_SEGMENT_SIZE >= CLUSTER_KEYS_MIN);

// Ids of requests. Of the newest segment a snapshot knows how much of it there was.
typedef struct KeySegment KeySegment;
typedef struct KeyTable {
        KeySegment *segments[KEY_SEGMENTS_MAX]; // oldest first
        size_t n;
        size_t n_in_newest;
        uint64_t newest_us; // when the last key of the newest one came
        uint64_t forgotten_us;
        Argosy__OpenKey **open; // of those that have `more`, oldest first
        size_t n_open;
} KeyTable;

#define JOB_AGE_MAX_US (CLUSTER_JOB_DAYS_MAX * UINT64_C(86400) * UINT64_C(1000000))

// What was written up to that counted time is not dated later than to_us. Both grow.
typedef struct TimeCorrection {
        uint64_t counted_us, to_us;
} TimeCorrection;
typedef struct TimeCorrections {
        TimeCorrection list[CLUSTER_TIME_SETS_MAX];
        size_t n;
} TimeCorrections;

// Everything that an image says. The arrays are the state's own, or copies.
typedef struct StateView {
        Argosy__ClusterRecord *cluster;
        uint64_t revision;
        uint32_t last_host, last_node, last_raft_id;
        PagedView units, specs, hosts, tombstones; // specs: SpecVersion; else pointers
        Argosy__TokenRecord **tokens;
        Argosy__RolloutRecord **rollouts;
        Argosy__RoleRecord **roles;
        Argosy__PoolRecord **pools;
        Argosy__FormerHost **former;
        Argosy__GrantRecord **grants;
        Argosy__AccessTokenRecord **access_tokens;
        Argosy__SecretRecord **secrets;
        size_t n_tokens, n_rollouts, n_roles, n_pools, n_former, n_grants, n_access_tokens, n_secrets;
        bool access_set;
        JobView jobs;
        KeyTable keys;
        Argosy__StoredRequest **stored;
        size_t n_stored;
        Argosy__QueueRecord *queue; // NULL: nobody has changed it
        uint64_t time_us, clock_us, counted_us;
        TimeCorrections corrections;
} StateView;

enum { REFUSED_KEPT = 16 };

// cluster-state-limits.h
typedef struct RefusedOps {
        size_t limits[CLUSTER_REFUSALS];
        uint64_t n, reported; // since the state was made; of these cluster_state_next_refused() has named
        ClusterRefused last[REFUSED_KEPT];
} RefusedOps;

// Hosts by what is hardly ever the same for two of them.
typedef enum HostKey { HOST_KEY_NAME, HOST_KEY_ID, HOST_KEYS } HostKey;

typedef struct HostIndex {
        Map first;                   // key -> record
        Argosy__HostRecord **others; // those whose key another has in `first`
        size_t n_others, others_allocated;
} HostIndex;

struct ClusterState {
        SnapshotClock *clock;
        struct ClusterSnapshot *newest; // NULL: it has ended
        uint64_t version;               // raised by each batch

        Argosy__ClusterRecord *cluster;
        uint64_t revision, hosts_revision, pools_revision, voters_revision;
        uint32_t last_host, last_node, last_raft_id;

        HostEntry *hosts; // by number
        size_t n_hosts;
        PagedTable host_records;
        Map pins;  // key pin -> record of hosts; those with a proper pin
        HostIndex host_index[HOST_KEYS];
        Map nodes; // number -> NodeIndex

        NameTable units; // UnitEntry
        PagedTable unit_records;
        UnitEntry *walk; // that cluster_state_walk_next() comes to next; NULL: none is under way
        UnitPlace walk_place;
        ListNode globals;
        size_t n_globals;
        Map sets;           // name -> UnitSet
        UnitOrder by_name;
        Map specs;          // hash -> SpecEntry
        PagedTable spec_entries;
        // specs without users, of which the end of the batch makes former ones or nothing
        ListNode idle;
        ListNode former_specs; // in the order of SpecEntry.former
        uint64_t last_former_spec;
        size_t former_specs_bytes;
        size_t files_bytes; // cluster_state_files_bytes()

        Argosy__TokenRecord **tokens; // by id
        size_t n_tokens;

        Argosy__RolloutRecord **rollouts; // by name
        size_t n_rollouts;
        uint64_t rollouts_revision;

        uint64_t left_revision; // when a unit was removed, or left its set, last

        Argosy__RoleRecord **roles; // by name
        size_t n_roles;
        uint64_t roles_revision;
        Argosy__PoolRecord **pools; // by name
        size_t n_pools;

        Argosy__GrantRecord **grants; // in the order of grant_compare()
        size_t n_grants;
        bool access_set; // they were changed once; else access_of_new_cluster() counts
        Argosy__AccessTokenRecord **access_tokens; // by id
        size_t n_access_tokens;
        // counted time when the next of them is to be dropped; that of none counts for nothing
        uint64_t access_tokens_due_us;
        uint64_t access_revision, grants_revision;

        Argosy__SecretRecord **secrets; // by name
        size_t n_secrets, secrets_bytes;
        uint64_t secrets_revision;

        PagedTable tombstone_entries;
        uint64_t last_order;    // that a tombstone got
        ListNode fresh;         // those that cluster_state_next_tombstone() has not named yet
        Map tombstones_by_key;  // {node, name} -> Tombstone
        Map tombstones_by_name; // -> TombstoneName

        Argosy__FormerHost **former; // oldest first
        size_t n_former;


        JobTable jobs;
        KeyTable keys;
        StoredTable stored;
        Argosy__QueueRecord *queue; // NULL: nobody has changed it
        uint64_t queue_revision;
        // cluster-state-time.c alone changes these
        uint64_t time_us;  // cluster_state_time_us()
        uint64_t clock_us; // at_us of the newest entry
        uint64_t counted_us; // cluster_state_counted_us()
        TimeCorrections corrections;

        RefusedOps refused;

        UnitEntry **dirty; // in the order in which they became so; also those that came and went
        size_t n_dirty, n_dirty_taken, dirty_allocated;
        uint32_t *dirty_hosts; // numbers, each once, in the order in which they became so
        size_t n_dirty_hosts, n_dirty_hosts_taken, dirty_hosts_allocated;

        uint32_t build_level;             // FEATURE_LEVEL, unless a test says otherwise
        char unreadable[UNREADABLE_SIZE]; // cluster_state_unreadable()
};

// Whether the build can read it and all that is in it: 0, or -EPROTONOSUPPORT and the reason in
// `unreadable`.
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

// cluster-state-specs.c
// -EEXIST: that hash is there. Takes `content`. The spec begins idle.
int state_add_spec(ClusterState *s, const Hash *hash, uint8_t *content, size_t len);
// At the end of a batch, behind state_drop_old_jobs(): those without users are former ones from now on, or
// go.
int state_settle_specs(ClusterState *s);
// One more unit or rollout, or one less, that keeps the spec from being dropped, with the files that it
// names. -EBADMSG: one of those is not there.
int state_use_spec(ClusterState *s, SpecEntry *spec);
void state_unuse_spec(ClusterState *s, SpecEntry *spec);
// A job names it; it need not be there.
int state_name_spec(ClusterState *s, const Hash *hash, uint64_t job);
// One that was just added is a former one, behind all others.
int state_load_former_spec(ClusterState *s, const Hash *hash, uint64_t job);
// Drops a former content, whatever names it; adds 1 to *ret_n.
int state_forget_spec(ClusterState *s, const Hash *hash, size_t *ret_n);
void state_specs_done(ClusterState *s);
// A new unit of this record, clean. Takes the record's name in any case.
int state_add_unit(ClusterState *s, Argosy__UnitRecord *record, SpecEntry *spec, UnitEntry **ret);
// Puts `record`, which has neither name nor outcomes, in the place of the unit's own. `inherit`: it gets
// that one's outcomes. Takes `record` also on failure.
int state_replace_unit(ClusterState *s, UnitEntry *u, Argosy__UnitRecord *record, bool inherit,
                       SpecEntry *spec);
// It is to be told to who follows the units; the entry says what it was before.
int state_note_dirty(ClusterState *s, UnitEntry *u);
// Takes the unit out of every table; it stays in the dirty list if it is there.
int state_take_unit(ClusterState *s, UnitEntry *u);
void state_free_unit(ClusterState *s, UnitEntry *u);

// cluster-state-sets.c: a unit, with the record that it has, comes to its set, if it has one, or leaves it.
int state_join_set(ClusterState *s, UnitEntry *u);
void state_leave_set(ClusterState *s, const UnitEntry *u);
void state_sets_done(ClusterState *s);

// cluster-state-records.c
// A record that shares all that the unit's own points to, to be changed before it takes its place by
// state_put_twin(), or is freed. Its name, its spec and its place stay. NULL: out of memory.
Argosy__UnitRecord *state_make_twin(const UnitEntry *u);
// Takes it. What only the one before points to is the caller's to retire. 0 or -ENOMEM.
int state_put_twin(ClusterState *s, UnitEntry *u, Argosy__UnitRecord *twin);
// The content of a record whose unit has it says its hash.
void state_share_hash(Argosy__UnitRecord *record, const SpecEntry *spec);
// A whole record; one whose name and outcomes are another one's now.
void state_retire_record(ClusterState *s, Argosy__UnitRecord *record);
void state_retire_body(ClusterState *s, Argosy__UnitRecord *record);
void state_retire_outcomes(ClusterState *s, const Argosy__UnitRecord *record);
// The unit has this outcome instead of those that it replaces; kind NONE: instead of them none.
int state_put_outcome(ClusterState *s, UnitEntry *u, const Argosy__Outcome *outcome);

// For sorting many things by name: most names differ in what stands here, so comparing them comes by no
// other memory.
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

// Takes `former` on success. The oldest goes if there are CLUSTER_FORMER_HOSTS_MAX.
int state_add_former(ClusterState *s, Argosy__FormerHost *former);
// The machine has joined again, as that host: of what it was before no more is remembered than its keys. It
// may have one of them still, if it could not write the new one.
int state_former_joins(ClusterState *s, const Argosy__HostRecord *host);
void state_hosts_done(ClusterState *s);

// cluster-state-limits.c: the operation is not carried out.
void state_limits_init(ClusterState *s);
const char *cluster_op_subject(const Argosy__LogOp *op); // which, for people
void state_note_refused(ClusterState *s, const Argosy__LogOp *op, ClusterRefusal refusal);

// What follows puts what was judged (cluster-state-limits.h).

// cluster-state-rollouts.c. Takes the record on success.
int state_put_rollout(ClusterState *s, Argosy__RolloutRecord *record);

// cluster-state-named.c: arrays of records in the order of their names, with their lengths. Whoever changes
// an array takes its address as `records`.
// Index of the record, or where it would go with *ret_found false.
size_t named_index(const void *records, size_t n, const char *name, bool *ret_found);
void *named_find(const void *records, size_t n, const char *name); // NULL: there is none
// They take the record on success.
int state_insert_named(void *records, size_t *n, size_t i, void *record);
int state_put_named(ClusterState *s, void *records, size_t *n, void *record);
void state_drop_named(ClusterState *s, void *records, size_t *n, size_t i);
// False: there was none.
bool state_remove_named(ClusterState *s, void *records, size_t *n, const char *name);
void state_named_done(ClusterState *s, void *records, size_t n);

// cluster-state-access.c. The record is borrowed. *ret_changed: it was not there before, or was.
bool state_has_grant(const ClusterState *s, const Argosy__GrantRecord *grant);
int state_put_grant(ClusterState *s, const Argosy__GrantRecord *grant, bool *ret_changed);
int state_remove_grant(ClusterState *s, const Argosy__GrantRecord *grant, bool *ret_changed);
// Those of users of one host. False: there were none.
bool state_drop_grants_of(ClusterState *s, uint32_t host);
// Of an image: takes the record, which must come behind all others. -EBADMSG: it does not.
int state_load_grant(ClusterState *s, Argosy__GrantRecord *grant);
void state_access_done(ClusterState *s);

// cluster-state-access-tokens.c. What they are given is borrowed.
bool state_access_token_fits(
        const Argosy__AccessTokenRecord *token); // its words are of lengths that they can have
bool state_has_access_token(const ClusterState *s, const char *id);
int state_put_access_token(ClusterState *s, const Argosy__AccessTokenRecord *token);
int state_end_access_token(ClusterState *s, const Argosy__LogOp__AccessTokenEnd *end);
int state_note_access_token_uses(ClusterState *s, const Argosy__LogOp__AccessTokenUses *uses);
// At the end of a batch: some of those that have been over for long enough.
void state_drop_old_access_tokens(ClusterState *s);
// Of an image: takes the record, which must come behind all others. -EBADMSG: it does not.
int state_load_access_token(ClusterState *s, Argosy__AccessTokenRecord *token);

// cluster-state-secrets.c. What they are given is borrowed.
bool state_secret_fits(const Argosy__LogOp__SecretPut *put); // its words are of lengths that they can have
// its number is the next one
bool state_secret_follows(const ClusterState *s, const Argosy__LogOp__SecretPut *put);
int state_put_secret(ClusterState *s, const Argosy__LogOp__SecretPut *put);
int state_prune_secret(ClusterState *s, const Argosy__LogOp__SecretPrune *prune);
// they are there, and stay as long as they are
bool state_reseal_fits(const ClusterState *s, const Argosy__LogOp__SecretReseal *reseal);
int state_reseal_secret(ClusterState *s, const Argosy__LogOp__SecretReseal *reseal);
void state_remove_secret(ClusterState *s, const char *name);
// Of an image: takes the record, which must come behind all others. -EBADMSG: it does not.
int state_load_secret(ClusterState *s, Argosy__SecretRecord *record);

// cluster-state-tombstones.c. Nodes that are no host's are left out.
int state_put_tombstones(ClusterState *s, const char *name, const uint32_t *nodes, size_t n,
                         uint64_t fence_us, uint64_t revision);
// Appended behind all others: its revision must not be smaller. -EEXIST, -EINVAL: it does not fit.
int state_add_tombstone(ClusterState *s, const Argosy__TombstoneRecord *record);
// Clears the tombstones of one node up to a revision; fence_us as in LogOp.TombstoneClear. Adds their number
// to *ret_n.
int state_clear_tombstones(ClusterState *s, uint32_t node, uint64_t revision, uint64_t fence_us,
                           size_t *ret_n);
void state_tombstones_done(ClusterState *s);

// cluster-state-jobs.c
int state_drop_old_jobs(ClusterState *s, size_t n_brought);
// What the cluster did by itself: a JobPut that is that; one that an image brought. The oldest of all jobs
// is one and goes: forgotten first. The oldest of these: all of it but its number. 0 or -ENOMEM.
int state_put_own_job(ClusterState *s, const Argosy__LogOp__JobPut *put, size_t *n_jobs, uint64_t at_us);
int state_load_own_job(ClusterState *s, uint64_t number, const JobEntry *job);
int state_forget_own_job(ClusterState *s, uint64_t number, const JobEntry *job);
int state_drop_own_job(ClusterState *s);
bool state_own_jobs_are_too_many(const ClusterState *s);
void state_own_jobs_done(ClusterState *s);
// An entry of that time is applied.
void state_pass_time(ClusterState *s, const Argosy__LogBatch *batch);
// What is said of a date that was written at that counted time.
uint64_t state_correct_date(const ClusterState *s, uint64_t counted_us, uint64_t date_us);
int state_set_time(ClusterState *s, const Argosy__LogOp__TimeSet *set);
int state_load_time(ClusterState *s, const Argosy__StateImage *image);
// Tokens that are dated later are dated so, and are valid as long as they were to be. 0 or -ENOMEM.
int state_correct_access_tokens(ClusterState *s, uint64_t to_us);
int state_correct_tokens(ClusterState *s, uint64_t to_us); // of hosts that may join
void state_jobs_init(ClusterState *s);
JobView state_jobs_view(const ClusterState *s);
const JobEntry *job_view_find(const JobView *v, uint64_t number); // NULL: it is not kept
// The number of one of those that are not held, by its place from the oldest on.
uint64_t job_view_number(const JobView *v, size_t i);
// Numbers up to this are given to no job any more. 0 or -ENOMEM.
int state_raise_jobs(ClusterState *s, uint64_t floor);
// When those of an image are there: the last number that was given. -EBADMSG: it cannot be that.
int state_load_last_job(ClusterState *s, uint64_t last);
// Appended behind all others, packed. -EBADMSG: it is not the next one, or none at all; -EPROTONOSUPPORT.
int state_load_job(ClusterState *s, const void *packed, size_t len);
// Likewise one that is held, when all others are there.
int state_load_held_job(ClusterState *s, const void *packed, size_t len);
// When all are there: 0, or -EBADMSG, as one is held that has ended and nobody waits for.
int state_jobs_loaded(ClusterState *s);
void state_jobs_done(ClusterState *s);
JobEntry *state_find_job(const ClusterState *s, uint64_t number); // NULL: it is not kept
// `so_far`, or with NULL nothing, and the record of one more entry, for whose `len` packed bytes there is
// room behind the others: the caller writes them. What `record` says of times, revision, state and spans is
// taken over. NULL: out of memory.
JobEntry *state_job_entry_new(const JobEntry *so_far, const Argosy__JobRecord *record, size_t len);
// Both take the entry on success. As the next number; in the place of the one that the number has, which is
// retired.
int state_append_job(ClusterState *s, JobEntry *job);
int state_replace_job(ClusterState *s, uint64_t number, JobEntry *so_far, JobEntry *job);

// cluster-state-job-records.c: what its operations change is noted as they are applied, and becomes the
// job's when that comes.
int state_job_notes_init(JobNotes *notes, const Argosy__LogBatch *batch);
void state_job_notes_done(JobNotes *notes);
// Around the operation at place `op` of the batch.
int state_job_note_before(const ClusterState *s, JobNotes *notes, const Argosy__LogOp *op, size_t place);
int state_job_note_after(const ClusterState *s, JobNotes *notes, size_t place);
// It was not carried out: its job has failed.
int state_job_note_refused(const ClusterState *s, JobNotes *notes, const Argosy__LogOp *op, size_t place,
                           ClusterRefusal refusal);
int state_put_job(ClusterState *s, const Argosy__LogOp__JobPut *put, JobNotes *notes, size_t place,
                  uint64_t at_us);
// What is said of a job that is kept, behind what is known of it; without units that ended otherwise if it
// would be too long.
int state_append_to_job(ClusterState *s, uint64_t number, Argosy__JobRecord part);

// cluster-state-late-jobs.c: what further entries have given. Batches come one after the other, and so do
// these spans.
int state_note_late_job(ClusterState *s, uint64_t job, JobSpan span); // 0 or -ENOMEM
uint64_t state_late_job_of(const ClusterState *s, uint64_t revision); // 0: that of none that is kept
void state_late_jobs_loaded(ClusterState *s);                         // in whatever order they were noted
void state_late_jobs_done(ClusterState *s);

// cluster-state-job-settings.c: the same of what is no unit.
int state_settings_note_before(const ClusterState *s, JobNotes *notes, const Argosy__LogOp *op,
                               size_t place);
int state_settings_note_after(const ClusterState *s, JobNotes *notes, size_t place);
void state_settings_drop(JobNotes *notes);

// cluster-state-job-ends.c. `entry` is taken on success.
JobEntry *held_job_find(HeldJob *const *held, size_t n, uint64_t number); // NULL: it is not held
int state_hold_job(ClusterState *s, uint64_t number, JobEntry *entry);
int state_replace_held_job(ClusterState *s, uint64_t number, JobEntry *entry);
void state_held_jobs_done(ClusterState *s); // and what was noted
int state_end_jobs(ClusterState *s, const Argosy__LogOp__JobEnds *ends);
int state_note_job(ClusterState *s, JobNews news);
// For cluster_state_next_ended_job(): it has ended, or begun that was held back.
int state_note_job_state(ClusterState *s, uint64_t number);
// If it is held, has ended, and nobody waits for it, it goes.
void state_unhold_job(ClusterState *s, uint64_t number);
void state_note_forgotten_job(ClusterState *s, const JobEntry *job); // before it goes for good

// cluster-state-stored-requests.c
// Whether there is room for it, as that of the next job, and it waits for nothing that it cannot wait for.
bool state_request_fits(const ClusterState *s, const Argosy__StoredRequest *m);
// Stores the request of the newest job. The message is borrowed.
int state_store_request(ClusterState *s, const Argosy__StoredRequest *m, uint64_t job);
void state_drop_stored_request(ClusterState *s, uint64_t job); // if there is one
int state_release_request(ClusterState *s, const Argosy__LogOp__StoredRelease *release);
bool state_job_is_awaited(const ClusterState *s, uint64_t number);
// Loads a request from an image, after the jobs; takes it in any case. -EBADMSG: it fits no job.
int state_load_stored_request(ClusterState *s, Argosy__StoredRequest *m);
int state_put_queue(ClusterState *s, const Argosy__QueueRecord *queue);
int state_load_queue(ClusterState *s, const Argosy__QueueRecord *queue); // -EBADMSG
void state_stored_requests_done(ClusterState *s); // and the rules

// cluster-state-keys.c. A key that is known gets the job and `more` if it had `more`, else it stays as it
// is.
int state_put_key(ClusterState *s, const uint8_t id[REQUEST_ID_SIZE], const RequestKey *key);
// A segment of a view as an image has it; it points into that.
Argosy__KeySegment key_segment_image(const KeyTable *view, size_t i);
// A whole segment, behind the others; one that has `more`. -EBADMSG: it cannot be that.
int state_load_keys(ClusterState *s, const Argosy__KeySegment *image);
int state_load_open_key(ClusterState *s, const Argosy__OpenKey *key);
void state_keys_done(ClusterState *s);

NodeIndex *state_find_node(const ClusterState *s, uint32_t node);
NodeIndex *state_need_node(ClusterState *s, uint32_t node); // NULL: out of memory
void state_drop_unused_node(ClusterState *s, NodeIndex *n);
