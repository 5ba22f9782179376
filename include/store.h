// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// The replicated log behind a small interface; nothing of libraft leaks out of src/store.
//
// A store belongs to one host that is, or is becoming, a voter. Batches are byte strings: the store neither
// knows nor cares what they mean. Every callback but snapshot_encode() comes from the loop, and none from
// inside a call into the store, with one exception: during store_open() the ops `restore` and `apply` may
// run, since a log that is loaded is replayed before the call returns.
//
// Life: store_open() -> role(FOLLOWER) -> apply() for each committed batch, in order -> store_close() ->
// closed(). `apply`, `restore` and those of snapshots must not call into the store.
//
// Whatever was accepted (the call returned 0) is answered exactly once, at the latest with STORE_UNKNOWN,
// STORE_NOT_LEADER or -ECANCELED before closed() fires. The other callbacks may call into the store, also
// store_close().

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

#include "buf.h"
#include "counter.h"
#include "hash.h"
#include "time-histogram.h"

typedef struct Store Store;
typedef struct Stream Stream;
typedef struct TlsContext TlsContext;

enum {
        STORE_BATCH_MAX = 1024 * 1024,          // bytes of one batch; who asks for more in one is refused
        STORE_SNAPSHOT_BYTES = 8 * 1024 * 1024, // a snapshot is taken after so many bytes of log
        STORE_PENDING_MAX = 256,                // batches and barriers that are on their way at a time; more
                                                // get -EBUSY
        STORE_MEMBERS_MAX = 8,                  // servers of one log
        STORE_SNAPSHOT_MORE = 1,                // what snapshot_encode() says
        STORE_APPLY_COMPACT = 1,                // what apply() may say
};

typedef enum StoreRole {
        STORE_FOLLOWER,
        STORE_CANDIDATE,
        // only after everything that was committed before has been applied here; see store_authority_until()
        STORE_LEADER,
} StoreRole;

typedef enum StoreOutcome { // how a submitted batch ended
        STORE_COMMITTED = 0,
        STORE_NOT_LEADER, // certainly not applied
        STORE_NO_SPACE, // certainly not applied: the disks of most voters have had no room for some seconds
        STORE_UNKNOWN,  // leadership was lost while it was on its way: may still be committed
} StoreOutcome;

typedef struct StoreLeader {
        uint32_t raft_id; // 0: unknown
        uint64_t term;
} StoreLeader;

typedef struct StoreOps {
        // A committed batch. Deterministic work only. `data` is valid during the call. 0;
        // STORE_APPLY_COMPACT: a snapshot that has this batch is to be taken soon, however little log there
        // is. Negative errno is fatal.
        int (*apply)(uint64_t index, const uint8_t *data, size_t len, void *userdata);
        // A snapshot of the whole state as of the last apply(), in microseconds: what *ret is, is the
        // owner's. -EBUSY and -ENOMEM: asked again later.
        int (*snapshot)(void **ret, void *userdata);
        // Appends the next piece of its bytes: STORE_SNAPSHOT_MORE, 0 (this was the last) or negative errno
        // (asked again later, for another one). In a worker thread, which may read only what the snapshot
        // keeps.
        int (*snapshot_encode)(void *snapshot, Buf *ret);
        // Looked at between two pieces: it is to be given up, since it keeps too much. May be NULL.
        bool (*snapshot_is_cut)(const void *snapshot);
        // Called once for each snapshot that was taken, whatever became of it.
        void (*snapshot_release)(void *snapshot, void *userdata);
        // The one that was released last is on the disk, in place of the one before. May be NULL.
        void (*snapshot_written)(void *userdata);
        // Replaces the whole state; the digest has been verified. Negative errno is fatal. libraft calls it
        // in the loop, also on a voter that runs and is sent a snapshot.
        int (*restore)(const uint8_t *data, size_t len, void *userdata);
        // Something of role, term or leader changed. The first call comes in the first turn of the loop.
        void (*role)(StoreRole role, StoreLeader leader, void *userdata);
        // All has been applied that the leader knew to be committed when this host heard of it first; on a
        // leader, all that its log had when its term began. Once, and before role(LEADER). Until then the
        // state may be of any time before. May be NULL.
        void (*complete)(void *userdata);
        // store_authority_until() was asked in vain and has a later time now. May be NULL.
        void (*authority)(void *userdata);
        // The log cannot go on (disk failure, corruption met at run time): say so. When this returns, the
        // store ends the process with _exit(EXIT_FAILURE).
        void (*fatal)(const char *why, void *userdata);
        // Where the server of this raft id can be reached now, and its key. False: unknown (tried again
        // later).
        bool (*resolve)(uint32_t raft_id, char *ret_address, size_t size, uint16_t *ret_port, Hash *ret_pin,
                        void *userdata);
        // Whether this id was taken out of the log, as far as is applied here: nothing is sent to it or
        // taken from it any more. True once, true for ever; false for an id that is merely unknown. NULL:
        // none is.
        bool (*retired)(uint32_t raft_id, void *userdata);
} StoreOps;

