// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Carries out rollout.h's steps: new content or a restart, a few units at a time.

#include "batch-builder.h"
#include "leader-core.h"
#include "scheduler.h"

int rollouts_build(Leader *l);
void rollouts_clear(Leader *l);
void rollouts_sync(Leader *l);
void rollouts_on_time(Leader *l);
void rollouts_look_again(Leader *l); // at all of them
int rollouts_decide(Leader *l, BatchBuilder *b, Scheduler **scheduler);
int rollouts_plan(Leader *l, Ticket *t, BatchBuilder *b); // returns what Handler.plan does
int rollout_wait_start(Leader *l, Ticket *t);
void rollouts_tell(Leader *l);
// One word about the rollout that this record is about, and a sentence; NULL, false: there is none.
const char *rollout_word(const Leader *l, const char *name);
bool rollout_phrase(const Leader *l, const char *name, char *ret, size_t size);
