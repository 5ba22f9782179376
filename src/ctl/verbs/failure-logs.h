// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Why a unit has failed, by its journal: shown below the errors of a wait.

#include <stddef.h>
#include <stdint.h>

typedef struct Ctl Ctl;

enum { FAILURE_LOGS_UNITS = 3 }; // of so many it is shown

// Zero-initialised but for `since_us`.
typedef struct FailureLogs {
        uint64_t since_us; // boot time at which the verb began: what units wrote before is not about it
        char *names[FAILURE_LOGS_UNITS];
        size_t n;
} FailureLogs;

// The unit has failed on a node. Counts if there is room.
void failure_logs_note(FailureLogs *w, const char *name);
// Prints lines of the noted units' logs on err, if their nodes tell them soon.
void failure_logs_print(Ctl *ctl, const FailureLogs *w);
void failure_logs_done(FailureLogs *w);
