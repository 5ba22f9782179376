// SPDX-License-Identifier: LGPL-2.1-or-later

// Several stores that talk over TLS on the loopback.

#include "test.h"

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>

#include "fileio.h"
#include "macro.h"
#include "raft-store.h"
#include "store-cluster.h"
#include "str.h"

static void three_members_have_one_history(void **state) {
        _cleanup_(store_cluster_freep) StoreCluster *c = store_cluster_new();
        StoreStats stats;

        store_cluster_bootstrap(c);
        store_cluster_write(c, 20, 100);
        store_cluster_add(c, 1);
        store_cluster_write(c, 20, 100);
        store_cluster_add(c, 2);
        store_cluster_write(c, 20, 100);
        assert_int_equal(store_cluster_leader(c)->n_applied, 60);
        store_cluster_agree(c);
        store_stats(store_cluster_leader(c)->store, &stats);
        assert_int_equal(stats.n_members, 3);
        for (size_t i = 0; i < 3; i++) {
                assert_true(stats.members[i].voter);
                assert_in_range(stats.members[i].match_index, 1, stats.last_index);
        }
        assert_int_equal(c->servers[1].node.leader.raft_id, 1);
        assert_int_equal(c->servers[2].node.role, STORE_FOLLOWER);
}

static void when_the_leader_goes_another_leads_with_everything(void **state) {
        _cleanup_(store_cluster_freep) StoreCluster *c = store_cluster_of(3);
        StoreNode *old = store_cluster_leader(c), *new;
        Hash chain;

        store_cluster_write(c, 20, 100);
        chain = old->chain;
        store_node_close(old);
        new = store_cluster_leader(c);
        assert_ptr_not_equal(new, old);
        assert_true(hash_equal(&new->chain, &chain)); // it leads only after it has applied everything
        store_cluster_write(c, 20, 100);
        store_node_open(old, false, NULL, NULL);
        store_cluster_agree(c);
        assert_int_equal(old->n_applied, 40);
}

static bool has_given_up(void *userdata) {
        return ((StoreNode *) userdata)->role == STORE_FOLLOWER ||
               ((StoreNode *) userdata)->role == STORE_CANDIDATE;
}

static bool are_complete(void *userdata) {
        StoreCluster *c = userdata;

        return c->servers[0].node.complete && c->servers[1].node.complete && c->servers[2].node.complete;
}

// A leader is heard before it says what is committed. Of what a voter has alone nobody has heard, and it is
// not waited for.
static void what_lay_in_the_log_is_applied_before_it_is_complete(void **state) {
        _cleanup_(store_cluster_freep) StoreCluster *c = store_cluster_of(3);
        StoreAnswer a = {};

        store_cluster_write_to_all(c, 20, 100);
        StoreNode *alone = store_cluster_leader(c);
        for (size_t i = 0; i < 3; i++)
                if (&c->servers[i].node != alone)
                        store_node_close(&c->servers[i].node);
        assert_int_equal(store_submit(alone->store, "x", 1, store_on_done, &a), 0);
        store_run_until(&c->loop, has_given_up, alone, STORE_PATIENCE_MS, "stepping down");
        store_node_close(alone);
        for (size_t i = 0; i < 3; i++)
                if (&c->servers[i].node != alone)
                        store_node_open(&c->servers[i].node, false, NULL, NULL);
        store_cluster_write(c, 3, 100);
        store_node_open(alone, false, NULL, NULL);
        store_run_until(&c->loop, are_complete, c, STORE_PATIENCE_MS, "logs that are complete");
        for (size_t i = 0; i < 3; i++)
                assert_in_range(c->servers[i].node.n_applied_when_complete, 20, 23);
        store_cluster_agree(c);
}

static bool is_complete(void *userdata) {
        return ((StoreNode *) userdata)->complete;
}

