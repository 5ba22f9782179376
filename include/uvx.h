// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// libuv at our border: its errors are negative errno on Linux except for a few of its own, which are
// translated here; and the one pattern that every room uses on the loop: mark dirty, drain once per turn.

#include <stdbool.h>
#include <uv.h>

#include "macro.h"

// Any libuv status as 0 or negative errno.
int uvx_errno(int status);

// Starts the worker threads of the global pool with all signals blocked (libuv would let them inherit
// whatever is unblocked now; system calls like fallocate() then fail with EINTR in a thread that was never
// meant to get a signal), and runs on_thread (may be NULL) once on each of them. Call it before anything
// else uses the pool; once the pool runs, calling it again changes nothing about signals. UV_THREADPOOL_SIZE
// must not change between calls. -ENOMEM.
int uvx_start_pool(void (*on_thread)(void));

// A Drain calls `run` once in the turn of the loop after drain_mark() was called, however often it was.
// Marking from inside `run` leads to another run in the next turn. Costs nothing while nothing is marked.
typedef struct Drain {
        uv_idle_t idle;
        void (*run)(void *userdata);
        void *userdata;
        bool marked;
} Drain;

int drain_init(Drain *d, uv_loop_t *loop, void (*run)(void *userdata), void *userdata);
void drain_mark(Drain *d);
// Takes back the mark; run is not called for it.
void drain_unmark(Drain *d);
// Asynchronous as any uv_close(); `closed` may be NULL and gets the idle handle, whose memory is inside *d.
void drain_close(Drain *d, uv_close_cb closed);
