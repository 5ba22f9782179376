// SPDX-License-Identifier: LGPL-2.1-or-later
#include <stdlib.h>

#include "test.h"

#include "event-cursor.h"
#include "str.h"

static void comes_back(EventCursor c) {
        char text[EVENT_CURSOR_SIZE], again[EVENT_CURSOR_SIZE];
        EventCursor back;

        event_cursor_format(&c, text);
        assert_true(event_cursor_parse(text, &back));
        assert_memory_equal(back.cluster, c.cluster, EVENT_CURSOR_CLUSTER);
        assert_int_equal(back.generation, c.generation);
        assert_int_equal(back.term, c.term);
        assert_int_equal(back.mode, c.mode);
        assert_int_equal(back.seq, c.seq);
        assert_int_equal(back.forgotten, c.forgotten);
        assert_int_equal(back.index, c.index);
        assert_int_equal(back.scope, c.scope);
        event_cursor_format(&back, again);
        assert_string_equal(again, text);
}

static void what_was_given_comes_back(void **state) {
        comes_back((EventCursor){});
        comes_back((EventCursor){{1, 2, 3, 255}, 1, 7, EVENT_CURSOR_MISSED, 123456, 99, 1000000, 77});
        comes_back((EventCursor){{1, 2, 3, 4},
                                 UINT64_MAX,
                                 UINT64_MAX,
                                 EVENT_CURSOR_STATE,
                                 UINT64_MAX,
                                 UINT64_MAX,
                                 UINT64_MAX,
                                 UINT64_MAX});
        for (unsigned shift = 0; shift < 64; shift++)
                comes_back((EventCursor){.seq = UINT64_C(1) << shift,
                                         .term = (UINT64_C(1) << shift) - 1,
                                         .index = UINT64_MAX >> shift});
}

static void what_is_no_cursor_is_refused(void **state) {
        static const char *const bad[] = {
                "",
                "0",
                "1",
                "hello",
                "01",
                "0102030400000000",
                "zz",
                "-1",
                "00000000000000000000000000000000000000000000000000000000000000000000000000"
                "00000000000000000000000000000000000000000000000000000000000000000000000000"};
        EventCursor c = {{9, 8, 7, 6}, 3, 5, EVENT_CURSOR_RING, 1000, 0, 700};
        char text[EVENT_CURSOR_SIZE], other[EVENT_CURSOR_SIZE + 2];

        for (size_t i = 0; i < ELEMENTSOF(bad); i++)
                assert_false(event_cursor_parse(bad[i], &c));
        event_cursor_format(&c, text);
        for (size_t i = 0; text[i]; i++) { // each digit counts, and each length
                memcpy(other, text, sizeof(text));
                other[i] = text[i] == '7' ? '8' : '7';
                assert_false(event_cursor_parse(other, &c));
                memcpy(other, text, i);
                other[i] = '\0';
                assert_false(event_cursor_parse(other, &c));
        }
        snprintf(other, sizeof(other), "%s0", text);
        assert_false(event_cursor_parse(other, &c));
        snprintf(other, sizeof(other), "%s ", text);
        assert_false(event_cursor_parse(other, &c));
}

RUN_TESTS(
        cmocka_unit_test(what_was_given_comes_back),
        cmocka_unit_test(what_is_no_cursor_is_refused)
)
