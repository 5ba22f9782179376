// SPDX-License-Identifier: LGPL-2.1-or-later
#include "loop.h"

#include <pthread.h>
#include <stdlib.h>

#include "macro.h"
#include "uvx.h"

enum { THREADS = 3 }; // as the environment says below

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_t seen[2 * THREADS];
static unsigned n_seen;
static bool a_signal_is_open;

static void note_thread(void) {
        sigset_t blocked;

        pthread_sigmask(SIG_SETMASK, NULL, &blocked);
        pthread_mutex_lock(&lock);
        if (n_seen < ELEMENTSOF(seen))
                seen[n_seen++] = pthread_self();
        a_signal_is_open |= !sigismember(&blocked, SIGTERM);
        pthread_mutex_unlock(&lock);
}

static void each_thread_of_the_pool_is_prepared_once(void **state) {
        assert_int_equal(setenv("UV_THREADPOOL_SIZE", "3", 1), 0);
        assert_int_equal(uvx_start_pool(note_thread), 0);
        assert_int_equal(n_seen, THREADS);
        for (unsigned i = 0; i < THREADS; i++) {
                assert_false(pthread_equal(seen[i], pthread_self()));
                for (unsigned k = 0; k < i; k++)
                        assert_false(pthread_equal(seen[i], seen[k]));
        }
        assert_false(a_signal_is_open);
        assert_int_equal(uvx_start_pool(NULL), 0); // it runs already
}

RUN_TESTS(cmocka_unit_test(each_thread_of_the_pool_is_prepared_once))
