// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Requests about voters. voters.c carries them out, step by step.

#include "batch-builder.h"
#include "leader-core.h"

// Both return what Handler.plan does.
int host_roles_plan(Leader *l, PendingRequest *t, BatchBuilder *b);
int host_roles_plan_voters(Leader *l, PendingRequest *t, BatchBuilder *b);

bool host_votes(const Argosy__HostRecord *r); // or is about to, or to end it
// No other host may vote, so this one stays a voter: others have gone since it was to stop, or are going.
bool host_is_last_to_vote(const Leader *l, const Argosy__HostRecord *record);
// STEP_PASSED: the voter may go. PLAN_SETTLED: not now; the pending request was refused, or waits until they
// all had time to answer. `verb` is what was asked for, `changed` what has been changed by that so far, for
// people.
int host_may_stop_voting(Leader *l, PendingRequest *t, const Argosy__HostRecord *record, const char *verb,
                         const char *changed);
// PLAN_SETTLED: no host, or several, are meant by the word.
int host_refuse_unknown(PendingRequest *t, const char *word, bool ambiguous);
