// SPDX-License-Identifier: LGPL-2.1-or-later
//
// cmocka's assertions, for a program that is no test of cmocka's: which keeps what they have to say until the end of a test, and
// then ends a process that has none. Here they say it at once, and the process ends (see leader-sim.c).
#include "test.h"

#include <inttypes.h>

static void say(const char *format, ...) __attribute__((format(printf, 1, 2)));

static void say(const char *format, ...) {
        va_list ap;

        va_start(ap, format);
        (void) vfprintf(stderr, format, ap);
        va_end(ap);
}

void print_error(const char *const format, ...) {
        va_list ap;

        va_start(ap, format);
        (void) vfprintf(stderr, format, ap);
        va_end(ap);
}

void _fail(const char *const file, const int line) {
        say("%s:%d\n", file, line);
        exit(1);
}

void _assert_true(const LargestIntegralType result, const char *const expression, const char *const file, const int line) {
        if (result)
                return;
        say("not so: %s\n", expression);
        _fail(file, line);
}

void _assert_int_equal(const LargestIntegralType a, const LargestIntegralType b, const char *const file, const int line) {
        if (a == b)
                return;
        say("%" PRIdMAX " is not %" PRIdMAX "\n", (intmax_t) a, (intmax_t) b);
        _fail(file, line);
}

void _assert_int_not_equal(const LargestIntegralType a, const LargestIntegralType b, const char *const file, const int line) {
        if (a != b)
                return;
        say("%" PRIdMAX ", which it must not be\n", (intmax_t) a);
        _fail(file, line);
}

void _assert_in_range(const LargestIntegralType value, const LargestIntegralType minimum, const LargestIntegralType maximum,
                      const char *const file, const int line) {
        if (value >= minimum && value <= maximum)
                return;
        say("%" PRIdMAX " is not between %" PRIdMAX " and %" PRIdMAX "\n", (intmax_t) value, (intmax_t) minimum, (intmax_t) maximum);
        _fail(file, line);
}

void _assert_string_equal(const char *const a, const char *const b, const char *const file, const int line) {
        if (strcmp(a, b) == 0)
                return;
        say("'%s' is not '%s'\n", a, b);
        _fail(file, line);
}

void _assert_memory_equal(const void *const a, const void *const b, const size_t size, const char *const file, const int line) {
        if (memcmp(a, b, size) == 0)
                return;
        say("%zu bytes are not the same\n", size);
        _fail(file, line);
}
