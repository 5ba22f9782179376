// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// How the answers to one request of a wait have ended, and what follows from that. Pure.

#include <stdbool.h>

enum { WAIT_MESSAGE_MAX = 512 };

typedef struct WaitEnd {
        int error;      // negative errno of the client or a callback; 0: the last response came
        bool lost;      // the error means that the daemon went away
        int status;     // of a response: 0 or positive errno
        bool no_leader; // and it was for want of a leader
        bool heard;     // the cluster has answered the request, since it was sent the last time
        char message[WAIT_MESSAGE_MAX]; // for people, if status is not 0
} WaitEnd;

typedef enum WaitStep {
        WAIT_FINISHED,
        WAIT_REDIAL,    // ask again, but not for longer than a lost daemon is given
        WAIT_ASK_AGAIN, // ask again, for as long as it takes
        WAIT_GIVE_UP,
} WaitStep;

// What to do about waits that are still open: a daemon or a leader that went away comes back.
WaitStep wait_end_step(const WaitEnd *end);
// Nothing stands between us and the cluster: what it has not said to have ended, has not. Else nobody knows
// here.
bool wait_end_is_connected(const WaitEnd *end);
// The same, and the cluster has said since that there is something to wait for.
bool wait_end_is_open(const WaitEnd *end);
