// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// What is said of a Change that the log has already.

#include "decision.h"

// Answers a repeated request by the job of the pending request. 0, or what change_plan() returns; *ret is
// NULL if there is no time for it in this turn.
int decide_repeat(Decision *d, const PendingRequest *t, const Argosy__Request__Change *change,
                  Argosy__Response **ret);
