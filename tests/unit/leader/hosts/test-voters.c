// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Spares whose disk hangs: they beat, and never say whether their copy of the log is open. And when the log
// of a host that votes no more is closed.
#include "leader-asks.h"
#include "leader-private.h"
#include "messages.h"

enum {
        OPEN_MS = 18000, // longer than VOTERS_OPEN_US
        RETRY_MS = 1000, // VOTERS_RETRY_US
        LOST_MS = 10000, // longer than a lease and what follows
};

static Rig g;

RIG_TEARDOWN

static void remove_host(const char *host) {
        Argosy__Request__ClusterRemove m = MESSAGE_OF(request__cluster_remove, .host = (char *) host);

        (void) rig_ask_and_settle(&g, A_REQUEST(CLUSTER_REMOVE, cluster_remove, &m));
}

static void demote(const char *host) {
        Argosy__Request__ClusterRole m = MESSAGE_OF(request__cluster_role, .host = (char *) host);

        (void) rig_ask_and_settle(&g, A_REQUEST(CLUSTER_ROLE, cluster_role, &m));
}

static bool is_voter(uint32_t host) {
        return cluster_state_find_host(g.state, host)->role == ARGOSY__HOST_ROLE__ROLE_VOTER;
}

// ---- stories

static void a_spare_whose_disk_hangs_keeps_no_other_from_voting(void **state) {
        rig_start(&g, 5);
        rig_host(&g, 4)->disk_hangs = true;
        remove_host("n3");
        rig_pass_ms(&g, 2 * RIG_BEAT_MS);
        assert_int_equal(rig_host(&g, 4)->opens, 1);
        assert_int_equal(rig_host(&g, 5)->opens, 0);
        rig_pass_ms(&g, OPEN_MS);
        assert_true(is_voter(5));
        assert_false(is_voter(4));
        assert_int_equal(g.n_members, 3);
        assert_int_equal(rig_host(&g, 4)->opens, 1);
}

static uint32_t asked_by[6]; // raft ids, by host

static void note_number(Rig *rig, uint32_t host, const Argosy__ToHost *m) {
        if (m->msg_case == ARGOSY__TO_HOST__MSG_STORE_OPEN)
                asked_by[host] = m->store_open->raft_id;
}

// The one that has not answered may have made a log by it.
static void no_two_spares_are_asked_by_one_number(void **state) {
        rig_start(&g, 5);
        memset(asked_by, 0, sizeof(asked_by));
        g.on_host_message = note_number;
        rig_host(&g, 4)->disk_hangs = rig_host(&g, 5)->disk_hangs = true;
        remove_host("n3");
        rig_pass_ms(&g, OPEN_MS);
        uint32_t first = asked_by[4];
        assert_int_not_equal(first, 0);
        assert_int_not_equal(asked_by[5], 0);
        assert_int_not_equal(first, asked_by[5]);
        rig_depose(&g); // the next leader does not know who was asked
        rig_elect(&g);
        rig_pass_ms(&g, 2 * OPEN_MS);
        assert_true(asked_by[5] > first);
        assert_int_not_equal(asked_by[4], asked_by[5]);
}

static void a_log_that_is_opened_too_late_is_closed_again(void **state) {
        rig_start(&g, 5);
        rig_host(&g, 4)->disk_hangs = true;
        remove_host("n3");
        rig_pass_ms(&g, OPEN_MS);
        assert_true(host_find(g.leader, 4)->membership.opened_in_vain);
        rig_host_open_log(&g, 4);
        rig_pass_ms(&g, RIG_BEAT_MS);
        assert_true(rig_host(&g, 4)->closed);
        assert_int_equal(rig_host(&g, 4)->opened, 0);
        assert_false(host_find(g.leader, 4)->membership.opened_in_vain); // its turn may come again
        assert_false(is_voter(4));
        assert_int_equal(g.n_members, 3);
}

static void the_only_spare_is_asked_again_and_may_take_its_time(void **state) {
        rig_start(&g, 4);
        rig_host(&g, 4)->disk_hangs = true;
        remove_host("n3");
        rig_pass_ms(&g, OPEN_MS);
        assert_int_equal(rig_host(&g, 4)->opens, 2);
        rig_host_open_log(&g, 4); // the answer to the first order
        rig_settle(&g);
        rig_host_open_log(&g, 4); // and to the second
        rig_pass_ms(&g, 2 * RIG_BEAT_MS);
        assert_true(is_voter(4));
        assert_false(rig_host(&g, 4)->closed);
        assert_int_equal(g.n_members, 3);
}

// One that could not before is asked first again when it attaches, but not while another is busy with it.
static void who_comes_back_does_not_interrupt_another(void **state) {
        rig_start(&g, 5);
        rig_host(&g, 4)->disk_hangs = rig_host(&g, 5)->disk_hangs = true;
        remove_host("n3");
        rig_pass_ms(&g, OPEN_MS);
        assert_int_equal(rig_host(&g, 5)->opens, 1);
        rig_host_on(&g, 4, false);
        rig_host_open_log(&g, 5);
        rig_pass_ms(&g, 2 * RIG_BEAT_MS);
        assert_true(is_voter(5));
        assert_false(is_voter(4));
}

// Its machine is off, and its connection broke.
static void lose_link(uint32_t host) {
        rig_host_off(&g, host);
        rig_host(&g, host)->linked = false;
        rig_settle(&g);
}

// A host without a link to the leader may know no other voter than that one.
static void a_log_is_open_as_long_as_its_host_may_be_asked_who_votes(void **state) {
        rig_start(&g, 5);
        lose_link(5);
        demote("n3");
        rig_pass_ms(&g, RIG_BEAT_MS);
        assert_false(is_voter(3));
        assert_true(is_voter(4));
        assert_false(rig_host(&g, 3)->closed);
        rig_host_on(&g, 5, false);
        rig_pass_ms(&g, 2 * RETRY_MS);
        assert_true(rig_host(&g, 3)->closed);
        assert_int_equal(cluster_state_find_host(g.state, 3)->raft_id, 0);
}

static void for_a_host_that_is_lost_no_log_stays_open(void **state) {
        rig_start(&g, 5);
        lose_link(5);
        demote("n3");
        rig_pass_ms(&g, LOST_MS);
        assert_true(rig_host(&g, 3)->closed);
}

RUN_TESTS(
        cmocka_unit_test_teardown(a_spare_whose_disk_hangs_keeps_no_other_from_voting, teardown),
        cmocka_unit_test_teardown(no_two_spares_are_asked_by_one_number, teardown),
        cmocka_unit_test_teardown(a_log_that_is_opened_too_late_is_closed_again, teardown),
        cmocka_unit_test_teardown(the_only_spare_is_asked_again_and_may_take_its_time, teardown),
        cmocka_unit_test_teardown(who_comes_back_does_not_interrupt_another, teardown),
        cmocka_unit_test_teardown(a_log_is_open_as_long_as_its_host_may_be_asked_who_votes,
                                  teardown),
        cmocka_unit_test_teardown(for_a_host_that_is_lost_no_log_stays_open, teardown)
)
