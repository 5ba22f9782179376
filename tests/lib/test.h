// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// What every cmocka test includes first: cmocka needs these headers before its own.

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

// The tests of a program, one after the other.
#define RUN_TESTS(...)                                              \
        int main(void) {                                            \
                const struct CMUnitTest tests[] = {__VA_ARGS__};    \
                                                                    \
                return cmocka_run_group_tests(tests, NULL, NULL);   \
        }
