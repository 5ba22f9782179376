// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// What the two files of a store in memory have of each other: what is on the disks and what store.h asks
// (sim-store.c), and the rules by which voters agree (sim-raft.c).

#include "sim-store.h"
#include "store.h"

enum {
        APPEND_MAX = 64, // entries of a message
};

typedef struct SimConfig { // by raft id
        struct {
                uint32_t raft_id;
                bool voter;
        } members[STORE_MEMBERS_MAX];
        size_t n;
} SimConfig;

// The logs of one cluster: what any of them has committed is committed.
typedef struct Cluster {
        SimEntry **committed;
        size_t n, room;
        uint64_t leader_term;
        uint32_t leader; // host
} Cluster;

typedef struct Disk { // the log of a voter
        uint32_t raft_id, host;
        Cluster *cluster; // NULL: it was made, and has heard of none yet
        uint64_t term;
        uint32_t vote; // in that term; 0: none
        SimEntry **log;
        size_t n, room;
        SimConfig first;         // members before any entry
        const SimConfig *config; // that holds: of its last entry that has one, or the first
        Store *store; // that is open on it
} Disk;

typedef struct Pending {
        uint64_t index, term;
        StoreDone done;
        void *userdata;
} Pending;

typedef struct Peer { // of a log: another one, as its store knows it
        uint32_t raft_id;
        bool voted;
        uint64_t next, match, acked_us, answered_us;
} Peer;

typedef enum ChangeKind { CHANGE_NONE, CHANGE_ADD, CHANGE_REMOVE } ChangeKind;

typedef struct Change { // of members, that is under way
        ChangeKind kind;
        uint32_t raft_id;
        uint64_t index;    // of its entry; 0: a spare that catches up
        uint64_t until_us; // when a spare that has not caught up is left
        StoreMemberDone done;
        void *userdata;
} Change;

struct Store {
        Disk *disk;
        SimHost *host;
        uint64_t life; // of the host, in which it was opened
        const StoreOps *ops;
        void *userdata;
        uint64_t election_us, heartbeat_us;
        bool closing;
        StoreRole role;
        StoreRole reported_role;
        uint32_t reported_leader;
        uint64_t reported_term;
        uint32_t leader;
        bool pre_voting, ready; // ready: all that was committed before its term is applied
        uint64_t commit, applied, first_commit;
        bool heard_commit, complete;
        uint64_t heard_us; // from a leader
        uint64_t deadline_us; // of the follower's or candidate's patience
        Peer peers[STORE_MEMBERS_MAX]; // each that there has been lately, in no order
        size_t n_peers;
        uint64_t noop; // index of the first entry of its own term
        bool asked_in_vain, transferring;
        uint32_t transfer_to;
        StoreMemberDone transfer_done;
        void *transfer_data;
        Change change;
        Pending pending[STORE_PENDING_MAX];
        size_t n_pending;
        bool reported_once;
};

typedef struct SimStore { // of a world
        Disk **disks; // each log that there ever was; its number is the index + 1
        size_t n_disks, disks_room;
        Disk *of_host[SIM_HOSTS_MAX]; // that was opened last
        SimEntry **all;
        size_t n_all, room;
        Cluster *story; // of the story
        void (*applied)(uint32_t host, uint64_t index);
        char broken[160];
} SimStore;
extern SimStore sim_store;

// ---- sim-store.c: without memory these end the process

SimEntry *sim_entry_new(uint64_t term, const void *data, size_t len);
SimEntry *sim_entry_new_config(uint64_t term, const SimConfig *config);
void sim_disk_append(Disk *d, SimEntry *e);
void sim_disk_cut_log(Disk *d, uint64_t n); // only so many entries stay
uint64_t sim_disk_term_at(const Disk *d, uint64_t index); // 0: it has no such entry
bool sim_disk_is_open(const Disk *d); // by a host that is up
bool sim_config_has(const SimConfig *c, uint32_t raft_id, bool *ret_voter); // ret_voter may be NULL
// What it has committed after that index, which it did not before.
void sim_store_note_committed(const Store *s, uint64_t before);
void sim_store_answer(Store *s, size_t i, StoreOutcome outcome); // the i-th that waits
void sim_store_broke(const char *format, ...) __attribute__((format(printf, 1, 2))); // the first one counts
// Events of the host, when it leads no more.
void sim_store_answer_unknown(void *store);
void sim_store_follow_up_transfer(void *store);
void sim_store_follow_up_change(void *store);
// The entry of a change of members may be committed by now, or the spare may have caught up.
void sim_store_go_on_with_change(Store *s);
void sim_store_end_change(Store *s, int error);

// ---- sim-raft.c

void sim_raft_begin(Store *s);  // its store was opened
void sim_raft_go_on(Store *s);  // the leader's log has one entry more
void sim_raft_send(Store *s, uint32_t raft_id); // what it is not known to have
Peer *sim_raft_peer(Store *s, uint32_t raft_id); // made if there was none
// What most voters have at least of a value of Peer (its offset), with `own` in the place of its own.
uint64_t sim_raft_of_most(const Store *s, size_t offset, uint64_t own);
#define SIM_RAFT_OF_MOST(s, field, own) sim_raft_of_most(s, offsetof(Peer, field), own)
