// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The rules of a rollout, on a clock that only the tests move.
#include "clock.h"
#include "rollout-policy.h"
#include "test.h"

enum { N = 6, HEALTH_US = 5000000 };
#define START UINT64_C(1000000000)

static RolloutItem items[N];
static RolloutView view;
static size_t chosen[N];

// Six units that are up and have the old content; one may be down at a time.
FIXTURE(setup) {
        for (size_t i = 0; i < N; i++)
                items[i] = (RolloutItem){.mine = true, .wanted_up = true, .up = true, .since_us = START};
        view = (RolloutView){
                .max = 1, .health_us = HEALTH_US, .now_us = START + 60000000, .items = items, .n_items = N};
}

static RolloutStep step(void) {
        return rollout_policy_step(&view, chosen);
}

static void has_changed(size_t i, bool up, uint64_t ago_us) {
        items[i].changed = true;
        items[i].up = up;
        items[i].since_us = view.now_us - ago_us;
}

static void the_first_of_those_that_are_up_has_its_turn(void **state) {
        RolloutStep s = step();

        assert_int_equal(s.action, ROLLOUT_GO_ON);
        assert_int_equal(s.n_chosen, 1);
        assert_int_equal(chosen[0], 0);
        assert_int_equal(s.left, N);
}

static void the_next_waits_until_the_one_before_is_up(void **state) {
        has_changed(0, false, 1000000);
        assert_int_equal(step().n_chosen, 0);
        assert_int_equal(step().action, ROLLOUT_GO_ON);
}

static void and_until_it_was_up_long_enough(void **state) {
        has_changed(0, true, HEALTH_US - 1);
        assert_int_equal(step().n_chosen, 0);
        assert_int_equal(step().next_us, view.now_us + 1);
        view.now_us++;
        assert_int_equal(step().n_chosen, 1);
        assert_int_equal(chosen[0], 1);
}

// The report came late, or what came after it does: what counts is for how long its host knows that it is
// up.
static void its_host_s_clock_counts_if_it_says_it(void **state) {
        has_changed(0, true, 2 * HEALTH_US);
        items[0].timed = true;
        items[0].known_up_us = HEALTH_US - 1;
        view.beat_us = 1000;
        assert_int_equal(step().n_chosen, 0);
        assert_int_equal(step().next_us, view.now_us + 1000);
        items[0].since_us = view.now_us;
        items[0].known_up_us = HEALTH_US;
        assert_int_equal(step().n_chosen, 1);
        items[0].known_up_us = 0;
        view.returning = true; // being up is enough
        items[0].changed = false;
        assert_int_equal(step().action, ROLLOUT_OVER);
}

// A new leader has heard no beat of it yet.
static void what_its_host_says_first_is_looked_at_when_it_comes(void **state) {
        has_changed(0, true, 2 * HEALTH_US);
        items[0].timed = true;
        items[0].known_up_us = 0;
        view.beat_us = 1000;
        assert_int_equal(step().n_chosen, 0);
        assert_int_equal(step().next_us, view.now_us + 1000);
}

static void as_many_as_may_be_down_go_together(void **state) {
        view.max = 3;
        assert_int_equal(step().n_chosen, 3);
        has_changed(0, true, HEALTH_US);
        has_changed(1, false, 0);
        has_changed(2, true, 0);
        assert_int_equal(step().n_chosen, 1);
}

static void what_is_down_for_another_reason_takes_up_room(void **state) {
        items[4].mine = items[4].up = false;
        assert_int_equal(step().n_chosen, 0);
        view.max = 2;
        assert_int_equal(step().n_chosen, 1);
}

static void what_is_down_anyway_has_its_turn_first(void **state) {
        items[3].up = false;
        items[3].failure = "exit-code";
        assert_int_equal(step().n_chosen, 1);
        assert_int_equal(chosen[0], 3);
}

static void of_many_that_are_down_no_more_than_allowed_are_on_their_way(void **state) {
        for (size_t i = 0; i < N; i++)
                items[i].up = false;
        view.max = 2;
        assert_int_equal(step().n_chosen, 2);
        has_changed(0, false, 0);
        assert_int_equal(step().n_chosen, 1);
}

