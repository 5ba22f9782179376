// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What the end of some answers means for those that are still waited for. A daemon that is restarted and a
// cluster between two leaders are waited out; a refusal, the end of our own patience and Ctrl-C are final.

#include <errno.h>

#include "wait-end.h"

WaitStep wait_end_step(const WaitEnd *end) {
        if (end->error < 0)
                return end->lost ? WAIT_REDIAL : WAIT_GIVE_UP;
        return end->no_leader || end->status == EAGAIN || end->status == ETIMEDOUT ? WAIT_REDIAL : WAIT_GIVE_UP;
}

bool wait_end_is_connected(const WaitEnd *end) {
        return !end->lost && !end->no_leader;
}

bool wait_end_is_open(const WaitEnd *end) {
        return end->heard && wait_end_is_connected(end);
}
