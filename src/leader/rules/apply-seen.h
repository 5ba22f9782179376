// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// How a unit of a set is, beside what it is to be, and what an apply makes of that. Pure.
//
//   started again    one that failed, and one that somebody stopped on its node
//   only named       one that starting again would not help, or that is on its way: it fails again and
//                    again, systemd or the
//                    cluster is about to start it, it waits, its host is lost, nobody knows how its run
//                    ended, another unit
//                    took it down
//   named, and well  one that has ended well, that nothing needed any more, or that systemd skipped: they
//                    are as their files say

#include <stdbool.h>

#include "argosy.pb-c.h"

// In the order in which they count where a unit is on several nodes: the greatest is how it is.
typedef enum ApplySeen {
        APPLY_SEEN_WELL, // also one that is not to run, and is not
        APPLY_SEEN_FINISHED,
        APPLY_SEEN_ENDED,
        APPLY_SEEN_UNNEEDED,
        APPLY_SEEN_SKIPPED,
        APPLY_SEEN_STARTING,
        APPLY_SEEN_QUEUED,
        APPLY_SEEN_LOST,
        APPLY_SEEN_BOUND,
        APPLY_SEEN_CONFLICT,
        APPLY_SEEN_UNKNOWN,
        APPLY_SEEN_ERROR,
        APPLY_SEEN_RESTARTING,
        APPLY_SEEN_LOOPING,
        APPLY_SEEN_DOWN,    // how it went down was not seen
        APPLY_SEEN_STOPPED,
        APPLY_SEEN_FAILED,
        APPLY_SEEN_STATES,
} ApplySeen;

// A unit on one node.
typedef struct ApplyFacts {
        Argosy__Target target;
        bool lost;     // its host or its manager cannot be asked
        bool waits;    // something else comes first, or the cluster starts it again by itself
        bool answered; // its host has done what was asked for last
        const Argosy__Outcome *outcome; // NULL: its run has not ended for good
        Argosy__ActiveState active;
        bool restarts; // systemd starts it again after a failure
        bool loops;    // and has done so again and again
        bool error;    // what was asked for last could not be done
        Argosy__DownCause down;
} ApplyFacts;

ApplySeen apply_seen_of(const ApplyFacts *facts);
bool apply_seen_starts(ApplySeen seen);   // an apply starts it again
bool apply_seen_is_wrong(ApplySeen seen); // it is not as it is to be
const char *apply_seen_word(ApplySeen seen); // "failed" and so on; "" for WELL