// What a leader sends comes in parts, each of which ends before a configuration (guard 10): a host that was
// away, or is new, goes through every membership of before, and has applied all that it knows to be
// committed at each.
static void what_was_committed_elsewhere_is_applied_before_it_is_complete(void **state) {
        _cleanup_(store_cluster_freep) StoreCluster *c = store_cluster_of(3);
        StoreNode *away = &c->servers[store_cluster_leader(c) == &c->servers[2].node ? 1 : 2].node,
                  *new = &c->servers[3].node;

        store_cluster_write_to_all(c, 20, 100);
        store_node_close(away);
        store_cluster_write(c, 5, 100);
        store_cluster_add(c, 3);
        store_run_until(&c->loop, is_complete, new, STORE_PATIENCE_MS, "a new voter's log that is complete");
        assert_int_equal(new->n_applied_when_complete, 25);
        store_cluster_write(c, 5, 100);
        store_node_open(away, false, NULL, NULL);
        store_run_until(&c->loop, is_complete, away, STORE_PATIENCE_MS, "a log that is complete again");
        assert_int_equal(away->n_applied_when_complete, 30);
}

// Members that entries are on their way to.
static size_t n_being_sent(const StoreNode *leader) {
        const RaftStore *s = raft_store(leader->store);
        size_t n = 0;

        for (size_t i = 0; i < STORE_MEMBERS_MAX; i++)
                n += s->windows[i].bytes > 0;
        return n;
}

// Guard 12. Whoever asks for something after a pause would wait for the leader's next heartbeat.
static void an_entry_after_a_pause_goes_to_all_at_once(void **state) {
        static const char data[1000] = "entry";
        _cleanup_(store_cluster_freep) StoreCluster *c = store_cluster_new();

        for (size_t i = 0; i < 3; i++)
                c->servers[i].node.heartbeat_ms = 100;
        store_cluster_bootstrap(c);
        store_cluster_add(c, 1);
        store_cluster_add(c, 2);
        for (unsigned i = 0; i < 6; i++) {
                StoreAnswer a = {};

                store_cluster_write(c, 1, sizeof(data)); // at any time between two ticks
                store_cluster_agree(c);
                store_run_for(&c->loop, 230 + 13 * i);
                StoreNode *leader = store_cluster_leader(c);
                assert_int_equal(n_being_sent(leader), 0);
                assert_int_equal(store_submit(leader->store, data, sizeof(data), store_on_done, &a), 0);
                assert_int_equal(n_being_sent(leader), 2);
                store_run_until(&c->loop, store_is_answered, &a, STORE_PATIENCE_MS, "answer to a batch");
                assert_int_equal(a.outcome, STORE_COMMITTED);
        }
}

static bool has_compacted(void *userdata) {
        return raft_store(((StoreNode *) userdata)->store)->raft.trail.offset > 0;
}

static void a_member_that_was_away_gets_a_snapshot(void **state) {
        _cleanup_(store_cluster_freep) StoreCluster *c = store_cluster_of(3);

        store_cluster_write(c, 5, 100);
        StoreNode *away =
                store_cluster_leader(c) == &c->servers[2].node ? &c->servers[1].node : &c->servers[2].node;
        store_node_close(away);
        store_cluster_write(c, 40, 1000 * 1000);
        store_run_until(&c->loop, has_compacted, store_cluster_leader(c), STORE_PATIENCE_MS, "a snapshot");
        store_node_open(away, false, NULL, NULL);
        assert_int_equal(away->n_restores, 0);
        store_cluster_agree(c);
        assert_true(away->n_restores > 0);
        assert_int_equal(away->n_applied, 45);
        store_cluster_write_to_all(c, 5, 100);

        // and it is all there after a restart
        store_node_close(away);
        store_node_open(away, false, NULL, NULL);
        store_cluster_agree(c);
}

// More than fits between the two sides of a bridge at a time, in both directions of it.
static void a_big_state_goes_to_new_members(void **state) {
        _cleanup_(store_cluster_freep) StoreCluster *c = store_cluster_new();

        for (size_t i = 0; i < STORE_CLUSTER_MAX; i++) {
                c->servers[i].node.filler = 20 * 1024 * 1024;
                // all share one loop, which taking in the state holds up
                c->servers[i].node.election_ms = 5000;
        }
        store_cluster_bootstrap(c);
        store_cluster_write(c, 40, 1000 * 1000);
        store_run_until(&c->loop, has_compacted, &c->servers[0].node, STORE_PATIENCE_MS, "a snapshot");
        for (size_t i = 1; i < 3; i++) {
                store_cluster_add(c, i);
                store_cluster_agree(c);
                assert_true(c->servers[i].node.n_restores > 0);
        }
}

