// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The log of this host alone: leading, what the log says about hosts, what cannot be read, and the log's
// snapshot.
#include "log-world.h"

#include "cluster-snapshot.h"
#include "printed.h"
#include "str.h"

enum { MANY_HOSTS = 6000 }; // whose records are more than an entry of the log takes

// ---- beginning to lead

static void a_new_cluster_leads_when_its_own_record_is_in_the_log(void **state) {
        open_log(true);
        assert_true(w.bootstrap);
        become(STORE_LEADER, 1, 5);
        assert_recorded("submit 2");
        become(STORE_LEADER, 1, 5);
        assert_recorded(""); // one is on its way
        assert_false(w.d.leading);
        end_batch(STORE_COMMITTED);
        assert_recorded("port, recheck log, 1 voters, mesh: generation 1, recheck links: 1 members, "
                        "leader leads in 5, mesh: we lead in 5, host 1");
        disk_works();
        assert_recorded("save peers");
        assert_true(w.d.leading);
        assert_int_equal(cluster_state_cluster(w.d.state)->voters_wanted, 3);
        assert_int_equal(cluster_state_feature_level(w.d.state), FEATURE_LEVEL);
        const Argosy__HostRecord *self = cluster_state_find_host(w.d.state, 1);
        assert_string_equal(self->name, "n1");
        assert_string_equal(self->nodes[0]->manager, "system");
        assert_int_equal(self->raft_id, 1);
        assert_int_equal(self->role, ARGOSY__HOST_ROLE__ROLE_VOTER);
}

static void a_first_record_that_did_not_get_through_is_written_by_who_leads_next(void **state) {
        open_log(true);
        become(STORE_LEADER, 1, 5);
        end_batch(STORE_NOT_LEADER);
        assert_false(w.d.leading);
        become(STORE_LEADER, 1, 6);
        assert_recorded("submit 2, submit 2");
        end_batch(STORE_COMMITTED);
        assert_true(w.d.leading);
}

// What it says of others, and of revisions, is what the entries say that were not lost.
static void a_recovered_cluster_begins_a_generation_that_nobody_has_seen(void **state) {
        follow_a_cluster();
        uint64_t before = cluster_state_revision(w.d.state);
        uint32_t raft_id = cluster_state_next_raft_id(w.d.state);
        w.d.peers->generation = 2;
        become(STORE_LEADER, 1, 9);
        assert_recorded("submit 2"); // the cluster's record and n2's; n3 is a spare already
        assert_false(w.d.leading);
        end_batch(STORE_COMMITTED);
        assert_true(w.d.leading);
        assert_int_equal(cluster_state_cluster(w.d.state)->generation, 2);
        assert_true(cluster_state_revision(w.d.state) > before + (UINT64_C(1) << 39));
        assert_int_equal(cluster_state_find_host(w.d.state, 1)->role, ARGOSY__HOST_ROLE__ROLE_VOTER);
        assert_int_equal(cluster_state_find_host(w.d.state, 2)->role, ARGOSY__HOST_ROLE__ROLE_SPARE);
        assert_int_equal(cluster_state_find_host(w.d.state, 2)->raft_id, 0);
        assert_true(cluster_state_next_raft_id(w.d.state) > raft_id + 10000);
}

// It had its log still. That it is to vote no more, as soon as another one can, is left.
static void a_recovered_host_that_was_demoted_votes(void **state) {
        Batch b = {};

        follow_a_cluster();
        Argosy__HostRecord *demoted = batch_host(&b, 1, "n1", 1);
        demoted->raft_id = 1;
        demoted->no_promote = true;
        commit_and_run(&b);
        w.d.peers->generation = 2;
        become(STORE_LEADER, 1, 9);
        end_batch(STORE_COMMITTED);
        const Argosy__HostRecord *self = cluster_state_find_host(w.d.state, 1);
        assert_int_equal(self->role, ARGOSY__HOST_ROLE__ROLE_VOTER);
        assert_int_equal(self->raft_id, 1);
        assert_true(self->no_promote);
        assert_int_equal(cluster_state_find_host(w.d.state, 2)->raft_id, 0);
}

// An entry has room for some thousands of records: those of hosts that have nothing to do with the log are
// as they were.
static void a_recovered_cluster_of_thousands_of_hosts_can_be_led(void **state) {
        Batch b = {};

        follow_a_cluster();
        for (unsigned i = 4; i <= MANY_HOSTS; i++) {
                char name[128];

                snprintf(name, sizeof(name),
                         "a-host-with-a-name-of-more-than-a-hundred-bytes-in-one-of-the-largest-"
                         "clusters-that-there-may-be-%05u",
                         i);
                batch_host(&b, 0, name, 1);
        }
        commit(&b);
        w.d.peers->generation = 2;
        become(STORE_LEADER, 1, 9);
        end_batch(STORE_COMMITTED);
        assert_true(w.d.leading);
        assert_int_equal(cluster_state_find_host(w.d.state, 2)->raft_id, 0);
        assert_int_equal(cluster_state_find_host(w.d.state, MANY_HOSTS)->role,
                         ARGOSY__HOST_ROLE__ROLE_SPARE);
}

