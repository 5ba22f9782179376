// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What is kept of a group while a rollout is under way is what a walk over it would find, whatever happens
// to its units, and those that are to have a turn come in the order of their names.
#include "rollout-members.h"

#include <stdio.h>
#include <stdlib.h>

#include "tables.h"
#include "test.h"

enum { UNITS = 300, STEPS = 20000, NAME_SIZE = 16 };

static Unit *units[UNITS];
static ListNode group;
static RolloutMembers m;

// What each would be found to be.
static struct Found {
        RolloutSums counts;
        RolloutTurn turn;
        bool failed, joined;
        unsigned kind;
} found[UNITS];

FIXTURE(setup) {
        list_init(&group);
        for (size_t i = 0; i < UNITS; i++) {
                units[i] = calloc(1, sizeof(Unit) + NAME_SIZE);
                assert_non_null(units[i]);
                snprintf(units[i]->name, NAME_SIZE, "u@%zu", i);
                found[i] = (struct Found){
                        .counts = {.wanted = 1, .left = 1}, .turn = ROLLOUT_TURN_UP, .joined = true};
                list_append(&group, &units[i]->of_budget);
        }
        rollout_members_init(&m, &group);
}

FIXTURE(teardown) {
        rollout_members_done(&m);
        for (size_t i = 0; i < UNITS; i++)
                free(units[i]);
}

static size_t number_of(const Unit *u) {
        return strtoul(u->name + strlen("u@"), NULL, 10);
}

static void leave(Unit *u) {
        struct Found *f = &found[number_of(u)];

        if (!f->joined)
                return;
        rollout_members_forget(&m, u);
        list_unlink(&u->of_budget);
        f->joined = false;
}

static size_t look(void) {
        RolloutMember *member;
        size_t n = 0;

        for (; (member = rollout_members_next_due(&m, 0)); n++) {
                const struct Found *f = &found[number_of(member->unit)];

                assert_true(n < STEPS); // it comes to an end
                rollout_members_put(&m, member, &f->counts, f->turn, f->failed, 0);
                rollout_members_set_kind(&m, member, f->kind);
        }
        return n;
}

static void assert_is_kept(void) {
        size_t wanted = 0, down = 0, on_way = 0, left = 0, n = 0, failed = 0, kinds[3] = {},
               turns[ROLLOUT_TURNS + 1] = {}, n_failed = 0;

        for (size_t i = 0; i < UNITS; i++) {
                const struct Found *f = &found[i];

                if (!f->joined)
                        continue;
                n++;
                wanted += f->counts.wanted;
                down += f->counts.down;
                on_way += f->counts.on_way;
                left += f->counts.left;
                failed += f->failed;
                kinds[f->kind]++;
                turns[f->turn]++;
        }
        assert_int_equal(m.by_unit.count, n);
        assert_int_equal(m.sums.wanted, wanted);
        assert_int_equal(m.sums.down, down);
        assert_int_equal(m.sums.on_way, on_way);
        assert_int_equal(m.sums.left, left);
        for (unsigned i = 0; i < 3; i++)
                assert_int_equal(m.kinds[i], kinds[i]);
        for (unsigned i = 0; i < ROLLOUT_TURNS; i++)
                assert_int_equal(m.queues[i].n, turns[i]);
        list_foreach (i, &m.failed)
                n_failed++;
        assert_int_equal(n_failed, failed);
}

static void what_is_kept_is_what_a_walk_would_find(void **state) {
        srandom(7);
        (void) look();
        for (unsigned step = 0; step < STEPS; step++) {
                size_t i = (size_t) random() % UNITS;
                struct Found *f = &found[i];

                if (random() % 10 == 0 && f->joined)
                        leave(units[i]);
                else {
                        if (!f->joined)
                                list_append(&group, &units[i]->of_budget);
                        *f = (struct Found){
                                .counts = {random() % 2, random() % 2, random() % 2, random() % 2},
                                .turn = (RolloutTurn) (random() % (ROLLOUT_TURNS + 1)),
                                .failed = random() % 5 == 0,
                                .kind = (unsigned) (random() % 3),
                                .joined = true,
                        };
                        rollout_members_mark(&m, units[i]);
                }
                if (random() % 7)
                        continue;
                (void) look();
                assert_is_kept();
        }
}

static void turns_come_in_the_order_of_names(void **state) {
        (void) look();
        for (size_t i = 0; i < UNITS; i++)
                assert_ptr_equal(rollout_members_take(&m, ROLLOUT_TURN_UP)->unit, units[i]);
        assert_null(rollout_members_take(&m, ROLLOUT_TURN_UP));
        assert_int_equal(look(), UNITS); // who had a turn is looked at again
}

// Units that leave before the walk comes to them, or while it stands at them, lead it nowhere.
static void a_walk_goes_on_whoever_leaves(void **state) {
        for (size_t i = 0; i < UNITS; i++) {
                RolloutMember *member = i % 3 == 0 ? rollout_members_next_due(&m, 0) : NULL;

                if (member)
                        rollout_members_put(&m, member, &found[0].counts, ROLLOUT_TURN_UP, false, 0);
                if (member && i % 4 == 0) // the one that would be next
                        leave(m.at);
                if (i % 2 == 0)
                        leave(units[i]);
        }
        (void) look();
        assert_is_kept();
}

static void an_event_does_not_wait_for_the_walk(void **state) {
        rollout_members_mark(&m, units[UNITS - 1]);
        assert_ptr_equal(rollout_members_next_due(&m, 0)->unit, units[UNITS - 1]);
        assert_int_equal(look(), UNITS + 1); // the walk comes to it, too
        assert_is_kept();
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

RUN_TESTS(
        TEST(what_is_kept_is_what_a_walk_would_find),
        TEST(turns_come_in_the_order_of_names),
        TEST(a_walk_goes_on_whoever_leaves),
        TEST(an_event_does_not_wait_for_the_walk)
)
