// SPDX-License-Identifier: LGPL-2.1-or-later

// Messages between members that come twice, or for which a member has no time.

#include "test.h"

#include "macro.h"
#include "raft-store.h"
#include "store-cluster.h"

static struct raft_entry *make_entries(unsigned n, raft_term term) {
        struct raft_entry *entries = raft_calloc(n, sizeof(*entries));
        uint8_t *batch = raft_calloc(n, 64);

        for (unsigned i = 0; i < n; i++) {
                batch_record_encode((BatchId){.run = 1, .seq = i}, "old", 3, batch + i * 64);
                entries[i] = (struct raft_entry){
                        .term = term,
                        .type = RAFT_COMMAND,
                        .buf = {.base = batch + i * 64, .len = batch_record_size(3)},
                        .batch = batch,
                };
        }
        return entries;
}

static void receive_entries(StoreNode *f, uint32_t from, raft_index prev, unsigned n,
                            uint64_t leader_commit) {
        RaftStore *s = raft_store(f->store);
        struct raft_message m = {
                .type = RAFT_APPEND_ENTRIES,
                .server_id = from,
                .server_address = from == 1 ? "1" : "2",
                .append_entries =
                        {
                                .version = 0,
                                .term = raft_current_term(&s->raft),
                                .prev_log_index = prev,
                                .prev_log_term = prev > 0 ? raft_current_term(&s->raft) : 0,
                                .leader_commit = leader_commit,
                                .entries = n > 0 ? make_entries(n, raft_current_term(&s->raft)) : NULL,
                                .n_entries = n,
                        },
        };

        raft_disk_receive(&s->io, &m);
}

// Of a leader and a follower that have both taken a snapshot, with a log of one term: an election on a busy
// machine would leave entries of two in it, and what is made up here would contradict what is committed.
static StoreCluster *cluster_with_snapshots(StoreNode **ret_leader, StoreNode **ret_follower) {
        for (;;) {
                StoreCluster *c = store_cluster_of(2);
                raft_term term = raft_current_term(&raft_store(store_cluster_leader(c)->store)->raft);

                store_cluster_write(c, 40, 1000 * 1000);
                store_cluster_agree(c);
                *ret_leader = store_cluster_leader(c);
                *ret_follower = &c->servers[*ret_leader == &c->servers[0].node].node;
                if (raft_current_term(&raft_store((*ret_leader)->store)->raft) == term &&
                    raft_current_term(&raft_store((*ret_follower)->store)->raft) == term)
                        return c;
                store_cluster_free(c);
        }
}

static void guard_9_the_first_entries_are_not_taken_twice(void **state) {
        StoreNode *leader, *f;
        _cleanup_(store_cluster_freep) StoreCluster *c = cluster_with_snapshots(&leader, &f);
        StoreStats before, after;
        uint64_t n_applied;

        assert_true(raft_store(f->store)->raft.trail.offset > 0);
        store_stats(f->store, &before);
        n_applied = f->n_applied;
        for (unsigned n = 1; n <= before.last_index; n += 10)
                receive_entries(f, leader->raft_id, 0, n, before.commit_index + 5);
        store_stats(f->store, &after);
        assert_int_equal(after.last_index, before.last_index);
        assert_int_equal(after.commit_index, before.commit_index);
        assert_int_equal(f->n_applied, n_applied);

        store_cluster_write_to_all(c, 10, 100);
}

static struct raft_append_entries_result answered;
static unsigned n_answers;

static int note_answer(struct raft_io *io, struct raft_io_send *req, const struct raft_message *message,
                       raft_io_send_cb done) {
        if (message->type == RAFT_APPEND_ENTRIES_RESULT) {
                answered = message->append_entries_result;
                n_answers++;
        }
        done(req, 0);
        return 0;
}

// As from a leader that knows no better: what it sends begins with an entry that is in the snapshot alone.
static void guard_27_who_has_a_snapshot_takes_what_begins_before_it(void **state) {
        StoreNode *leader, *f;
        _cleanup_(store_cluster_freep) StoreCluster *c = cluster_with_snapshots(&leader, &f);
        raft_index offset, taken, last;

        int (*real)(struct raft_io *, struct raft_io_send *, const struct raft_message *, raft_io_send_cb);

        RaftStore *s = raft_store(f->store);
        offset = s->raft.trail.offset;
        taken = s->raft.trail.snapshot.index;
        last = raft_last_index(&s->raft);
        assert_true(offset > 1 && offset < taken && taken < last);
        real = s->uv_io.send;
        s->uv_io.send = note_answer;
        for (raft_index prev = offset - 1; prev <= offset; prev++)
                for (raft_index until = prev; until <= last; until++) {
                        n_answers = 0;
                        receive_entries(f, leader->raft_id, prev, (unsigned) (until - prev), last);
                        assert_int_equal(n_answers, 1);
                        assert_int_equal(answered.rejected, 0);
                        assert_int_equal(answered.last_log_index, MAX_OF(until, taken));
                }
        s->uv_io.send = real;
        assert_int_equal(raft_last_index(&s->raft), last);

        store_cluster_write_to_all(c, 10, 100);
}