static void the_leader_begins_before_the_mesh_says_so_and_ends_before(void **state) {
        follow_a_cluster();
        become(STORE_FOLLOWER, 2, 3);
        assert_recorded("mesh: we do not in 3, host 2");
        become(STORE_FOLLOWER, 77, 3); // nobody's
        become(STORE_CANDIDATE, 0, 4);
        assert_recorded("mesh: we do not in 3, host 0, mesh: we do not in 4, host 0");
        become(STORE_LEADER, 1, 4);
        assert_recorded("leader leads in 4, mesh: we lead in 4, host 1");
        w.ops.authority(&w.d);
        assert_recorded("authority");
        become(STORE_FOLLOWER, 2, 5);
        assert_recorded("leader stops in 5, mesh: we do not in 5, host 2");
        w.ops.authority(&w.d);
        assert_recorded("");
}

static void a_leader_that_closes_stops_leading_first(void **state) {
        follow_a_cluster();
        become(STORE_LEADER, 1, 4);
        buf_done(&w.recorded);
        daemon_log_close(&w.d, on_log_closed);
        assert_recorded("leader stops in 4, mesh: we do not in 4, host 0, close");
        become(STORE_LEADER, 1, 4); // news from before the end
        assert_recorded("");
        end_store();
        assert_recorded("log closed");
}

// Its tables take turns of the loop.
static void nobody_hears_of_a_leader_before_its_tables_are_whole(void **state) {
        follow_a_cluster();
        w.leader_builds = true;
        become(STORE_LEADER, 1, 4);
        assert_recorded("leader leads in 4");
        assert_false(w.d.leading);
        w.ops.authority(&w.d);
        become(STORE_LEADER, 1, 4);
        assert_recorded("");
        w.leader_ops.leads(&w.d);
        assert_recorded("mesh: we lead in 4, host 1");
        assert_true(w.d.leading);
        become(STORE_FOLLOWER, 2, 5);
        assert_recorded("leader stops in 5, mesh: we do not in 5, host 2");
}

static void who_is_followed_before_its_tables_are_whole_has_never_led(void **state) {
        follow_a_cluster();
        w.leader_builds = true;
        become(STORE_LEADER, 1, 4);
        become(STORE_FOLLOWER, 2, 5);
        assert_recorded("leader leads in 4, leader stops in 5, mesh: we do not in 5, host 2");
        become(STORE_LEADER, 1, 6);
        daemon_log_close(&w.d, on_log_closed);
        assert_recorded("leader leads in 6, leader stops in 6, mesh: we do not in 6, host 0, close");
        end_store();
        assert_recorded("log closed");
}

// ---- what the log says about hosts

// A log that is replayed passes through memberships that are long over.
// Nor through rights that were taken back.
static void the_socket_follows_when_all_that_is_committed_is_applied(void **state) {
        Argosy__GrantRecord grant = GRANT_RECORD_OF(.right = ARGOSY__RIGHT__RIGHT_VIEW, .user = "alice");
        Batch b = {};

        follow_a_cluster();
        uv_run(&w.loop, UV_RUN_NOWAIT);
        w.access_updates = 0;
        batch_op(&b, ARGOSY__LOG_OP__OP_GRANT)->grant = &grant;
        w.commit_index = w.index + 2;
        commit_and_run(&b);
        uv_run(&w.loop, UV_RUN_NOWAIT);
        assert_int_equal(w.access_updates, 0);
        batch_request(&b, 1);
        commit_and_run(&b);
        assert_int_equal(w.access_updates, 1);
        batch_request(&b, 2);
        commit_and_run(&b);
        assert_int_equal(w.access_updates, 1);
        assert_recorded(""); // it said nothing about hosts
}

static void hosts_are_told_when_all_that_is_committed_is_applied(void **state) {
        Batch b = {};

        follow_a_cluster();
        add_voter(&b, "n4", 4);
        w.commit_index = w.index + 2;
        commit_and_run(&b);
        uv_run(&w.loop, UV_RUN_NOWAIT);
        assert_recorded("");
        batch_request(&b, 1);
        commit_and_run(&b);
        assert_recorded("port, recheck log, 3 voters, mesh: generation 1, recheck links: 3 members");
        disk_works();
        assert_recorded("save peers");
        assert_int_equal(w.voters[2].host, 4);
        assert_int_equal(w.voters[2].raft_id, 4);
        assert_int_equal(w.voters[2].port, 7404);
        assert_int_equal(w.saved_voters, 3);
        batch_request(&b, 2);
        commit_and_run(&b);
        assert_recorded(""); // it said nothing about hosts
        batch_token(&b, "0123abcd", UINT64_MAX);
        commit_and_run(&b);
        assert_recorded(
                "port, recheck log, 3 voters, recheck links: 3 members"); // somebody may want to join
}

