// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// The units of a set are made what a folder says.

#include "decision.h"

int decide_apply(Decision *d, PendingRequest *t); // as decide_change()
// Before it waits for its turn: NULL, or what is wrong with it.
Argosy__Response *decide_apply_refuse(const Argosy__Request *request);
