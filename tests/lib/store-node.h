// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// A store with a small deterministic state behind it, for tests. The state is the number of batches applied
// and a hash chain over them: two nodes hold the same history exactly when both are equal. A filler makes
// snapshots as big as a test wants them.

#include <stdatomic.h>
#include <stdbool.h>
#include <uv.h>

#include "hash.h"
#include "store.h"

typedef struct StoreNode StoreNode;

enum { STORE_NODE_PIECE = 64 * 1024 }; // of a filler that is encoded at once

struct StoreNode {
        uv_loop_t *loop;
        char dir[512];
        uint32_t raft_id;
        unsigned election_ms, heartbeat_ms; // 0: 300 and 60
        TlsContext *tls;
        bool (*retired)(uint32_t raft_id, void *cluster); // NULL: none is
        bool (*resolve)(uint32_t raft_id, char *ret_address, size_t size, uint16_t *ret_port, Hash *ret_pin,
                        void *cluster);
        void *cluster;

        Store *store; // NULL while it is not open
        bool closed;
        StoreRole role;
        StoreLeader leader;
        unsigned n_roles; // calls of role()
        bool complete; // it was said
        uint64_t n_applied_when_complete;
        unsigned n_authorities; // of authority()
        bool calling;     // inside store_submit(), from which nothing may be called back
        size_t filler;    // bytes added to each snapshot
        unsigned n_snapshots, n_restores;
        unsigned n_held;                       // snapshots that were taken and not released
        int snapshot_error;                    // of the next ones that are asked for
        bool cut;                              // they are to be given up
        bool compacts;                         // the next batch asks for one
        unsigned n_written;                    // that are on the disk
        atomic_int piece_error;                // 1: the next piece of a filler finds no memory
        void (*before_piece)(StoreNode *node); // in the worker; NULL: nothing

        // state
        uint64_t n_applied, last_index;
        Hash chain;
};

void store_node_init(StoreNode *n, uv_loop_t *loop, const char *dir, uint32_t raft_id);
// store_open() with an empty state; asserts success unless `ret_error` is given.
void store_node_open(StoreNode *n, bool bootstrap, int *ret_error, char **ret_why);
// Runs the loop until the store is gone.
void store_node_close(StoreNode *n);

// How long a test waits for what must happen: long enough for a machine that is busy with other things.
// Nothing waits for it to pass.
enum { STORE_PATIENCE_MS = 60000 };

// Runs the loop until the condition holds; fails the test after `timeout_ms`.
typedef bool (*StoreCondition)(void *userdata);
void store_run_until(uv_loop_t *loop, StoreCondition condition, void *userdata, unsigned timeout_ms,
                     const char *what);
// Runs the loop for so long, whatever happens; for "nothing happens" only.
void store_run_for(uv_loop_t *loop, unsigned ms);

void store_node_wait_leader(StoreNode *n);
// What became of a request.
typedef struct StoreAnswer {
        unsigned n; // calls of done()
        StoreOutcome outcome;
        int error; // of a member change
        uint64_t index;
} StoreAnswer;
void store_on_done(StoreOutcome outcome, uint64_t index, void *answer);
void store_on_member(int error, void *answer);
// For store_run_until(): the answer is there; the node has the authority to answer at once.
bool store_is_answered(void *answer);
bool store_node_is_sure(void *node);
// Submits and runs the loop until the answer is there.
StoreAnswer store_node_submit(StoreNode *n, const void *data, size_t len);

// A new directory below $TMPDIR or /tmp; removed with everything in it by store_dir_remove().
void store_dir_make(char *ret, size_t size);
void store_dir_remove(const char *dir);
// Copies all plain files: what a kill -9 at this moment would leave.
void store_dir_copy(const char *from, const char *to);
void store_dir_replace(const char *dir, const char *image); // which is in its place then
