// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// What apply and export both ask first: which set a folder is about, and how the leader's units differ from
// it.

#include <stdbool.h>

#include "argosy.pb-c.h"

typedef struct Ctl Ctl;

// --set, or what was `said` in the folder (may be NULL), or else the folder's own name. *ret is the
// caller's. Prints what is wrong and returns an exit code.
int apply_plan_name_set(Ctl *ctl, const char *dir, const char *said, char **ret);
// What `m` would change. After EXIT_OK *ret has an apply_plan, and is the caller's (message_free()).
int apply_plan_ask(Ctl *ctl, Argosy__Request__Apply *m, Argosy__Response **ret);
// Whether the unit is to be another than it is, by the log: a start of it as it is changes nothing.
bool apply_row_changes(const Argosy__Response__ApplyRow *row);
// Whether something would be done; whether units are not as they are to be.
bool apply_plan_has_work(const Argosy__Response__ApplyPlan *plan);
bool apply_plan_has_wrong(const Argosy__Response__ApplyPlan *plan);
// The exit status of who only asks. EXIT_RESTARTS only if all that would be done is to start what has
// failed: the last apply left no failed unit that it did not start, so it has failed since.
int apply_plan_code(const Argosy__Response__ApplyPlan *plan);
// Names, as a warning, the units that are not as they are to be. 0 or -ENOMEM.
int apply_plan_say_wrong(Ctl *ctl, const Argosy__Response__ApplyPlan *plan);
// What ApplyRow.state means, as the end of a sentence about the unit; the word itself if this version does
// not know it.
const char *apply_state_phrase(const char *state);
