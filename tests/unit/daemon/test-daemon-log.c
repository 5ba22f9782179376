// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The log of this host alone: leading, what the log says about hosts, what cannot be read, becoming or ceasing to be a
// voter, and the log's snapshot.
#include "log-world.h"

#include "cluster-snapshot.h"

enum { MANY_HOSTS = 6000 }; // whose records are more than an entry of the log takes

// ---- words for the stories

static int begin(void **state) {
        static uint8_t cluster_id[16] = {7};
        Argosy__PeersFile peers = ARGOSY__PEERS_FILE__INIT;
        _cleanup_free_ char *old = NULL;

        log_set_level(LOG_CRIT);
        w = (struct World){};
        assert_int_equal(uv_loop_init(&w.loop), 0);
        assert_int_equal(tmpdir_make((void **) &w.dir), 0);
        peers.cluster_id = (ProtobufCBinaryData){sizeof(cluster_id), cluster_id};
        peers.generation = peers.host = peers.raft_id = 1;
        w.paths.state_dir = w.dir;
        w.d = (Daemon){
                .loop = &w.loop,
                .paths = &w.paths,
                .log_dir = str_printf("%s/log", w.dir),
                .peers = message_copy(&peers),
                .port = 7402,
                .config = {.voters = 3, .name = (char *) "n1"},
        };
        strcpy(w.d.machine_id_hex, "0123456789abcdef0123456789abcdef");
        strcpy(w.d.own.text, "192.0.2.1");
        memset(w.d.identity.pin.bytes, 0x11, HASH_SIZE);
        assert_int_equal(mkdir(w.d.log_dir, 0700), 0);
        old = str_printf("%s/old", w.d.log_dir);
        assert_int_equal(file_replace(AT_FDCWD, old, "x", 1, 0600, 0), 0);
        state_writer_init(&w.d);
        assert_int_equal(drain_init(&w.d.reclaim_drain, &w.loop, daemon_log_on_reclaim, &w.d), 0);
        return drain_init(&w.d.hosts_drain, &w.loop, daemon_log_on_hosts, &w.d);
}

static void on_log_closed(Daemon *d) {
        record("log closed");
}

static void end_store(void) {
        void (*store_closed)(void *) = TAKE_PTR(w.store_closed), (*leader_closed)(void *);

        assert_non_null(store_closed);
        store_closed(&w.d);
        leader_closed = TAKE_PTR(w.leader_closed);
        assert_non_null(leader_closed);
        leader_closed(&w.d);
}

static int end(void **state) {
        _cleanup_free_ char *old = str_printf("%s/old", w.d.log_dir);

        disk_works();
        if (w.d.store) {
                daemon_log_close(&w.d, on_log_closed);
                end_store();
        } else if (w.d.state)
                w.d.state = cluster_state_free(w.d.state);
        argosy__peers_file__free_unpacked(w.d.peers, NULL);
        if (w.batch)
                argosy__log_batch__free_unpacked(w.batch, NULL);
        buf_done(&w.d.identity.ca_key);
        message_free(w.d.voter_order);
        free(w.d.log_unreadable);
        buf_done(&w.recorded);
        (void) unlink(old);
        assert_int_equal(rmdir(w.d.log_dir), 0);
        free(w.d.log_dir);
        assert_int_equal(tmpdir_drop((void **) &w.dir), 0);
        drain_close(&w.d.hosts_drain, NULL);
        drain_close(&w.d.reclaim_drain, NULL);
        assert_int_equal(uv_run(&w.loop, UV_RUN_DEFAULT), 0);
        return uv_loop_close(&w.loop);
}

static void open_log(bool bootstrap) {
        _cleanup_free_ char *why = NULL;

        assert_int_equal(daemon_log_open(&w.d, bootstrap, &why), 0);
        buf_done(&w.recorded);
}

static int apply(const Argosy__LogBatch *batch) {
        uint8_t *bytes = malloc(argosy__log_batch__get_packed_size(batch) + 1);
        size_t len = argosy__log_batch__pack(batch, bytes);
        int r = w.ops.apply(++w.index, bytes, len, &w.d);

        free(bytes);
        return r;
}

