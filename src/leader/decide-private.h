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

// Whether the unit, in Leader.moving, still has to go elsewhere; and where it would go now, which counts in the
// Placement and changes nothing else. 0 or -ENOMEM.
bool move_is_due(Decision *d, const Unit *u, const UnitEntry *e);
typedef struct MoveChoice {
        enum {
                MOVE_NOT,   // its options cannot be read
                MOVE_LATER, // not before `at_us`
                MOVE_WAITS, // it stays where it is, or nowhere, until there is something for it
                MOVE_GOES,  // to `node`; 0: it leaves its node without having another one
        } verdict;
        uint64_t at_us;
        uint32_t node;
} MoveChoice;
int move_choose(Decision *d, Unit *u, UnitEntry *e, MoveChoice *ret);

// decide-changes.c
// Into the batch; returns what change_plan() does.
int decision_plan_change(Decision *d, const Argosy__Request__Change *change, Argosy__Response **ret);
// A Change. 1: in the batch; 0: answered; -EBUSY: next batch.
int decide_change(Decision *d, Ticket *t);

// decide-plan.c
// A Change that is only asked about: answered, or -EBUSY: in the next batch; -ENOMEM.
int decide_dry_run(Decision *d, Ticket *t);
