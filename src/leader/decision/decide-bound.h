// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// What must not have changed since the revision that a request is bound to (Request.Job.if_revision).

#include "handler-log.h"
#include "tickets.h"

// All return STEP_PASSED: nobody has changed it since, or the request is bound to nothing; or PLAN_SETTLED:
// the ticket was told.
int decide_bound_check(const Leader *l, Ticket *t, const HandlerLog *log);
// These units of the ticket's request.
int decide_bound_check_units(const Leader *l, Ticket *t, const Argosy__Request__Change *change);
// The result of a unit that has changed since, when others of the request are in the log:
// log_parts_is_left(). 0 or -ENOMEM.
int decide_bound_describe(const Leader *l, const Ticket *t, const char *unit,
                          Argosy__Response__UnitResult *ret);
// What has changed by the revision `at` last; what that is called begins the sentence.
int decide_bound_check_revision(Ticket *t, const char *what, uint64_t at);
// The newest revision of a unit, or of a template and its instances.
uint64_t decide_bound_group_revision(const Leader *l, const char *name);