// A batch of the test is committed.
static void commit(Batch *b) {
        assert_int_equal(apply(&b->log), 0);
        batch_done(b);
}

// What was submitted ends.
static void end_batch(StoreOutcome outcome) {
        Argosy__LogBatch *batch = TAKE_PTR(w.batch);

        assert_non_null(batch);
        if (outcome == STORE_COMMITTED)
                assert_int_equal(apply(batch), 0);
        argosy__log_batch__free_unpacked(batch, NULL);
        w.done(outcome, outcome == STORE_COMMITTED ? w.index : 0, &w.d);
}

static void become(StoreRole role, uint32_t leader_raft_id, uint64_t term) {
        w.ops.role(role, (StoreLeader){leader_raft_id, term}, &w.d);
}

// A voter of the log, of the host number that comes next.
static void add_voter(Batch *b, const char *name, uint32_t raft_id) {
        Argosy__HostRecord *h = batch_host(b, 0, name, 1);

        h->role = ARGOSY__HOST_ROLE__ROLE_VOTER;
        h->raft_id = raft_id;
        h->port = 7400 + raft_id;
}

// A cluster of three as its log says it: n1 and n2 vote, n3 does not.
static void follow_a_cluster(void) {
        Batch b = {};

        open_log(false);
        batch_cluster(&b, 1);
        add_voter(&b, "n1", 1);
        add_voter(&b, "n2", 2);
        batch_host(&b, 0, "n3", 1);
        commit(&b);
        uv_run(&w.loop, UV_RUN_NOWAIT);
        disk_works();
        buf_done(&w.recorded);
}

// ---- beginning to lead

static void a_new_cluster_leads_when_its_own_record_is_in_the_log(void **state) {
        const Argosy__HostRecord *self;

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
        self = cluster_state_find_host(w.d.state, 1);
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
        uint64_t before;

        follow_a_cluster();
        before = cluster_state_revision(w.d.state);
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
}

