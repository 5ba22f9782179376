// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Verbs whose one request does different things to its units (apply, undo): what was done to each, and the
// wait for that.

typedef struct Ctl Ctl;
typedef struct Argosy__Request Argosy__Request;

typedef struct MixedVerb {
        const char *name;
        const char *past; // "put back"
} MixedVerb;

// Tells of a unit, in what programs read, that it is not as it is to be; not again if its own end said so.
typedef void (*MixedReport)(const char *unit, const char *node, const char *message, void *report_data);
// What is to be looked at when all units have come to their ends. `report` NULL: for people only. An exit
// code.
typedef int (*MixedCheck)(struct Ctl *ctl, MixedReport report, void *report_data, void *userdata);

// Sends the request, which is answered by a Change whose results have verbs, and waits for each unit unless
// --no-block says otherwise. With --plan what is answered is printed, and nothing waited for. `check` may be
// NULL. Returns an exit code.
int mixed_change_run(Ctl *ctl, const MixedVerb *verb, Argosy__Request *request, MixedCheck check,
                     void *userdata);