static bool all_answer(void *userdata) {
        StoreStats stats;

        store_stats(((StoreNode *) userdata)->store, &stats);
        for (size_t i = 0; i < stats.n_members; i++)
                if (!stats.members[i].answers)
                        return false;
        return stats.role == STORE_LEADER;
}

// What they said meanwhile has not been read when the next turn begins.
static void a_leader_that_stood_still_calls_nobody_silent(void **state) {
        _cleanup_(store_cluster_freep) StoreCluster *c = store_cluster_of(3);
        StoreNode *leader = store_cluster_leader(c);
        unsigned election_ms = raft_store(leader->store)->election_ms;
        StoreStats stats;

        store_run_until(&c->loop, all_answer, leader, STORE_PATIENCE_MS, "answers");
        uv_sleep(2 * election_ms);
        uv_update_time(&c->loop);
        assert_true(all_answer(leader));
        store_stats(leader->store, &stats);
        for (size_t i = 0; i < stats.n_members; i++)
                assert_true(stats.members[i].raft_id == leader->raft_id ||
                            stats.members[i].silent_ms >= 2 * election_ms);
}

static void without_a_majority_the_outcome_is_unknown(void **state) {
        _cleanup_(store_cluster_freep) StoreCluster *c = store_cluster_of(2);
        StoreNode *leader = store_cluster_leader(c);
        StoreNode *other = leader == &c->servers[0].node ? &c->servers[1].node : &c->servers[0].node;
        uint64_t before = leader->n_applied;
        StoreAnswer a = {};

        store_node_close(other);
        store_cluster_leader(c);
        assert_int_equal(store_submit(leader->store, "x", 1, store_on_done, &a), 0);
        store_run_until(&c->loop, has_given_up, leader, STORE_PATIENCE_MS, "stepping down");
        assert_int_equal(store_submit(leader->store, "y", 1, store_on_done, &a), -EAGAIN);
        store_run_until(&c->loop, store_is_answered, &a, STORE_PATIENCE_MS, "answer");
        assert_int_equal(a.n, 1);
        assert_int_equal(a.outcome, STORE_UNKNOWN);
        assert_int_equal(leader->n_applied, before);

        // it was in the log, so it is committed after all
        store_node_open(other, false, NULL, NULL);
        store_cluster_agree(c);
        assert_int_equal(leader->n_applied, before + 1);
}

typedef struct Asker {
        Store *store;
        StoreStats stats;
        StoreOutcome outcome;
} Asker;

static void on_done_ask(StoreOutcome outcome, uint64_t index, void *userdata) {
        Asker *a = userdata;

        a->outcome = outcome;
        store_stats(a->store, &a->stats);
}

// Who gets an answer by the close asks for figures.
static void a_leader_that_closes_may_be_asked(void **state) {
        _cleanup_(store_cluster_freep) StoreCluster *c = store_cluster_of(1);
        StoreNode *n = store_cluster_leader(c);
        Asker a = {.store = n->store, .stats.n_members = 9};

        assert_int_equal(store_submit(n->store, "x", 1, on_done_ask, &a), 0);
        store_node_close(n);
        assert_int_equal(a.outcome, STORE_UNKNOWN);
        assert_int_equal(a.stats.n_members, 0);
}

static void a_leader_is_sure_as_long_as_the_others_answer(void **state) {
        _cleanup_(store_cluster_freep) StoreCluster *c = store_cluster_of(3);
        StoreNode *leader = store_cluster_leader(c);

        store_run_until(&c->loop, store_node_is_sure, leader, STORE_PATIENCE_MS, "authority");
        for (size_t i = 0; i < 3; i++)
                if (&c->servers[i].node != leader) {
                        assert_int_equal(store_authority_until(c->servers[i].node.store), 0);
                        store_node_close(&c->servers[i].node);
                }
        store_run_for(&c->loop, 300); // an election timeout
        assert_false(store_node_is_sure(leader));
}

static bool was_told(void *userdata) {
        return ((StoreNode *) userdata)->n_authorities > 0;
}

