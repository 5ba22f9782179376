// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// What calling off a job that is running does to one unit of it. Pure.
//
// Called off is what has not begun: the unit is put back to what the job found. What has begun goes on, for
// half of a start is no state that anybody has asked for.

#include <stdbool.h>
#include <stddef.h>

#include "argosy.pb-c.h"
#include "undo-policy.h"

// A unit of which the job still waits for something.
typedef struct CancelUnit {
        Argosy__Verb verb;     // what it waits for; VERB_NONE: for nothing, the unit has ended
        bool placed;           // it has a node, or runs on all
        bool heard;            // of all nodes on which it is to be it is known what they were told, and do
        size_t n_nodes;        // on which something is known of it, of those on which it is to be
        size_t n_waiting;      // of these, where nothing of it runs and its start has not gone out
        size_t n_stop_waiting; // where it runs and its stop has not gone out
        size_t n_down;         // where it does not run
} CancelUnit;

typedef enum CancelVerdict {
        CANCEL_CALLED_OFF, // it is put back
        CANCEL_ENDED,      // the job does not wait for it any more
        CANCEL_BEGUN,      // it goes on
        CANCEL_AS_BEFORE,  // it was to be so before the job, too
        CANCEL_TOUCHED,    // it was changed since
} CancelVerdict;

bool job_cancel_has_begun(const CancelUnit *u);
// `undo`: what would become of it if the job was undone, without force.
CancelVerdict job_cancel_judge(const CancelUnit *u, UndoVerdict undo);
