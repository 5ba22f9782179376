// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Requests about secrets, and older versions that nobody has any more.

#include "batch-builder.h"
#include "leader-core.h"

// As Handler.may_begin: the first secret of a cluster waits until most voters have its key.
bool secrets_may_set(Leader *l, const PendingRequest *t);
int secrets_plan_set(Leader *l, PendingRequest *t, BatchBuilder *b); // as Handler.plan
int secrets_plan_delete(Leader *l, PendingRequest *t, BatchBuilder *b);
Argosy__Response *secrets_refuse_set(const Argosy__Request *request); // as Handler.refuse
Argosy__Response *secrets_answer_list(Leader *l, const Argosy__Request *request);
// Drops versions that no unit has and that are not the newest. 0 or negative errno.
int secrets_decide(Leader *l, BatchBuilder *b);
