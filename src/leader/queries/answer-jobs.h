// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// What was asked for and the log has: Handler.answer of ListJobs, see handlers.h.

#include "leader-core.h"

enum {
        JOBS_LOOKED = 1000,     // at in one answer, at some 4 us each, and of their units ten times as many
        JOB_UNITS_LISTED = 256, // of one job in one answer, at some 10 us each
};

Argosy__Response *answer_jobs(Leader *l, const Argosy__Request *request);
