// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Many hosts are lost at once: nothing is moved until enough are back, are drained or removed.
#include "leader-private.h"
#include "leader-asks.h"
#include "printed.h"
#include "test.h"
#include "str.h"

#define SERVICE "[Service]\nExecStart=/bin/sleep 1000\n"

enum { HOSTS = 6, UNITS = 30 };

static Rig g;

FIXTURE(setup) {
        rig_start(&g, HOSTS);
        g.leader->config.mass_loss_percent = 50;
        for (unsigned i = 0; i < UNITS; i++) {
                rig_change(&g, ARGOSY__VERB__VERB_START, printed("u%u.service", i), SERVICE);
        }
}

RIG_TEARDOWN

static void lose(uint32_t first, uint32_t last) {
        for (uint32_t h = first; h <= last; h++)
                rig_host_off(&g, h);
        rig_pass_ms(&g, 2 * RIG_LEASE_MS);
}

static size_t units_on(uint32_t host) {
        return rig_host(&g, host)->virtual.units.count;
}

static void units_of_half_the_hosts_move(void **state) {
        lose(4, 6);
        assert_int_equal(units_on(1) + units_on(2) + units_on(3), UNITS);
}

static void units_of_more_hosts_stay_until_enough_are_back(void **state) {
        lose(3, 6);
        assert_int_equal(units_on(1) + units_on(2), 10);
        rig_host_on(&g, 6, false);
        // Three of six are missing now: theirs move, and the one that is back has its own.
        assert_int_equal(units_on(1) + units_on(2) + units_on(6), UNITS);
        for (unsigned i = 0; i < UNITS; i++) {
                assert_int_equal(rig_count_running(&g, printed("u%u.service", i)), 1);
        }
}

static void leases_that_end_one_after_the_other_are_one_loss(void **state) {
        for (uint32_t h = 3; h <= 6; h++) {
                rig_host_off_for(&g, h, RIG_BEAT_MS / 4);
        }
        rig_pass_ms(&g, 2 * RIG_LEASE_MS);
        assert_int_equal(units_on(1) + units_on(2), 10);
}

static void losses_far_apart_are_not_at_once(void **state) {
        lose(6, 6);
        rig_pass_ms(&g, 70000);
        lose(5, 5);
        rig_pass_ms(&g, 70000);
        lose(4, 4);
        rig_pass_ms(&g, 70000);
        lose(3, 3);
        assert_int_equal(units_on(1) + units_on(2), UNITS);
}

static void a_new_leader_counts_no_hosts_whose_units_were_moved_long_ago(void **state) {
        lose(6, 6);
        rig_pass_ms(&g, 70000);
        lose(5, 5);
        rig_pass_ms(&g, 70000);
        lose(4, 4);
        rig_elect_anew(&g);
        rig_pass_ms(&g, 2 * RIG_LEASE_MS);
        lose(3, 3);
        assert_int_equal(units_on(1) + units_on(2), UNITS);
}

static void draining_a_lost_host_moves_its_units_nevertheless(void **state) {
        lose(3, 6);
        assert_int_equal(units_on(1) + units_on(2), 10);
        (void) rig_set_host_mode(&g, 5, ARGOSY__NODE_MODE__MODE_DRAINING, 0);
        assert_int_equal(units_on(1) + units_on(2), 15);
}

RUN_TESTS(
        RIG_TEST(units_of_half_the_hosts_move),
        RIG_TEST(units_of_more_hosts_stay_until_enough_are_back),
        RIG_TEST(leases_that_end_one_after_the_other_are_one_loss),
        RIG_TEST(losses_far_apart_are_not_at_once),
        RIG_TEST(a_new_leader_counts_no_hosts_whose_units_were_moved_long_ago),
        RIG_TEST(draining_a_lost_host_moves_its_units_nevertheless)
)
