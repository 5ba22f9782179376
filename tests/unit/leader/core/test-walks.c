// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The walks of a leader: which of them are resumed, by what a turn took, and until when.
#include "leader-tables.h"

static Tables t;
static uint64_t cpu_us;

static uint64_t cpu(void *userdata) {
        return cpu_us;
}

FIXTURE(setup) {
        tables_start(&t, 2);
        t.leader->config.cpu_us = cpu;
        cpu_us = 1000;
        t.leader->n_hosts.unattached = 1;
        walks_begin(t.leader);
}

FIXTURE(teardown) {
        tables_stop(&t);
}

static void turn(LeaderWalk *w, size_t left, uint64_t took_us) {
        walks_work_begin(t.leader);
        walk_sliced(t.leader, w, left);
        cpu_us += took_us;
        walks_turned(t.leader);
}

static void only_a_walk_that_used_up_its_slice_goes_faster(void **state) {
        LeaderWalk *w = &t.leader->walks.of[WALK_MARKS], *other = &t.leader->walks.of[WALK_ORDERS];

        assert_int_equal(walk_slice(w, 160), 10);
        turn(w, 3, 100);
        assert_int_equal(walk_slice(w, 160), 10);
        turn(w, 0, 100);
        assert_int_equal(walk_slice(w, 160), 20);
        assert_int_equal(walk_slice(other, 160), 10);
        turn(w, 0, 20000);
        assert_int_equal(walk_slice(w, 160), 10);
}

static void what_is_applied_within_a_turn_counts_once(void **state) {
        LeaderWalk *w = &t.leader->walks.of[WALK_MARKS];

        walks_work_begin(t.leader);
        walk_sliced(t.leader, w, 0);
        walks_work_begin(t.leader);
        cpu_us += 3000;
        walks_work_end(t.leader);
        walks_turned(t.leader);
        assert_int_equal(walk_slice(w, 160), 20);
        walks_work_begin(t.leader); // an entry that was applied before the turn is the turn's work, too
        cpu_us += 3000;
        walks_work_end(t.leader);
        turn(w, 0, 3000);
        assert_int_equal(walk_slice(w, 160), 20);
}

static void who_has_caught_up_does_whole_slices(void **state) {
        LeaderWalk *w = &t.leader->walks.of[WALK_MARKS];

        turn(w, 3, 100);
        assert_int_equal(walk_slice(w, 160), 10); // a host may still attach
        t.leader->n_hosts.unattached = 0;
        turn(w, 0, 20000);
        assert_int_equal(walk_slice(w, 160), 10); // there is more
        turn(w, 3, 100);
        assert_int_equal(walk_slice(w, 160), 160);
        assert_int_equal(t.leader->walks.n_slow, 0);
        t.leader->n_hosts.unattached = 1;
}

static void a_walk_of_its_own_begins_slowly_when_it_is_resumed(void **state) {
        LeaderWalk mine = {}, gone = {};

        walks_end(t.leader);
        assert_int_equal(walk_slice(&mine, 160), 160);
        walk_resume(t.leader, &mine);
        walk_resume(t.leader, &gone);
        assert_int_equal(walk_slice(&mine, 160), 10);
        walk_sliced(t.leader, &gone, 0);
        walk_forget(t.leader, &gone);
        for (unsigned i = 0; i < 4; i++)
                turn(&mine, 0, 100);
        assert_int_equal(walk_slice(&mine, 160), 160);
        assert_int_equal(t.leader->walks.n_slow, 0);
}

RUN_TESTS(
        cmocka_unit_test_setup_teardown(only_a_walk_that_used_up_its_slice_goes_faster, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(what_is_applied_within_a_turn_counts_once, setup, teardown),
        cmocka_unit_test_setup_teardown(who_has_caught_up_does_whole_slices, setup, teardown),
        cmocka_unit_test_setup_teardown(a_walk_of_its_own_begins_slowly_when_it_is_resumed, setup,
                                        teardown)
)
