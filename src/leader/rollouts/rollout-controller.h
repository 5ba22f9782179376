// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Carries out rollout-policy.h's steps: new content or a restart, a few units at a time.

#include "batch-builder.h"
#include "dependencies.h"
#include "leader-core.h"
#include "scheduler.h"

int rollout_controller_build(Leader *l);
void rollout_controller_retire(Leader *l);
void rollout_controller_sync(Leader *l);
void rollout_controller_on_time(Leader *l);
void rollout_controller_mark_all(Leader *l); // at all of them
// What a step of a rollout has put into the batch, behind the mark. 0 or a negative errno.
typedef int (*RolloutStepped)(const Argosy__RolloutRecord *r, BatchBuilderMark mark, void *userdata);
// `planned`: as of ordering_judge().
int rollout_controller_decide(Leader *l, BatchBuilder *b, Dependencies *planned, Scheduler **scheduler,
                              RolloutStepped stepped, void *userdata);
int rollout_controller_plan(Leader *l, PendingRequest *t, BatchBuilder *b); // returns what Handler.plan does
// The same of a pending request that asks for something else, of which this is a part.
int rollout_controller_plan_as(Leader *l, PendingRequest *t, BatchBuilder *b,
                               const Argosy__Request__Rollout *m);
// What a client that waits for a rollout is told: progress, or the end.
void rollout_wait_judge(Leader *l, PendingRequest *t);
// One word about the rollout that this record is about, and a sentence; NULL, false: there is none.
const char *rollout_word(const Leader *l, const char *name);
bool rollout_phrase(const Leader *l, const char *name, char *ret, size_t size);