// A turn that found none left everything undone; somebody else asks before that turn is told.
static void who_asked_in_vain_is_told_though_another_asks_with_success(void **state) {
        _cleanup_(store_cluster_freep) StoreCluster *c = store_cluster_of(3);
        StoreNode *leader = store_cluster_leader(c);

        do { // on a machine that does something else meanwhile what was evidence is too old
                store_run_until(&c->loop, store_node_is_sure, leader, STORE_PATIENCE_MS, "authority");
                leader->n_authorities = 0;
                raft_store(leader->store)->asked_in_vain = true;
        } while (!store_node_is_sure(leader));
        store_run_until(&c->loop, was_told, leader, STORE_PATIENCE_MS, "the word that there is authority");
}

static void a_member_is_removed(void **state) {
        _cleanup_(store_cluster_freep) StoreCluster *c = store_cluster_of(3);
        StoreNode *leader = store_cluster_leader(c);
        StoreNode *gone = leader == &c->servers[2].node ? &c->servers[1].node : &c->servers[2].node;
        StoreAnswer a = {};
        StoreStats stats;

        assert_int_equal(store_member_remove(leader->store, gone->raft_id, store_on_member, &a), 0);
        store_run_until(&c->loop, store_is_answered, &a, STORE_PATIENCE_MS, "removal");
        assert_int_equal(a.error, 0);
        store_stats(leader->store, &stats);
        assert_int_equal(stats.n_members, 2);
        store_node_close(gone);
        store_cluster_write_to_all(c, 10, 100);
}

static size_t connections(const StoreNode *n) {
        return raft_store(n->store)->transport.n_bridges;
}

static bool has_two_connections(void *userdata) {
        return connections(userdata) == 2; // one that it dialled, one that it took
}

// Neither end of libraft asks whether the other is still a member.
static void a_retired_member_has_no_connection_and_gets_none(void **state) {
        StoreCluster *c = store_cluster_of(3);
        StoreNode *leader = store_cluster_leader(c), *gone = NULL, *stays = NULL;
        StoreAnswer a = {};
        unsigned n_resolved;

        for (size_t i = 0; i < 3; i++)
                if (&c->servers[i].node != leader)
                        *(gone ? &stays : &gone) = &c->servers[i].node;
        StoreServer *server = &c->servers[gone->raft_id - 1];
        assert_int_equal(store_member_remove(leader->store, gone->raft_id, store_on_member, &a), 0);
        store_run_until(&c->loop, store_is_answered, &a, STORE_PATIENCE_MS, "removal");
        store_recheck(leader->store); // it is unknown to nobody yet: nothing happens
        store_run_for(&c->loop, 100);
        assert_true(connections(leader) > 2);

        server->retired = true;
        store_recheck(leader->store);
        store_recheck(stays->store);
        store_run_until(&c->loop, has_two_connections, leader, STORE_PATIENCE_MS,
                        "the leader's connections");
        store_run_until(&c->loop, has_two_connections, stays, STORE_PATIENCE_MS,
                        "the follower's connections");
        n_resolved = server->n_resolved;
        for (int i = 0; i < 6; i++) { // it goes on dialling, since it knows nothing
                store_run_for(&c->loop, 100);
                assert_true(connections(leader) <= 2 && connections(stays) <= 2);
        }
        assert_int_equal(server->n_resolved, n_resolved);
        store_cluster_write(c, 10, 100);
        store_node_close(gone);
        store_cluster_agree(c);
        store_cluster_free(c); // dials that wait for ever do not hold it up
}

static bool leads_no_more(void *userdata) {
        return ((StoreNode *) userdata)->role != STORE_LEADER;
}

static void a_leader_may_remove_itself(void **state) {
        _cleanup_(store_cluster_freep) StoreCluster *c = store_cluster_of(3);
        StoreNode *old = store_cluster_leader(c);
        StoreAnswer a = {};

        assert_int_equal(store_member_remove(old->store, old->raft_id, store_on_member, &a), 0);
        store_run_until(&c->loop, store_is_answered, &a, STORE_PATIENCE_MS, "removal");
        store_run_until(&c->loop, leads_no_more, old, STORE_PATIENCE_MS, "stepping down");
        store_node_close(old);
        store_cluster_write(c, 10, 100);
        assert_int_equal(store_cluster_leader(c)->n_applied, 10);
}

