// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Whose key may speak as a voter to the log of this host: by the log, and as far as that does not know yet,
// by the word of others.
#include "daemon-listen.h"
#include "daemon-voters.h"
#include "join-server.h"
#include "log-world.h"
#include "named-voters.h"
#include "refusal-log.h"
#include "stream.h"
#include "tls-context.h"

// ---- what a connection would be given to, which nobody makes here

int listener_new_bound(uv_loop_t *loop, int fd, TlsContext *tls, const ListenerOps *ops, void *userdata,
                       Listener **ret) {
        return -EOPNOTSUPP;
}

const StreamPeer *stream_peer(const Stream *s) {
        return NULL;
}

void stream_close(Stream *s, int error, bool flush) {
}

void join_server_accept(JoinServer *j, Stream *stream) {
}

void store_accept(Store *s, Stream *stream, uint32_t raft_id) {
}

void mesh_accept(Mesh *m, Stream *stream, uint32_t host) {
}

void mesh_guide(Mesh *m, Stream *stream) {
}

void refusal_log_counts(Daemon *d, bool all) {
}

bool refusal_log_allows(Daemon *d, const char *address, const char *why) {
        return false;
}

// ---- words of the stories

static Hash key_of(const char *name) { // as batch_host() has it
        return hash_of(name, strlen(name));
}

static TlsVerdict judge(const char *name, const char *alpn) {
        Hash pin = key_of(name);

        return daemon_listen_judge(&pin, alpn, &w.d);
}

typedef void (*Say)(Daemon *d, Argosy__Voter *const *voters, size_t n);

// Somebody says that the host of this name votes.
static void name_voter(Say say, uint32_t host, const char *name, uint32_t raft_id) {
        Hash pin = key_of(name);
        Argosy__Voter v = MESSAGE_OF(voter, .host = host, .address = (char *) "198.51.100.4", .port = 7404,
                                     .key_pin = {HASH_SIZE, pin.bytes}, .raft_id = raft_id),
                      *voters[] = {&v};

        say(&w.d, voters, 1);
}

// n2 was replaced by n4, of whom our log has not heard.
static void cut_off_meanwhile(Say say) {
        follow_a_cluster();
        assert_int_equal(judge("n2", ALPN_RAFT), TLS_MEMBER);
        assert_int_equal(judge("n3", ALPN_RAFT), TLS_STRANGER); // a mere member
        assert_int_equal(judge("n4", ALPN_RAFT), TLS_STRANGER);
        name_voter(say, 4, "n4", 3);
}

static void catch_up(uint32_t its_raft_id) {
        Batch b = {};
        Argosy__HostRecord *h = batch_host(&b, 2, "n2", 1); // votes no more

        h->raft_id = 0;
        add_voter(&b, "n4", 3);
        if (its_raft_id != 3) {
                h = batch_host(&b, 4, "n4", 1);
                h->raft_id = its_raft_id;
        }
        commit_and_run(&b);
}

// ---- tests

static void who_was_cut_off_hears_who_votes_now(Say say) {
        char address[64];
        uint16_t port;
        Hash pin;

        cut_off_meanwhile(say);
        assert_int_equal(judge("n4", ALPN_RAFT), TLS_MEMBER);
        assert_true(w.ops.resolve(3, address, sizeof(address), &port, &pin, &w.d)); // for its answers
        assert_string_equal(address, "198.51.100.4");
        assert_int_equal(port, 7404);
        assert_int_equal(judge("n3", ALPN_RAFT), TLS_STRANGER);
        assert_int_equal(judge("n5", ALPN_RAFT), TLS_STRANGER);
}

static void a_voter_that_was_cut_off_listens_to_whom_another_one_names(void **state) {
        who_was_cut_off_hears_who_votes_now(named_voters_add);
}

static void a_voter_that_was_cut_off_listens_to_whom_the_leader_names(void **state) {
        who_was_cut_off_hears_who_votes_now(daemon_voters_on_announced);
}