// ---- a member for which messages pile up

enum { MESSAGES = 100 };

static struct raft_io_send *swallowed[2 * MESSAGES];
static unsigned n_passed, n_lost, n_sent;
static struct raft_append_entries passed; // of the last one

static int swallow(struct raft_io *io, struct raft_io_send *req, const struct raft_message *message,
                   raft_io_send_cb done) {
        req->cb = done; // and says nothing for a while
        swallowed[n_passed++] = req;
        passed = message->append_entries;
        return 0;
}

static void on_sent(struct raft_io_send *req, int status) {
        if (status == 0)
                n_sent++;
        else
                n_lost++;
}

typedef struct Pile {
        StoreCluster *cluster;
        RaftStore *store;
        int (*real)(struct raft_io *, struct raft_io_send *, const struct raft_message *, raft_io_send_cb);
        struct raft_io_send reqs[2 * MESSAGES];
        size_t n_reqs;
} Pile;

static void pile_begin(Pile *p) {
        *p = (Pile){.cluster = store_cluster_of(1)};
        p->store = raft_store(p->cluster->servers[0].node.store);
        p->real = p->store->uv_io.send;
        p->store->uv_io.send = swallow;
        n_passed = n_lost = n_sent = 0;
}

static void pile_send(Pile *p, const struct raft_message *m) {
        assert_int_equal(p->store->io.send(&p->store->io, &p->reqs[p->n_reqs++], m, on_sent), 0);
}

static void pile_taken(void) {
        for (; n_sent < n_passed;)
                swallowed[n_sent]->cb(swallowed[n_sent], 0);
}

static void pile_end(Pile *p) {
        pile_taken();
        p->store->uv_io.send = p->real;
        store_cluster_free(p->cluster);
}

static void what_a_slow_member_has_not_taken_is_bounded(void **state) {
        struct raft_entry entry = {.type = RAFT_COMMAND, .term = 1, .buf.len = 1024 * 1024};
        struct raft_message m = {
                .type = RAFT_APPEND_ENTRIES,
                .server_id = 2,
                .append_entries = {.entries = &entry, .n_entries = 1},
        };
        unsigned before;
        _cleanup_(pile_end) Pile p;

        pile_begin(&p);
        for (size_t i = 0; i < MESSAGES; i++) {
                m.append_entries.prev_log_index = i;
                pile_send(&p, &m);
        }
        assert_in_range(n_passed, 8, 10);
        assert_int_equal(n_passed + n_lost, MESSAGES);

        before = n_passed;
        m.append_entries.n_entries = 0; // heartbeats go through
        pile_send(&p, &m);
        m.append_entries.n_entries = 1; // and what is for others
        m.server_id = 3;
        pile_send(&p, &m);
        assert_int_equal(n_passed, before + 2);

        m.server_id = 2;
        pile_taken(); // there is room again
        pile_send(&p, &m);
        assert_int_equal(n_passed, before + 3);
}

// The entries of what was passed on last, and what stands before them.
static void assert_passed(unsigned n_entries, raft_index prev_index, raft_term prev_term) {
        assert_int_equal(passed.n_entries, n_entries);
        assert_int_equal(passed.prev_log_index, prev_index);
        assert_int_equal(passed.prev_log_term, prev_term);
}