static bool follows_other(void *userdata) {
        StoreNode *n = userdata;

        return n->role == STORE_FOLLOWER && n->leader.raft_id != 0 && n->leader.raft_id != n->raft_id;
}

static void leadership_is_handed_over(void **state) {
        _cleanup_(store_cluster_freep) StoreCluster *c = store_cluster_of(3);
        StoreNode *old = store_cluster_leader(c);
        StoreAnswer a = {};
        uint32_t to = old->raft_id % 3 + 1;
        unsigned tries = 0;

        store_cluster_write(c, 10, 100);
        assert_int_equal(store_transfer(old->store, 9, store_on_member, &a), -ENOENT);
        do { // the successor has one election timeout to win; on a machine too busy for that, nothing has
             // changed
                a = (StoreAnswer){};
                assert_int_equal(old->role, STORE_LEADER);
                assert_int_equal(store_transfer(old->store, to, store_on_member, &a), 0);
                assert_int_equal(store_submit(old->store, "x", 1, store_on_done, &a), -EAGAIN);
                store_run_until(&c->loop, store_is_answered, &a, STORE_PATIENCE_MS, "transfer");
        } while (a.error == -ETIMEDOUT && ++tries < 10);
        assert_int_equal(a.error, 0);
        store_run_until(&c->loop, follows_other, old, STORE_PATIENCE_MS, "following");
        assert_int_equal(store_cluster_leader(c)->raft_id, to);
}

// Term and vote, as libraft stores them: four numbers, in the two files by turns.
typedef struct Metadata {
        uint64_t format, version, term, vote;
} Metadata;

static void metadata_read(const StoreNode *n, Metadata *ret) {
        *ret = (Metadata){};
        for (int i = 1; i <= 2; i++) {
                _cleanup_free_ char *path = str_printf("%s/metadata%d", n->dir, i);
                _cleanup_buf_ Buf b = {};
                Metadata m;

                assert_int_equal(file_read(AT_FDCWD, path, 64, &b), 0);
                assert_int_equal(b.len, sizeof(m));
                memcpy(&m, b.data, sizeof(m));
                if (le64toh(m.version) > le64toh(ret->version))
                        *ret = m;
        }
}

// How often term or vote were written: each time with the next number.
static uint64_t n_metadata_writes(const StoreNode *n) {
        Metadata m;

        metadata_read(n, &m);
        return le64toh(m.version);
}

// The loop waits for these. Who hears of a term without being asked for a vote writes once.
static void a_term_that_is_heard_of_costs_one_write(void **state) {
        _cleanup_(store_cluster_freep) StoreCluster *c = store_cluster_new();
        StoreStats before, after;

        store_cluster_bootstrap(c);
        store_stats(store_cluster_leader(c)->store, &before);
        store_cluster_add(c, 1);
        store_cluster_agree(c);
        store_stats(store_cluster_leader(c)->store, &after);
        // The first is that of the open log; in each later term it may have been asked.
        assert_true(n_metadata_writes(&c->servers[1].node) <= 1 + 1 + 2 * (after.term - before.term));
}

static void a_server_that_does_not_answer_is_not_promoted(void **state) {
        _cleanup_(store_cluster_freep) StoreCluster *c = store_cluster_of(1);
        StoreNode *leader = store_cluster_leader(c);
        StoreStats stats;
        StoreAnswer a = {};

        c->servers[1].unreachable = true;
        assert_int_equal(store_member_add(leader->store, 2, store_on_member, &a), 0);
        store_cluster_write(c, 10, 100); // goes on as before: a spare has no vote
        store_stats(leader->store, &stats);
        assert_int_equal(stats.n_members, 2);
        assert_false(stats.members[1].voter);
        store_node_close(leader);
        assert_int_equal(a.n, 1);
        assert_int_equal(a.error, -ECANCELED);
}

// Without pre-vote a member that hears nobody raises its term again and again, and disturbs the others when
// it is back.
static void guard_6_a_lonely_member_does_not_raise_its_term(void **state) {
        _cleanup_(store_cluster_freep) StoreCluster *c = store_cluster_of(2);
        StoreNode *leader = store_cluster_leader(c);
        StoreNode *lonely = leader == &c->servers[0].node ? &c->servers[1].node : &c->servers[0].node;
        StoreStats before, after;

        store_cluster_write_to_all(c, 1, 100);
        store_stats(lonely->store, &before);
        store_node_close(leader);
        store_run_for(&c->loop, 2000); // three elections at least
        store_stats(lonely->store, &after);
        assert_int_equal(after.term, before.term);
}

