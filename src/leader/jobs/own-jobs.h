// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// What the cluster does by itself becomes a record for people (OwnCause), beside what it does in the log.

#include "decision.h"

// BatchBuilder.moved, while the leader decides of its own accord. 0 or -ENOMEM.
int own_jobs_on_move(const Argosy__UnitRecord *next, unsigned bump, void *leader);
// The last word of an entry; `goes_anyhow`: it has something else. 0 or a negative errno, and nothing was
// put.
int own_jobs_decide(Decision *d, bool goes_anyhow);
// What became of that; also when the entry was not taken.
void own_jobs_landed(Leader *l, bool committed);
// We lead from now on; not any more.
void own_jobs_begin(Leader *l);
void own_jobs_retire(Leader *l);
