// SPDX-License-Identifier: LGPL-2.1-or-later
#include <stdlib.h>

#include "test.h"

#include "change-order.h"

enum { OBJECTS = 5000, ROUNDS = 60000 };

static uint64_t seqs[OBJECTS]; // 0: not in it
static unsigned seed;

static unsigned draw(unsigned n) {
        return (unsigned) rand_r(&seed) % n;
}

// The first object behind `seq`, by looking at all.
static uint64_t next_by_looking(uint64_t seq) {
        uint64_t best = 0;

        for (size_t i = 0; i < OBJECTS; i++)
                if (seqs[i] > seq && (!best || seqs[i] < best))
                        best = seqs[i];
        return best;
}

static void assert_next(const ChangeOrder *o, uint64_t seq) {
        uint64_t expected = next_by_looking(seq), found = 0;
        uint64_t *object = change_order_next(o, seq, &found);

        assert_int_equal(found, expected);
        assert_true(expected ? object && *object == expected : object == NULL);
}

static void assert_whole(const ChangeOrder *o) {
        uint64_t seq = 0;
        size_t n = 0, there = 0;

        for (uint64_t *object; (object = change_order_next(o, seq, &seq)); n++)
                assert_int_equal(*object, seq);
        for (size_t i = 0; i < OBJECTS; i++)
                there += seqs[i] > 0;
        assert_int_equal(n, there);
        assert_int_equal(o->n_objects, there);
}

static void objects_stand_in_the_order_of_their_last_changes(void **state) {
        _cleanup_(change_order_done) ChangeOrder o = {};
        uint64_t last = 0;

        seed = 1;
        memset(seqs, 0, sizeof(seqs));
        for (unsigned round = 0; round < ROUNDS; round++) {
                // Some change often, some seldom, and in the middle most of them go.
                size_t i = draw(4) ? draw(50) : draw(OBJECTS);
                bool goes = round > ROUNDS / 2 && round < ROUNDS * 3 / 4 ? draw(10) > 0 : draw(20) == 0;

                if (goes)
                        i = draw(OBJECTS);
                if (seqs[i])
                        change_order_remove(&o, seqs[i]);
                seqs[i] = goes ? 0 : ++last;
                if (!goes)
                        assert_int_equal(change_order_add(&o, last, &seqs[i]), 0);
                if (round % 97 == 0)
                        assert_next(&o, last ? draw((unsigned) last + 2) : 0);
                if (round % 5000 == 0)
                        assert_whole(&o);
        }
        assert_whole(&o);
        assert_next(&o, last);
}

static void put(ChangeOrder *o, size_t i, uint64_t *last) {
        seqs[i] = ++*last;
        assert_int_equal(change_order_add(o, seqs[i], &seqs[i]), 0);
}

static void holes_are_closed(void **state) {
        _cleanup_(change_order_done) ChangeOrder o = {};
        uint64_t last = 0;

        memset(seqs, 0, sizeof(seqs));
        for (size_t i = 0; i < 1000; i++)
                put(&o, i, &last);
        for (unsigned round = 0; round < 100000; round++) { // the same ten, again and again
                size_t i = 100 * (round % 10);

                change_order_remove(&o, seqs[i]);
                put(&o, i, &last);
        }
        assert_whole(&o);
        assert_true(change_order_n_slots(&o) <= 8 * 1000);
        for (size_t i = 0; i < 1000; i++) {
                change_order_remove(&o, seqs[i]);
                seqs[i] = 0;
        }
        assert_int_equal(change_order_n_slots(&o), 0);
        assert_whole(&o);
}

static void another_takes_the_place(void **state) {
        uint64_t other = 2, seq;
        _cleanup_(change_order_done) ChangeOrder o = {};

        for (uint64_t i = 1; i <= 3; i++)
                assert_int_equal(change_order_add(&o, i, &seqs[i]), 0);
        change_order_replace(&o, 2, &other);
        assert_ptr_equal(change_order_next(&o, 1, &seq), &other);
        assert_int_equal(seq, 2);
}

// More events may come between two changes than a chunk can count.
static void sequences_may_be_far_apart(void **state) {
        _cleanup_(change_order_done) ChangeOrder o = {};
        uint64_t last = 0;

        seed = 2;
        memset(seqs, 0, sizeof(seqs));
        for (unsigned round = 0; round < 5000; round++) {
                size_t i = draw(200);

                if (seqs[i])
                        change_order_remove(&o, seqs[i]);
                last += draw(4) ? draw(1000) : UINT64_C(1) << (28 + draw(6));
                put(&o, i, &last);
                if (round % 50 == 0)
                        assert_whole(&o);
        }
        assert_next(&o, seqs[7] - 1);
        assert_next(&o, seqs[7]);
}

RUN_TESTS(
        cmocka_unit_test(objects_stand_in_the_order_of_their_last_changes),
        cmocka_unit_test(holes_are_closed),
        cmocka_unit_test(sequences_may_be_far_apart),
        cmocka_unit_test(another_takes_the_place)
)
