// SPDX-License-Identifier: LGPL-2.1-or-later
#include "test.h"

#include "terminal.h"

static void expect(const char *verb, size_t done, size_t failed, size_t total, unsigned width,
                   const char *text) {
        _cleanup_buf_ Buf b = {};
        _cleanup_free_ char *got = NULL;

        assert_int_equal(progress_format(verb, done, failed, total, width, &b), 0);
        got = buf_take_string(&b);
        assert_string_equal(got, text);
        assert_true(width < 20 || strlen(got) < width);
}

static void the_bar_fits_the_terminal(void **state) {
        expect("start", 0, 0, 100, 80, "start [>                             ] 0/100");
        expect("start", 50, 0, 100, 80, "start [===============>              ] 50/100");
        expect("start", 100, 2, 100, 80, "start [==============================] 100/100, 2 failed");
        expect("start", 5, 0, 10, 24, "start [=====>    ] 5/10");
        expect("start", 5, 0, 10, 10, "start 5/10");
        expect("stop", 0, 0, 1, 80, "stop 0/1");
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(the_bar_fits_the_terminal),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
