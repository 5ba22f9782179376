// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The happy path: the unit is active, or is not to be, and nothing is said of it.
//
// What is not known, or not done yet, is judged before what was seen last: that is of former times. How a
// run ended for good stands in the log, and counts before what its node says.

#include "apply-seen.h"

#include "macro.h"
#include "unit-state.h"

static ApplySeen seen_of_outcome(const Argosy__Outcome *o) {
        switch (o->kind) {
        case ARGOSY__OUTCOME__KIND__DONE:
                return outcome_is_skipped(o) ? APPLY_SEEN_SKIPPED : APPLY_SEEN_FINISHED;
        case ARGOSY__OUTCOME__KIND__FAILED:
                return APPLY_SEEN_FAILED;
        default:
                return APPLY_SEEN_UNKNOWN;
        }
}

// A failure that somebody has reset, and a start that came to nothing, are mended by a start as any other
// failure.
static ApplySeen seen_of_down(const ApplyFacts *f) {
        switch (f->down) {
        case ARGOSY__DOWN_CAUSE__DOWN_STOPPED:
                return APPLY_SEEN_STOPPED;
        case ARGOSY__DOWN_CAUSE__DOWN_UNSEEN:
                return APPLY_SEEN_DOWN;
        case ARGOSY__DOWN_CAUSE__DOWN_SKIPPED:
                return APPLY_SEEN_SKIPPED;
        case ARGOSY__DOWN_CAUSE__DOWN_BOUND:
                return APPLY_SEEN_BOUND;
        case ARGOSY__DOWN_CAUSE__DOWN_CONFLICT:
                return APPLY_SEEN_CONFLICT;
        case ARGOSY__DOWN_CAUSE__DOWN_UNNEEDED:
                return APPLY_SEEN_UNNEEDED;
        case ARGOSY__DOWN_CAUSE__DOWN_RESET:
        case ARGOSY__DOWN_CAUSE__DOWN_CANCELLED:
        case ARGOSY__DOWN_CAUSE__DOWN_UNBEGUN:
                return APPLY_SEEN_FAILED;
        default: // it has ended by itself
                return f->error || f->active == ARGOSY__ACTIVE_STATE__ACTIVE_FAILED ? APPLY_SEEN_FAILED
                                                                                    : APPLY_SEEN_ENDED;
        }
}

static ApplySeen seen_of_launched(const ApplyFacts *f) {
        if (f->outcome)
                return seen_of_outcome(f->outcome);
        if (!f->answered)
                return APPLY_SEEN_STARTING;
        if (active_state_is_down(f->active))
                return seen_of_down(f);
        if (f->loops)
                return APPLY_SEEN_LOOPING;
        if (f->restarts)
                return APPLY_SEEN_RESTARTING;
        if (!active_state_is_up(f->active))
                return APPLY_SEEN_STARTING;
        return f->error ? APPLY_SEEN_ERROR : APPLY_SEEN_WELL;
}

ApplySeen apply_seen_of(const ApplyFacts *f) {
        if (f->target == ARGOSY__TARGET__TARGET_INACTIVE)
                return APPLY_SEEN_WELL;
        if (f->waits)
                return APPLY_SEEN_QUEUED;
        if (f->lost)
                return APPLY_SEEN_LOST;
        if (f->target == ARGOSY__TARGET__TARGET_LAUNCHED)
                return seen_of_launched(f);
        return f->answered && f->error ? APPLY_SEEN_ERROR : APPLY_SEEN_WELL;
}

bool apply_seen_starts(ApplySeen seen) {
        return seen == APPLY_SEEN_FAILED || seen == APPLY_SEEN_STOPPED || seen == APPLY_SEEN_DOWN;
}

bool apply_seen_is_wrong(ApplySeen seen) {
        return seen > APPLY_SEEN_SKIPPED;
}

const char *apply_seen_word(ApplySeen seen) {
        static const char *const words[APPLY_SEEN_STATES] = {
                [APPLY_SEEN_WELL] = "",
                [APPLY_SEEN_FINISHED] = "finished",
                [APPLY_SEEN_ENDED] = "ended",
                [APPLY_SEEN_UNNEEDED] = "unneeded",
                [APPLY_SEEN_SKIPPED] = "skipped",
                [APPLY_SEEN_STARTING] = "starting",
                [APPLY_SEEN_QUEUED] = "queued",
                [APPLY_SEEN_LOST] = "lost",
                [APPLY_SEEN_BOUND] = "bound",
                [APPLY_SEEN_CONFLICT] = "conflict",
                [APPLY_SEEN_UNKNOWN] = "unknown",
                [APPLY_SEEN_ERROR] = "error",
                [APPLY_SEEN_RESTARTING] = "restarting",
                [APPLY_SEEN_LOOPING] = "looping",
                [APPLY_SEEN_STOPPED] = "stopped",
                [APPLY_SEEN_DOWN] = "down",
                [APPLY_SEEN_FAILED] = "failed",
        };

        return words[seen];
}
