// SPDX-License-Identifier: LGPL-2.1-or-later
//
// How a secret comes to all voters. The disks are the test's: a voter answers in the turn after it was told,
// as one with a disk does.
enum { HOSTS = 4 };

#include "message.h"
#include "voter-disks.h"

static unsigned told[HOSTS + 1];

static void on_host_message(Rig *rig, uint32_t host, const Argosy__ToHost *m) {
        if (m->msg_case == ARGOSY__TO_HOST__MSG_STORE_CLOSE)
                voter_secrets_done(&disks[host]);
        told[host] += m->msg_case == ARGOSY__TO_HOST__MSG_VOTER_SECRETS;
        disk_on_message(rig, host, m);
}

static void send_kept(uint32_t host, Argosy__ToVoter__VoterSecretsKept *kept) {
        leader_on_message(g.leader, host, A_TO_VOTER(VOTER_SECRETS_KEPT, voter_secrets_kept, kept));
}

static void on_turn(Rig *rig) {
        for (uint32_t host = 1; host <= HOSTS; host++)
                if (due[host] && cluster_state_find_host(g.state, host) && rig_host(&g, host)->up) {
                        due[host] = false;
                        say_kept(host);
                }
}

FIXTURE(setup) {
        memset(told, 0, sizeof(told));
        rig_start(&g, HOSTS);
        g.secrets = &disks[1];
        g.on_host_message = on_host_message;
        g.on_turn = on_turn;
        for (uint32_t host = 1; host <= HOSTS; host++)
                keeps[host] = due[host] = true;
        rig_pass_ms(&g, 2 * RIG_BEAT_MS); // three of them vote
        pass();
}

FIXTURE(teardown) {
        rig_stop(&g);
        for (uint32_t host = 1; host <= HOSTS; host++)
                voter_secrets_done(&disks[host]);
}

static void remove_host(const char *host) {
        Argosy__Request__ClusterRemove m = MESSAGE_OF(request__cluster_remove, .host = (char *) host);

        (void) rig_ask_and_settle(&g, A_REQUEST(CLUSTER_REMOVE, cluster_remove, &m));
}

static uint32_t make(const char *name, const char *value) {
        uint32_t number = 0;

        assert_int_equal(voter_secrets_controller_make(g.leader, name, value, strlen(value), &number), 0);
        return number;
}

static bool all_have(const char *name, uint32_t number, const char *missing) {
        char names[160];
        bool all = voter_secrets_controller_all_have(g.leader, name, number, names, sizeof(names));

        assert_string_equal(names, missing);
        return all;
}

static void a_secret_comes_to_all_voters_and_to_nobody_else(void **state) {
        uint32_t number = make("key", "one");

        assert_int_equal(number, 1);
        assert_null(voter_secrets_controller_value(g.leader, "key", 1));
        assert_false(all_have("key", 1, ""));
        pass();
        assert_true(all_have("key", 1, ""));
        assert_non_null(voter_secrets_controller_value(g.leader, "key", 1));
        for (uint32_t host = 1; host <= HOSTS; host++)
                assert_int_equal(disks[host].n, cluster_state_find_host(g.state, host)->role ==
                                                        ARGOSY__HOST_ROLE__ROLE_VOTER);
        assert_int_equal(make("key", "two"), 2);
        assert_int_equal(make("other", "one"), 1);
}

// The log knows its name and its hash.
static void the_log_has_no_value(void **state) {
        uint8_t packed[4096];

        (void) make("key", "the value itself");
        pass();
        Argosy__ClusterRecord *cluster = (Argosy__ClusterRecord *) cluster_state_cluster(g.state);
        assert_int_equal(cluster->n_voter_secrets, 1);
        assert_true(argosy__cluster_record__get_packed_size(cluster) < sizeof(packed));
        size_t len = argosy__cluster_record__pack(cluster, packed);
        assert_null(memmem(packed, len, "the value itself", 16));
}

static void a_voter_whose_disk_hangs_is_named(void **state) {
        keeps[2] = false;
        (void) make("key", "one");
        pass();
        assert_false(all_have("key", 1, "n2"));
        assert_non_null(voter_secrets_controller_value(g.leader, "key", 1)); // it may be used
        keeps[2] = true;
        attach_anew(2);
        pass();
        assert_true(all_have("key", 1, ""));
}

