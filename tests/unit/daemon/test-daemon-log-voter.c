// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The log of this host alone: becoming a voter and no longer being one, whatever the disk does, and in which
// order what has become of it is promised, kept and said.
#include "daemon-voters.h"
#include "log-world.h"
#include "messages.h"

// ---- becoming a voter, and no longer being one

static void has_key(void) {
        assert_int_equal(voter_secrets_put(&w.d.secrets, VOTER_SECRET_CA, 1, "key", 3), 0);
}

static void order_open(uint32_t raft_id) {
        Argosy__VoterSecret key = MESSAGE_OF(
                                    voter_secret, .name = (char *) VOTER_SECRET_CA, .number = 1,
                                    .value = (ProtobufCBinaryData){w.bad_secret ? 0 : 3, (uint8_t *) "key"}),
                            *keys = &key;
        Argosy__ToHost__StoreOpen m = MESSAGE_OF(to_host__store_open, .raft_id = raft_id, .generation = 4,
                                                 .secrets = &keys, .n_secrets = 1);

        daemon_log_on_store_open(&w.d, &m);
}

// The number in the peers file promises that key and log are there: a host that has it alone does not start.
// And the leader hears of a log when it is promised.
static void a_new_voter_has_the_key_and_a_log_before_the_number(void **state) {
        w.d.peers->raft_id = 0;
        order_open(6);
        assert_recorded("");
        assert_int_equal(w.d.peers->raft_id, 0);
        disk_works();
        assert_recorded(
                "secrets, make, save peers, mesh: generation 4, mesh: raft id 6, open, opened 6");
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
        w.bad_secret = true;
        order_open(6);
        assert_recorded("opened 6 in vain");
        assert_null(w.work);
        assert_false(log_is_empty());
        assert_int_equal(w.d.peers->raft_id, 0);
}

// What is no key of this cluster takes nothing from a voter.
static void a_voter_that_cannot_have_another_number_stays_one(void **state) {
        follow_a_cluster();
        w.bad_secret = true;
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
        assert_recorded("secrets, no secrets, opened 6 in vain, mesh: raft id 0");
        assert_int_equal(w.saved_raft_id, 0);
        assert_int_equal(w.d.peers->raft_id, 0);
        assert_int_equal(w.d.secrets.n, 0);
        assert_true(log_is_empty());
}

static void end_leader(void) {
        void (*leader_closed)(void *) = TAKE_PTR(w.leader_closed);

        assert_non_null(leader_closed);
        leader_closed(&w.d);
}

// It is what it was before, also if it has to start again; and may be asked once more, even before all is
// closed.
static void who_cannot_open_the_log_of_a_voter_is_none(void **state) {
        w.d.peers->raft_id = 0;
        w.open_error = -ENOSPC;
        order_open(6);
        disk_works();
        assert_recorded("secrets, make, save peers, mesh: generation 4, mesh: raft id 6, "
                        "open, opened 6 in vain, "
                        "mesh: raft id 0");
        end_leader();
        disk_works();
        assert_recorded("save peers, no secrets, mesh: raft id 0");
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
        assert_recorded("save peers, secrets, make, save peers, mesh: generation 4, mesh: "
                        "raft id 7, open, opened 7");
        assert_int_equal(w.d.peers->raft_id, 7);
}

static void who_cannot_note_that_it_is_a_voter_is_none(void **state) {
        w.d.peers->raft_id = 0;
        w.save_error = -ENOSPC;
        order_open(6);
        disk_works();
        assert_recorded("secrets, make, opened 6 in vain, mesh: raft id 0");
        assert_int_equal(w.d.peers->raft_id, 0);
        assert_null(w.d.store);
        assert_null(w.d.state);
        w.save_error = 0; // and whether it is noted nobody knows, so the number goes before the log
        w.forgot_whole = false;
        order_open(7);
        disk_works();
        assert_recorded("save peers, secrets, make, save peers, mesh: generation 4, mesh: "
                        "raft id 7, open, opened 7");
}

// A log whose number cannot be taken out is a voter's still, whatever is ordered.
static void what_is_promised_is_kept_when_the_promise_cannot_be_taken_back(void **state) {
        follow_a_cluster();
        has_key();
        w.save_error = -ENOSPC;
        daemon_log_on_store_close(&w.d, 1);
        end_store();
        disk_works();
        assert_recorded("close, mesh: raft id 0, recheck links: 0 members");
        assert_false(log_is_empty());
        assert_int_equal(w.d.peers->raft_id, 1);
        assert_int_equal(w.d.secrets.n, 1);
        order_open(6);
        disk_works();
        assert_recorded("opened 6 in vain, mesh: raft id 0");
        assert_false(log_is_empty());
}

static void a_key_that_could_not_be_cleared_away_goes_later(void **state) {
        w.d.peers->raft_id = 0;
        w.make_error = w.clear_error = -ENOSPC;
        order_open(6);
        disk_works();
        assert_recorded("secrets, no secrets, opened 6 in vain, mesh: raft id 0");
        daemon_log_tidy_again(&w.d); // the disk is full still
        disk_works();
        assert_recorded("no secrets, mesh: raft id 0");
        w.clear_error = 0;
        daemon_log_tidy_again(&w.d);
        disk_works();
        assert_recorded("no secrets, mesh: raft id 0");
        daemon_log_tidy_again(&w.d);
        assert_null(w.work);
}