static void guard_23_a_repeat_begins_behind_what_is_on_its_way(void **state) {
        struct raft_entry entries[5] = {};
        struct raft_message m = {
                .type = RAFT_APPEND_ENTRIES,
                .server_id = 2,
                .append_entries = {.term = 7,
                                   .prev_log_index = 10,
                                   .prev_log_term = 4,
                                   .entries = entries,
                                   .n_entries = 3},
        };
        _cleanup_(pile_end) Pile p;

        for (size_t i = 0; i < ELEMENTSOF(entries); i++)
                entries[i] =
                        (struct raft_entry){.type = RAFT_COMMAND, .term = 5 + i / 2, .buf.len = 100 * 1000};
        pile_begin(&p);
        pile_send(&p, &m);
        assert_passed(3, 10, 4);
        pile_send(&p, &m);
        assert_passed(0, 13, 6);
        m.append_entries.n_entries = 5;
        pile_send(&p, &m);
        assert_passed(2, 13, 6);
        assert_ptr_equal(passed.entries, &entries[3]);
        pile_send(&p, &m);
        assert_passed(0, 15, 7);

        m.server_id = 3; // nothing is on its way to this one
        pile_send(&p, &m);
        assert_passed(5, 10, 4);
        m.server_id = 2;
        m.append_entries.term = 8; // the entries of another term may be others
        pile_send(&p, &m);
        assert_passed(5, 10, 4);
        raft_window_on_answer(p.store, 2, &(struct raft_append_entries_result){.last_log_index = 10});
        pile_send(&p, &m);
        assert_passed(0, 15, 7);
        raft_window_on_answer(
                p.store, 2,
                &(struct raft_append_entries_result){.rejected = 15, .last_log_index = 10}); // it lacks them
        pile_send(&p, &m);
        assert_passed(5, 10, 4);
        entries[0].buf.len = 100;
        m.append_entries.n_entries = 1;
        pile_send(&p, &m);
        assert_passed(1, 10, 4); // so few bytes may come twice
        m.append_entries.n_entries = 5;
        pile_send(&p, &m);
        assert_passed(0, 15, 7); // and the others are still on their way
        pile_taken(); // by no connection
        pile_send(&p, &m);
        assert_passed(5, 10, 4);
}

// Of a member that was removed libraft keeps the last messages until the store is closed.
static void who_came_after_many_that_took_nothing_gets_entries(void **state) {
        struct raft_entry entry = {.type = RAFT_COMMAND, .term = 1, .buf.len = 1000};
        struct raft_message m = {
                .type = RAFT_APPEND_ENTRIES,
                .append_entries = {.entries = &entry, .n_entries = 1},
        };
        _cleanup_(pile_end) Pile p;

        pile_begin(&p);
        for (m.server_id = 2; m.server_id < 3 * STORE_MEMBERS_MAX; m.server_id++)
                pile_send(&p, &m);
        assert_int_equal(n_lost, 0);
        assert_int_equal(n_passed, 3 * STORE_MEMBERS_MAX - 2);
}

static void a_slow_member_is_sent_one_snapshot_at_a_time(void **state) {
        struct raft_message m = {
                .type = RAFT_INSTALL_SNAPSHOT,
                .server_id = 2,
                .install_snapshot.data.len = 20 * 1024 * 1024,
        };
        _cleanup_(pile_end) Pile p;

        pile_begin(&p);
        pile_send(&p, &m);
        pile_send(&p, &m);
        pile_send(&p, &m);
        assert_int_equal(n_passed, 1);
        assert_int_equal(n_lost, 2);
        pile_taken();
        pile_send(&p, &m);
        assert_int_equal(n_passed, 2);
}

// ---- an entry that comes back

static struct raft_io_append *unwritten; // that the disk has not answered yet
static raft_io_append_cb on_unwritten;

static int take_and_say_nothing(struct raft_io *io, struct raft_io_append *req,
                                const struct raft_entry entries[], unsigned n, raft_io_append_cb done) {
        assert_null(unwritten);
        unwritten = req;
        on_unwritten = done;
        return 0;
}

typedef struct Follower {
        StoreCluster *cluster;
        RaftStore *store;
        raft_index prev; // what the leaders that are made up have in common with it
        raft_term prev_term, term;
        int (*real)(struct raft_io *, struct raft_io_append *, const struct raft_entry[], unsigned,
                    raft_io_append_cb);
} Follower;

static bool is_in_term(void *userdata) {
        Follower *f = userdata;

        return raft_current_term(&f->store->raft) == f->term && f->store->raft.last_stored >= f->prev;
}

static bool is_unwritten(void *userdata) {
        return unwritten;
}

static void follower_begin(Follower *f) {
        *f = (Follower){.cluster = store_cluster_of(1)};
        store_cluster_write(f->cluster, 1, 100);
        f->store = raft_store(f->cluster->servers[0].node.store);
        f->prev = raft_last_index(&f->store->raft);
        f->prev_term = f->term = raft_current_term(&f->store->raft);
        f->real = f->store->uv_io.append;
        unwritten = NULL;
        raft_set_election_timeout(&f->store->raft, 10 * STORE_PATIENCE_MS); // others lead
}

