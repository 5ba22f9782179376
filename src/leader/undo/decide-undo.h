// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// A job that puts back what another one has changed.

#include "decision.h"

int decide_undo(Decision *d, PendingRequest *t); // as decide_change()
