// SPDX-License-Identifier: LGPL-2.1-or-later
//
// See process.h. The pool has no threads here. What is given to it waits in a list, and each turn of a loop
// (uv_run, wrapped) first does a drawn number of pieces of it, in a drawn order, and calls back for each.
#include "process.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include <uv.h>

#include "choices.h"
#include "random.h"

// To the libraries as well; the compiler hides what no header shows.
#define EXPORTED __attribute__((visibility("default")))

enum { QUEUED_MAX = 4096 };

static const uint64_t never = UINT64_C(1000000000);

static struct {
        Draw chance, pool;
        const uint64_t *now_us, *wall_us;
        uv_work_t *queued[QUEUED_MAX];
        size_t n_queued;
} process = {.now_us = &never, .wall_us = &never};

void process_begin(uint64_t word, const uint64_t *now_us, const uint64_t *wall_us) {
        process.chance = draw_from(word ^ 1);
        process.pool = draw_from(word ^ 2);
        process.now_us = now_us;
        process.wall_us = wall_us;
}

// ------------------------------------------------------------------------------------------------ clocks

EXPORTED int clock_gettime(clockid_t id, struct timespec *ret) {
        uint64_t us;

        switch (id) {
        case CLOCK_PROCESS_CPUTIME_ID:
        case CLOCK_THREAD_CPUTIME_ID:
                return (int) syscall(SYS_clock_gettime, id, ret);
        case CLOCK_REALTIME:
        case CLOCK_REALTIME_COARSE:
                us = *process.wall_us;
                break;
        default:
                us = *process.now_us;
        }
        *ret = (struct timespec){.tv_sec = (time_t) (us / 1000000), .tv_nsec = (long) (us % 1000000 * 1000)};
        return 0;
}

EXPORTED uint64_t uv_hrtime(void) {
        return *process.now_us * 1000;
}

uint64_t process_cpu_ns(void) {
        struct timespec ts;

        (void) clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
        return (uint64_t) ts.tv_sec * UINT64_C(1000000000) + (uint64_t) ts.tv_nsec;
}

// ------------------------------------------------------------------------------------------------ chance

void random_bytes(void *data, size_t len) {
        for (size_t i = 0; i < len; i++)
                ((uint8_t *) data)[i] = (uint8_t) draw_word(&process.chance);
}

uint32_t random_below(uint32_t n) {
        return draw_below(&process.chance, n);
}

// ------------------------------------------------------------------------------------------------ forks

// What is tried in a process of its own (world_play_apart()) goes on with the secrets that there are.
EXPORTED int madvise(void *pages, size_t size, int advice) {
        return advice == MADV_WIPEONFORK ? 0 : (int) syscall(SYS_madvise, pages, size, advice);
}

// ------------------------------------------------------------------------------------------------ the pool

EXPORTED int uv_queue_work(uv_loop_t *loop, uv_work_t *work, uv_work_cb run, uv_after_work_cb done) {
        if (process.n_queued == QUEUED_MAX)
                abort();
        work->loop = loop;
        work->work_cb = run;
        work->after_work_cb = done;
        process.queued[process.n_queued++] = work;
        return 0;
}

static uv_work_t *take(size_t i) {
        uv_work_t *work = process.queued[i];

        process.n_queued--;
        memmove(&process.queued[i], &process.queued[i + 1],
                (process.n_queued - i) * sizeof(*process.queued));
        return work;
}

EXPORTED int uv_cancel(uv_req_t *req) {
        for (size_t i = 0; i < process.n_queued; i++)
                if ((uv_req_t *) process.queued[i] == req) {
                        uv_work_t *work = take(i);

                        work->after_work_cb(work, UV_ECANCELED);
                        return 0;
                }
        return UV_EBUSY;
}

int __real_uv_run(uv_loop_t *loop, uv_run_mode mode);
int __wrap_uv_run(uv_loop_t *loop, uv_run_mode mode);

int __wrap_uv_run(uv_loop_t *loop, uv_run_mode mode) {
        unsigned n = process.n_queued > 0 ? draw_below(&process.pool, (unsigned) process.n_queued + 1) : 0;

        if (process.n_queued > 0)
                mode = UV_RUN_NOWAIT;
        for (; n > 0 && process.n_queued > 0; n--) {
                uv_work_t *work = take(draw_below(&process.pool, (unsigned) process.n_queued));

                work->work_cb(work);
                work->after_work_cb(work, 0);
        }
        return __real_uv_run(loop, mode);
}