static void what_nobody_sees_is_not_touched_while_others_are_down(void **state) {
        items[0].unreachable = true;
        items[0].up = false;
        has_changed(1, false, 0);
        assert_int_equal(step().n_chosen, 0);
        view.max = 2;
        assert_int_equal(step().n_chosen, 1); // its own place is all that it takes
        assert_int_equal(chosen[0], 0);
}

static void what_has_no_node_is_counted_when_it_had_its_turn(void **state) {
        items[0].unreachable = items[0].unplaced = true;
        items[0].up = false;
        assert_int_equal(rollout_policy_counts(&view, &items[0]).unplaced, 0);
        has_changed(0, false, 0);
        assert_int_equal(rollout_policy_counts(&view, &items[0]).unplaced, 1);
        assert_int_equal(rollout_policy_counts(&view, &items[0]).left, 0); // and nobody waits for it
        items[0].wanted_up = false;
        assert_int_equal(rollout_policy_counts(&view, &items[0]).unplaced, 0);
}

static void what_is_not_to_run_is_changed_at_once(void **state) {
        for (size_t i = 1; i < N; i++)
                items[i].wanted_up = items[i].up = false;
        assert_int_equal(step().n_chosen, N);
}

static void what_is_on_its_way_in_this_entry_counts_as_down(void **state) {
        items[2].busy = true;
        assert_int_equal(step().n_chosen, 0);
}

static void one_that_fails_ends_it(void **state) {
        has_changed(0, true, HEALTH_US);
        has_changed(1, false, 0);
        items[1].failure = "exit-code";
        RolloutStep s = step();
        assert_int_equal(s.action, ROLLOUT_FAILED);
        assert_int_equal(s.culprit, 1);
        assert_string_equal(s.failure, "exit-code");
}

static void one_that_does_not_come_up_ends_it_after_a_while(void **state) {
        has_changed(0, false, ROLLOUT_START_PATIENCE_SEC * USEC_PER_SEC - 1);
        assert_int_equal(step().action, ROLLOUT_GO_ON);
        assert_int_equal(step().next_us, view.now_us + 1);
        view.now_us++;
        assert_int_equal(step().action, ROLLOUT_FAILED);
        assert_int_equal(rollout_policy_wake_us(&view, &items[0]), 0); // time changes nothing any more
        items[0].unreachable = true; // its node is lost: that says nothing about the content
        assert_int_equal(step().action, ROLLOUT_GO_ON);
}

static void what_failed_before_its_turn_is_no_failure_of_the_rollout(void **state) {
        items[5].up = false;
        items[5].failure = "exit-code";
        assert_int_equal(step().action, ROLLOUT_GO_ON);
}

static void it_is_over_when_all_are_well(void **state) {
        for (size_t i = 0; i < N; i++)
                has_changed(i, true, HEALTH_US);
        assert_int_equal(step().action, ROLLOUT_OVER);
        items[2].since_us = view.now_us;
        assert_int_equal(step().action, ROLLOUT_GO_ON);
        assert_int_equal(step().left, 1);
}

static void on_the_way_back_the_failed_one_goes_first_and_the_others_follow(void **state) {
        has_changed(0, true, HEALTH_US);
        has_changed(1, false, 0);
        items[1].failure = "exit-code";
        view.returning = true;
        assert_int_equal(step().n_chosen, 1);
        assert_int_equal(chosen[0], 1);
        items[1] = (RolloutItem){.mine = true, .wanted_up = true, .up = true, .since_us = view.now_us};
        assert_int_equal(step().n_chosen, 1); // being up is enough
        assert_int_equal(chosen[0], 0);
        items[0].changed = false;
        assert_int_equal(step().action, ROLLOUT_OVER);
}

static void on_the_way_back_what_fails_with_the_old_content_holds_up_nobody(void **state) {
        has_changed(0, true, HEALTH_US);
        items[1].up = false;
        items[1].failure = "exit-code";
        view.returning = true;
        assert_int_equal(step().n_chosen, 1);
        items[0].changed = false;
        assert_int_equal(step().action, ROLLOUT_OVER);
}

// ------------------------------------------------------------------------------------------------ seeds

typedef struct Life {
        unsigned seed;
        size_t ours; // taken down by us and not up again
} Life;

static unsigned dice(Life *l, unsigned n) {
        return (unsigned) rand_r(&l->seed) % n;
}

