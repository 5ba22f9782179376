// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// What apply and export both ask first: which set a folder is about, and how the leader's units differ from it.

#include "argosy.pb-c.h"

typedef struct Ctl Ctl;

// --set, or what was `said` in the folder (may be NULL), or else the folder's own name. *ret is the caller's. Prints what is
// wrong and returns an exit code.
int apply_plan_name_set(Ctl *ctl, const char *dir, const char *said, char **ret);
// What `m` would change. After EXIT_OK *ret has an apply_plan, and is the caller's (message_free()).
int apply_plan_ask(Ctl *ctl, Argosy__Request__Apply *m, Argosy__Response **ret);
