// SPDX-License-Identifier: LGPL-2.1-or-later
#include "test.h"

#include "terminal.h"

static void expect(ProgressState s, unsigned width, const char *text) {
        _cleanup_buf_ Buf b = {};
        _cleanup_free_ char *got = NULL;

        assert_int_equal(progress_format(&s, width, &b), 0);
        got = buf_take_string(&b);
        assert_string_equal(got, text);
        assert_true(width < 20 || strlen(got) < width);
}

static void the_bar_fits_the_terminal(void **state) {
        expect((ProgressState){"start", 0, 0, 100, 0}, 80, "start [>                             ] 0/100");
        expect((ProgressState){"start", 50, 0, 100, 0}, 80, "start [===============>              ] 50/100");
        expect((ProgressState){"start", 100, 2, 100, 12}, 80,
               "start [==============================] 100/100, 2 failed (12s)");
        expect((ProgressState){"start", 5, 0, 10, 0}, 24, "start [=====>    ] 5/10");
        expect((ProgressState){"start", 5, 0, 10, 0}, 10, "start 5/10");
        expect((ProgressState){"stop", 0, 0, 1, 3}, 80, "stop 0/1 (3s)");
}

static void who_is_awaited_is_said_in_the_terminal_s_width(void **state) {
        ProgressState s = {.verb = "start", .awaits = "n2 to resolve docker.example/shop/web:1"};

        expect(s, 80, "start: waiting for n2 to resolve docker.example/shop/web:1");
        s.seconds = 12;
        expect(s, 80, "start: waiting for n2 to resolve docker.example/shop/web:1 (12s)");
        expect(s, 50, "start: waiting for n2 to resol...shop/web:1 (12s)");
        s.awaits = "\x1b[2Jn2 to resolve x";
        expect(s, 80, "start: waiting for ?[2Jn2 to resolve x (12s)");
}

RUN_TESTS(
        cmocka_unit_test(who_is_awaited_is_said_in_the_terminal_s_width),
        cmocka_unit_test(the_bar_fits_the_terminal)
)