static void follower_end(Follower *f) {
        store_cluster_free(f->cluster);
}

// Of the leader of `term`, one entry of each of these terms.
static void lead(Follower *f, uint32_t from, raft_term term, unsigned n, const raft_term terms[]) {
        struct raft_message m = {
                .type = RAFT_APPEND_ENTRIES,
                .server_id = from,
                .server_address = from == 2 ? "2" : "3",
                .append_entries = {.term = term,
                                   .prev_log_index = f->prev,
                                   .prev_log_term = f->prev_term,
                                   .entries = make_entries(n, term),
                                   .n_entries = n},
        };

        for (unsigned i = 0; i < n; i++)
                m.append_entries.entries[i].term = terms[i];
        f->term = term;
        raft_disk_receive(&f->store->io, &m);
        store_run_until(&f->cluster->loop, is_in_term, f, STORE_PATIENCE_MS, "the term of a leader");
}

static bool has_stored_two(void *userdata) {
        Follower *f = userdata;

        return f->store->raft.last_stored == f->prev + 2;
}

// Of five voters one leads and has an entry on two; another one is elected by the others and replaces it on
// one of these; then the other of these leads. All this while the disk is at work on the entry.
static void guard_30_an_entry_comes_back_while_it_is_written(void **state) {
        _cleanup_(follower_end) Follower f;

        follower_begin(&f);
        raft_term first = f.term + 1, second = f.term + 2, third = f.term + 3;

        f.store->uv_io.append = take_and_say_nothing;
        lead(&f, 2, first, 1, &first);
        store_run_until(&f.cluster->loop, is_unwritten, NULL, STORE_PATIENCE_MS, "a write");
        lead(&f, 3, second, 1, &second);
        lead(&f, 2, third, 2, (raft_term[]){first, third});
        f.store->uv_io.append = f.real;
        on_unwritten(unwritten, 0);
        lead(&f, 2, third, 2, (raft_term[]){first, third}); // the leader goes on sending it
        store_run_until(&f.cluster->loop, has_stored_two, &f, STORE_PATIENCE_MS, "both entries");
}

// The same, while it is being sent to a member that does not take it.
static void guard_30_an_entry_comes_back_while_it_is_sent(void **state) {
        struct raft_entry entry = {.type = RAFT_COMMAND, .buf.len = 100};
        struct raft_message m = {
                .type = RAFT_APPEND_ENTRIES,
                .server_id = 4,
                .append_entries = {.entries = &entry, .n_entries = 1},
        };
        struct raft_io_send req;
        _cleanup_(follower_end) Follower f;
        int (*real)(struct raft_io *, struct raft_io_send *, const struct raft_message *, raft_io_send_cb);

        follower_begin(&f);
        raft_term first = f.term, second = f.term + 1, third = f.term + 2;

        n_passed = n_sent = n_lost = 0;
        real = f.store->uv_io.send;
        f.store->uv_io.send = swallow;
        entry.term = m.append_entries.term = first;
        m.append_entries.prev_log_index = f.prev;
        m.append_entries.prev_log_term = f.prev_term;
        assert_int_equal(f.store->io.send(&f.store->io, &req, &m, on_sent), 0);
        f.store->uv_io.send = real;
        assert_int_equal(n_passed, 1);

        lead(&f, 3, second, 1, &second);
        lead(&f, 2, third, 2, (raft_term[]){first, third});
        assert_int_equal(raft_last_index(&f.store->raft), f.prev + 1);
        swallowed[0]->cb(swallowed[0], 0);
        assert_int_equal(n_sent, 1);
        lead(&f, 2, third, 2, (raft_term[]){first, third});
        store_run_until(&f.cluster->loop, has_stored_two, &f, STORE_PATIENCE_MS, "both entries");
}

RUN_TESTS(
        cmocka_unit_test(guard_27_who_has_a_snapshot_takes_what_begins_before_it),
        cmocka_unit_test(guard_9_the_first_entries_are_not_taken_twice),
        cmocka_unit_test(guard_30_an_entry_comes_back_while_it_is_written),
        cmocka_unit_test(guard_30_an_entry_comes_back_while_it_is_sent),
        cmocka_unit_test(what_a_slow_member_has_not_taken_is_bounded),
        cmocka_unit_test(guard_23_a_repeat_begins_behind_what_is_on_its_way),
        cmocka_unit_test(who_came_after_many_that_took_nothing_gets_entries),
        cmocka_unit_test(a_slow_member_is_sent_one_snapshot_at_a_time)
)