// What a log says that was just opened may be older than the peers file, and nobody could be elected by
// that. A leader that is heard has not yet said how much of it is committed.
static void whom_an_old_snapshot_names_is_told_when_the_log_is_complete(void **state) {
        Batch b = {};

        open_log_of_before(false);
        batch_cluster(&b, 1);
        add_voter(&b, "n1", 1);
        add_voter(&b, "n2", 2);
        commit_and_run(&b);
        assert_recorded("port");
        become(STORE_FOLLOWER, 2, 4);
        uv_run(&w.loop, UV_RUN_NOWAIT);
        assert_recorded("mesh: we do not in 4, host 2");
        add_voter(&b, "n3", 3);
        commit_and_run(&b);
        assert_recorded("port");
        w.ops.complete(&w.d);
        uv_run(&w.loop, UV_RUN_NOWAIT);
        assert_recorded("port, recheck log, 3 voters, mesh: generation 1, recheck links: 3 members");
        disk_works();
        buf_done(&w.recorded);
}

// Who was removed is told by the leader, and then let go by it.
static void a_leader_ends_no_links_by_itself(void **state) {
        Batch b = {};

        follow_a_cluster();
        become(STORE_LEADER, 1, 4);
        buf_done(&w.recorded);
        batch_host_remove(&b, 3);
        commit_and_run(&b);
        assert_recorded("port, recheck log, 2 voters"); // and the peers file is as it was
}

static void a_peers_file_that_cannot_be_written_is_tried_with_the_next_change(void **state) {
        Batch b = {};

        follow_a_cluster();
        w.save_error = -EROFS;
        add_voter(&b, "n4", 4);
        commit_and_run(&b);
        assert_recorded("port, recheck log, 3 voters, mesh: generation 1, recheck links: 3 members");
        assert_int_equal(w.d.peers->n_voters, 3); // in memory it counts
        disk_works();
        w.save_error = 0;
        add_voter(&b, "n5", 5);
        commit_and_run(&b);
        disk_works();
        assert_int_equal(w.saved_voters, 4);
}

// Until the log's own members are without it: whoever starts again without having heard of an entry elects a
// leader with the peers file alone.
static void a_host_that_is_to_vote_no_more_stays_known_as_long_as_it_has_its_log(void **state) {
        Batch b = {};

        follow_a_cluster();
        Argosy__HostRecord *h = batch_host(&b, 2, "n2", 1);
        h->raft_id = 2;
        commit_and_run(&b);
        assert_int_equal(cluster_state_find_host(w.d.state, 2)->role, ARGOSY__HOST_ROLE__ROLE_SPARE);
        assert_int_equal(w.d.peers->n_voters, 2);
        (void) batch_host(&b, 2, "n2", 1);
        commit_and_run(&b);
        assert_int_equal(w.d.peers->n_voters, 1);
        disk_works();
}

// The changes that come while the disk is slow are one more write.
static void a_slow_disk_holds_up_no_change_of_voters(void **state) {
        Batch b = {};

        follow_a_cluster();
        for (uint32_t i = 4; i <= 7; i++) {
                add_voter(&b, printed("n%u", i), i);
                commit_and_run(&b);
                assert_int_equal(w.d.peers->n_voters, i - 1);
        }
        buf_done(&w.recorded);
        disk_works();
        assert_recorded("save peers, save peers");
        assert_int_equal(w.saved_voters, 6);
}

static void where_a_member_is_the_mesh_knows_best_and_the_log_knows_its_key(void **state) {
        char address[64];
        uint16_t port;
        Hash pin;

        follow_a_cluster();
        assert_true(w.ops.resolve(2, address, sizeof(address), &port, &pin, &w.d));
        assert_string_equal(address, "192.0.2.1");
        assert_int_equal(port, 7402);
        assert_memory_equal(pin.bytes, cluster_state_find_host(w.d.state, 2)->key_pin.data, HASH_SIZE);
        w.known_elsewhere = true;
        assert_true(w.ops.resolve(2, address, sizeof(address), &port, &pin, &w.d));
        assert_string_equal(address, "198.51.100.9");
        assert_int_equal(port, 7999);
        assert_false(w.ops.resolve(77, address, sizeof(address), &port, &pin, &w.d));
        assert_false(w.ops.retired(2, &w.d));
}