static void a_number_that_could_not_be_taken_out_goes_later(void **state) {
        follow_a_cluster();
        has_key();
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
        assert_recorded("save peers, no secrets, mesh: raft id 0");
        assert_int_equal(w.d.peers->raft_id, 0);
        assert_int_equal(w.d.secrets.n, 0);
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
        assert_recorded("save peers, secrets, make, save peers, mesh: generation 4, mesh: raft id 8, open, "
                        "opened 8");
}

static void a_voter_with_another_number_begins_anew_when_its_log_is_closed(void **state) {
        follow_a_cluster();
        order_open(6);
        assert_recorded("close");
        order_open(7); // meanwhile: the newest counts
        assert_recorded("");
        end_store();
        disk_works();
        assert_recorded("save peers, secrets, make, save peers, mesh: generation 4, mesh: "
                        "raft id 7, open, "
                        "opened 7");
        assert_true(w.forgot_whole); // under the old number nobody finds an empty log, to vote a second time
        assert_int_equal(w.saved_raft_id, 7);
}

static void who_is_no_voter_any_more_keeps_neither_log_nor_key(void **state) {
        follow_a_cluster();
        has_key();
        daemon_log_on_store_close(&w.d, 9); // an older number's
        assert_recorded("");
        daemon_log_on_store_close(&w.d, 1);
        daemon_log_on_store_close(&w.d, 1);
        assert_recorded("close");
        end_store();
        assert_recorded("");
        assert_int_equal(w.d.peers->raft_id, 1); // as the disk says
        disk_works();
        assert_recorded("save peers, no secrets, mesh: raft id 0, recheck links: 0 members");
        assert_int_equal(w.saved_raft_id, 0);
        assert_int_equal(w.d.secrets.n, 0);
        assert_true(log_is_empty());
        assert_null(w.d.store);
        assert_null(w.d.state);
}

// It heard of its successors when its own log still knew better, and nobody says it again.
static void who_is_no_voter_any_more_knows_who_votes_now(void **state) {
        Argosy__Voter next = ARGOSY__VOTER__INIT, *voters[] = {&next};
        Hash pin = {.bytes = {0x22}};

        next.host = 2;
        next.address = (char *) "198.51.100.2";
        next.port = 7402;
        next.key_pin = (ProtobufCBinaryData){HASH_SIZE, pin.bytes};
        follow_a_cluster();
        daemon_log_on_store_close(&w.d, 1);
        daemon_voters_on_announced(&w.d, voters, 1);
        assert_recorded("close");
        end_store();
        disk_works();
        assert_recorded("save peers, no secrets, mesh: raft id 0, mesh: generation 1, 1 voters, "
                        "recheck links: 0 members, save peers");
        assert_string_equal(w.voters[0].address, "198.51.100.2");
        assert_int_equal(w.d.peers->n_voters, 1);
}

// The power went in between.
static void what_a_spare_still_has_of_a_log_goes_when_it_starts(void **state) {
        daemon_log_tidy(&w.d); // a voter's
        assert_recorded("");
        w.d.peers->raft_id = 0;
        has_key();
        daemon_log_tidy(&w.d);
        assert_recorded("no secrets");
        assert_true(log_is_empty());
        assert_int_equal(w.d.secrets.n, 0);
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
        assert_recorded("");
        disk_works();
        assert_recorded("save peers, secrets, make, save peers, mesh: generation 4, mesh: raft id "
                        "1, open, opened 1");
        assert_true(w.forgot_whole);
        assert_true(w.saved_empty);
}

// ---- what is said while the disk is slow

