// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What the end of an answer means for a wait: dial again or give up (wait-end.h).
// A connection that was lost, and a cluster without a leader, are waited out: WAIT_REDIAL.
// A refusal, the end of --timeout and Ctrl-C are final: WAIT_GIVE_UP. Pure functions; nothing fails.

#include <errno.h>

#include "wait-end.h"

WaitStep wait_end_step(const WaitEnd *end) {
        if (end->error < 0)
                return end->lost ? WAIT_REDIAL : WAIT_GIVE_UP;
        return end->no_leader || end->status == EAGAIN || end->status == ETIMEDOUT ? WAIT_REDIAL
                                                                                   : WAIT_GIVE_UP;
}

bool wait_end_is_connected(const WaitEnd *end) {
        return !end->lost && !end->no_leader;
}

bool wait_end_is_open(const WaitEnd *end) {
        return end->heard && wait_end_is_connected(end);
}