// Nothing that a dead leader alone had is named by the log.
static void a_secret_that_is_not_on_the_leaders_disk_is_not_named(void **state) {
        keeps[1] = false;
        (void) make("key", "one");
        pass();
        assert_int_equal(voter_secrets_controller_newest(g.leader, "key"), 0);
        rig_depose(&g);
        keeps[1] = true;
        rig_elect(&g);
        pass();
        assert_int_equal(voter_secrets_controller_newest(g.leader, "key"), 0);
        assert_int_equal(make("key", "another one"), 1);
        pass();
        assert_true(all_have("key", 1, ""));
        // also on those that had the first
        assert_memory_equal(voter_secrets_controller_value(g.leader, "key", 1)->data, "another one", 11);
        for (uint32_t host = 1; host <= 3; host++)
                assert_memory_equal(voter_secrets_find(&disks[host], "key", 1)->data, "another one", 11);
}

// Somebody has removed the file.
static void a_voter_that_lost_its_secrets_gets_them_again(void **state) {
        (void) make("key", "one");
        pass();
        voter_secrets_done(&disks[3]);
        keeps[3] = false;
        due[3] = true;
        pass();
        assert_false(all_have("key", 1, "n3"));
        keeps[3] = true;
        attach_anew(3);
        pass();
        assert_true(all_have("key", 1, ""));
        assert_int_equal(disks[3].n, 1);
}

static void who_stops_being_a_voter_counts_no_more(void **state) {
        (void) make("key", "one");
        pass();
        rig_host_off(&g, 3); // n4 is made one instead
        remove_host("n3");
        rig_pass_ms(&g, 2 * RIG_LEASE_MS);
        pass();
        assert_int_equal(disks[4].n, 1);
        assert_true(all_have("key", 1, ""));
        assert_int_equal(cluster_state_cluster(g.state)->voter_secrets[0]->n_kept_by, 3);
}

static void what_a_spare_or_an_older_log_says_counts_for_nothing(void **state) {
        Argosy__ToVoter__VoterSecretsKept m = MESSAGE_OF(to_voter__voter_secrets_kept, .raft_id = 77);
        unsigned batches;

        (void) make("key", "one");
        pass();
        batches = g.batches;
        send_kept(2, &m);
        send_kept(4, &m);
        pass();
        assert_int_equal(g.batches, batches);
        assert_true(all_have("key", 1, ""));
}

static void a_leader_that_lacks_one_hands_over_to_who_has_it(void **state) {
        (void) make("key", "one");
        pass();
        voter_secrets_done(&disks[1]);
        keeps[1] = false; // nobody can give it
        due[1] = true;
        g.transferred = 0;
        pass();
        assert_int_not_equal(g.transferred, 0);
        assert_null(voter_secrets_controller_value(g.leader, "key", 1));
}

// Nobody has all: what is lost keeps no leader that lacks something else.
static void a_leader_that_lacks_one_hands_over_though_another_one_is_lost(void **state) {
        (void) make("key", "one");
        (void) make("other", "one");
        pass();
        keeps[1] = keeps[2] = keeps[3] = false;
        for (uint32_t host = 1; host <= 3; host++) {
                voter_secrets_drop(&disks[host], "other", 1);
                voter_secrets_drop(&disks[host], "key", host == 2 ? 0 : 1);
                due[host] = true;
        }
        g.transferred = 0;
        pass();
        assert_int_not_equal(g.transferred, 0);
        assert_true(voter_secrets_controller_is_lost(g.leader, "other", 1));
        assert_false(voter_secrets_controller_is_lost(g.leader, "key", 1));
}

// Else they would hand over to each other for ever.
static void a_leader_hands_over_to_nobody_who_lacks_what_it_has(void **state) {
        (void) make("key", "one");
        (void) make("other", "one");
        pass();
        keeps[1] = keeps[2] = keeps[3] = false;
        voter_secrets_drop(&disks[1], "key", 1);
        voter_secrets_drop(&disks[2], "other", 1);
        voter_secrets_drop(&disks[3], "other", 1);
        for (uint32_t host = 1; host <= 3; host++)
                due[host] = true;
        g.transferred = 0;
        pass();
        assert_int_equal(g.transferred, 0);
        keeps[3] = true;
        attach_anew(3); // it is told again
        pass();
        rig_pass_ms(&g, 6000);
        pass();
        assert_int_not_equal(g.transferred, 0);
}

// One that has it may have still to become a voter.
static void voters_change_though_the_leader_lacks_one(void **state) {
        (void) make("key", "one");
        pass();
        keeps[1] = keeps[2] = keeps[3] = false;
        for (uint32_t host = 1; host <= 3; host++) {
                voter_secrets_done(&disks[host]);
                due[host] = true;
        }
        pass();
        assert_true(g.leader->lacks_voter_secrets);
        rig_host_off(&g, 3);
        remove_host("n3");
        rig_pass_ms(&g, 2 * RIG_LEASE_MS);
        assert_true(g.leader->lacks_voter_secrets);
        assert_int_equal(cluster_state_find_host(g.state, 4)->role, ARGOSY__HOST_ROLE__ROLE_VOTER);
}

