// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// How long somebody is waited for, who may have kept to it while we stood still.
//
// A process that was stopped, or got no time, or waited for a disk, finds all its timers due; and the loop
// runs timers before it looks at what has come meanwhile. So a limit that is over is looked at once more:
// the loop takes what is there first, and the peer gets as much time again as we were late. The time runs
// from when it is started, by a clock that is set then, not from when this turn of the loop began.
//
// For whatever ends something that may be in order. What only does a thing later is a plain timer.
//
// Not for leases: they go by the boot clock, which runs on while a machine is suspended and the loop's does
// not, every beat moves them, and what a standstill is worth there is a rule of its own (lease.h). The
// leader's timer and the agent's only let the loop go round once more before they judge (timer_deferred,
// lease_deferred).

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

typedef struct TimeLimit {
        uv_timer_t timer;
        void (*over)(void *userdata);
        void *userdata;
        uint64_t due_ms; // of the loop
        bool extended;   // it was over before, and was given the time in which we were late
} TimeLimit;

void time_limit_init(TimeLimit *t, uv_loop_t *loop, void *userdata); // cannot fail
// Instead of whatever ran before.
void time_limit_start(TimeLimit *t, uint64_t ms, void (*over)(void *userdata));
void time_limit_stop(TimeLimit *t);
// Asynchronous as any uv_close(); `closed` gets the timer, whose memory is inside *t.
void time_limit_close(TimeLimit *t, uv_close_cb closed);
