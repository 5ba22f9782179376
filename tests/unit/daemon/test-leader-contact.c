// SPDX-License-Identifier: LGPL-2.1-or-later
//
// When a host says that nobody leads: not at each gap, and of a leader that hangs as of one that is gone.
#include "test.h"

#include "clock.h"
#include "leader-contact.h"

#define MS USEC_PER_MSEC
#define PATIENCE (LEADER_CONTACT_MS * MS)

static void a_leader_that_is_heard_is_not_lost(void **state) {
        LeaderContact c = {};

        leader_contact_on_leader(&c, true, 1000 * MS);
        leader_contact_on_beat(&c, 2000 * MS);
        assert_false(leader_contact_is_lost(&c, 2000 * MS + PATIENCE - 1));
        leader_contact_on_beat(&c, 0);
        assert_int_equal(leader_contact_due_us(&c), 0);
        assert_false(leader_contact_is_lost(&c, UINT64_MAX));
}

static void a_gap_between_two_leaders_is_no_loss_at_once(void **state) {
        LeaderContact c = {};

        leader_contact_on_leader(&c, false, 1000 * MS);
        assert_int_equal(leader_contact_due_us(&c), 1000 * MS + PATIENCE);
        leader_contact_on_leader(&c, false, 1300 * MS); // said again it is as old
        assert_true(leader_contact_is_lost(&c, 1000 * MS + PATIENCE));
        leader_contact_on_leader(&c, true, 1400 * MS);
        assert_false(leader_contact_is_lost(&c, UINT64_MAX));
}

// It may go on to say that it leads: a process that is stopped keeps its connections.
static void a_leader_that_does_not_answer_is_lost_until_it_does(void **state) {
        LeaderContact c = {};

        leader_contact_on_leader(&c, true, 1000 * MS);
        leader_contact_on_beat(&c, 2000 * MS);
        assert_true(leader_contact_is_lost(&c, 2000 * MS + PATIENCE));
        leader_contact_on_leader(&c, false, 7000 * MS); // its link breaks at last
        assert_true(leader_contact_is_lost(&c, 7000 * MS));
        leader_contact_on_beat(&c, 0); // of a session that is over
        assert_true(leader_contact_is_lost(&c, 7000 * MS));
        leader_contact_on_leader(&c, true, 8000 * MS);
        assert_false(leader_contact_is_lost(&c, 8000 * MS));
}

RUN_TESTS(
        cmocka_unit_test(a_leader_that_is_heard_is_not_lost),
        cmocka_unit_test(a_gap_between_two_leaders_is_no_loss_at_once),
        cmocka_unit_test(a_leader_that_does_not_answer_is_lost_until_it_does)
)
