// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Verbs whose one request does different things to its units (apply, undo): what was done to each, and the wait for
// that.

typedef struct Ctl Ctl;
typedef struct Argosy__Request Argosy__Request;

typedef struct MixedVerb {
        const char *name;
        const char *past; // "put back"
} MixedVerb;

// Sends the request, which is answered by a Change whose results have verbs, and waits for each unit unless --no-block says
// otherwise. With --plan what is answered is printed, and nothing waited for. Returns an exit code.
int mixed_change_run(Ctl *ctl, const MixedVerb *verb, Argosy__Request *request);
