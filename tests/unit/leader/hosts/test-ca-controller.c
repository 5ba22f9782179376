// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A rotation of the CA from its beginning to its end. Disks and certificates are the test's: a voter answers
// in the turn after it was told, and a host that is asked has a certificate of the CA that signs then.
enum { HOSTS = 5 };

#include "ca-controller.h"
#include "ca.h"
#include "message.h"
#include "registry.h"
#include "str.h"
#include "voter-disks.h"

static Ca first;
static Hash has[HOSTS + 1]; // the CA of its certificate
static bool renews[HOSTS + 1], asked[HOSTS + 1], mute[HOSTS + 1];
static unsigned n_asked[HOSTS + 1];

static const Argosy__CaRecord *ca(void) {
        return cluster_state_cluster(g.state)->ca;
}

static Hash hash_of_today(void) {
        return hash_of(ca()->cert.data, ca()->cert.len);
}

static void on_host_message(Rig *rig, uint32_t host, const Argosy__ToHost *m) {
        disk_on_message(rig, host, m);
        if (m->msg_case == ARGOSY__TO_HOST__MSG_RENEW_ASKED) {
                n_asked[host]++;
                asked[host] = true;
        }
}

static void send_to_leader(uint32_t host, Argosy__ToVoter__MsgCase what, void *message) {
        Argosy__ToVoter m = MESSAGE_OF(to_voter, .msg_case = what, .hello = message);

        leader_on_message(g.leader, host, &m);
}

static void say_certified(uint32_t host) {
        Argosy__ToVoter__Certified m = MESSAGE_OF(
                to_voter__certified, .ca_hash = (ProtobufCBinaryData){HASH_SIZE, has[host].bytes});

        send_to_leader(host, ARGOSY__TO_VOTER__MSG_CERTIFIED, &m);
}

static void on_turn(Rig *rig) {
        disks_drop_old();
        for (uint32_t host = 1; host <= HOSTS; host++) {
                if (!rig_host(&g, host)->up || !g.leader->leading)
                        continue;
                if (asked[host] && renews[host]) {
                        has[host] = hash_of_today();
                        asked[host] = false;
                        due[host] = true;
                }
                if (!due[host])
                        continue;
                due[host] = false;
                say_kept(host);
                if (!mute[host])
                        say_certified(host);
        }
}

FIXTURE(setup) {
        memset(asked, 0, sizeof(asked));
        memset(mute, 0, sizeof(mute));
        memset(n_asked, 0, sizeof(n_asked));
        rig_start(&g, HOSTS);
        assert_int_equal(ca_create(&first), 0);
        rig_pass_ms(&g, 2 * RIG_BEAT_MS); // three of them vote
        rig_give_ca(&g, &first, &disks[1]);
        for (uint32_t host = 1; host <= HOSTS; host++) {
                keeps[host] = renews[host] = due[host] = true;
                has[host] = hash_of_today();
                if (host > 1 && cluster_state_find_host(g.state, host)->raft_id)
                        assert_int_equal(voter_secrets_copy(&disks[1], &disks[host]), 0);
        }
        g.on_host_message = on_host_message;
        g.on_turn = on_turn;
        pass();
}

FIXTURE(teardown) {
        rig_stop(&g);
        ca_done(&first);
        for (uint32_t host = 1; host <= HOSTS; host++)
                voter_secrets_done(&disks[host]);
}

static const Argosy__Response *rotate(bool finish) {
        Argosy__Request__ClusterRotateCa m = MESSAGE_OF(request__cluster_rotate_ca, .finish = finish);

        return rig_last(rig_ask_and_settle(&g, A_REQUEST(CLUSTER_ROTATE_CA, cluster_rotate_ca, &m)));
}

static void rotate_through(void) {
        (void) rotate(false);
        pass();
}

static const char *notice(void) {
        static Argosy__Request__ClusterStatus m;

        argosy__request__cluster_status__init(&m);
        return rig_last(rig_ask_and_settle(&g, A_REQUEST(CLUSTER_STATUS, cluster_status, &m)))
                ->cluster_status->ca_notice;
}

static void assert_rotated(void) {
        const Hash hash = hash_of_today(), old = hash_of(first.cert.data, first.cert.len);

        assert_int_equal(ca()->phase, ARGOSY__CA_PHASE__CA_SETTLED);
        assert_int_equal(ca()->former_cert.len + ca()->next_cert.len, 0);
        assert_false(hash_equal(&hash, &old));
        assert_string_equal(notice(), "");
        for (uint32_t host = 1; host <= HOSTS; host++)
                if (rig_host(&g, host)->up)
                        assert_true(hash_equal(&has[host], &hash));
}

