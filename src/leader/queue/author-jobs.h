// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// How many jobs of each author are open: held back, or running. Kept by who leads, of what the log says.

#include "leader-core.h"

typedef struct AuthorJobs AuthorJobs;

// Counts one more job of the author, by user name or number; author_jobs_drop() takes the same pointer.
AuthorJobs *author_jobs_add(Leader *l, const Argosy__Author *author) _warn_unused_;
void author_jobs_drop(Leader *l, AuthorJobs *a);
// One more, of the entry that is being made; until author_jobs_settle(): the log has it, and it was added,
// or it has not.
void author_jobs_admit(Leader *l, const Argosy__Author *author);
void author_jobs_settle(Leader *l);
size_t author_jobs_open(const Leader *l, const Argosy__Author *author);
void author_jobs_retire(Leader *l);