// A host that is a member may vote by now; one that voted may do so again, with another raft id.
static void a_member_that_votes_by_now_is_listened_to_as_that(void **state) {
        char address[64];
        uint16_t port;
        Hash pin, key = key_of("n2");

        cut_off_meanwhile(named_voters_add);
        name_voter(named_voters_add, 3, "n3", 4);
        name_voter(named_voters_add, 2, "n2", 5);
        assert_int_equal(judge("n3", ALPN_RAFT), TLS_MEMBER);
        assert_true(w.ops.resolve(5, address, sizeof(address), &port, &pin, &w.d));
        assert_memory_equal(&pin, &key, HASH_SIZE);
        assert_int_equal(judge("n4", ALPN_RAFT), TLS_MEMBER); // the others count still
}

// An older word does not take back what a newer one says.
static void of_two_words_about_a_host_the_later_raft_id_counts(void **state) {
        char address[64];
        uint16_t port;
        Hash pin;

        cut_off_meanwhile(named_voters_add);
        name_voter(named_voters_add, 4, "n4", 6);
        name_voter(named_voters_add, 4, "n4", 3);
        assert_true(w.ops.resolve(6, address, sizeof(address), &port, &pin, &w.d));
        assert_false(w.ops.resolve(3, address, sizeof(address), &port, &pin, &w.d));
}

// What others say counts for nothing where the log has come to: it knows whose each raft id is.
static void no_word_counts_against_the_log(void **state) {
        follow_a_cluster();
        name_voter(named_voters_add, 3, "n3", 2); // n2's
        name_voter(named_voters_add, 4, "n4", 0);
        assert_int_equal(judge("n3", ALPN_RAFT), TLS_STRANGER);
        assert_int_equal(judge("n4", ALPN_RAFT), TLS_STRANGER);
}

static void who_votes_no_more_by_the_log_is_not_listened_to(void **state) {
        cut_off_meanwhile(named_voters_add);
        catch_up(0);
        assert_int_equal(judge("n4", ALPN_RAFT), TLS_STRANGER);
        assert_int_equal(judge("n4", ALPN_MESH), TLS_MEMBER);
        name_voter(named_voters_add, 4, "n4", 3); // by who has not heard of it
        assert_int_equal(judge("n4", ALPN_RAFT), TLS_STRANGER);
}

// A removal is final, whoever is named.
static void a_removed_host_is_not_listened_to(void **state) {
        Batch b = {};

        follow_a_cluster();
        batch_host_remove(&b, 3);
        commit_and_run(&b);
        name_voter(named_voters_add, 3, "n3", 9);
        assert_int_equal(judge("n3", ALPN_RAFT), TLS_REMOVED);
        assert_int_equal(judge("n3", ALPN_MESH), TLS_REMOVED);
}

// What only a log of our own could need is not kept without one.
static void who_keeps_no_log_lets_nobody_speak_to_it(void **state) {
        w.d.peers->raft_id = 0;
        name_voter(named_voters_add, 4, "n4", 3);
        assert_null(w.d.voters_named);
        assert_int_equal(judge("n4", ALPN_RAFT), TLS_STRANGER);
        assert_int_equal(judge("n4", ALPN_MESH), TLS_GUEST);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                LOG_TEST(a_voter_that_was_cut_off_listens_to_whom_another_one_names),
                LOG_TEST(a_voter_that_was_cut_off_listens_to_whom_the_leader_names),
                LOG_TEST(a_member_that_votes_by_now_is_listened_to_as_that),
                LOG_TEST(of_two_words_about_a_host_the_later_raft_id_counts),
                LOG_TEST(no_word_counts_against_the_log),
                LOG_TEST(who_votes_no_more_by_the_log_is_not_listened_to),
                LOG_TEST(a_removed_host_is_not_listened_to),
                LOG_TEST(who_keeps_no_log_lets_nobody_speak_to_it),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