static void one_is_lost_only_when_each_voter_has_said_that_it_has_it_not(void **state) {
        (void) make("key", "one");
        pass();
        keeps[1] = keeps[2] = keeps[3] = false;
        for (uint32_t host = 1; host <= 3; host++)
                voter_secrets_done(&disks[host]);
        due[1] = due[2] = true;
        pass();
        assert_false(voter_secrets_controller_is_lost(g.leader, "key", 1));
        due[3] = true;
        pass();
        assert_true(voter_secrets_controller_is_lost(g.leader, "key", 1));
        assert_false(voter_secrets_controller_is_lost(g.leader, "key", 2));
        attach_anew(3);
        rig_host_off(&g, 3);
        rig_elect_anew(&g); // it has heard nothing of that host, and the log names nobody who has it
        pass();
        assert_false(voter_secrets_controller_is_lost(g.leader, "key", 1));
        rig_host_on(&g, 3, false);
        pass();
        assert_true(voter_secrets_controller_is_lost(g.leader, "key", 1));
}

static void who_says_over_and_over_that_he_has_it_not_is_not_told_as_often(void **state) {
        keeps[2] = false;
        (void) make("key", "one");
        pass();
        for (unsigned i = 0; i < 50; i++) {
                due[2] = true;
                pass();
        }
        assert_true(told[2] <= 2);
}

// Its disk has failed; nobody else says anything meanwhile.
static void who_says_once_that_he_has_it_not_is_told_again_in_a_while(void **state) {
        keeps[2] = false;
        (void) make("key", "one");
        pass();
        assert_int_equal(told[2], 1);
        keeps[2] = true;
        due[2] = true;
        pass();
        assert_int_equal(told[2], 1);
        rig_pass_ms(&g, 1100);
        pass();
        assert_int_equal(told[2], 2);
        assert_true(all_have("key", 1, ""));
}

static void a_secret_that_is_there_is_told_to_nobody_again(void **state) {
        (void) make("key", "one");
        pass();
        unsigned n = told[1] + told[2] + told[3];
        for (uint32_t host = 1; host <= 3; host++)
                due[host] = true;
        pass();
        assert_int_equal(told[1] + told[2] + told[3], n);
        assert_int_equal(told[4], 0);
}

static void one_is_taken_out_of_the_log_by_leaving_it_out(void **state) {
        Argosy__VoterSecretRecord *left[VOTER_SECRETS_MAX];

        (void) make("key", "one");
        pass();
        (void) make("key", "two");
        pass();
        assert_int_equal(voter_secrets_controller_without(cluster_state_cluster(g.state), "key", 1, left),
                         1);
        assert_int_equal(left[0]->number, 2);
}

static void there_are_only_so_many(void **state) {
        uint32_t number;

        for (unsigned i = 0; i < VOTER_SECRETS_MAX; i++) {
                (void) make("key", "one");
                assert_int_equal(voter_secrets_controller_make(g.leader, "key", "x", 1, &number), -EBUSY);
                pass();
        }
        assert_int_equal(voter_secrets_controller_make(g.leader, "key", "x", 1, &number), -ENOSPC);
        assert_int_equal(voter_secrets_controller_make(g.leader, "", "x", 1, &number), -ENOSPC);
}

RUN_TESTS(
        cmocka_unit_test_setup_teardown(a_secret_comes_to_all_voters_and_to_nobody_else, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(the_log_has_no_value, setup, teardown),
        cmocka_unit_test_setup_teardown(a_voter_whose_disk_hangs_is_named, setup, teardown),
        cmocka_unit_test_setup_teardown(a_secret_that_is_not_on_the_leaders_disk_is_not_named, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_voter_that_lost_its_secrets_gets_them_again, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(who_stops_being_a_voter_counts_no_more, setup, teardown),
        cmocka_unit_test_setup_teardown(what_a_spare_or_an_older_log_says_counts_for_nothing, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_leader_that_lacks_one_hands_over_to_who_has_it, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(
                a_leader_that_lacks_one_hands_over_though_another_one_is_lost, setup, teardown),
        cmocka_unit_test_setup_teardown(a_leader_hands_over_to_nobody_who_lacks_what_it_has, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(voters_change_though_the_leader_lacks_one, setup, teardown),
        cmocka_unit_test_setup_teardown(one_is_lost_only_when_each_voter_has_said_that_it_has_it_not,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(
                who_says_over_and_over_that_he_has_it_not_is_not_told_as_often, setup, teardown),
        cmocka_unit_test_setup_teardown(who_says_once_that_he_has_it_not_is_told_again_in_a_while,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(a_secret_that_is_there_is_told_to_nobody_again, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(one_is_taken_out_of_the_log_by_leaving_it_out, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(there_are_only_so_many, setup, teardown)
)
