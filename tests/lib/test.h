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

// A function of cmocka's that sets up or takes down, and fails by its assertions alone:
//
//      FIXTURE(setup) {
//              *state = cluster_state_new();
//      }
#define FIXTURE(name)                          \
        static void name##_body(void **state); \
                                               \
        static int name(void **state) {        \
                name##_body(state);            \
                return 0;                      \
        }                                      \
                                               \
        static void name##_body(void **state)

// What was answered, of whichever kind, has this status, and these words are in its message.
#define assert_replies(answer, expected_status, words)                 \
        do {                                                           \
                typeof(answer) answer_ = (answer);                     \
                                                                       \
                assert_int_equal(answer_->status, (expected_status));  \
                assert_non_null(strstr(answer_->message, (words)));    \
        } while (0)

// The tests of a program, one after the other.
#define RUN_TESTS(...)                                              \
        int main(void) {                                            \
                const struct CMUnitTest tests[] = {__VA_ARGS__};    \
                                                                    \
                return cmocka_run_group_tests(tests, NULL, NULL);   \
        }
