// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// What the two files of a store in memory have of each other: what is on the disks and what store.h asks (sim-store.c), and the rules by which
// voters agree (sim-raft.c).

#include "sim-store.h"
#include "store.h"

enum {
        VOTERS_MAX = 7,
        APPEND_MAX = 64, // entries of a message
};

typedef struct Disk { // of a voter
        uint32_t raft_id, host;
        uint64_t term;
        uint32_t vote; // in that term; 0: none
        SimEntry **log;
        size_t n, room;
        Store *store; // that is open on it
} Disk;

typedef struct Pending {
        uint64_t index, term;
        StoreDone done;
        void *userdata;
} Pending;

struct Store {
        Disk *disk;
        SimHost *host;
        const StoreOps *ops;
        void *userdata;
        uint64_t election_us, heartbeat_us;
        bool closing;
        StoreRole role;
        StoreRole told_role;
        uint32_t told_leader;
        uint64_t told_term;
        uint32_t leader;
        bool pre_voting, ready; // ready: all that was committed before its term is applied
        uint64_t commit, applied, first_commit;
        bool heard_commit, complete;
        uint64_t heard_us; // from a leader
        uint64_t deadline_us; // of the follower's or candidate's patience
        uint32_t votes; // bits
        uint64_t next[VOTERS_MAX], match[VOTERS_MAX], acked_us[VOTERS_MAX], answered_us[VOTERS_MAX];
        uint64_t noop; // index of the first entry of its own term
        bool asked_in_vain, transferring;
        uint32_t transfer_to;
        StoreMemberDone transfer_done;
        void *transfer_data;
        Pending pending[STORE_PENDING_MAX];
        size_t n_pending;
        bool told_once;
};

typedef struct SimStore { // of a world
        Disk disks[VOTERS_MAX];
        size_t n_disks;
        SimEntry **all;
        size_t n_all, room;
        SimEntry **committed;
        size_t n_committed, committed_room;
        uint64_t leader_term;
        uint32_t leader;
        void (*applied)(uint32_t raft_id, uint64_t index);
        char broken[160];
} SimStore;
extern SimStore sim_store;

// ---- sim-store.c: without memory these end the process

SimEntry *sim_entry_new(uint64_t term, const void *data, size_t len);
void sim_disk_append(Disk *d, SimEntry *e);
uint64_t sim_disk_term_at(const Disk *d, uint64_t index); // 0: it has no such entry
size_t sim_disk_index(const Disk *d);
bool sim_disk_is_open(const Disk *d); // by a host that is up
// What it has committed after that index, which it did not before.
void sim_store_note_committed(const Store *s, uint64_t before);
void sim_store_answer(Store *s, size_t i, StoreOutcome outcome); // the i-th that waits
// Events of the host, when it leads no more.
void sim_store_answer_unknown(void *store);
void sim_store_follow_up_transfer(void *store);

// ---- sim-raft.c

void sim_raft_begin(Store *s);  // its store was opened
void sim_raft_go_on(Store *s);  // the leader's log has one entry more
void sim_raft_send(Store *s, size_t i); // to that disk, what it is not known to have
// What most disks have at least of these values, with `own` in the place of its own.
uint64_t sim_raft_of_most(const Store *s, const uint64_t *values, uint64_t own);
