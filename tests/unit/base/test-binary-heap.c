// SPDX-License-Identifier: LGPL-2.1-or-later
#include "test.h"

#include "binary-heap.h"
#include "macro.h"

enum { N_THINGS = 300, ROUNDS = 60000 };

typedef struct Thing {
        unsigned key;
        BinaryHeapItem item;
} Thing;

static Thing things[N_THINGS];
static unsigned seed;

static unsigned draw(unsigned n) {
        return (unsigned) rand_r(&seed) % n;
}

static unsigned key_of(const BinaryHeapItem *item) {
        return CONTAINER_OF(item, Thing, item)->key;
}

static bool is_before(const BinaryHeapItem *a, const BinaryHeapItem *b) {
        return key_of(a) < key_of(b);
}

// By looking at all.
static void assert_first(const BinaryHeap *h) {
        const BinaryHeapItem *first = binary_heap_first(h);
        size_t n = 0;

        for (size_t i = 0; i < N_THINGS; i++)
                if (things[i].item.place > 0) {
                        n++;
                        assert_non_null(first);
                        assert_true(key_of(first) <= things[i].key);
                }
        assert_int_equal(h->n, n);
        assert_true(!first == (n == 0));
}

static void put(BinaryHeap *h, Thing *t) {
        t->key = draw(1000);
        assert_int_equal(binary_heap_put(h, &t->item, is_before), 0);
        assert_true(t->item.place > 0);
}

static void take(BinaryHeap *h, Thing *t) {
        binary_heap_take(h, &t->item, is_before);
        assert_int_equal(t->item.place, 0);
}

static void the_first_is_before_all_others(void **state) {
        _cleanup_(binary_heap_done) BinaryHeap h = {};

        seed = 7;
        for (unsigned round = 0; round < ROUNDS; round++) {
                bool fills = round / 5000 % 2 == 0; // else it becomes empty

                if (draw(8) < (fills ? 6 : 2))
                        put(&h, &things[draw(N_THINGS)]);
                else
                        take(&h, &things[draw(N_THINGS)]);
                assert_first(&h);
        }
        while (binary_heap_first(&h)) {
                take(&h, CONTAINER_OF(binary_heap_first(&h), Thing, item));
                assert_first(&h);
        }
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(the_first_is_before_all_others),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
