// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Voters whose LeaseSec= differs: what hosts are told, and when one that is silent is lost.
#include "batch.h"
#include "leader-asks.h"
#include "leader-private.h"
#include "printed.h"
#include "str.h"

#define SERVICE "[Service]\nExecStart=/bin/sleep 1000\n"

enum { HOSTS = 3 };

static Rig g;
static uint32_t told[HOSTS + 1]; // in milliseconds

static uint32_t logged(void) {
        return cluster_state_cluster(g.state)->lease_ms;
}

static void note(uint32_t host, uint32_t lease_ms) {
        told[host] = lease_ms;
        assert_true(lease_ms <= logged());
}

static void on_host_message(Rig *rig, uint32_t host, const Argosy__ToHost *m) {
        if (m->msg_case == ARGOSY__TO_HOST__MSG_WELCOME)
                note(host, m->welcome->lease_ms);
        else if (m->msg_case == ARGOSY__TO_HOST__MSG_BEAT_ACK && m->beat_ack->lease_ms > 0)
                note(host, m->beat_ack->lease_ms);
}

FIXTURE(setup) {
        memset(told, 0, sizeof(told));
        rig_start(&g, HOSTS);
        g.on_host_message = on_host_message;
        for (unsigned i = 0; i < HOSTS; i++) {
                rig_change(&g, ARGOSY__VERB__VERB_START, printed("u%u.service", i), SERVICE);
        }
}

RIG_TEARDOWN

static size_t units_on(uint32_t host) {
        return rig_host(&g, host)->virtual.units.count;
}

static void former_leader_says(uint32_t lease_ms) {
        _cleanup_(batch_done) Batch b = {};
        Argosy__ClusterRecord next = *cluster_state_cluster(g.state);

        next.lease_ms = lease_ms;
        batch_op(&b, ARGOSY__LOG_OP__OP_CLUSTER)->cluster = &next;
        rig_propose(&g, &b);
}

static void assert_told(uint32_t lease_ms) {
        for (uint32_t host = 1; host <= HOSTS; host++)
                if (rig_host(&g, host)->up)
                        assert_int_equal(told[host], lease_ms);
}

static void who_has_a_shorter_one_waits_for_the_longer_one_of_before(void **state) {
        former_leader_says(4 * RIG_LEASE_MS);
        rig_depose(&g);
        rig_host_off(&g, 3);
        rig_elect(&g);
        assert_told(RIG_LEASE_MS);
        rig_pass_ms(&g, 3 * RIG_LEASE_MS);
        assert_int_equal(units_on(1) + units_on(2), HOSTS - 1);
        assert_int_equal(logged(), 4 * RIG_LEASE_MS);
        rig_pass_ms(&g, 2 * RIG_LEASE_MS);
        assert_int_equal(units_on(1) + units_on(2), HOSTS);
        assert_int_equal(logged(), RIG_LEASE_MS);
        rig_host_off(&g, 2); // now the shorter one is all that there is
        rig_pass_ms(&g, 2 * RIG_LEASE_MS);
        assert_int_equal(units_on(1), HOSTS);
}

static void who_has_a_longer_one_gives_it_when_the_log_has_it(void **state) {
        rig_depose(&g);
        g.leader->config.lease_ms = 3 * RIG_LEASE_MS;
        rig_elect(&g);
        rig_pass_ms(&g, 2 * RIG_BEAT_MS);
        assert_int_equal(logged(), 3 * RIG_LEASE_MS);
        assert_told(3 * RIG_LEASE_MS);
        rig_host_off_for(&g, 3, 2 * RIG_LEASE_MS);
        assert_int_equal(units_on(1) + units_on(2), HOSTS - 1);
        rig_pass_ms(&g, 2 * RIG_LEASE_MS);
        assert_int_equal(units_on(1) + units_on(2), HOSTS);
}

static void who_agrees_says_nothing(void **state) {
        uint64_t index;

        rig_pass_ms(&g, 4 * RIG_BEAT_MS);
        index = g.leader->index;
        rig_pass_ms(&g, 3 * RIG_LEASE_MS);
        assert_int_equal(g.leader->index, index);
        assert_int_equal(told[1], 0); // since it was welcomed, before anybody looked
}

RUN_TESTS(
        cmocka_unit_test_setup_teardown(who_has_a_shorter_one_waits_for_the_longer_one_of_before,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(who_has_a_longer_one_gives_it_when_the_log_has_it, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(who_agrees_says_nothing, setup, teardown)
)
