// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// How long the leader's turns are, in CPU time of its thread. A turn is one call into the leader: a turn of
// its loop, one message of a host, one request. turn-meter.c wraps these calls (-Wl,--wrap), so nothing of
// the leader knows of it.
//
// Told in milliseconds of the machine that the limit was chosen on: a loop whose work is like a leader's
// (turn-scale.c, built as the leader is) is timed beside each case. What a forked process pays for the first
// touch of each page is taken off.

#include <stdint.h>

typedef struct TurnMeter {
        double longest_ms;
        char where[64]; // what the longest one was
        unsigned n;
} TurnMeter;

// Counts from here on, in each process anew. A turn that takes longer than `too_long_ms`, or seconds in all,
// is told at once by `too_long`, which does not return.
void turn_meter_begin(double too_long_ms, void (*too_long)(const TurnMeter *m));
TurnMeter turn_meter_end(void);

// turn-scale.c: CPU time of what takes 10 ms on the machine that the limit was chosen on.
uint64_t turn_scale_10ms_ns(void);
