// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// What must not have changed since the revision that a request is bound to (Request.Job.if_revision).

#include "handler-log.h"
#include "pending-requests.h"

// All return STEP_PASSED: nobody has changed it since, or the request is bound to nothing; or PLAN_SETTLED:
// the pending request was told.
int decide_bound_check(const Leader *l, PendingRequest *t, const HandlerLog *log);
// These units of the pending request's request.
int decide_bound_check_units(const Leader *l, PendingRequest *t, const Argosy__Request__Change *change);
// The result of a unit that has changed since, when others of the request are in the log:
// log_chunk_is_left(). 0 or -ENOMEM.
int decide_bound_describe(const Leader *l, const PendingRequest *t, const char *unit,
                          Argosy__Response__UnitResult *ret);
// What has changed by the revision `at` last; what that is called begins the sentence.
int decide_bound_check_revision(PendingRequest *t, const char *what, uint64_t at);
// The newest revision of a unit, or of a template and its instances.
uint64_t decide_bound_group_revision(const Leader *l, const char *name);
