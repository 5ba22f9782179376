// SPDX-License-Identifier: LGPL-2.1-or-later
//
// When a unit of a lost node may run elsewhere, and the heap in which it waits until then.
#include <stdlib.h>

#include "clock.h"
#include "deadline-heap.h"
#include "macro.h"
#include "node-loss-policy.h"
#include "test.h"

#define SEC USEC_PER_SEC

enum { LOST = 1000 };

static uint64_t moves_at(const FailingOptions *o, NodeLossView v) {
        v.options = o;
        v.lost_us = LOST * SEC;
        uint64_t at = node_loss_policy_move_at(&v);
        return at == NODE_LOSS_NEVER ? at : (at - v.lost_us) / USEC_PER_MSEC;
}

static void a_unit_moves_at_once_unless_it_says_otherwise(void **state) {
        assert_int_equal(moves_at(&(FailingOptions){}, (NodeLossView){}), 0);
}

static void a_delay_runs_from_the_loss_and_a_drain_ends_it(void **state) {
        FailingOptions o = {.node_lost_delay_us = 60 * SEC};

        assert_int_equal(moves_at(&o, (NodeLossView){}), 60000);
        assert_int_equal(moves_at(&o, (NodeLossView){.emptying = true}), 0);
}

static void what_is_kept_moves_only_with_a_drain(void **state) {
        FailingOptions o = {.node_lost = NODE_LOST_KEEP};

        assert_int_equal(moves_at(&o, (NodeLossView){}), NODE_LOSS_NEVER);
        assert_int_equal(moves_at(&o, (NodeLossView){.emptying = true}), 0);
}

static void what_never_moves_leaves_only_at_a_drains_deadline(void **state) {
        FailingOptions o = {.node_lost = NODE_LOST_NEVER};

        assert_int_equal(moves_at(&o, (NodeLossView){}), NODE_LOSS_NEVER);
        assert_int_equal(moves_at(&o, (NodeLossView){.emptying = true}), NODE_LOSS_NEVER);
        assert_int_equal(moves_at(&o, (NodeLossView){.emptying = true, .deadline_over = true}), 0);
}

static void what_may_still_run_there_does_not_move_whatever_its_owner_wants(void **state) {
        FailingOptions o = {};
        uint64_t until = (LOST + 17) * SEC;

        assert_int_equal(moves_at(&o, (NodeLossView){.runs_until_us = until}), 17000);
        assert_int_equal(moves_at(&o, (NodeLossView){.runs_until_us = until, .emptying = true}), 17000);
        o.node_lost_delay_us = 60 * SEC;
        assert_int_equal(moves_at(&o, (NodeLossView){.runs_until_us = until}),
                         60000); // the later of the two
}

// 5 s until the guard fires, 10 s until it is killed; (4 + 15) s / 1000 and 2 s of margin.
static void the_fence_is_as_long_as_a_stop_may_take(void **state) {
        FailingOptions o = {.cut_off_stop = true, .cut_off_sec = 5, .stop_us = 10 * SEC};

        assert_int_equal(node_loss_policy_fence_us(&o, 4 * SEC) / USEC_PER_MSEC, 17019);
        o.cut_off_stop = false;
        assert_int_equal(node_loss_policy_fence_us(&o, 4 * SEC), 0);
}

static void the_lease_is_over_there_before_it_is_here(void **state) {
        // The agent counts from when it sent a beat, the leader from when it got it: whatever the way took,
        // and with clocks that run one part in a thousand apart, the replacement comes later.
        FailingOptions o = {.cut_off_stop = true, .cut_off_sec = 3600, .stop_us = 90 * SEC};
        uint64_t lease = 4 * SEC, way, stopped_there, starts_here;

        for (way = 0; way <= 3 * SEC; way += SEC / 2) {
                uint64_t slow = lease + o.cut_off_sec * SEC + o.stop_us;

                stopped_there = slow + slow / 1000; // counted from the sending of the beat
                starts_here = way + lease + node_loss_policy_fence_us(&o, lease);
                assert_true(starts_here > stopped_there + SEC);
        }
}

// ------------------------------------------------------------------------------------------------ the heap

static void the_earliest_comes_first_whatever_happens_in_between(void **state) {
        enum { N = 200, ROUNDS = 20000 };
        _cleanup_(deadline_heap_done) DeadlineHeap h = {};
        Deadline items[N] = {};
        uint64_t now = 1;

        srand(7);
        for (unsigned i = 0; i < ROUNDS; i++) {
                Deadline *d = &items[rand() % N], *popped;
                uint64_t least = 0;

                switch (rand() % 4) {
                case 0:
                case 1:
                        assert_int_equal(deadline_heap_set(&h, d, now + (uint64_t) (rand() % 1000)), 0);
                        break;
                case 2:
                        deadline_heap_clear(&h, d);
                        assert_false(deadline_is_set(d));
                        break;
                default:
                        now += (uint64_t) (rand() % 20);
                        while ((popped = deadline_heap_pop(&h, now)))
                                assert_true(popped->at_us <= now && !deadline_is_set(popped));
                }
                for (size_t k = 0; k < N; k++)
                        if (deadline_is_set(&items[k]) && (!least || items[k].at_us < least))
                                least = items[k].at_us;
                assert_int_equal(deadline_heap_next(&h), least);
        }
}

RUN_TESTS(
        cmocka_unit_test(a_unit_moves_at_once_unless_it_says_otherwise),
        cmocka_unit_test(a_delay_runs_from_the_loss_and_a_drain_ends_it),
        cmocka_unit_test(what_is_kept_moves_only_with_a_drain),
        cmocka_unit_test(what_never_moves_leaves_only_at_a_drains_deadline),
        cmocka_unit_test(what_may_still_run_there_does_not_move_whatever_its_owner_wants),
        cmocka_unit_test(the_fence_is_as_long_as_a_stop_may_take),
        cmocka_unit_test(the_lease_is_over_there_before_it_is_here),
        cmocka_unit_test(the_earliest_comes_first_whatever_happens_in_between)
)
