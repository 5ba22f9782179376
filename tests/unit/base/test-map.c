// SPDX-License-Identifier: LGPL-2.1-or-later
#include "test.h"

#include <limits.h>

#include "map.h"

// How many more tables there is memory for.
static unsigned callocs_left = UINT_MAX;

void *__real_calloc(size_t n, size_t size);
void *__wrap_calloc(size_t n, size_t size);

void *__wrap_calloc(size_t n, size_t size) {
        if (callocs_left == 0)
                return NULL;
        callocs_left -= callocs_left != UINT_MAX;
        return __real_calloc(n, size);
}

typedef struct Item {
        uint32_t key;
        bool there, visited;
} Item;

enum { N_ITEMS = 3000 };

// Random adds and takes, compared with a plain array after every step on a sample.
static void finds_what_was_added_and_nothing_else(void **state) {
        static Item items[N_ITEMS];
        _cleanup_(map_done) Map m = {};
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

// Vectors of SipHash-1-3: those with a key of zeros are what CPython 3.11 says with PYTHONHASHSEED=0.
static void hashes_as_others_do(void **state) {
        static const char name[] = "load@12345.service";
        static const uint8_t zeros[16];
        uint8_t seed[16], data[15];

        for (uint8_t i = 0; i < 16; i++)
                seed[i] = i;
        for (uint8_t i = 0; i < 15; i++)
                data[i] = i;
        map_set_seed(seed);
        assert_true(map_hash(data, sizeof(data)) == UINT64_C(0xd320d86d2a519956));
        assert_true(map_hash(data, 3) == UINT64_C(0x8bf80ab8e7ddf7fb));
        map_set_seed(zeros);
        assert_true(map_hash(data, sizeof(data)) == UINT64_C(0xf30eb725bb91c9ea));
        assert_true(map_hash(name, strlen(name)) == UINT64_C(0x40654abc88b1e4db));
}

// What was needed for many is not kept for none.
static void gives_back_the_slots_of_many(void **state) {
        static Item items[N_ITEMS];
        _cleanup_(map_done) Map m = {};

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
}

// ---- growing

enum {
        N_GROWN = 20000,
        N_GROWS = 20,
        N_MOVED = 96, // slots, with each entry that is added
};

static int add(Map *m, Item *it) {
        return map_add(m, &it->key, sizeof(it->key), it);
}

static void assert_holds(const Map *m, Item *of, size_t n) {
        size_t count = 0;

        for (size_t i = 0; i < n; i++) {
                assert_ptr_equal(map_find(m, &of[i].key, sizeof(of[i].key)), of[i].there ? &of[i] : NULL);
                count += of[i].there;
        }
        assert_int_equal(m->count, count);
}

// A map that is growing, at a random place of that, and has grown once before. How many were added.
static size_t grow_a_map(Map *m, Item *of) {
        size_t n = 0, more = 1 + (size_t) (rand() % 60);

        *m = (Map){};
        for (size_t i = 0; i < N_GROWN; i++)
                of[i] = (Item){.key = (uint32_t) rand() * 2 + (i & 1)};
        while (m->n_slots < 8192 || !m->old || more-- > 0) {
                int r = add(m, &of[n]);

                assert_true(r == 0 || r == -EEXIST); // two may have been given the same key
                of[n].there = r == 0;
                if (!of[n].there)
                        of[n].key = UINT32_MAX - (uint32_t) n;
                n++;
        }
        return n;
}

// In a table with a hundred thousand, none of those who are added waits for more than a few slots.
static void grows_a_few_slots_at_a_time(void **state) {
        enum { MANY = 200000 };
        _cleanup_free_ Item *of = calloc(MANY, sizeof(*of));
        _cleanup_(map_done) Map m = {};
        unsigned n_grown = 0;

        assert_non_null(of);
        for (uint32_t i = 0; i < MANY; i++) {
                size_t left = m.old_left, n_slots = m.n_slots;

                of[i] = (Item){.key = i, .there = true};
                assert_int_equal(add(&m, &of[i]), 0);
                if (m.n_slots == n_slots) {
                        assert_true(left - m.old_left <= N_MOVED);
                        continue;
                }
                assert_int_equal(left, 0); // what was there before had all moved
                assert_true(n_slots - m.old_left <= N_MOVED);
                n_grown += m.old != NULL;
        }
        assert_true(n_grown > 10);
        assert_holds(&m, of, MANY);
}

// Whatever is added and taken meanwhile: what is in either table is found, and nothing else.
static void finds_and_takes_while_it_grows(void **state) {
        static Item of[N_GROWN];

        for (unsigned seed = 1; seed <= N_GROWS; seed++) {
                Map m;

                srand(seed);
                size_t n = grow_a_map(&m, of);
                assert_non_null(m.old);
                assert_holds(&m, of, n);
                for (unsigned step = 0; step < 200; step++) {
                        Item *it = &of[(size_t) rand() % n];

                        if (!it->there || rand() % 8 == 0) {
                                assert_int_equal(add(&m, it), it->there ? -EEXIST : 0);
                                it->there = true;
                        } else {
                                assert_ptr_equal(map_take(&m, &it->key, sizeof(it->key)), it);
                                it->there = false;
                        }
                        if (step % 40 == 0)
                                assert_holds(&m, of, n);
                }
                assert_holds(&m, of, n);
                map_done(&m);
        }
}

// A walk meets each once, in either table, also if each is taken as soon as it was met; nothing moves
// meanwhile.
static void may_take_while_walking_while_it_grows(void **state) {
        static Item of[N_GROWN];

        for (unsigned seed = 1; seed <= N_GROWS; seed++) {
                size_t n, met = 0, count, left;
                Map m;

                srand(seed);
                n = grow_a_map(&m, of);
                count = m.count;
                left = m.old_left;
                map_foreach (slot, &m) {
                        Item *it = slot->value;

                        assert_true(it->there);
                        assert_false(it->visited);
                        it->visited = true;
                        met++;
                        if (rand() % 3 == 0)
                                continue;
                        assert_ptr_equal(map_take(&m, &it->key, sizeof(it->key)), it);
                        it->there = false;
                }
                assert_int_equal(met, count);
                assert_int_equal(m.old_left, left);
                assert_holds(&m, of, n);
                map_foreach (slot, &m) {
                        Item *it = slot->value;

                        assert_ptr_equal(map_take(&m, &it->key, sizeof(it->key)), it);
                }
                assert_int_equal(m.count, 0);
                assert_null(m.slots); // of either table
                assert_null(m.old);
        }
}

static unsigned n_freed;

static void count_freed(void *value) {
        n_freed++;
}

static void frees_what_is_in_either_table(void **state) {
        static Item of[N_GROWN];
        size_t count;
        Map m;

        srand(3);
        (void) grow_a_map(&m, of);
        count = m.count;
        n_freed = 0;
        map_done_with(&m, count_freed);
        assert_int_equal(n_freed, count);
        assert_null(m.old);
}

// Without memory for the next table nothing has changed; with it again it goes on.
static void without_memory_to_grow_it_is_as_it_was(void **state) {
        static Item of[N_ITEMS];
        size_t n = 0;
        _cleanup_(map_done) Map m = {};
        int r = 0;

        for (uint32_t i = 0; i < N_ITEMS; i++)
                of[i] = (Item){.key = i};
        callocs_left = 6; // 8 to 256 slots
        while (r == 0) {
                r = add(&m, &of[n]);
                of[n].there = r == 0;
                n += r == 0;
        }
        callocs_left = UINT_MAX;
        assert_int_equal(r, -ENOMEM);
        assert_int_equal(m.n_slots, 256);
        assert_int_equal(m.count, 192);
        assert_null(m.old);
        assert_holds(&m, of, N_ITEMS);
        for (; n < N_ITEMS; n++) {
                assert_int_equal(add(&m, &of[n]), 0);
                of[n].there = true;
        }
        assert_holds(&m, of, N_ITEMS);
}

typedef struct Named {
        uint64_t number;
        bool set;
        char name[]; // behind it the object has room left over
} Named;

// Its own copy of the name is the key; one name is not there twice.
static void a_new_value_is_there_under_its_name(void **state) {
        char name[] = "web.service";
        Map m = {};
        Named *n = MAP_NEW_STR(&m, Named, name, name);

        assert_non_null(n);
        assert_true(n->number == 0 && !n->set);
        memset(name, 'x', strlen(name));
        assert_string_equal(n->name, "web.service");
        assert_ptr_equal(map_find_str(&m, "web.service"), n);
        assert_null(MAP_NEW_STR(&m, Named, name, "web.service"));
        assert_int_equal(m.count, 1);
        n->set = true;
        assert_string_equal(n->name, "web.service");
        callocs_left = 0;
        assert_null(MAP_NEW_STR(&m, Named, name, "db.service"));
        callocs_left = UINT_MAX;
        assert_null(map_find_str(&m, "db.service"));
        map_done_with(&m, free);
}

RUN_TESTS(cmocka_unit_test(hashes_as_others_do), cmocka_unit_test(finds_what_was_added_and_nothing_else),
          cmocka_unit_test(may_take_while_walking), cmocka_unit_test(gives_back_the_slots_of_many),
          cmocka_unit_test(grows_a_few_slots_at_a_time), cmocka_unit_test(finds_and_takes_while_it_grows),
          cmocka_unit_test(may_take_while_walking_while_it_grows),
          cmocka_unit_test(frees_what_is_in_either_table),
          cmocka_unit_test(a_new_value_is_there_under_its_name),
          cmocka_unit_test(without_memory_to_grow_it_is_as_it_was))
