// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// The replicated log behind a small interface; nothing of libraft leaks out of src/store.
//
// A store belongs to one host that is, or is becoming, a voter. Batches are byte strings: the store neither knows nor cares what
// they mean. It calls back from the loop only, never from inside a call into it, except where said.
//
// Life: store_open() -> role(FOLLOWER) ... -> apply() for each committed batch, in order -> store_close() -> closed().

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

#include "buf.h"
#include "hash.h"

typedef struct Store Store;
typedef struct Stream Stream;
typedef struct TlsContext TlsContext;

enum {
        STORE_BATCH_MAX = 1024 * 1024,        // bytes of one batch; bigger requests are split by the leader
        STORE_SNAPSHOT_BYTES = 8 * 1024 * 1024, // take a snapshot after so many bytes of log
};

typedef enum StoreRole {
        STORE_FOLLOWER,
        STORE_CANDIDATE,
        STORE_LEADER,   // only after everything committed before was applied here
        STORE_STALLED,  // leader that reached no majority for an election timeout; libraft will step down
} StoreRole;

typedef enum StoreOutcome { // how a submitted batch ended
        STORE_COMMITTED = 0,
        STORE_NOT_LEADER, // certainly not applied
        STORE_NO_SPACE,   // certainly not applied; the disk is full
        STORE_UNKNOWN,    // leadership was lost while it was on its way: may still be committed
} StoreOutcome;

typedef struct StoreLeader {
        uint32_t raft_id; // 0: unknown
        uint64_t term;
} StoreLeader;

typedef struct StoreOps {
        // A committed batch. Deterministic work only. `data` is valid during the call. Negative errno is fatal.
        int (*apply)(uint64_t index, const uint8_t *data, size_t len, void *userdata);
        // The whole state now. Called on the loop; encode fast or from an immutable snapshot.
        int (*snapshot)(Buf *ret, void *userdata);
        // Replace the whole state (digest already verified).
        int (*restore)(const uint8_t *data, size_t len, void *userdata);
        void (*role)(StoreRole role, StoreLeader leader, void *userdata);
        // The log cannot go on (disk failure, corruption met at run time). The process must exit at once with this message.
        void (*fatal)(const char *why, void *userdata);
        // Where the server of this raft id can be reached now, and its key. False: unknown.
        bool (*resolve)(uint32_t raft_id, char *ret_address, size_t size, uint16_t *ret_port, Hash *ret_pin, void *userdata);
} StoreOps;

typedef struct StoreConfig {
        uv_loop_t *loop;
        const char *dir;         // the log's directory, created if missing
        uint32_t raft_id;
        bool bootstrap;          // first host of a new cluster: a configuration with only itself (ignored if the log is not empty)
        unsigned election_ms, heartbeat_ms;
        TlsContext *tls;         // borrowed; NULL only in tests with one member
} StoreConfig;

// Loads the log (blocking, before the loop runs or while a joiner waits). Errors: -EBADMSG and *ret_why (malloc'd) for a corrupt log, with
// the way out; -ENOSPC; -EIO. On success the store starts to run.
int store_open(const StoreConfig *config, const StoreOps *ops, void *userdata, Store **ret, char **ret_why);
void store_close(Store *s, void (*closed)(void *userdata), void *userdata);

// A connection with ALPN_RAFT that the listener accepted, from the server with this raft id (the caller has looked up its pin). The store owns
// it from here.
void store_accept(Store *s, Stream *stream, uint32_t raft_id);

typedef void (*StoreDone)(StoreOutcome outcome, uint64_t index, void *userdata);
// Copies the batch. 0: `done` fires later, after apply() of this batch here if COMMITTED. -E2BIG beyond STORE_BATCH_MAX; -EAGAIN: not leader now.
int store_submit(Store *s, const void *data, size_t len, StoreDone done, void *userdata);
// Fires COMMITTED when everything that was committed before has been applied and we were still leader then.
int store_barrier(Store *s, StoreDone done, void *userdata);

// Membership, leader only, one change at a time (-EBUSY). `done` gets 0 or negative errno.
typedef void (*StoreMemberDone)(int error, void *userdata);
int store_member_add(Store *s, uint32_t raft_id, StoreMemberDone done, void *userdata);      // as spare, then voter when caught up
int store_member_remove(Store *s, uint32_t raft_id, StoreMemberDone done, void *userdata);
int store_transfer(Store *s, uint32_t raft_id, StoreMemberDone done, void *userdata);        // 0: any voter

typedef struct StoreMember {
        uint32_t raft_id;
        bool voter;
        uint64_t match_index; // known to the leader only, else 0
} StoreMember;
typedef struct StoreStats {
        StoreRole role;
        uint64_t term, last_index, commit_index, applied_index;
        uint32_t leader_raft_id;
        size_t n_members;
        StoreMember members[8];
} StoreStats;
void store_stats(const Store *s, StoreStats *ret);

// Offline: rewrites the configuration to this one server, keeping the data. The daemon must not be running.
int store_recover(const char *dir, uint32_t raft_id, char **ret_why);
// Offline: whether `dir` holds a log.
bool store_exists(const char *dir);

// The same interface in memory, for tests: one member, commits in the next turn of the loop.
int store_open_memory(uv_loop_t *loop, const StoreOps *ops, void *userdata, Store **ret);