// Takes the chosen ones down. They must have fitted.
static void carry_out(Life *l, const RolloutStep *s) {
        for (size_t i = 0; i < s->n_chosen; i++) {
                RolloutItem *item = &items[chosen[i]];

                item->changed = !view.returning;
                item->up = false;
                item->failure = NULL;
                item->since_us = view.now_us;
        }
}

static size_t count_down_by_us(void) {
        size_t n = 0;

        for (size_t i = 0; i < N; i++) // on the way back what fails with the old content is not ours
                n += items[i].wanted_up && !items[i].up && items[i].changed != view.returning &&
                     !(view.returning && items[i].failure);
        return n;
}

static void things_happen(Life *l, unsigned bad) {
        view.now_us += dice(l, 3000000);
        for (size_t i = 0; i < N; i++) {
                RolloutItem *item = &items[i];

                if (item->up || !item->wanted_up || dice(l, 3))
                        continue;
                item->failure = item->changed && dice(l, 10) < bad ? "exit-code" : NULL;
                item->up = !item->failure;
                item->since_us = view.now_us;
        }
        if (dice(l, 20) == 0 && !view.returning) { // a crash of something old
                RolloutItem *item = &items[dice(l, N)];

                if (!item->changed) {
                        item->up = false;
                        item->failure = "signal";
                }
        }
}

static void a_life(unsigned seed) {
        Life l = {.seed = seed};
        unsigned bad = dice(&l, 3); // of ten starts with the new content
        RolloutStep s = {};

        (void) setup(NULL);
        view.max = 1 + dice(&l, 3);
        for (size_t i = 0; i < N; i++)
                items[i].wanted_up = items[i].up = dice(&l, 8) > 0;
        for (unsigned turn = 0; turn < 10000; turn++) {
                s = step();
                if (s.action == ROLLOUT_OVER)
                        break;
                if (s.action == ROLLOUT_FAILED)
                        view.returning = true;
                else
                        carry_out(&l, &s);
                // Those that were on their way when it turned back may still be down beside those that go
                // back.
                if (count_down_by_us() > view.max + (view.returning ? view.max : 0))
                        fail_msg("seed %u: %zu are down by us, %zu may be", seed, count_down_by_us(),
                                 view.max);
                things_happen(&l, bad);
        }
        if (s.action != ROLLOUT_OVER)
                fail_msg("seed %u: it does not end", seed);
        for (size_t i = 0; i < N; i++)
                if (items[i].changed == view.returning)
                        fail_msg("seed %u: unit %zu has the wrong content at the end", seed, i);
}

static void whatever_happens_it_keeps_to_the_budget_and_ends(void **state) {
        for (unsigned seed = 1; seed <= 2000; seed++)
                a_life(seed);
}

#define TEST(name) cmocka_unit_test_setup(name, setup)

RUN_TESTS(
        TEST(the_first_of_those_that_are_up_has_its_turn),
        TEST(the_next_waits_until_the_one_before_is_up),
        TEST(and_until_it_was_up_long_enough),
        TEST(its_host_s_clock_counts_if_it_says_it),
        TEST(what_its_host_says_first_is_looked_at_when_it_comes),
        TEST(as_many_as_may_be_down_go_together),
        TEST(what_is_down_for_another_reason_takes_up_room),
        TEST(what_is_down_anyway_has_its_turn_first),
        TEST(of_many_that_are_down_no_more_than_allowed_are_on_their_way),
        TEST(what_nobody_sees_is_not_touched_while_others_are_down),
        TEST(what_has_no_node_is_counted_when_it_had_its_turn),
        TEST(what_is_not_to_run_is_changed_at_once),
        TEST(what_is_on_its_way_in_this_entry_counts_as_down),
        TEST(one_that_fails_ends_it),
        TEST(one_that_does_not_come_up_ends_it_after_a_while),
        TEST(what_failed_before_its_turn_is_no_failure_of_the_rollout),
        TEST(it_is_over_when_all_are_well),
        TEST(on_the_way_back_the_failed_one_goes_first_and_the_others_follow),
        TEST(on_the_way_back_what_fails_with_the_old_content_holds_up_nobody),
        TEST(whatever_happens_it_keeps_to_the_budget_and_ends)
)
