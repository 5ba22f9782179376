// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Jobs are called off.

#include "decision.h"

int decide_cancel(Decision *d, PendingRequest *t); // as decide_change()
