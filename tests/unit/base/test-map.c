// SPDX-License-Identifier: LGPL-2.1-or-later
#include "test.h"

#include "map.h"

typedef struct Item {
        uint32_t key;
        bool there, visited;
} Item;

enum { N_ITEMS = 3000 };

// Random adds and takes, compared with a plain array after every step on a sample.
static void finds_what_was_added_and_nothing_else(void **state) {
        static Item items[N_ITEMS];
        Map m = {};
        size_t count = 0;

        srand(7);
        for (uint32_t i = 0; i < N_ITEMS; i++)
                items[i] = (Item){.key = i};
        for (int step = 0; step < 100000; step++) {
                Item *it = &items[rand() % N_ITEMS], *probe = &items[rand() % N_ITEMS];

                if (it->there) {
                        assert_ptr_equal(map_take(&m, &it->key, sizeof(it->key)), it);
                        count--;
                } else {
                        assert_int_equal(map_add(&m, &it->key, sizeof(it->key), it), 0);
                        assert_int_equal(map_add(&m, &it->key, sizeof(it->key), it), -EEXIST);
                        count++;
                }
                it->there = !it->there;
                assert_int_equal(m.count, count);
                assert_ptr_equal(map_find(&m, &probe->key, sizeof(probe->key)), probe->there ? probe : NULL);
        }
        map_done(&m);
}

// Every entry is met exactly once although each one is removed as soon as it was met.
static void may_take_while_walking(void **state) {
        static Item items[N_ITEMS];

        for (uint32_t round = 0; round < 50; round++) {
                Map m = {};
                size_t met = 0, n = 1 + (size_t) (rand() % N_ITEMS);

                for (uint32_t i = 0; i < n; i++) {
                        items[i] = (Item){.key = i + round * 100000};
                        assert_int_equal(map_add(&m, &items[i].key, sizeof(items[i].key), &items[i]), 0);
                }
                map_foreach (slot, &m) {
                        Item *it = slot->value;

                        assert_false(it->visited);
                        it->visited = true;
                        met++;
                        if (it->key % 3)
                                assert_ptr_equal(map_take(&m, &it->key, sizeof(it->key)), it);
                }
                assert_int_equal(met, n);
                map_done(&m);
        }
}

// Reference vector of the SipHash-2-4 paper, appendix A.
static void hashes_as_published(void **state) {
        uint8_t seed[16], data[15];

        for (uint8_t i = 0; i < 16; i++)
                seed[i] = i;
        for (uint8_t i = 0; i < 15; i++)
                data[i] = i;
        map_set_seed(seed);
        assert_true(map_hash(data, sizeof(data)) == UINT64_C(0xa129ca6149be45e5));
}

// What was needed for many is not kept for none.
static void gives_back_the_slots_of_many(void **state) {
        static Item items[N_ITEMS];
        Map m = {};

        for (uint32_t i = 0; i < N_ITEMS; i++) {
                items[i] = (Item){.key = i};
                assert_int_equal(map_add(&m, &items[i].key, sizeof(items[i].key), &items[i]), 0);
        }
        map_foreach (slot, &m) {
                Item *it = slot->value;

                assert_ptr_equal(map_take(&m, &it->key, sizeof(it->key)), it);
        }
        assert_int_equal(m.count, 0);
        assert_true(m.n_slots <= 8);
        assert_int_equal(map_add(&m, &items[0].key, sizeof(items[0].key), &items[0]), 0);
        assert_ptr_equal(map_find(&m, &items[0].key, sizeof(items[0].key)), &items[0]);
        map_done(&m);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(hashes_as_published),
                cmocka_unit_test(finds_what_was_added_and_nothing_else),
                cmocka_unit_test(may_take_while_walking),
                cmocka_unit_test(gives_back_the_slots_of_many),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