static void all_hosts_get_certificates_of_another_ca(void **state) {
        assert_int_equal(rotate(false)->status, 0);
        pass();
        assert_rotated();
        assert_int_equal(ca()->number, 2);
        for (uint32_t host = 1; host <= HOSTS; host++)
                assert_int_equal(n_asked[host], 1);
}

// Nobody can sign with it any more.
static void the_former_key_is_gone_from_every_disk(void **state) {
        rotate_through();
        assert_int_equal(cluster_state_cluster(g.state)->n_voter_secrets, 1);
        for (uint32_t host = 1; host <= HOSTS; host++) {
                assert_null(voter_secrets_find(&disks[host], VOTER_SECRET_CA, 1));
                if (cluster_state_find_host(g.state, host)->raft_id)
                        assert_non_null(voter_secrets_find(&disks[host], VOTER_SECRET_CA, 2));
        }
}

static void a_second_rotation_waits_for_the_end_of_the_first(void **state) {
        renews[5] = false;
        rotate_through();
        const Argosy__Response *r = rotate(false);
        assert_int_equal(r->status, EEXIST);
        assert_string_equal(r->message, "a rotation of the CA is under way: hosts get new certificates; "
                                        "waiting for n5; nothing was changed");
        renews[5] = true;
        pass();
        assert_rotated();
        rotate_through();
        assert_rotated();
        assert_int_equal(ca()->number, 3);
}

static void a_voter_that_does_not_keep_the_key_is_named(void **state) {
        keeps[2] = false;
        rotate_through();
        assert_int_equal(ca()->phase, ARGOSY__CA_PHASE__CA_HAND_OUT);
        assert_string_equal(notice(), "the key of the next CA comes to the voters; waiting for n2");
        assert_int_equal(rotate(true)->status, EAGAIN);
        keeps[2] = true;
        attach_anew(2);
        pass();
        assert_rotated();
}

static void who_is_away_is_not_waited_for(void **state) {
        rig_host_off(&g, 3);
        rig_host_off_for(&g, 5, 2 * RIG_LEASE_MS);
        rotate_through();
        assert_rotated();
        rig_host_on(&g, 5, false); // by whatever way, it has the old one
        pass();
        assert_rotated();
}

static void who_may_come_back_in_a_moment_is_waited_for(void **state) {
        renews[5] = false;
        rotate_through();
        rig_host_off(&g, 5);
        leader_on_host_link(g.leader, 5, NULL);
        pass();
        assert_int_equal(ca()->phase, ARGOSY__CA_PHASE__CA_RENEW);
        assert_string_equal(notice(),
                            "hosts get new certificates; waiting for hosts that may come back in a moment");
        rig_pass_ms(&g, 2 * RIG_LEASE_MS);
        pass();
        assert_int_equal(ca()->phase, ARGOSY__CA_PHASE__CA_SETTLED);
}

static void it_is_ended_by_hand_and_names_who_has_none(void **state) {
        assert_int_equal(rotate(true)->status, ENOENT);
        renews[4] = renews[5] = false;
        rotate_through();
        const Argosy__Response *r = rotate(true);
        assert_int_equal(r->status, 0);
        assert_string_equal(r->message, "the former CA is trusted no more; n4, n5 had no new certificate "
                                        "yet, and can do nothing but ask for one");
        assert_int_equal(ca()->phase, ARGOSY__CA_PHASE__CA_SETTLED);
}

static void elect_anew(void) {
        rig_depose(&g);
        for (uint32_t host = 1; host <= HOSTS; host++)
                due[host] = false;
        rig_elect(&g);
        pass();
}

static void pass_s(unsigned s) {
        rig_pass_ms(&g, s * 1000);
        pass();
}

