// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// What becomes of one unit when a folder is the truth about its set, and when that goes too far. Pure.

#include "apply-seen.h"
#include "argosy.pb-c.h"
#include "hash.h"

typedef struct ApplyUnit {
        bool named;   // by the folder: it is to have this content, and to be this
        bool brought; // not by itself: others activate it, or are to be loaded with it. What belongs to
                      // others stays theirs
        bool from_template;
        Hash spec;
        Argosy__Target target;
        struct {
                bool exists;
                Hash spec;
                Argosy__Target target;
                const char *set; // empty: it belongs to none
                ApplySeen seen;
        } now;
} ApplyUnit;

typedef struct ApplyOptions {
        const char *set;
        bool prune, force, adopt;
} ApplyOptions;

typedef enum ApplyVerdict {
        APPLY_SAME, // it is as it is to be
        APPLY_MAKE,
        APPLY_START,  // the record says all that the folder says, and the unit is to be started again
        APPLY_CHANGE, // its content, or what it is to be; a unit that is adopted may need no more than that
        APPLY_REMOVE,
        APPLY_LEAVE,  // not named by the folder, and without --prune
        APPLY_OTHERS, // it belongs to none, or to another set
} ApplyVerdict;

// Whether it is to be launched as it is, is not up, and starting it again may help.
bool apply_starts(const ApplyUnit *u);
ApplyVerdict apply_judge(const ApplyUnit *u, const ApplyOptions *options);

typedef struct ApplyCounts {
        size_t named;
        size_t of_set; // units that belong to it now
        size_t removed, others;
} ApplyCounts;

typedef enum ApplyRefusal {
        APPLY_MAY,
        APPLY_IS_EMPTY,    // nothing is named
        APPLY_PRUNES_MOST, // more than half of the set would go
        APPLY_TAKES_OTHERS,
} ApplyRefusal;

ApplyRefusal apply_refusal(const ApplyCounts *counts, const ApplyOptions *options);
