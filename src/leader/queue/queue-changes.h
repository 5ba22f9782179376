// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Requests about the queue: its rules, closing and opening it, releasing jobs that it holds, and what it is.

#include "batch-builder.h"
#include "leader-core.h"

enum { RELEASE_MAX = 1000 }; // jobs in one request

// As Handler.plan and .answer_to.
int queue_plan_change(Leader *l, PendingRequest *t, BatchBuilder *b);
int queue_plan_release(Leader *l, PendingRequest *t, BatchBuilder *b);
Argosy__Response *queue_answer_list(Leader *l, const Argosy__Request *request);
// As Handler.refuse.
Argosy__Response *queue_refuse_release(const Argosy__Request *request);
Argosy__Response *queue_refuse_cancel(const Argosy__Request *request);
// For a held job: NULL, or why this author may not release or cancel it. It takes the rights of the same
// request.
Argosy__Response *queue_forbid_held(const Leader *l, const Argosy__Author *author, uint64_t number);
