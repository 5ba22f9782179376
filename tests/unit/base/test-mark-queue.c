// SPDX-License-Identifier: LGPL-2.1-or-later
#include "test.h"

#include "mark-queue.h"

enum { N_THINGS = 5000, ROUNDS = 300000 };

static QueueMark marks[N_THINGS];
static bool expected[N_THINGS];  // it is marked
static uint64_t since[N_THINGS]; // when it was marked last
static unsigned seed;

static unsigned draw(unsigned n) {
        return (unsigned) rand_r(&seed) % n;
}

// The one that was marked first, by looking at all; N_THINGS: there is none.
static size_t first_by_looking(void) {
        size_t first = N_THINGS;

        for (size_t i = 0; i < N_THINGS; i++)
                if (expected[i] && (first == N_THINGS || since[i] < since[first]))
                        first = i;
        return first;
}

static void assert_first(MarkQueue *q) {
        size_t first = first_by_looking();

        assert_ptr_equal(mark_queue_first(q), first < N_THINGS ? &marks[first] : NULL);
        assert_true(first < N_THINGS ? marks[first] > 0 : mark_queue_length(q) == 0);
}

static void drop(MarkQueue *q, size_t i) {
        mark_queue_drop(q, &marks[i]);
        expected[i] = false;
        assert_int_equal(marks[i], 0);
}

static void things_come_in_the_order_of_their_marks(void **state) {
        _cleanup_(mark_queue_done) MarkQueue q = {};

        seed = 3;
        for (unsigned round = 0; round < ROUNDS; round++) {
                size_t i = draw(N_THINGS);
                bool fills = round / 20000 % 2 == 0; // else it becomes empty

                if (draw(3) == 0) {
                        drop(&q, i);
                } else if (fills || draw(4) == 0) {
                        since[i] = expected[i] ? since[i] : round;
                        expected[i] = true;
                        mark_queue_add(&q, &marks[i]);
                        assert_true(marks[i] > 0);
                } else if (mark_queue_length(&q) > 0) {
                        QueueMark *mark = mark_queue_take(&q);

                        assert_true(!mark || (expected[mark - marks] && *mark == 0));
                        if (mark)
                                expected[mark - marks] = false;
                }
                if (round % 997 == 0)
                        assert_first(&q);
        }
        while (first_by_looking() < N_THINGS) {
                QueueMark *mark = mark_queue_first(&q);

                assert_ptr_equal(mark, &marks[first_by_looking()]);
                drop(&q, (size_t) (mark - marks));
        }
        assert_first(&q);
        assert_true(q.allocated <= 1024); // what there was at most is given back
}

RUN_TESTS(cmocka_unit_test(things_come_in_the_order_of_their_marks))
