// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Requests about rights: who may do what from now on, and who may now.

#include "batch-builder.h"
#include "leader-core.h"

int access_plan_change(Leader *l, PendingRequest *t, BatchBuilder *b); // as Handler.plan
Argosy__Response *access_answer_list(Leader *l,
                                     const Argosy__Request *request); // all of them: authorization_filter()
