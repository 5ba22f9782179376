// SPDX-License-Identifier: LGPL-2.1-or-later
#include "test.h"

#include "fair-queue.h"

typedef struct Item {
        FairItem fair;
        uint64_t group;
        int number;
} Item;

static FairQueue q;
static Item items[4000];
static size_t n_items;

FIXTURE(setup) {
        fair_queue_init(&q, 1000, 1000);
        n_items = 0;
}

FIXTURE(teardown) {
        for (size_t i = 0; i < n_items; i++)
                if (items[i].fair.group)
                        fair_queue_end(&q, &items[i].fair);
        assert_int_equal(q.n_running, 0);
        fair_queue_done(&q);
}

static void add(uint64_t group, int n) {
        for (int i = 0; i < n; i++) {
                Item *it = &items[n_items++];

                *it = (Item){.group = group, .number = i};
                assert_int_equal(fair_queue_add(&q, group, &it->fair), 0);
        }
}

// Takes the next one.
static Item *take(void) {
        FairItem *fair = fair_queue_next(&q);

        if (!fair)
                return NULL;
        fair_queue_take(&q, fair);
        return CONTAINER_OF(fair, Item, fair);
}

static void assert_takes(uint64_t group, int number) {
        Item *it = take();

        assert_non_null(it);
        assert_int_equal(it->group, group);
        assert_int_equal(it->number, number);
}

static void groups_take_turns(void **state) {
        add(1, 3);
        add(2, 2);
        add(3, 1);
        assert_takes(1, 0);
        assert_takes(2, 0);
        assert_takes(3, 0);
        assert_takes(1, 1);
        assert_takes(2, 1);
        assert_takes(1, 2);
        assert_null(take());
}

static void one_item_waits_for_one_of_a_thousand(void **state) {
        add(1, 900);
        for (int i = 0; i < 100; i++)
                assert_takes(1, i);
        add(2, 1);
        assert_takes(1, 100); // it was its turn
        assert_takes(2, 0);
        assert_takes(1, 101);
}

static void nobody_runs_beyond_the_limit(void **state) {
        q.running_max = 2;
        add(1, 3);
        Item *first = take();
        assert_non_null(take());
        assert_null(take());
        assert_non_null(fair_queue_any(&q));
        fair_queue_end(&q, &first->fair);
        assert_takes(1, 2);
        assert_null(fair_queue_any(&q));
}

static void a_big_group_leaves_places_for_others(void **state) {
        q.running_max = 5;
        q.group_max = 3;
        add(1, 10);
        Item *first = take();
        assert_takes(1, 1);
        assert_takes(1, 2);
        assert_null(take());
        add(2, 1);
        assert_takes(2, 0);
        fair_queue_end(&q, &first->fair);
        assert_takes(1, 3);
        assert_null(take());
}

static void what_is_withdrawn_never_runs(void **state) {
        add(1, 2);
        add(2, 1);
        fair_queue_end(&q, &items[0].fair);
        fair_queue_end(&q, &items[2].fair); // the last of its group
        assert_takes(1, 1);
        assert_null(take());
}

// Whatever comes and goes: nobody waits for more than one item of each group that was there before it,
// nothing is lost.
static void in_any_order_the_turns_are_fair(void **state) {
        unsigned seed = 7, since[8] = {};
        size_t taken = 0;

        while (n_items < ELEMENTSOF(items) - 64 || fair_queue_next(&q)) {
                seed = seed * 1103515245 + 12345;
                if (n_items < ELEMENTSOF(items) - 64 && (seed >> 16) % 3 == 0)
                        add((seed >> 18) % 8, (int) ((seed >> 21) % 20) + 1);
                if (fair_queue_next(&q)) {
                        Item *it = take();

                        taken++;
                        for (unsigned k = 0; k < 8; k++) {
                                bool waits = false;

                                for (size_t i = 0; i < n_items && !waits; i++)
                                        waits = items[i].group == k && list_is_linked(&items[i].fair.link);
                                since[k] = it->group == k || !waits ? 0 : since[k] + 1;
                                assert_true(since[k] <= 8);
                        }
                        fair_queue_end(&q, &it->fair);
                }
        }
        assert_int_equal(taken, n_items);
}

RUN_TESTS(
        cmocka_unit_test_setup_teardown(groups_take_turns, setup, teardown),
        cmocka_unit_test_setup_teardown(one_item_waits_for_one_of_a_thousand, setup, teardown),
        cmocka_unit_test_setup_teardown(nobody_runs_beyond_the_limit, setup, teardown),
        cmocka_unit_test_setup_teardown(a_big_group_leaves_places_for_others, setup, teardown),
        cmocka_unit_test_setup_teardown(what_is_withdrawn_never_runs, setup, teardown),
        cmocka_unit_test_setup_teardown(in_any_order_the_turns_are_fair, setup, teardown)
)