static void who_is_asked_again_while_the_disk_is_slow_answers_both(void **state) {
        w.d.peers->raft_id = 0;
        order_open(6);
        order_open(6);
        assert_recorded("");
        disk_works();
        assert_recorded("secrets, make, save peers, mesh: generation 4, mesh: raft id 6, open, "
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
        assert_int_equal(w.d.secrets.n, 0);
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
        w.bad_secret = true; // who obeys this order has something to say at once
        order_open(7);
        w.d.end = DAEMON_EXIT;
        disk_works();
        assert_recorded("secrets, make, save peers");
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

// ---- secrets that come while it votes

static void tell(uint32_t number, const char *value) {
        Argosy__VoterSecret secret = MESSAGE_OF(
                                    voter_secret, .name = (char *) "key", .number = number,
                                    .value = (ProtobufCBinaryData){strlen(value), (uint8_t *) value}),
                            *secrets = &secret;
        Argosy__ToHost__VoterSecrets m =
                MESSAGE_OF(to_host__voter_secrets, .secrets = &secrets, .n_secrets = 1);

        daemon_secrets_on_message(&w.d, &m);
}

// The log names them; the newest of each name stays, whatever else was there.
static void name_secret(uint32_t number) {
        Argosy__VoterSecretRecord record = MESSAGE_OF(voter_secret_record, .name = (char *) "key",
                                                      .number = number),
                                  *records = &record;
        Batch b = {};

        batch_cluster(&b, 1);
        b.log.ops[0]->cluster->voter_secrets = &records;
        b.log.ops[0]->cluster->n_voter_secrets = 1;
        commit_and_run(&b);
}

static void a_secret_is_acknowledged_when_it_is_on_the_disk(void **state) {
        follow_a_cluster();
        tell(1, "one");
        assert_recorded("");
        assert_int_equal(w.d.secrets.n, 0);
        disk_works();
        assert_recorded("secrets, 1 secrets kept by 1");
        tell(1, "one"); // the acknowledgement was lost
        assert_recorded("1 secrets kept by 1");
        assert_null(w.work);
}

static void a_secret_that_cannot_be_written_is_not_acknowledged(void **state) {
        follow_a_cluster();
        w.secrets_error = -ENOSPC;
        tell(1, "one");
        disk_works();
        // that it has none is what the leader tells it again for
        assert_recorded("secrets, 0 secrets kept by 1");
        assert_int_equal(w.d.secrets.n, 0);
        w.secrets_error = 0;
        tell(1, "one");
        tell(2, "two");
        disk_works();
        assert_recorded("secrets, 1 secrets kept by 1, secrets, 2 secrets kept by 1");
}

static void secrets_are_for_voters_only(void **state) {
        w.d.peers->raft_id = 0;
        tell(1, "one");
        daemon_secrets_report(&w.d);
        assert_recorded("");
        assert_null(w.work);
}

static void a_secret_that_the_log_names_no_more_goes(void **state) {
        follow_a_cluster();
        tell(1, "one");
        tell(2, "two"); // on its way into the log
        disk_works();
        name_secret(1);
        disk_works();
        assert_int_equal(w.d.secrets.n, 2);
        name_secret(2);
        disk_works();
        assert_int_equal(w.d.secrets.n, 1);
        assert_int_equal(w.d.secrets.list[0].number, 2);
}

static void a_secret_that_comes_while_it_stops_to_vote_is_not_kept(void **state) {
        follow_a_cluster();
        daemon_log_on_store_close(&w.d, 1);
        tell(1, "one");
        end_store();
        disk_works();
        assert_int_equal(w.d.secrets.n, 0);
}

RUN_TESTS(
        LOG_TEST(a_new_voter_has_the_key_and_a_log_before_the_number),
        LOG_TEST(who_cannot_become_a_voter_says_so_and_goes_on),
        LOG_TEST(a_voter_that_cannot_have_another_number_stays_one),
        LOG_TEST(who_has_no_room_for_a_log_keeps_nothing_of_it),
        LOG_TEST(who_cannot_open_the_log_of_a_voter_is_none),
        LOG_TEST(who_cannot_note_that_it_is_a_voter_is_none),
        LOG_TEST(what_is_promised_is_kept_when_the_promise_cannot_be_taken_back),
        LOG_TEST(a_key_that_could_not_be_cleared_away_goes_later),
        LOG_TEST(a_number_that_could_not_be_taken_out_goes_later),
        LOG_TEST(an_old_number_is_not_written_again_when_the_new_one_could_not_be),
        LOG_TEST(a_voter_with_another_number_begins_anew_when_its_log_is_closed),
        LOG_TEST(who_is_no_voter_any_more_keeps_neither_log_nor_key),
        LOG_TEST(who_is_no_voter_any_more_knows_who_votes_now),
        LOG_TEST(what_a_spare_still_has_of_a_log_goes_when_it_starts),
        LOG_TEST(who_is_asked_back_while_it_ends_is_a_voter_again),
        LOG_TEST(who_is_asked_back_under_its_number_answers_when_it_is_so),
        LOG_TEST(who_is_asked_again_while_the_disk_is_slow_answers_both),
        LOG_TEST(the_newest_number_counts_while_the_disk_is_slow),
        LOG_TEST(who_is_sent_away_before_its_log_is_made_is_none),
        LOG_TEST(what_was_called_off_while_the_old_log_closed_is_not_begun),
        LOG_TEST(voters_that_change_while_a_log_is_made_are_in_the_file_with_its_number),
        LOG_TEST(voters_that_change_while_a_log_goes_do_not_promise_it_again),
        LOG_TEST(what_the_disk_has_done_when_the_daemon_ends_is_told_to_nobody),
        LOG_TEST(what_waits_for_the_disk_when_the_daemon_ends_is_not_begun),
        LOG_TEST(a_secret_is_acknowledged_when_it_is_on_the_disk),
        LOG_TEST(a_secret_that_cannot_be_written_is_not_acknowledged),
        LOG_TEST(secrets_are_for_voters_only),
        LOG_TEST(a_secret_that_the_log_names_no_more_goes),
        LOG_TEST(a_secret_that_comes_while_it_stops_to_vote_is_not_kept)
)