typedef struct StoreConfig {
        uv_loop_t *loop;
        const char *dir;  // the log's directory, created if missing; its parent must be there
        uint32_t raft_id; // > 0, never used before by another server of this cluster
        // first host of a new cluster: a log with only itself in it (ignored if there is a log)
        bool bootstrap;
        unsigned election_ms, heartbeat_ms; // 0: 600 and 200. Elections wait 1 to 2 times election_ms
        TlsContext *tls;                    // borrowed; NULL only in tests with one member
} StoreConfig;

// Loads the log (blocking, before the loop runs or while a joiner waits). On success the store starts to
// run. On failure *ret_why (malloc'd, may be NULL) is a sentence for people with the way out, and the errno
// is
//   -EBADMSG    the log or its snapshot is damaged
//   -EPROTONOSUPPORT  written by a newer version of this program
//   -ENOSPC     no room for the log's files
//   -EIO        any other failure of the disk
// SIGPIPE is ignored from here on in the whole process.
// A store that failed to open leaves handles behind that go when the loop runs next.
// `config` and the strings in it need not outlive the call; `ops` must outlive the store.
int store_open(const StoreConfig *config, const StoreOps *ops, void *userdata, Store **ret, char **ret_why);
// Ends it; `closed` (may be NULL) fires when the store is gone. A second call is not allowed.
void store_close(Store *s, void (*closed)(void *userdata), void *userdata);

// A connection with ALPN_RAFT that the listener accepted, from the server with this raft id (the caller has
// looked up its pin). The store owns it from here.
void store_accept(Store *s, Stream *stream, uint32_t raft_id);
// `retired` may say something new: ends the connections of those who are, in both directions.
void store_recheck(Store *s);

// `index` is that of the log entry if COMMITTED, else 0.
typedef void (*StoreDone)(StoreOutcome outcome, uint64_t index, void *userdata);
// Copies the batch. 0: `done` fires later, after apply() of this batch here if COMMITTED.
// Nothing was done, and `done` never fires: -E2BIG (beyond STORE_BATCH_MAX), -EINVAL (empty), -EAGAIN (not
// leader now), -ENOSPC (STORE_NO_SPACE was answered, and nothing was taken since), -EBUSY (STORE_PENDING_MAX
// on their way), -ENOMEM, -ESHUTDOWN (closing).
int store_submit(Store *s, const void *data, size_t len, StoreDone done, void *userdata);
// Fires COMMITTED when everything that was committed before this call has been applied here and we were
// still leader then. Errors as store_submit().
int store_barrier(Store *s, StoreDone done, void *userdata);

// Until when (boot-time clock, us) no other leader can have been elected, for all that we know now;
// UINT64_MAX: never; 0: we do not lead, or do not know. What a leader says to others, and must not say when
// it has a successor, it says only before that time, by a clock that it reads just then: a role may be as
// old as this process was frozen. It renews itself with every heartbeat, and needs no disk. See
// src/store/authority.h.
uint64_t store_authority_until(Store *s);