// An entry has room for some thousands of records: those of hosts that have nothing to do with the log are as they were.
static void a_recovered_cluster_of_thousands_of_hosts_can_be_led(void **state) {
        Batch b = {};

        follow_a_cluster();
        for (unsigned i = 4; i <= MANY_HOSTS; i++) {
                char name[128];

                snprintf(name, sizeof(name), "a-host-with-a-name-of-more-than-a-hundred-bytes-in-one-of-the-largest-"
                                             "clusters-that-there-may-be-%05u", i);
                batch_host(&b, 0, name, 1);
        }
        commit(&b);
        w.d.peers->generation = 2;
        become(STORE_LEADER, 1, 9);
        end_batch(STORE_COMMITTED);
        assert_true(w.d.leading);
        assert_int_equal(cluster_state_find_host(w.d.state, 2)->raft_id, 0);
        assert_int_equal(cluster_state_find_host(w.d.state, MANY_HOSTS)->role, ARGOSY__HOST_ROLE__ROLE_SPARE);
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

// ---- what the log says about hosts

// A log that is replayed passes through memberships that are long over.
// Nor through rights that were taken back.
static void the_socket_follows_when_all_that_is_committed_is_applied(void **state) {
        Argosy__GrantRecord grant = ARGOSY__GRANT_RECORD__INIT;
        Batch b = {};

        follow_a_cluster();
        uv_run(&w.loop, UV_RUN_NOWAIT);
        w.access_updates = 0;
        grant.right = ARGOSY__RIGHT__RIGHT_VIEW;
        grant.user = "alice";
        batch_op(&b, ARGOSY__LOG_OP__OP_GRANT)->grant = &grant;
        w.commit_index = w.index + 2;
        commit(&b);
        uv_run(&w.loop, UV_RUN_NOWAIT);
        uv_run(&w.loop, UV_RUN_NOWAIT);
        assert_int_equal(w.access_updates, 0);
        batch_request(&b, 1);
        commit(&b);
        uv_run(&w.loop, UV_RUN_NOWAIT);
        assert_int_equal(w.access_updates, 1);
        batch_request(&b, 2);
        commit(&b);
        uv_run(&w.loop, UV_RUN_NOWAIT);
        assert_int_equal(w.access_updates, 1);
        assert_recorded(""); // it said nothing about hosts
}

static void hosts_are_told_when_all_that_is_committed_is_applied(void **state) {
        Batch b = {};

        follow_a_cluster();
        add_voter(&b, "n4", 4);
        w.commit_index = w.index + 2;
        commit(&b);
        uv_run(&w.loop, UV_RUN_NOWAIT);
        uv_run(&w.loop, UV_RUN_NOWAIT);
        assert_recorded("");
        batch_request(&b, 1);
        commit(&b);
        uv_run(&w.loop, UV_RUN_NOWAIT);
        assert_recorded("port, recheck log, 3 voters, mesh: generation 1, recheck links: 3 members");
        disk_works();
        assert_recorded("save peers");
        assert_int_equal(w.voters[2].host, 4);
        assert_int_equal(w.voters[2].raft_id, 4);
        assert_int_equal(w.voters[2].port, 7404);
        assert_int_equal(w.saved_voters, 3);
        batch_request(&b, 2);
        commit(&b);
        uv_run(&w.loop, UV_RUN_NOWAIT);
        assert_recorded(""); // it said nothing about hosts
        batch_token(&b, "0123abcd", UINT64_MAX);
        commit(&b);
        uv_run(&w.loop, UV_RUN_NOWAIT);
        assert_recorded(
                "port, recheck log, 3 voters, recheck links: 3 members"); // somebody may want to join
}

// Who was removed is told by the leader, and then let go by it.
static void a_leader_ends_no_links_by_itself(void **state) {
        Batch b = {};

        follow_a_cluster();
        become(STORE_LEADER, 1, 4);
        buf_done(&w.recorded);
        batch_host_remove(&b, 3);
        commit(&b);
        uv_run(&w.loop, UV_RUN_NOWAIT);
        assert_recorded("port, recheck log, 2 voters"); // and the peers file is as it was
}

static void a_peers_file_that_cannot_be_written_is_tried_with_the_next_change(void **state) {
        Batch b = {};

        follow_a_cluster();
        w.save_error = -EROFS;
        add_voter(&b, "n4", 4);
        commit(&b);
        uv_run(&w.loop, UV_RUN_NOWAIT);
        assert_recorded("port, recheck log, 3 voters, mesh: generation 1, recheck links: 3 members");
        assert_int_equal(w.d.peers->n_voters, 3); // in memory it counts
        disk_works();
        w.save_error = 0;
        add_voter(&b, "n5", 5);
        commit(&b);
        uv_run(&w.loop, UV_RUN_NOWAIT);
        disk_works();
        assert_int_equal(w.saved_voters, 4);
}

// The changes that come while the disk is slow are one more write.
static void a_slow_disk_holds_up_no_change_of_voters(void **state) {
        Batch b = {};

        follow_a_cluster();
        for (uint32_t i = 4; i <= 7; i++) {
                char name[16];

                snprintf(name, sizeof(name), "n%u", i);
                add_voter(&b, name, i);
                commit(&b);
                uv_run(&w.loop, UV_RUN_NOWAIT);
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

// ---- becoming a voter, and no longer being one

static void order_open(uint32_t raft_id) {
        Argosy__ToHost__StoreOpen m = ARGOSY__TO_HOST__STORE_OPEN__INIT;

        m.raft_id = raft_id;
        m.generation = 4;
        m.ca_key = (ProtobufCBinaryData){3, (uint8_t *) "key"};
        daemon_log_on_store_open(&w.d, &m);
}

// The number in the peers file promises that key and log are there: a host that has it alone does not start. And the
// leader hears of a log when it is promised.
static void a_new_voter_has_the_key_and_a_log_before_the_number(void **state) {
        w.d.peers->raft_id = 0;
        order_open(6);
        assert_recorded("key");
        assert_int_equal(w.d.peers->raft_id, 0);
        disk_works();
        assert_recorded(
                "identity with key, make, save peers, mesh: generation 4, mesh: raft id 6, open, opened 6");
        assert_true(w.saved_empty);
        assert_true(w.saved_made);
        assert_int_equal(w.saved_raft_id, 6);
        assert_int_equal(w.saved_generation, 4);
        assert_int_equal(w.opened_id, 6);
        assert_false(w.bootstrap);
        order_open(6); // the answer was lost
        assert_recorded("opened 6");
}

static void who_cannot_become_a_voter_says_so_and_goes_on(void **state) {
        w.d.peers->raft_id = 0;
        w.key_error = -EKEYREJECTED;
        order_open(6);
        assert_recorded("opened 6 in vain");
        assert_null(w.work);
        assert_false(log_is_empty());
        assert_int_equal(w.d.peers->raft_id, 0);
}

// What is no key of this cluster takes nothing from a voter.
static void a_voter_that_cannot_have_another_number_stays_one(void **state) {
        follow_a_cluster();
        w.key_error = -EKEYREJECTED;
        order_open(6);
        assert_recorded("opened 6 in vain");
        assert_non_null(w.d.store);
        assert_int_equal(w.d.peers->raft_id, 1);
}

static void who_has_no_room_for_a_log_keeps_nothing_of_it(void **state) {
        w.d.peers->raft_id = 0;
        w.make_error = -ENOSPC;
        order_open(6);
        disk_works();
        assert_recorded("key, identity with key, identity without key, opened 6 in vain, mesh: raft id 0");
        assert_int_equal(w.saved_raft_id, 0);
        assert_int_equal(w.d.peers->raft_id, 0);
        assert_int_equal(w.d.identity.ca_key.len, 0);
        assert_true(log_is_empty());
}

static void end_leader(void) {
        void (*leader_closed)(void *) = TAKE_PTR(w.leader_closed);

        assert_non_null(leader_closed);
        leader_closed(&w.d);
}

// It is what it was before, also if it has to start again; and may be asked once more, even before all is closed.
static void who_cannot_open_the_log_of_a_voter_is_none(void **state) {
        w.d.peers->raft_id = 0;
        w.open_error = -ENOSPC;
        order_open(6);
        disk_works();
        assert_recorded("key, identity with key, make, save peers, mesh: generation 4, mesh: raft id 6, "
                        "open, opened 6 in vain, "
                        "mesh: raft id 0");
        end_leader();
        disk_works();
        assert_recorded("save peers, identity without key, mesh: raft id 0");
        assert_int_equal(w.saved_raft_id, 0);
        assert_int_equal(w.d.peers->raft_id, 0);

        order_open(6);
        disk_works();
        buf_done(&w.recorded);
        order_open(7);
        assert_recorded("");
        w.open_error = 0;
        end_leader();
        disk_works();
        assert_recorded("key, save peers, identity with key, make, save peers, mesh: generation 4, mesh: "
                        "raft id 7, open, opened 7");
        assert_int_equal(w.d.peers->raft_id, 7);
}

static void who_cannot_note_that_it_is_a_voter_is_none(void **state) {
        w.d.peers->raft_id = 0;
        w.save_error = -ENOSPC;
        order_open(6);
        disk_works();
        assert_recorded("key, identity with key, make, opened 6 in vain, mesh: raft id 0");
        assert_int_equal(w.d.peers->raft_id, 0);
        assert_null(w.d.store);
        assert_null(w.d.state);
        w.save_error = 0; // and whether it is noted nobody knows, so the number goes before the log
        w.forgot_whole = false;
        order_open(7);
        disk_works();
        assert_recorded("key, save peers, identity with key, make, save peers, mesh: generation 4, mesh: "
                        "raft id 7, open, opened 7");
}

// A log whose number cannot be taken out is a voter's still, whatever is ordered.
static void what_is_promised_is_kept_when_the_promise_cannot_be_taken_back(void **state) {
        follow_a_cluster();
        assert_int_equal(buf_append(&w.d.identity.ca_key, "key", 3), 0);
        w.save_error = -ENOSPC;
        daemon_log_on_store_close(&w.d, 1);
        end_store();
        disk_works();
        assert_recorded("close, mesh: raft id 0, recheck links: 0 members");
        assert_false(log_is_empty());
        assert_int_equal(w.d.peers->raft_id, 1);
        assert_int_equal(w.d.identity.ca_key.len, 3);
        order_open(6);
        disk_works();
        assert_recorded("key, opened 6 in vain, mesh: raft id 0");
        assert_false(log_is_empty());
}

static void a_key_that_could_not_be_cleared_away_goes_later(void **state) {
        w.d.peers->raft_id = 0;
        w.make_error = w.clear_error = -ENOSPC;
        order_open(6);
        disk_works();
        assert_recorded("key, identity with key, identity without key, opened 6 in vain, mesh: raft id 0");
        daemon_log_tidy_again(&w.d); // the disk is full still
        disk_works();
        assert_recorded("identity without key, mesh: raft id 0");
        w.clear_error = 0;
        daemon_log_tidy_again(&w.d);
        disk_works();
        assert_recorded("identity without key, mesh: raft id 0");
        daemon_log_tidy_again(&w.d);
        assert_null(w.work);
}

static void a_number_that_could_not_be_taken_out_goes_later(void **state) {
        follow_a_cluster();
        assert_int_equal(buf_append(&w.d.identity.ca_key, "key", 3), 0);
        daemon_log_tidy_again(&w.d); // not a voter's
        w.save_error = -ENOSPC;
        daemon_log_on_store_close(&w.d, 1);
        end_store();
        disk_works();
        assert_int_equal(w.d.peers->raft_id, 1);
        buf_done(&w.recorded);
        w.save_error = 0;
        daemon_log_tidy_again(&w.d);
        disk_works();
        assert_recorded("save peers, identity without key, mesh: raft id 0");
        assert_int_equal(w.d.peers->raft_id, 0);
        assert_int_equal(w.d.identity.ca_key.len, 0);
        assert_true(log_is_empty());
}

// It would promise the log of the new one.
static void an_old_number_is_not_written_again_when_the_new_one_could_not_be(void **state) {
        Argosy__Voter voter = ARGOSY__VOTER__INIT, *voters[] = {&voter, &voter};

        follow_a_cluster();
        order_open(7);
        end_store();
        w.save_error = -ENOSPC;
        w.good_saves = 1;
        disk_works();
        assert_int_equal(w.d.peers->raft_id, 0);
        w.save_error = 0;
        daemon_update_peers(&w.d, voters, 2, 4);
        disk_works();
        assert_int_equal(w.saved_voters, 2);
        assert_int_equal(w.saved_raft_id, 0);
        order_open(8); // the number that may be in the file goes first
        buf_done(&w.recorded);
        disk_works();
        assert_recorded("save peers, identity with key, make, save peers, mesh: generation 4, mesh: raft id 8, open, "
                        "opened 8");
}

static void a_voter_with_another_number_begins_anew_when_its_log_is_closed(void **state) {
        follow_a_cluster();
        order_open(6);
        assert_recorded("key, close");
        order_open(7); // meanwhile: the newest counts
        assert_recorded("");
        end_store();
        disk_works();
        assert_recorded("key, save peers, identity with key, make, save peers, mesh: generation 4, mesh: "
                        "raft id 7, open, "
                        "opened 7");
        assert_true(w.forgot_whole); // under the old number nobody finds an empty log, to vote a second time
        assert_int_equal(w.saved_raft_id, 7);
}

static void who_is_no_voter_any_more_keeps_neither_log_nor_key(void **state) {
        follow_a_cluster();
        assert_int_equal(buf_append(&w.d.identity.ca_key, "key", 3), 0);
        daemon_log_on_store_close(&w.d, 9); // an older number's
        assert_recorded("");
        daemon_log_on_store_close(&w.d, 1);
        daemon_log_on_store_close(&w.d, 1);
        assert_recorded("close");
        end_store();
        assert_recorded("");
        assert_int_equal(w.d.peers->raft_id, 1); // as the disk says
        disk_works();
        assert_recorded("save peers, identity without key, mesh: raft id 0, recheck links: 0 members");
        assert_int_equal(w.saved_raft_id, 0);
        assert_int_equal(w.d.identity.ca_key.len, 0);
        assert_true(log_is_empty());
        assert_null(w.d.store);
        assert_null(w.d.state);
}

// The power went in between.
static void what_a_spare_still_has_of_a_log_goes_when_it_starts(void **state) {
        daemon_log_tidy(&w.d); // a voter's
        assert_recorded("");
        w.d.peers->raft_id = 0;
        assert_int_equal(buf_append(&w.d.identity.ca_key, "key", 3), 0);
        daemon_log_tidy(&w.d);
        assert_recorded("identity without key");
        assert_true(log_is_empty());
        assert_int_equal(w.d.identity.ca_key.len, 0);
        daemon_log_tidy(&w.d);
        assert_recorded("");
}

static void who_is_asked_back_while_it_ends_is_a_voter_again(void **state) {
        follow_a_cluster();
        daemon_log_on_store_close(&w.d, 1);
        order_open(6);
        end_store();
        disk_works();
        assert_int_equal(w.d.peers->raft_id, 6);
        assert_non_null(w.d.store);
}

// The number that no record got is given again.
static void who_is_asked_back_under_its_number_answers_when_it_is_so(void **state) {
        follow_a_cluster();
        daemon_log_on_store_close(&w.d, 1);
        assert_recorded("close");
        order_open(1);
        assert_recorded("");
        end_store();
        assert_recorded("key");
        disk_works();
        assert_recorded("save peers, identity with key, make, save peers, mesh: generation 4, mesh: raft id "
                        "1, open, opened 1");
        assert_true(w.forgot_whole);
        assert_true(w.saved_empty);
}

// ---- what is said while the disk is slow

static void who_is_asked_again_while_the_disk_is_slow_answers_both(void **state) {
        w.d.peers->raft_id = 0;
        order_open(6);
        order_open(6);
        assert_recorded("key");
        disk_works();
        assert_recorded("identity with key, make, save peers, mesh: generation 4, mesh: raft id 6, open, "
                        "opened 6, opened 6");
}

static void the_newest_number_counts_while_the_disk_is_slow(void **state) {
        w.d.peers->raft_id = 0;
        order_open(6);
        order_open(7);
        order_open(8);
        disk_works();
        end_store();
        disk_works();
        assert_int_equal(w.saved_raft_id, 8);
        assert_int_equal(w.d.peers->raft_id, 8);
        assert_non_null(w.d.store);
}

static void who_is_sent_away_before_its_log_is_made_is_none(void **state) {
        w.d.peers->raft_id = 0;
        order_open(6);
        daemon_log_on_store_close(&w.d, 5); // an older number's
        daemon_log_on_store_close(&w.d, 6);
        disk_works();
        end_store();
        disk_works();
        assert_int_equal(w.saved_raft_id, 0);
        assert_int_equal(w.d.peers->raft_id, 0);
        assert_int_equal(w.d.identity.ca_key.len, 0);
        assert_true(log_is_empty());
        assert_null(w.d.store);
}

static void what_was_called_off_while_the_old_log_closed_is_not_begun(void **state) {
        follow_a_cluster();
        order_open(6);
        daemon_log_on_store_close(&w.d, 6);
        end_store();
        disk_works();
        assert_int_equal(w.made_id, 0);
        assert_int_equal(w.saved_raft_id, 0);
        assert_null(w.d.store);
}

// Neither what it says of voters nor its number gets lost, whoever writes first.
static void voters_that_change_while_a_log_is_made_are_in_the_file_with_its_number(void **state) {
        Argosy__Voter voter = ARGOSY__VOTER__INIT, *voters[] = {&voter, &voter};

        w.d.peers->raft_id = 0;
        daemon_update_peers(&w.d, voters, 1, 3);
        order_open(6);
        daemon_update_peers(&w.d, voters, 2, 3);
        disk_works_once();
        assert_int_equal(w.saved_raft_id, 0);
        assert_int_equal(w.saved_voters, 1);
        disk_works();
        assert_int_equal(w.saved_raft_id, 6);
        assert_int_equal(w.saved_voters, 2);
        assert_int_equal(w.saved_generation, 4);
}

static void voters_that_change_while_a_log_goes_do_not_promise_it_again(void **state) {
        Argosy__Voter voter = ARGOSY__VOTER__INIT, *voters[] = {&voter, &voter};

        follow_a_cluster();
        daemon_log_on_store_close(&w.d, 1);
        end_store();
        daemon_update_peers(&w.d, voters, 1, 3);
        disk_works();
        assert_int_equal(w.saved_raft_id, 0);
        assert_int_equal(w.saved_voters, 1);
}

// The mesh may be gone when the disk has worked; the next start finds what is there.
static void what_the_disk_has_done_when_the_daemon_ends_is_told_to_nobody(void **state) {
        w.d.peers->raft_id = 0;
        order_open(6);
        order_open(7);
        w.d.end = DAEMON_EXIT;
        disk_works();
        assert_recorded("key, identity with key, make, save peers");
        assert_null(w.d.store);
        assert_int_equal(w.made_id, 6);
}

static void what_waits_for_the_disk_when_the_daemon_ends_is_not_begun(void **state) {
        Argosy__Voter voter = ARGOSY__VOTER__INIT, *voters[] = {&voter};

        w.d.peers->raft_id = 0;
        daemon_update_peers(&w.d, voters, 1, 3);
        order_open(6);
        w.d.end = DAEMON_EXIT;
        disk_works();
        assert_int_equal(w.made_id, 0);
        assert_null(w.d.voter_job);
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

#define TEST(f) cmocka_unit_test_setup_teardown(f, begin, end)

int main(void) {
        const struct CMUnitTest tests[] = {
                TEST(a_new_cluster_leads_when_its_own_record_is_in_the_log),
                TEST(a_first_record_that_did_not_get_through_is_written_by_who_leads_next),
                TEST(a_recovered_cluster_begins_a_generation_that_nobody_has_seen),
                TEST(a_recovered_cluster_of_thousands_of_hosts_can_be_led),
                TEST(the_leader_begins_before_the_mesh_says_so_and_ends_before),
                TEST(the_socket_follows_when_all_that_is_committed_is_applied),
                TEST(hosts_are_told_when_all_that_is_committed_is_applied),
                TEST(a_leader_ends_no_links_by_itself),
                TEST(a_peers_file_that_cannot_be_written_is_tried_with_the_next_change),
                TEST(a_slow_disk_holds_up_no_change_of_voters),
                TEST(where_a_member_is_the_mesh_knows_best_and_the_log_knows_its_key),
                TEST(what_is_no_batch_is_an_error),
                TEST(what_a_later_version_wrote_ends_the_daemon_for_good),
                TEST(what_a_later_version_wrote_keeps_the_log_from_being_opened),
                TEST(a_new_voter_has_the_key_and_a_log_before_the_number),
                TEST(who_cannot_become_a_voter_says_so_and_goes_on),
                TEST(a_voter_that_cannot_have_another_number_stays_one),
                TEST(who_has_no_room_for_a_log_keeps_nothing_of_it),
                TEST(who_cannot_open_the_log_of_a_voter_is_none),
                TEST(who_cannot_note_that_it_is_a_voter_is_none),
                TEST(what_is_promised_is_kept_when_the_promise_cannot_be_taken_back),
                TEST(a_key_that_could_not_be_cleared_away_goes_later),
                TEST(a_number_that_could_not_be_taken_out_goes_later),
                TEST(an_old_number_is_not_written_again_when_the_new_one_could_not_be),
                TEST(a_voter_with_another_number_begins_anew_when_its_log_is_closed),
                TEST(who_is_no_voter_any_more_keeps_neither_log_nor_key),
                TEST(what_a_spare_still_has_of_a_log_goes_when_it_starts),
                TEST(who_is_asked_back_while_it_ends_is_a_voter_again),
                TEST(who_is_asked_back_under_its_number_answers_when_it_is_so),
                TEST(who_is_asked_again_while_the_disk_is_slow_answers_both),
                TEST(the_newest_number_counts_while_the_disk_is_slow),
                TEST(who_is_sent_away_before_its_log_is_made_is_none),
                TEST(what_was_called_off_while_the_old_log_closed_is_not_begun),
                TEST(voters_that_change_while_a_log_is_made_are_in_the_file_with_its_number),
                TEST(voters_that_change_while_a_log_goes_do_not_promise_it_again),
                TEST(what_the_disk_has_done_when_the_daemon_ends_is_told_to_nobody),
                TEST(what_waits_for_the_disk_when_the_daemon_ends_is_not_begun),
                TEST(a_leader_that_closes_stops_leading_first),
                TEST(nobody_hears_of_a_leader_before_its_tables_are_whole),
                TEST(who_is_followed_before_its_tables_are_whole_has_never_led),
                TEST(a_snapshot_of_the_log_is_the_state_when_it_was_taken),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