// It has voted for somebody of whom it has heard nothing since.
static void raise_stored_term(const StoreNode *n, uint64_t by) {
        _cleanup_free_ char *path = NULL;
        Metadata m;

        metadata_read(n, &m);
        m.version = htole64(le64toh(m.version) + 1);
        m.term = htole64(le64toh(m.term) + by);
        path = str_printf("%s/metadata%d", n->dir, le64toh(m.version) % 2 == 1 ? 1 : 2);
        assert_int_equal(file_replace(AT_FDCWD, path, &m, sizeof(m), 0600, 0), 0);
}

// One has less of the log and cannot win, the other is two terms behind and was never told by libraft: of
// three voters, two were up and nobody led.
static void guard_14_who_refuses_an_older_term_says_so(void **state) {
        _cleanup_(store_cluster_freep) StoreCluster *c = store_cluster_of(3);

        store_cluster_write_to_all(c, 1, 100);
        StoreNode *leader = store_cluster_leader(c);
        StoreNode *shorter = leader == &c->servers[0].node ? &c->servers[1].node : &c->servers[0].node;
        store_node_close(shorter);
        store_cluster_write_to_all(c, 3, 100);
        StoreNode *longer = store_cluster_leader(c);
        for (int i = 0; i < 3; i++)
                store_node_close(&c->servers[i].node);
        raise_stored_term(shorter, 3);
        store_node_open(shorter, false, NULL, NULL);
        store_node_open(longer, false, NULL, NULL);
        assert_ptr_equal(store_cluster_leader(c), longer);
        store_cluster_write_to_all(c, 1, 100);
}

static bool is_voter(const StoreNode *leader, size_t i) {
        StoreStats stats;

        store_stats(leader->store, &stats);
        return stats.n_members > i && stats.members[i].voter;
}

// The second of two voters went down before it had the entry that makes it one; the first has it, and leads
// no more without the other's vote.
static void guard_25_who_does_not_know_that_it_votes_does(void **state) {
        _cleanup_(store_cluster_freep) StoreCluster *c = store_cluster_of(1);
        StoreNode *leader = store_cluster_leader(c), *spare = &c->servers[1].node;
        StoreAnswer a = {};

        store_cluster_write(c, 1, 100);
        store_node_open(spare, false, NULL, NULL);
        assert_int_equal(store_member_add(leader->store, 2, store_on_member, &a), 0);
        while (!is_voter(leader, 1))
                uv_run(&c->loop, UV_RUN_ONCE);
        store_node_close(spare);
        store_run_for(&c->loop, 2000);
        assert_int_not_equal(leader->role, STORE_LEADER);
        assert_int_equal(a.error, -EAGAIN);
        store_node_open(spare, false, NULL, NULL);
        (void) store_cluster_leader(c);
        store_cluster_write_to_all(c, 1, 100);
}

// ---- who is talked to

static void a_server_with_another_key_is_not_talked_to(void **state) {
        _cleanup_(store_cluster_freep) StoreCluster *c = store_cluster_of(2);

        store_node_close(&c->servers[0].node);
        store_node_close(&c->servers[1].node);
        c->servers[0].pin = c->servers[3].pin; // as if somebody else answered at both addresses
        c->servers[1].pin = c->servers[3].pin;
        c->servers[0].n_accepted = c->servers[1].n_accepted = 0;
        store_node_open(&c->servers[0].node, false, NULL, NULL);
        store_node_open(&c->servers[1].node, false, NULL, NULL);
        store_run_for(&c->loop, 1000);
        assert_int_not_equal(c->servers[0].node.role, STORE_LEADER);
        assert_int_not_equal(c->servers[1].node.role, STORE_LEADER);
}

static void on_plain(uv_stream_t *server, int status) {
        ++*(unsigned *) server->data;
}

