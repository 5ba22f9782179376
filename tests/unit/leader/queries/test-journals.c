// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Journals of several nodes on their way through the leader: one window for all of them, and word for each
// of what of its lines was taken.
#include <errno.h>

#include "feature-level.h"
#include "flow-window.h"
#include "leader-asks.h"
#include "leader-private.h"
#include "messages.h"

static Rig g;

FIXTURE(setup) {
        rig_start(&g, 2);
        rig_change(&g, ARGOSY__VERB__VERB_START, "all.service",
                   "[Service]\nExecStart=/bin/sleep 1000\n[X-Argosy]\nGlobal=yes\n");
}

RIG_TEARDOWN

static RigAnswer *follow(uint32_t window) {
        Argosy__Request__Journal journal =
                JOURNAL_OF(.name = "all.service", .follow = true, .window = window);

        return rig_ask_and_settle(&g, A_REQUEST(JOURNAL, journal, &journal));
}

// A line from that host; the mark with which it went on.
static uint64_t line_from(uint32_t host, uint64_t mark, const RigAnswer *a) {
        Argosy__Response__Journal journal = JOURNAL_LINES_OF(.mark = mark);
        Argosy__Response response = RESPONSE_OF(JOURNAL, journal, &journal);
        size_t before = a->n;
        Argosy__ToVoter__CallReply reply =
                MESSAGE_OF(to_voter__call_reply, .id = rig_host(&g, host)->last_call, .response = &response);

        leader_on_message(g.leader, host, A_TO_VOTER(CALL_REPLY, call_reply, &reply));
        rig_settle(&g);
        assert_int_equal(a->n, before + 1);
        assert_string_equal(rig_last(a)->journal->node,
                            cluster_state_find_host(g.leader->state, host)->name);
        return rig_last(a)->journal->mark;
}

static void taken(const RigAnswer *a, uint64_t mark) {
        leader_taken(g.leader, a->cancel, mark);
        rig_settle(&g);
}

static void each_node_hears_what_of_its_lines_was_taken(void **state) {
        RigAnswer *a = follow(FLOW_WINDOW_BYTES);

        assert_int_equal(rig_host(&g, 1)->window, FLOW_WINDOW_BYTES / 2);
        assert_int_equal(rig_host(&g, 2)->window, FLOW_WINDOW_BYTES / 2);
        uint64_t one = line_from(1, 500, a);
        assert_int_equal(line_from(1, 0, a), 0);
        uint64_t two = line_from(2, 400, a);
        uint64_t three = line_from(1, 900, a);
        assert_true(0 < one && one < two && two < three);
        taken(a, one);
        assert_int_equal(rig_host(&g, 1)->taken, 500);
        assert_int_equal(rig_host(&g, 2)->taken, 0);
        taken(a, three); // all before it, too
        assert_int_equal(rig_host(&g, 1)->taken, 900);
        assert_int_equal(rig_host(&g, 2)->taken, 400);
        assert_int_equal(rig_host(&g, 1)->n_taken, 2);
        taken(a, three);
        assert_int_equal(rig_host(&g, 1)->n_taken, 2);
}

static void what_was_taken_after_the_end_is_nobodys(void **state) {
        RigAnswer *a = follow(FLOW_WINDOW_BYTES);
        uint64_t mark = line_from(2, 400, a);

        rig_host_off_for(&g, 2, 2 * RIG_LEASE_MS);
        taken(a, mark);
        assert_int_equal(rig_host(&g, 2)->n_taken, 0);
        (void) line_from(1, 500, a);
        leader_cancel(g.leader, a->cancel); // with a mark that nobody took
        taken(a, UINT64_MAX);
        assert_int_equal(rig_host(&g, 1)->n_taken, 0);
}

static void who_knows_no_window_goes_on_as_before(void **state) {
        RigAnswer *a = follow(0);

        assert_int_equal(rig_host(&g, 1)->window, 0);
        assert_int_equal(line_from(1, 500, a), 0); // a mark that the asker did not ask for
}

// It does not keep to its window; what it says is all passed on, and what is kept of it has an end.
static void a_node_that_only_makes_marks_is_not_remembered_for_each(void **state) {
        RigAnswer *a = follow(FLOW_WINDOW_BYTES);
        unsigned marks = 0;

        for (uint64_t i = 1; i < 100; i++)
                marks += line_from(1, i, a) > 0;
        assert_in_range(marks, 8, 20);
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

RUN_TESTS(
        CASE(each_node_hears_what_of_its_lines_was_taken),
        CASE(what_was_taken_after_the_end_is_nobodys),
        CASE(who_knows_no_window_goes_on_as_before),
        CASE(a_node_that_only_makes_marks_is_not_remembered_for_each)
)
