// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// A request that brings its files to units by a rollout, which its job has begun and ends with. See
// decide-rolling.c.

#include "decision.h"

// Begins it: all is in one entry then. The message has neither a kind nor an id yet, and its name lives as
// long as the call. As decide_change().
int decide_rolling_begin(Decision *d, PendingRequest *t, Argosy__Request__Rollout *m);
// It was begun before: its rollout, as long as no other one has taken its place. NULL: out of memory.
Argosy__Response *decide_rolling_response(const Leader *l, const PendingRequest *t);
