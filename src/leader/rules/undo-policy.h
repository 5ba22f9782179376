// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// What undoing a job does to one unit. A job changed whether there is a unit, its content, what it is to be,
// or to which set it belongs, and only what it changed is put back. Pure.

#include <stdbool.h>

#include "argosy.pb-c.h"
#include "hash.h"

// A unit as somebody wants it. Without `exists` nothing else counts.
typedef struct UndoState {
        bool exists;
        bool from_template;
        Hash spec;
        Argosy__Target target;
        const char *set; // that it belongs to; NULL or empty: to none
} UndoState;

typedef struct UndoUnit {
        UndoState before, after; // the job
        UndoState now;
} UndoUnit;

typedef enum UndoVerdict {
        UNDO_PUT,     // it is to be as `*ret_wanted`
        UNDO_REMOVE,  // it was not there
        UNDO_DONE,    // what the job changed is as it was before
        UNDO_TOUCHED, // it was changed since the job
        UNDO_RAN,     // the job changed nothing that could be put back: it only started something, or again
        UNDO_CHANGED, // it was changed since the undo was asked for (not from undo_judge())
        UNDO_BACK,    // the undo has put it back, and somebody has changed it again since (the same)
} UndoVerdict;

// Judges a label, a node, a role, a pool or a rule, which are compared as a whole: whether it is now as
// before the job, and as the job left it.
UndoVerdict undo_judge_setting(bool is_before, bool is_after, bool force);

// `force`: also what somebody has changed since.
UndoVerdict undo_judge(const UndoUnit *u, bool force, UndoState *ret_wanted);
