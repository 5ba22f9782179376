// SPDX-License-Identifier: LGPL-2.1-or-later
#include "test.h"

#include <stdio.h>

#include "name-table.h"

typedef struct Item {
        char name[16];
        bool there, visited;
} Item;

enum { N_ITEMS = 3000 };

static Item items[N_ITEMS];

static const char *item_name(const void *item) {
        return ((const Item *) item)->name;
}

static void name_items(unsigned first) {
        for (unsigned i = 0; i < N_ITEMS; i++) {
                items[i] = (Item){};
                snprintf(items[i].name, sizeof(items[i].name), "u@%u", first + i);
        }
}

// Random adds and takes, compared with a plain array after every step on a sample.
static void finds_what_was_added_and_nothing_else(void **state) {
        _cleanup_(name_table_done) NameTable t = {.name_of = item_name};
        size_t count = 0;

        srand(7);
        name_items(0);
        for (int step = 0; step < 100000; step++) {
                Item *it = &items[rand() % N_ITEMS], *probe = &items[rand() % N_ITEMS];

                if (it->there) {
                        assert_ptr_equal(name_table_take(&t, it->name), it);
                        assert_null(name_table_take(&t, it->name));
                        count--;
                } else {
                        assert_int_equal(name_table_add(&t, it), 0);
                        assert_int_equal(name_table_add(&t, it), -EEXIST);
                        count++;
                }
                it->there = !it->there;
                assert_int_equal(t.count, count);
                assert_ptr_equal(name_table_find(&t, probe->name), probe->there ? probe : NULL);
        }
}

// Whatever comes and goes, at most three quarters are full, and a table that grew to its size is more than
// three eighths full.
static void has_slots_for_what_it_holds(void **state) {
        _cleanup_(name_table_done) NameTable t = {.name_of = item_name};

        name_items(0);
        for (size_t i = 0; i < N_ITEMS; i++) {
                assert_int_equal(name_table_add(&t, &items[i]), 0);
                assert_true(4 * t.count <= 3 * t.n_slots);
                assert_true(t.n_slots == 8 || 8 * t.count > 3 * t.n_slots);
        }
}

// Another object of the same name is refused, and what is there stays.
static void keeps_the_first_of_a_name(void **state) {
        NameTable t = {.name_of = item_name};
        Item first = {.name = "one"}, second = {.name = "one"};

        assert_null(name_table_find(&t, "one"));
        assert_null(name_table_take(&t, "one"));
        assert_int_equal(name_table_add(&t, &first), 0);
        assert_int_equal(name_table_add(&t, &second), -EEXIST);
        assert_ptr_equal(name_table_find(&t, "one"), &first);
        name_table_done(&t);
        assert_null(name_table_find(&t, "one"));
        assert_int_equal(name_table_add(&t, &second), 0);
        assert_ptr_equal(name_table_find(&t, "one"), &second);
        name_table_done(&t);
}

// Every object is met exactly once although most are removed as soon as they were met.
static void may_take_while_walking(void **state) {
        for (unsigned round = 0; round < 50; round++) {
                NameTable t = {.name_of = item_name};
                size_t met = 0, left = 0, n = 1 + (size_t) (rand() % N_ITEMS);

                name_items(round * 100000);
                for (size_t i = 0; i < n; i++)
                        assert_int_equal(name_table_add(&t, &items[i]), 0);
                name_table_foreach(object, &t) {
                        Item *it = object;

                        assert_false(it->visited);
                        it->visited = true;
                        met++;
                        if ((it - items) % 3)
                                assert_ptr_equal(name_table_take(&t, it->name), it);
                        else
                                left++;
                }
                assert_int_equal(met, n);
                assert_int_equal(t.count, left);
                name_table_foreach(object, &t)
                        assert_ptr_equal(name_table_take(&t, item_name(object)), object);
                assert_int_equal(t.count, 0);
                assert_true(t.n_slots <= 8); // what was needed for many is not kept for none
                name_table_done(&t);
        }
}

// A table that is growing holds what it held, and each that is added moves a few slots, not all.
static void grows_a_few_slots_at_a_time(void **state) {
        _cleanup_(name_table_done) NameTable t = {.name_of = item_name};
        unsigned n_growing = 0;

        name_items(0);
        for (size_t i = 0; i < N_ITEMS; i++) {
                size_t left = t.old ? t.old_left : 0;

                assert_int_equal(name_table_add(&t, &items[i]), 0);
                if (t.old && left > 0)
                        assert_true(left - t.old_left <= 96);
                if (!t.old)
                        continue;
                n_growing++;
                assert_ptr_equal(name_table_find(&t, items[i / 2].name), &items[i / 2]);
                assert_int_equal(name_table_add(&t, &items[i / 3]), -EEXIST);
                assert_ptr_equal(name_table_take(&t, items[i / 2].name), &items[i / 2]);
                assert_null(name_table_find(&t, items[i / 2].name));
                assert_int_equal(name_table_add(&t, &items[i / 2]), 0);
        }
        assert_true(n_growing > 10);
}

// At any point of its growth, each object is met once, and may be taken.
static void may_take_while_walking_while_it_grows(void **state) {
        for (size_t n = 1537; n < 1553; n++) { // it grows to 4,096 slots with the 1,537th
                NameTable t = {.name_of = item_name};
                size_t met = 0;

                name_items(0);
                for (size_t i = 0; i < n; i++)
                        assert_int_equal(name_table_add(&t, &items[i]), 0);
                assert_non_null(t.old);
                name_table_foreach(object, &t) {
                        Item *it = object;

                        assert_false(it->visited);
                        it->visited = true;
                        met++;
                        if ((it - items) % 2)
                                assert_ptr_equal(name_table_take(&t, it->name), it);
                }
                assert_int_equal(met, n);
                name_table_done(&t);
        }
}

RUN_TESTS(
        cmocka_unit_test(finds_what_was_added_and_nothing_else),
        cmocka_unit_test(has_slots_for_what_it_holds),
        cmocka_unit_test(keeps_the_first_of_a_name),
        cmocka_unit_test(may_take_while_walking),
        cmocka_unit_test(grows_a_few_slots_at_a_time),
        cmocka_unit_test(may_take_while_walking_while_it_grows)
)
