// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// May a unit still run on a node that it has left? The one rule for everything that starts a unit which had
// a node before: a move, a drain, a rollout, a loss, a return. Pure: times are arguments, boot clock,
// microseconds.
//
//   the previous node                                        the unit may begin elsewhere
//   its host said that its units have stopped, but for    at once
//     others
//   its host said that it is switched off, but that the   when its lease would have ended, and then as
//     unit may still run there                              for one that is lost
//   heard in this leader's time, and does not hold it     at once
//   seen ended there, by an agent that does not begin     at once
//     it again
//   lost                                                  at once: it may run twice until the host is back;
//     and it has a guard (CutOff=stop)                      when it has certainly stopped
//                                                           (node-loss-policy.h)
//   anything else: running, ordered and not answered,     when the host says that it has ended, or is lost
//     the link down within the lease, not heard by this
//     leader yet, its manager out of reach
//
// Whether there is a link says nothing: a unit does not notice that its host's link is down.
//
// That nobody waits for it does not mean that it does not run: fencing_policy_may_run() tells that, for what
// is said to people, and for what the log has to remember.

#include <stdbool.h>
#include <stdint.h>

#define FENCING_UNTIL_REPORTED UINT64_MAX

typedef struct PreviousNode {
        bool stopped;     // its host said so, and is switched off
        bool lingers;     // or that it may still run, and is switched off: lost_us is when its lease ends
        bool reported;    // its host has said what it holds since this leader leads
        bool held;        // by what it said, or was ordered since, it has the unit
        bool ended;       // the unit was seen down there, and is not begun again
        bool lost;        // its lease is over
        uint64_t lost_us; // since when, if it is
} PreviousNode;

// What ends a unit without its host's word.
typedef struct FencingGuard {
        uint64_t fence_us; // it has certainly stopped so long after its host was lost; 0: it has no guard
        bool unguarded;    // it may be content without one, too
} FencingGuard;

// Until when the unit may run there. 0: it does not, or nobody waits for it; FENCING_UNTIL_REPORTED: until
// its host says otherwise or is lost; else a time.
uint64_t fencing_policy_until(const PreviousNode *previous, FencingGuard guard);
// Whether it may run there now.
bool fencing_policy_may_run(const PreviousNode *previous, FencingGuard guard, uint64_t now_us);
