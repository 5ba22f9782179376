// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What was found stays until the unit is up again: what systemd says later of a unit that has left its
// memory is less. A service that ends by itself and one that was told to by a signal look alike but for the
// code of its main process; one that catches the signal seems to have ended by itself. The origin of a job
// that stops a unit with StopWhenUnneeded= cannot be told afterwards; systemd makes such jobs, so the cause
// is "unneeded".

#include "down-cause.h"

Argosy__DownCause down_cause(const DownFacts *f) {
        if (f->found != ARGOSY__DOWN_CAUSE__DOWN_NOT)
                return f->found;
        if (f->goes_along)
                return ARGOSY__DOWN_CAUSE__DOWN_BOUND;
        if (f->interrupted)
                return ARGOSY__DOWN_CAUSE__DOWN_CANCELLED;
        if (f->skipped)
                return ARGOSY__DOWN_CAUSE__DOWN_SKIPPED;
        if (f->was_reset)
                return ARGOSY__DOWN_CAUSE__DOWN_RESET;
        if (f->end == UNIT_END_BY_JOB && f->conflicts)
                return ARGOSY__DOWN_CAUSE__DOWN_CONFLICT;
        if (f->end == UNIT_END_BY_JOB && f->stops_unneeded)
                return ARGOSY__DOWN_CAUSE__DOWN_UNNEEDED;
        if (f->end == UNIT_END_BY_JOB || (f->end == UNIT_END_BY_ITSELF && f->signalled))
                return ARGOSY__DOWN_CAUSE__DOWN_STOPPED;
        return f->end == UNIT_END_BY_ITSELF ? ARGOSY__DOWN_CAUSE__DOWN_ENDED
                                            : ARGOSY__DOWN_CAUSE__DOWN_UNSEEN;
}
