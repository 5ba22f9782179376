// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// A loop for tests: runs until something has become true, fails when it does not within a generous time, and
// at the end fails on handles that somebody forgot to close. Use loop_setup and loop_teardown as a test's
// fixture.

#include <signal.h>
#include <uv.h>

#include "test.h"

enum { TEST_LOOP_PATIENCE_MS = 60000 };

static uv_loop_t test_loop;
static uv_timer_t test_loop_patience;
static bool test_loop_impatient;

static inline void loop_on_patience(uv_timer_t *timer) {
        test_loop_impatient = true;
}

static inline int loop_setup(void **state) {
        int r = uv_loop_init(&test_loop);

        signal(SIGPIPE, SIG_IGN);
        return r < 0 ? r : uv_timer_init(&test_loop, &test_loop_patience);
}

static inline void loop_print_handle(uv_handle_t *handle, void *userdata) {
        fprintf(stderr, "left open: %s\n", uv_handle_type_name(uv_handle_get_type(handle)));
        *(bool *) userdata = true;
}

static inline int loop_teardown(void **state) {
        bool left = false;

        uv_close((uv_handle_t *) &test_loop_patience, NULL);
        uv_run(&test_loop, UV_RUN_NOWAIT);
        uv_walk(&test_loop, loop_print_handle, &left);
        // What a thread still works on, a name that is looked up, has no handle and may outlive who asked.
        if (!left)
                uv_run(&test_loop, UV_RUN_DEFAULT);
        return uv_loop_close(&test_loop);
}

// Runs the loop until `condition`, an expression, holds.
#define loop_until(condition)                                                                    \
        do {                                                                                     \
                uv_update_time(&test_loop);                                                      \
                test_loop_impatient = false;                                                     \
                uv_timer_start(&test_loop_patience, loop_on_patience, TEST_LOOP_PATIENCE_MS, 0); \
                while (!(condition) && !test_loop_impatient)                                     \
                        uv_run(&test_loop, UV_RUN_ONCE);                                         \
                uv_timer_stop(&test_loop_patience);                                              \
                if (!(condition))                                                                \
                        fail_msg("never became true: %s", #condition);                           \
        } while (0)