// It is there, and says everything but that. The leader's own clock asks again, at a pace that slows down.
static void who_never_answers_is_named_and_asked_again(void **state) {
        renews[5] = false;
        rotate_through();
        assert_int_equal(n_asked[5], 1);
        assert_string_equal(notice(), "hosts get new certificates; waiting for n5");
        assert_in_range(g.leader->ca_due_us, g.now_us + 1, g.now_us + 10 * USEC_PER_SEC);
        pass_s(11);
        assert_int_equal(n_asked[5], 2);
        assert_string_equal(notice(), "hosts get new certificates; asked again and again, without an "
                                      "answer: n5 (`argosyctl cluster rotate-ca --finish` "
                                      "ends it without them)");
        pass_s(10);
        assert_int_equal(n_asked[5], 2);
        pass_s(11);
        assert_int_equal(n_asked[5], 3);
        pass_s(3600);
        assert_in_range(n_asked[5], 10, 16);
        attach_anew(5); // at once
        n_asked[5] = 0;
        pass();
        assert_int_equal(n_asked[5], 1);
        renews[5] = true;
        pass();
        assert_rotated();
}

// To say the same again is no answer.
static void who_answers_without_another_certificate_is_asked_at_that_pace(void **state) {
        renews[5] = false;
        rotate_through();
        for (unsigned i = 0; i < 20; i++) {
                say_certified(5);
                pass();
        }
        assert_int_equal(n_asked[5], 1);
}

static void who_does_not_say_which_one_it_has_is_asked_after_a_while(void **state) {
        mute[5] = true;
        attach_anew(5);
        pass();
        host_find(g.leader, 5)->membership.ca_known = false; // as of a leader that has not led before
        rotate_through();
        assert_int_equal(n_asked[5], 0);
        assert_string_equal(notice(), "hosts get new certificates; waiting for n5");
        pass_s(11);
        assert_int_equal(n_asked[5], 1);
        mute[5] = false;
        due[5] = true;
        pass();
        assert_rotated();
}

static void the_next_leader_goes_on_in_each_phase(void **state) {
        keeps[2] = keeps[3] = false;
        rotate_through();
        assert_int_equal(ca()->phase, ARGOSY__CA_PHASE__CA_HAND_OUT);
        elect_anew();
        keeps[2] = keeps[3] = true;
        attach_anew(2);
        attach_anew(3);
        renews[4] = false;
        pass();
        assert_int_equal(ca()->phase, ARGOSY__CA_PHASE__CA_RENEW);
        elect_anew();
        assert_int_equal(ca()->phase, ARGOSY__CA_PHASE__CA_RENEW);
        renews[4] = true;
        elect_anew();
        assert_rotated();
        assert_int_equal(ca()->number, 2);
}

// The certificate was the leader's alone: of what it has made nobody can use more than the key.
static void a_ca_that_died_with_its_leader_is_made_anew(void **state) {
        keeps[1] = false;
        rotate_through();
        assert_int_equal(ca()->next_number, 0);
        keeps[1] = true;
        elect_anew();
        assert_rotated();
}

static void what_is_no_hash_is_no_certificate(void **state) {
        Argosy__ToVoter__Certified m =
                MESSAGE_OF(to_voter__certified, .ca_hash = (ProtobufCBinaryData){4, (uint8_t *) "abcd"});

        send_to_leader(4, ARGOSY__TO_VOTER__MSG_CERTIFIED, &m);
        pass();
        assert_int_equal(n_asked[4], 0);
        memset(has[4].bytes, 7, HASH_SIZE);
        say_certified(4);
        pass();
        assert_int_equal(n_asked[4], 1);
}

RUN_TESTS(
        cmocka_unit_test_setup_teardown(all_hosts_get_certificates_of_another_ca, setup, teardown),
        cmocka_unit_test_setup_teardown(the_former_key_is_gone_from_every_disk, setup, teardown),
        cmocka_unit_test_setup_teardown(a_second_rotation_waits_for_the_end_of_the_first, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_voter_that_does_not_keep_the_key_is_named, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(who_is_away_is_not_waited_for, setup, teardown),
        cmocka_unit_test_setup_teardown(who_may_come_back_in_a_moment_is_waited_for, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(it_is_ended_by_hand_and_names_who_has_none, setup, teardown),
        cmocka_unit_test_setup_teardown(who_never_answers_is_named_and_asked_again, setup, teardown),
        cmocka_unit_test_setup_teardown(
                who_answers_without_another_certificate_is_asked_at_that_pace, setup, teardown),
        cmocka_unit_test_setup_teardown(who_does_not_say_which_one_it_has_is_asked_after_a_while,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(the_next_leader_goes_on_in_each_phase, setup, teardown),
        cmocka_unit_test_setup_teardown(a_ca_that_died_with_its_leader_is_made_anew, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(what_is_no_hash_is_no_certificate, setup, teardown)
)
