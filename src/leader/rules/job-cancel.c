// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The happy path: a unit has no node yet, or its start is held back on all of its nodes by what comes first,
// so nobody has been told to start it. A stop that waits for those that come after it has not begun either.
//
// In doubt it has begun: a host that is not heard may have been told by another leader. A unit that is
// destroyed has no record any more that would hold it where it runs, so that is not called off.

#include "job-cancel.h"

static bool start_has_begun(const CancelUnit *u) {
        return u->placed && (!u->heard || u->n_waiting < u->n_nodes);
}

static bool stop_has_begun(const CancelUnit *u) {
        return !u->heard || u->n_stop_waiting == 0 || u->n_stop_waiting + u->n_down < u->n_nodes;
}

bool job_cancel_has_begun(const CancelUnit *u) {
        switch (u->verb) {
        case ARGOSY__VERB__VERB_START:
        case ARGOSY__VERB__VERB_RESTART:
                return start_has_begun(u);
        case ARGOSY__VERB__VERB_LOAD:
                return u->placed;
        case ARGOSY__VERB__VERB_STOP:
        case ARGOSY__VERB__VERB_UNLOAD:
                return stop_has_begun(u);
        default:
                return true;
        }
}

CancelVerdict job_cancel_judge(const CancelUnit *u, UndoVerdict undo) {
        if (u->verb == ARGOSY__VERB__VERB_NONE)
                return CANCEL_ENDED;
        if (job_cancel_has_begun(u))
                return CANCEL_BEGUN;
        if (undo == UNDO_PUT || undo == UNDO_REMOVE)
                return CANCEL_CALLED_OFF;
        return undo == UNDO_TOUCHED ? CANCEL_TOUCHED : CANCEL_AS_BEFORE;
}