// ---- what cannot be read

static void what_is_no_batch_is_an_error(void **state) {
        follow_a_cluster();
        assert_int_equal(w.ops.apply(++w.index, (const uint8_t *) "\xff", 1, &w.d), -EBADMSG);
        assert_recorded("");
}

static void what_a_later_version_wrote_ends_the_daemon_for_good(void **state) {
        follow_a_cluster();
        assert_int_equal(w.ops.apply(++w.index, later, sizeof(later), &w.d), -EPROTONOSUPPORT);
        assert_recorded("fail for good");
        assert_non_null(strstr(w.d.log_unreadable, "cannot be read"));
}

// While the log is being opened whoever opens it is told why, in the words of the state.
static void what_a_later_version_wrote_keeps_the_log_from_being_opened(void **state) {
        _cleanup_free_ char *why = NULL;

        w.open_error = -EPROTONOSUPPORT;
        assert_int_equal(daemon_log_open(&w.d, false, &why), -EPROTONOSUPPORT);
        assert_non_null(strstr(why, w.d.log_dir));
        assert_recorded("mesh: raft id 1, open");
}

// ---- its snapshot

static void rename_host(const char *name) {
        Batch b = {};
        Argosy__HostRecord *h = batch_host(&b, 3, name, 1);

        h->nodes[0]->node = cluster_state_find_host(w.d.state, 3)->nodes[0]->node;
        commit(&b);
}

static void a_snapshot_of_the_log_is_the_state_when_it_was_taken(void **state) {
        _cleanup_buf_ Buf expected = {}, bytes = {};
        void *snapshot;

        follow_a_cluster();
        assert_int_equal(cluster_state_encode(w.d.state, &expected), 0);
        assert_int_equal(w.ops.snapshot(&snapshot, &w.d), 0);
        for (unsigned i = 0; i < 2 * SNAPSHOT_RECLAIM_STEP; i++)
                rename_host(i % 2 ? "n3" : "n4");
        assert_false(w.ops.snapshot_is_cut(snapshot));
        while (w.ops.snapshot_encode(snapshot, &bytes) == STORE_SNAPSHOT_MORE)
                continue;
        assert_int_equal(bytes.len, expected.len);
        assert_memory_equal(bytes.data, expected.data, expected.len);
        w.ops.snapshot_release(snapshot, &w.d);
        uv_run(&w.loop, UV_RUN_NOWAIT);
        assert_true(cluster_state_reclaim(w.d.state)); // one turn frees a part
        uv_run(&w.loop, UV_RUN_NOWAIT);
        uv_run(&w.loop, UV_RUN_NOWAIT);
        assert_false(cluster_state_reclaim(w.d.state));
}

RUN_TESTS(
        LOG_TEST(a_new_cluster_leads_when_its_own_record_is_in_the_log),
        LOG_TEST(a_first_record_that_did_not_get_through_is_written_by_who_leads_next),
        LOG_TEST(a_recovered_cluster_begins_a_generation_that_nobody_has_seen),
        LOG_TEST(a_recovered_host_that_was_demoted_votes),
        LOG_TEST(a_recovered_cluster_of_thousands_of_hosts_can_be_led),
        LOG_TEST(the_leader_begins_before_the_mesh_says_so_and_ends_before),
        LOG_TEST(a_leader_that_closes_stops_leading_first),
        LOG_TEST(nobody_hears_of_a_leader_before_its_tables_are_whole),
        LOG_TEST(who_is_followed_before_its_tables_are_whole_has_never_led),
        LOG_TEST(the_socket_follows_when_all_that_is_committed_is_applied),
        LOG_TEST(hosts_are_told_when_all_that_is_committed_is_applied),
        LOG_TEST(whom_an_old_snapshot_names_is_told_when_the_log_is_complete),
        LOG_TEST(a_leader_ends_no_links_by_itself),
        LOG_TEST(a_peers_file_that_cannot_be_written_is_tried_with_the_next_change),
        LOG_TEST(a_slow_disk_holds_up_no_change_of_voters),
        LOG_TEST(where_a_member_is_the_mesh_knows_best_and_the_log_knows_its_key),
        LOG_TEST(a_host_that_is_to_vote_no_more_stays_known_as_long_as_it_has_its_log),
        LOG_TEST(what_is_no_batch_is_an_error),
        LOG_TEST(what_a_later_version_wrote_ends_the_daemon_for_good),
        LOG_TEST(what_a_later_version_wrote_keeps_the_log_from_being_opened),
        LOG_TEST(a_snapshot_of_the_log_is_the_state_when_it_was_taken)
)
