// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Updates and restarts a few units at a time: the verbs update and restart --rolling, and others that are
// done in that way.

#include <stdbool.h>
#include <stddef.h>

#include "argosy.pb-c.h"

typedef struct Ctl Ctl;

// Begins rollouts one after the other and waits for each. Returns an exit code.
int rollouts_run(Ctl *ctl, Argosy__RolloutKind kind, char **args, size_t n);
// Restarts, of these templates and units, those that have an older version of the secret.
int rollouts_restart_for_secret(Ctl *ctl, char *secret, char **args, size_t n);
// Whether an option says that what is asked for is to be done in that way, and how long each unit is to be
// up.
bool rollouts_wanted(const Ctl *ctl);
uint64_t rollouts_health_us(const Ctl *ctl);
// An undo or an apply that is to be done in that way: asks for it, and waits. An exit code.
int rollouts_ask(Ctl *ctl, Argosy__Request *request, const char *verb, const char *past);
