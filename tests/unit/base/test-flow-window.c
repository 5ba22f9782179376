// SPDX-License-Identifier: LGPL-2.1-or-later
#include "test.h"

#include "flow-window.h"

static void who_is_not_heard_stops_within_the_window(void **state) {
        FlowWindow w = {.size = 1000};
        unsigned n = 0;

        for (; flow_window_is_open(&w); n++)
                (void) flow_window_sent(&w, 90);
        assert_int_equal(n, 12); // 1080: what was begun within it is sent whole
}

static void who_is_heard_goes_on(void **state) {
        FlowWindow w = {.size = 1000};

        for (unsigned i = 0; i < 10000; i++) {
                assert_true(flow_window_is_open(&w));
                uint64_t mark = flow_window_sent(&w, 90);

                if (mark)
                        flow_window_take(&w, mark);
        }
}

// Whatever the pieces and the window are, taking all marks opens it: nobody waits for what nobody will say.
static void when_all_marks_are_taken_it_is_open(void **state) {
        for (uint64_t size = 1; size < 40; size++)
                for (size_t piece = 0; piece < 60; piece++) {
                        FlowWindow w = {.size = size};
                        uint64_t last = 0;

                        for (unsigned i = 0; flow_window_is_open(&w) && i < 100; i++)
                                last = flow_window_sent(&w, piece) ?: last;
                        flow_window_take(&w, last);
                        assert_true(flow_window_is_open(&w));
                }
}

static void a_few_lines_now_and_then_are_not_marked_one_by_one(void **state) {
        FlowWindow w = {.size = 1000};
        unsigned marks = 0;

        for (unsigned i = 0; i < 1000; i++) {
                uint64_t mark = flow_window_sent(&w, 10);

                marks += mark > 0;
                flow_window_take(&w, mark);
        }
        assert_int_equal(marks, 20);
}

static void a_taker_that_lies_or_repeats_itself_changes_nothing(void **state) {
        FlowWindow w = {.size = 100};
        uint64_t first = flow_window_sent(&w, 60), second;

        flow_window_take(&w, UINT64_MAX);
        assert_int_equal(w.taken, first);
        second = flow_window_sent(&w, 90);
        flow_window_take(&w, second);
        flow_window_take(&w, first);
        assert_int_equal(w.taken, second);
        (void) flow_window_sent(&w, 49);
        flow_window_take(&w, w.sent);
        assert_int_equal(w.taken, second); // that was never marked
}

static void without_a_window_nothing_is_marked_and_nothing_waits(void **state) {
        FlowWindow w = {};

        assert_int_equal(flow_window_sent(&w, SIZE_MAX / 2), 0);
        assert_true(flow_window_is_open(&w));
}

static void many_senders_share_one_window(void **state) {
        assert_int_equal(flow_window_share(0, 3), 0);
        assert_int_equal(flow_window_share(FLOW_WINDOW_BYTES, 0), FLOW_WINDOW_BYTES);
        assert_int_equal(flow_window_share(FLOW_WINDOW_BYTES, 1), FLOW_WINDOW_BYTES);
        assert_int_equal(flow_window_share(UINT32_MAX, 4), FLOW_WINDOW_BYTES / 4); // no taker offers more
        assert_int_equal(flow_window_share(FLOW_WINDOW_BYTES, 1000), FLOW_WINDOW_SHARE_MIN);
        assert_int_equal(flow_window_share(1, 1), FLOW_WINDOW_SHARE_MIN);
}

RUN_TESTS(
        cmocka_unit_test(who_is_not_heard_stops_within_the_window),
        cmocka_unit_test(who_is_heard_goes_on),
        cmocka_unit_test(when_all_marks_are_taken_it_is_open),
        cmocka_unit_test(a_few_lines_now_and_then_are_not_marked_one_by_one),
        cmocka_unit_test(a_taker_that_lies_or_repeats_itself_changes_nothing),
        cmocka_unit_test(without_a_window_nothing_is_marked_and_nothing_waits),
        cmocka_unit_test(many_senders_share_one_window)
)
