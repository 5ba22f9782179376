// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What libuv leaves to each program: its errors as errno (what has no errno of its own gets the nearest
// one), the beginning of its pool, and the drain.
//
// The pool begins with its first job, and its threads inherit the signal mask of the thread that gave it. So
// the mask is closed here for a moment, and a job for each thread waits until all of them have one. A Drain
// is an idle handle that is active only while it is marked.

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>

#include "macro.h"
#include "uvx.h"

int uvx_errno(int status) {
        if (status >= 0)
                return 0;
        if (status == UV_EOF)
                return -ECONNRESET;
        if (status <= UV_EAI_ADDRFAMILY &&
            status >= UV_EAI_SOCKTYPE) // the name look-up block, -3000 ... -3014
                return -EADDRNOTAVAIL;
        return status; // on Linux UV_Exxx is -Exxx
}

// ---- the pool's beginning

enum { POOL_THREADS_DEFAULT = 4, POOL_THREADS_MAX = 1024 }; // libuv's

typedef struct OnEach {
        uv_barrier_t all_here; // no thread takes a second piece before every thread has one
        void (*run)(void);
} OnEach;

static void run_on_thread(uv_work_t *work) {
        OnEach *each = work->data;

        if (each->run)
                each->run();
        (void) uv_barrier_wait(&each->all_here);
}

static void on_thread_done(uv_work_t *work, int status) {
}

static unsigned pool_threads(void) {
        const char *text = getenv("UV_THREADPOOL_SIZE");
        int n = text ? atoi(text) : POOL_THREADS_DEFAULT; // as libuv reads it

        return n < 1 ? 1 : n > POOL_THREADS_MAX ? POOL_THREADS_MAX : (unsigned) n;
}

static int run_on_each(uv_loop_t *loop, void (*run)(void)) {
        unsigned n = pool_threads();
        _cleanup_free_ uv_work_t *works = calloc(n, sizeof(*works));
        OnEach each = {.run = run};
        int r = works ? uvx_errno(uv_barrier_init(&each.all_here, n)) : -ENOMEM;

        if (r < 0)
                return r;
        for (unsigned i = 0; i < n; i++) {
                works[i].data = &each;
                r = uv_queue_work(loop, &works[i], run_on_thread, on_thread_done);
                assert(r == 0); // it fails only without a function; then the others would wait for ever
        }
        uv_run(loop, UV_RUN_DEFAULT);
        uv_barrier_destroy(&each.all_here);
        return 0;
}

int uvx_start_pool(void (*on_thread)(void)) {
        sigset_t all, before;
        uv_loop_t loop;
        int r = uvx_errno(uv_loop_init(&loop));

        if (r < 0)
                return r;
        sigfillset(&all);
        pthread_sigmask(SIG_SETMASK, &all, &before);
        r = run_on_each(&loop, on_thread);
        pthread_sigmask(SIG_SETMASK, &before, NULL);
        uv_loop_close(&loop);
        return r;
}

// ---- drains

static void on_idle(uv_idle_t *idle) {
        Drain *d = idle->data;

        uv_idle_stop(idle);
        d->marked = false;
        d->run(d->userdata);
}

int drain_init(Drain *d, uv_loop_t *loop, void (*run)(void *userdata), void *userdata) {
        *d = (Drain){.run = run, .userdata = userdata};
        d->idle.data = d;
        return uvx_errno(uv_idle_init(loop, &d->idle));
}

void drain_mark(Drain *d) {
        if (d->marked || uv_is_closing((uv_handle_t *) &d->idle))
                return;
        d->marked = true;
        uv_idle_start(&d->idle, on_idle);
}

void drain_unmark(Drain *d) {
        d->marked = false;
        uv_idle_stop(&d->idle);
}

void drain_close(Drain *d, uv_close_cb closed) {
        d->marked = false;
        uv_close((uv_handle_t *) &d->idle, closed);
}
