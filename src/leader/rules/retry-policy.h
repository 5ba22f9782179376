// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Where and when a unit that systemd has given up is started again (RestartElsewhere=N). Pure: times are
// arguments, boot clock, microseconds.
//
// Each failure is a point against the node where it happened. Points halve every RestartElsewhereDecaySec=,
// in a straight line between two halvings; rounded to whole ones they are the failures that count now.
//
//      failures on its node that count    what is next, when the back-off is over
//      fewer than N                       it is started where it is
//      N                                  it is started on another node: on one without failures, else on
//                                         one with fewer than N
//                                         if there is none: it stays as it is until the first of its nodes
//                                         has fewer than N failures again, or another node can take it
//
// A unit that systemd restarts by itself (Restart=) has failed as often as that has happened after a failure
// since this leader heard of it first: what was counted before is the baseline, and a count that begins anew
// is no failure. It is started where it is by systemd, so here there is only the second row, and what
// follows.
//
// One that runs for RETRY_RECOVERED_SEC without another failure when the back-off is over has recovered, and
// stays; should it fail again while as many failures count, it goes at once.
//
// The back-off is 1 s, doubled for each failure that counts, wherever it happened, up to 5 min. So one that
// fails wherever it is started is started ever more rarely, and at the end at most once in 5 min.

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RETRY_NEVER UINT64_MAX

enum {
        RETRY_NODES_MAX = 32,   // nodes remembered for one unit; of more, those where it matters least are
                                // forgotten
        RETRY_POINT = 1024,     // one failure
        RETRY_ADDED_MAX = 1000, // that are told at once
        RETRY_DELAY_MIN_SEC = 1,
        RETRY_DELAY_MAX_SEC = 300,
        RETRY_RECOVERED_SEC = 60,
};

typedef struct RetryNode {
        uint32_t node;
        uint32_t points; // at at_us
        uint64_t at_us;
        uint64_t since_us; // of the failure that was counted last, as its node dates it
} RetryNode;

typedef struct RetryLog { // zero-initialised: nothing has failed
        RetryNode nodes[RETRY_NODES_MAX];
        size_t n;
} RetryLog;

// Counts a failure that the node dates `since_us`. False: it is counted already.
bool retry_policy_note(RetryLog *log, uint32_t node, uint64_t since_us, uint64_t half_us, uint64_t now_us);
// Counts so many more: of a unit that systemd restarts by itself after each.
void retry_policy_add(RetryLog *log, uint32_t node, unsigned n, uint64_t half_us, uint64_t now_us);
// Failures there that count now; 0: it has none, or they are forgiven.
unsigned retry_policy_failures(const RetryLog *log, uint32_t node, uint64_t half_us, uint64_t now_us);
unsigned retry_policy_total(const RetryLog *log, uint64_t half_us, uint64_t now_us);
// From a failure until the next start, with so many that count, this one among them.
uint64_t retry_policy_delay_us(unsigned total);
// When fewer than `limit` failures count on the first of the nodes with as many; RETRY_NEVER: on none do.
uint64_t retry_policy_forgiven_us(const RetryLog *log, unsigned limit, uint64_t half_us, uint64_t now_us);
