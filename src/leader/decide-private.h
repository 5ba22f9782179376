// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Shared by decide.c, decide-moves.c and decide-changes.c.

#include "dependencies.h"
#include "draft.h"
#include "leader-core.h"
#include "placer.h"
#include "tickets.h"

typedef struct Decision {
        Leader *leader;
        Draft batch;
        Placer *placer;       // made when first needed
        Dependencies planned; // of units that the batch puts
} Decision;

void decision_need_placer(Decision *d);

// decide-moves.c. 0 or -ENOMEM.
int decide_moves(Decision *d);    // Leader.moving: another node, if they still have to go
int decide_homeless(Decision *d); // units that are pending, if there may be room for somebody

// decide-changes.c
// A Change. 1: in the batch; 0: answered; -EBUSY: next batch.
int decide_change(Decision *d, Ticket *t);
