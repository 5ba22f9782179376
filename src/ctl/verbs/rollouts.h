// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <stddef.h>

#include "argosy.pb-c.h"

typedef struct Ctl Ctl;

// Begins rollouts one after the other and waits for each. Returns an exit code.
int rollouts_run(Ctl *ctl, Argosy__RolloutKind kind, char **args, size_t n);
// An undo that puts files back in the same way: asks for it, and waits. An exit code.
int rollouts_undo(Ctl *ctl, Argosy__Request *request);