// A listener that knows no TLS and never says anything. *ret_connections counts.
static uint16_t listen_plain(StoreCluster *c, uv_tcp_t *ret, unsigned *ret_connections) {
        struct sockaddr_in sa;
        int len = sizeof(sa);

        uv_tcp_init(&c->loop, ret);
        ret->data = ret_connections;
        uv_ip4_addr("127.0.0.1", 0, &sa);
        assert_int_equal(uv_tcp_bind(ret, (struct sockaddr *) &sa, 0), 0);
        assert_int_equal(uv_listen((uv_stream_t *) ret, 10, on_plain), 0);
        assert_int_equal(uv_tcp_getsockname(ret, (struct sockaddr *) &sa, &len), 0);
        return ntohs(sa.sin_port);
}

static bool has_connection(void *userdata) {
        return *(unsigned *) userdata > 0;
}

static void a_dial_on_its_way_does_not_hold_up_the_close(void **state) {
        _cleanup_(store_cluster_freep) StoreCluster *c = store_cluster_of(2);
        unsigned n_plain = 0;
        uv_tcp_t plain;

        store_node_close(&c->servers[0].node);
        store_node_close(&c->servers[1].node);
        c->servers[1].port = listen_plain(c, &plain, &n_plain);
        store_node_open(&c->servers[0].node, false, NULL, NULL);
        store_run_until(&c->loop, has_connection, &n_plain, STORE_PATIENCE_MS, "a dial");
        uint64_t begin = uv_now(&c->loop);
        store_node_close(&c->servers[0].node);
        assert_in_range(uv_now(&c->loop) - begin, 0, 4000); // the handshake alone would take 5 s
        uv_close((uv_handle_t *) &plain, NULL);
}

// One forged frame could end all elections for good.
static void guard_7_nothing_is_sent_in_the_clear(void **state) {
        _cleanup_(store_cluster_freep) StoreCluster *c = store_cluster_of(2);
        unsigned n_plain = 0;
        uv_tcp_t plain;

        store_node_close(&c->servers[0].node);
        store_node_close(&c->servers[1].node);
        c->servers[1].port = listen_plain(c, &plain, &n_plain);
        c->servers[0].node.tls = NULL;
        store_node_open(&c->servers[0].node, false, NULL, NULL);
        store_run_for(&c->loop, 1500); // two elections
        assert_int_equal(n_plain, 0);
        uv_close((uv_handle_t *) &plain, NULL);
}

RUN_TESTS(
        cmocka_unit_test(three_members_have_one_history),
        cmocka_unit_test(when_the_leader_goes_another_leads_with_everything),
        cmocka_unit_test(what_lay_in_the_log_is_applied_before_it_is_complete),
        cmocka_unit_test(what_was_committed_elsewhere_is_applied_before_it_is_complete),
        cmocka_unit_test(an_entry_after_a_pause_goes_to_all_at_once),
        cmocka_unit_test(a_member_that_was_away_gets_a_snapshot),
        cmocka_unit_test(a_big_state_goes_to_new_members),
        cmocka_unit_test(a_leader_that_stood_still_calls_nobody_silent),
        cmocka_unit_test(without_a_majority_the_outcome_is_unknown),
        cmocka_unit_test(a_leader_that_closes_may_be_asked),
        cmocka_unit_test(a_leader_is_sure_as_long_as_the_others_answer),
        cmocka_unit_test(who_asked_in_vain_is_told_though_another_asks_with_success),
        cmocka_unit_test(a_member_is_removed),
        cmocka_unit_test(a_retired_member_has_no_connection_and_gets_none),
        cmocka_unit_test(a_leader_may_remove_itself),
        cmocka_unit_test(leadership_is_handed_over),
        cmocka_unit_test(a_term_that_is_heard_of_costs_one_write),
        cmocka_unit_test(a_server_that_does_not_answer_is_not_promoted),
        cmocka_unit_test(guard_6_a_lonely_member_does_not_raise_its_term),
        cmocka_unit_test(guard_14_who_refuses_an_older_term_says_so),
        cmocka_unit_test(guard_25_who_does_not_know_that_it_votes_does),
        cmocka_unit_test(a_server_with_another_key_is_not_talked_to),
        cmocka_unit_test(a_dial_on_its_way_does_not_hold_up_the_close),
        cmocka_unit_test(guard_7_nothing_is_sent_in_the_clear)
)
