// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Erasing contents that only jobs name: Handler.plan of Forget, see handlers.h.

#include "leader-core.h"

typedef struct BatchBuilder BatchBuilder;

enum {
        FORGET_MAX = 400000,    // contents in one request: what a frame holds, and more than are ever kept
};

int forget_plan(Leader *l, PendingRequest *t, BatchBuilder *b);
