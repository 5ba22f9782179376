// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// What a helper that keeps a unit directory answers: see manager-helper.h. It is told first what is ours
// there (HelperRequest.adopt), since it remembers nothing from one life to the next.

#include <sys/types.h>

#include "argosy.pb-c.h"
#include "unit-dir.h"

typedef struct HelperFiles {      // zero but for the first four
        const char *base, *below; // the directory is BASE/systemd/BELOW
        uid_t owner;              // whose it must be
        const char *const *search_dirs;

        UnitDir *dir; // NULL: not opened yet
        bool made;    // it is there; else `dir` looks for names elsewhere only
        // of the last answer
        size_t n;
        Argosy__HelperResult *results, **pointers;
        char why[256];
} HelperFiles;

// Fills in `reply`, which points to what is in `f` until the next call; also its error. Negative errno: it
// is the last answer, since the directory cannot be opened, or -ENOMEM.
int helper_files_answer(const Argosy__HelperRequest *q, HelperFiles *f, Argosy__HelperReply *reply);
void helper_files_done(HelperFiles *f);
