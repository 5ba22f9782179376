// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Waiting for what the cluster does, over as many connections and leaders as that takes. The caller's
// functions say what to ask for, what the answers mean, how far it has come, and what to print if the
// waiting ends before it.

#include "ctl.h"
#include "wait-end.h"

enum {
        WAIT_ENOUGH = 1, // of ask(): there is nothing left to wait for
        WAIT_NEWS = 1,   // of take(): the cluster has come further
};

typedef struct WaitKind {
        unsigned flags; // of ctl_call(), beside CALL_PATIENT and CALL_TICK
        bool silent;    // trying again is not warned of

        // Before each time that `request` is sent: changes what is not as it was. 0, WAIT_ENOUGH or negative
        // errno. NULL: it is always the same.
        int (*ask)(Ctl *ctl, Argosy__Request *request, void *userdata);
        // A response, also one with a status, which the loop has noted. 0, or WAIT_NEWS: patience begins
        // anew. A negative errno ends the answers. NULL: only the status counts.
        int (*take)(Ctl *ctl, const Argosy__Response *response, void *userdata);
        // How far it has come, for the line on the terminal. NULL: there is none.
        void (*count)(const void *userdata, ProgressState *ret);
        // What it means that the answers have ended so.
        WaitStep (*judge)(Ctl *ctl, const WaitEnd *end, void *userdata);
        // Ctrl-C: appends what goes on without us, as far as `end` lets us know, behind "argosyctl:
        // detached; ". NULL: nothing is said.
        int (*detach)(const WaitEnd *end, const void *userdata, Buf *text);
        // What is waited for has not come to its end, and is no longer waited for: says why. `end->error` is
        // -ETIMEDOUT after --timeout. Returns the exit code.
        int (*leave)(Ctl *ctl, const WaitEnd *end, void *userdata);
} WaitKind;

// For leave(): what ended the waiting, as a part of a sentence.
const char *wait_loop_reason(const Ctl *ctl, const WaitEnd *end);

// Returns EXIT_OK when it is finished, EXIT_DETACHED after Ctrl-C, or what leave() returned.
int wait_loop_run(Ctl *ctl, const WaitKind *kind, Argosy__Request *request, void *userdata);