// Membership, leader only, one change at a time (-EBUSY). 0: `done` fires later with 0 or negative errno:
// -EAGAIN (leadership was lost; ask the next leader), -ETIMEDOUT (the new member did not catch up; it stays
// as a spare that may be added again or removed), -ECANCELED (closing).
typedef void (*StoreMemberDone)(int error, void *userdata);
// As a spare first, as a voter once it has caught up. -EEXIST: is a voter already. -ENOSPC:
// STORE_MEMBERS_MAX.
int store_member_add(Store *s, uint32_t raft_id, StoreMemberDone done, void *userdata);
// -ENOENT: is not a member. -EPERM: it is the last voter. The leader may remove itself: it steps down when
// that is committed.
int store_member_remove(Store *s, uint32_t raft_id, StoreMemberDone done, void *userdata);
// Hands leadership to a voter, 0: any other voter. -ENOENT: no such voter. `done` gets -ETIMEDOUT if we are
// still leader.
int store_transfer(Store *s, uint32_t raft_id, StoreMemberDone done, void *userdata);

typedef struct StoreMember {
        uint32_t raft_id;
        bool voter;
        uint64_t match_index; // known to the leader only, else 0
        // Leader only. We ourselves answer at once and are never behind.
        uint64_t silent_ms; // since anything was heard of it; UINT64_MAX: nothing was on this connection
        bool answers;       // it was heard within an election timeout of when anybody was listened to
        bool caught_up;     // its log has what was committed one or two seconds ago
        bool lacks_room;    // leader only: it had too little room for the log when it was heard last
        bool stuck;           // leader only: a voter that answers, but whose log has not grown for 30 s
                              // although ours is ahead
} StoreMember;
typedef struct StoreStats {
        StoreRole role;
        uint64_t term, last_index, commit_index, applied_index;
        uint32_t leader_raft_id;
        size_t n_members;
        StoreMember members[STORE_MEMBERS_MAX];
        size_t n_pending;             // batches and barriers on their way
        uint64_t snapshot_failures;
        // since it was opened: batches from submit to `done`, snapshots from taken to written
        TimeHistogram commits, snapshots;
} StoreStats;
void store_stats(const Store *s, StoreStats *ret);

// The same for people and programs.
#define STORE_COUNTERS(COUNTER, GAUGE)                                                                  \
        GAUGE(log_entries, "index of the newest entry of this host's log; 0: it has none")              \
        GAUGE(log_entries_applied, "index up to which entries have taken effect here")                  \
        GAUGE(log_pending, "batches and barriers that the leader's log has taken and not yet committed") \
        COUNTER(log_snapshot_failures, "snapshots of the log that were given up or could not be written")

typedef struct StoreFigures {
        STORE_COUNTERS(COUNTER_FIELD, COUNTER_FIELD)
} StoreFigures;
StoreFigures store_figures(const StoreStats *stats);

// Offline: rewrites the configuration to this one server, keeping the data. The daemon must not be running.
// -ENODATA: there is none, and nothing was changed.
int store_recover(const char *dir, uint32_t raft_id, char **ret_why);
// Offline, also by a worker of the pool: makes the log of a server that has none yet, so that opening it
// writes next to nothing. `dir` is missing or empty. When it returns 0 the log is on the disk, with its
// name. Errors as store_open().
int store_make(const char *dir, uint32_t raft_id, char **ret_why);
// Offline: whether `dir` holds a log, as it does from store_make() or the first time on that it was opened.
bool store_exists(const char *dir);

// The same interface in memory, for tests: one member (raft id 1), leader from the first turn of the loop,
// commits in the next turn.
int store_open_memory(uv_loop_t *loop, const StoreOps *ops, void *userdata, Store **ret);
// Memory only. Loses leadership (what is on its way ends STORE_UNKNOWN, not applied) or wins it back in a
// new term; role() follows in the next turn.
void store_memory_lead(Store *s, bool lead);
// Memory only. What store_authority_until() says while it leads; 0 at first: always. The op fires in the
// next turn.
void store_memory_authority(Store *s, uint64_t until_us);
// Memory only. From now on store_submit() and store_barrier() return this error; 0: works again.
void store_memory_fail(Store *s, int error);
