// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Units that may have to go because of another one, in the order in which a turn of the leader would look at
// them.

#include "binary-heap.h"
#include "preview-units.h"

typedef struct PlanDue { // texts are borrowed
        const char *name;
        PreviewReason reason;
        const char *by;
} PlanDue;

typedef struct PlanDues { // zero-initialised: there are none
        BinaryHeap heap;
        size_t n_added;
} PlanDues;

void plan_dues_done(PlanDues *d);
int plan_dues_add(PlanDues *d, const PlanDue *due); // a unit may be due several times. 0 or -ENOMEM
// The first by name; of one unit the one that was added first. False: there is none.
bool plan_dues_take(PlanDues *d, PlanDue *ret);
