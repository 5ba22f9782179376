// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// What this machine's systemd says of unit files, without being asked: `systemd-analyze verify` in a
// sandbox. PID 1 would load the units, and anybody's. Blocks where it says so; one thread.

#include "unit-findings.h"

typedef struct UnitAnalysis UnitAnalysis;

enum { UNIT_ANALYSIS_FILES_MAX = 512 }; // of one run, which takes 10 ms, and 0.3 ms for each file

typedef struct UnitAnalysisFile {
        // of a unit or a template; that of an instance with the content of its template will do
        const char *name;
        const void *content;
        size_t len;
} UnitAnalysisFile;

// Starts it and returns. `files`, each name once, and what they point to stay the caller's, and there until
// the end. `user`: as units of a user's manager. -ENOENT: there is no systemd-analyze here. -E2BIG: more
// than UNIT_ANALYSIS_FILES_MAX.
int unit_analysis_start(const UnitAnalysisFile *files, size_t n, bool user, UnitAnalysis **ret);
// Waits that long at most. `rets`: one for each file, zeroed by the caller, which ends them also after an
// error.
// -ETIMEDOUT: ask again. -EIO: it was killed, or has not looked. -ENOMEM.
int unit_analysis_wait(UnitAnalysis *a, unsigned timeout_ms, UnitFindings *rets);
UnitAnalysis *unit_analysis_free(UnitAnalysis *a); // ends it, if it goes on
DEFINE_CLEANUP(UnitAnalysis *, unit_analysis_free)
// The version of this machine's systemd, as "systemd 252". Blocks, for half a second at most. A new string.
int unit_analysis_version(char **ret);
