// SPDX-License-Identifier: LGPL-2.1-or-later

// Messages of a leader are made here and given to the store as its transport would give them. The store owns
// what a message holds from then on.
//
//      store_peer_entries(), store_peer_snapshot() -> raft_disk_receive() -> libraft
//
// Failures end the test.

#include "test.h"

#include "record.h"
#include "store-peer.h"

static struct raft_message from_peer(const StoreNode *to, int type) {
        uint32_t from = to->raft_id == 1 ? 2 : 1;

        return (struct raft_message){
                .type = type, .server_id = from, .server_address = from == 1 ? "1" : "2"};
}

void store_peer_entries(StoreNode *to, uint64_t term, uint64_t behind, uint64_t behind_term, unsigned n,
                        bool batches, uint64_t committed) {
        struct raft_message m = from_peer(to, RAFT_APPEND_ENTRIES);
        size_t size = batches ? batch_record_size(1) : 8;
        uint8_t *bytes = raft_calloc(n, size);

        m.append_entries = (struct raft_append_entries){
                .term = term,
                .prev_log_index = behind,
                .prev_log_term = behind_term,
                .leader_commit = committed,
                .entries = raft_malloc(n * sizeof(struct raft_entry)),
                .n_entries = n,
        };
        for (unsigned i = 0; i < n; i++) {
                if (batches)
                        batch_record_encode((BatchId){.run = 1, .seq = i}, "x", 1, bytes + i * size);
                m.append_entries.entries[i] = (struct raft_entry){
                        .term = term,
                        .type = batches ? RAFT_COMMAND : RAFT_BARRIER,
                        .buf = {bytes + i * size, size},
                        .batch = bytes,
                };
        }
        raft_disk_receive(&raft_store(to->store)->io, &m);
}

static uint8_t *make_state(uint64_t n_applied, size_t *ret_len) {
        struct {
                uint64_t n_applied;
                Hash chain;
        } bytes = {.n_applied = n_applied};
        Hash digest = hash_of(&bytes, sizeof(bytes));
        uint8_t *record = raft_malloc(SNAPSHOT_HEADER_SIZE + sizeof(bytes));

        snapshot_record_seal(record, sizeof(bytes), &digest);
        memcpy(record + SNAPSHOT_HEADER_SIZE, &bytes, sizeof(bytes));
        *ret_len = SNAPSHOT_HEADER_SIZE + sizeof(bytes);
        return record;
}

void store_peer_snapshot(StoreNode *to, uint64_t term, uint64_t index, uint64_t n_applied) {
        struct raft_message m = from_peer(to, RAFT_INSTALL_SNAPSHOT);
        struct raft_install_snapshot *install = &m.install_snapshot;

        *install = (struct raft_install_snapshot){
                .term = term,
                .last_index = index,
                .last_term = term,
                .conf_index = 1,
        };
        raft_configuration_init(&install->conf);
        for (unsigned i = 1; i <= 2; i++)
                assert_int_equal(raft_configuration_add(&install->conf, i, i == 1 ? "1" : "2", RAFT_VOTER),
                                 0);
        install->data.base = make_state(n_applied, &install->data.len);
        raft_disk_receive(&raft_store(to->store)->io, &m);
}

uint64_t store_term(StoreNode *n) {
        return raft_current_term(&raft_store(n->store)->raft);
}

uint64_t store_last_term(StoreNode *n) {
        const struct raft_trail *t = &raft_store(n->store)->raft.trail;

        return t->front == t->back ? t->snapshot.term : t->records[(t->back + t->size - 1) % t->size].term;
}

bool store_peer_is_stored(void *userdata) {
        const StorePeerStored *stored = userdata;
        const RaftStore *s = raft_store(stored->node->store);

        return raft_current_term(&s->raft) == stored->term && s->raft.last_stored == stored->last &&
               raft_last_index((struct raft *) &s->raft) == stored->last && !s->gate.writing;
}
