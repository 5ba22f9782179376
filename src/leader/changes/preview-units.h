// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// What a Change would do, in words, instead of doing it. Pure: records as they would be are compared with
// the records as they are.

#include "cluster-state.h"
#include "disruption-budget.h"

// Why a unit would be where it is not now.
typedef enum PreviewReason {
        PREVIEW_ASKED,     // the change is about it, or brings it along
        PREVIEW_REPLACED,  // `by` comes to its node, and has Replaces=
        PREVIEW_PREEMPTED, // `by` has a higher priority, and needs its room
        PREVIEW_FOLLOWS,   // it is to be with `by`
        PREVIEW_TURN,      // there is room for it
} PreviewReason;

typedef struct PreviewUnit {
        const Argosy__UnitRecord *record; // as it would be but for its node
        uint32_t node;                    // where it would be in the end; 0: nowhere, or it is global
        PreviewReason reason;
        const char *by; // NULL: nobody
        bool brought;   // the change does not touch it: it only follows
        bool held;      // it stays where it is: `by` replaces it, and too many of its group are down
        char *note;     // besides; NULL: nothing. Freed with the unit
        char *networks; // files of networks of which its content has another one; NULL: none. Likewise
        bool along;     // the change does not name it: it shares these with one that it names
        const char *waits_for; // such a unit on its node, which it replaces; NULL: none
        Argosy__FileChange file_change; // it runs and stays where it is, and gets nothing new but files
        bool refused;    // by a node to which it came: the name is somebody else's there
        bool by_refused; // `by` was refused where it made this one leave
        // of one that was refused and has no node: why the others do not take it either
        Argosy__Refusal **refusals;
        size_t n_refusals;
        // While it is planned (arrivals.c): the next one that is noted on its node, or came there and
        // replaces others.
        struct PreviewUnit *next_there, *next_replacer;
        uint32_t left;     // likewise: where it was before; 0: nowhere
        bool awaits;       // likewise: those whom it replaces are to leave before its host hears of it
        BudgetShare share; // likewise: what of it is counted in its group's budget
} PreviewUnit;

// `planned` is change_plan()'s response. Gives every unit that has no error a message, and a node if it
// would be on one; appends units that it does not name, and takes their refusals over. `node_name` may
// return NULL. 0 or -ENOMEM.
int preview_units_describe(const ClusterState *state, PreviewUnit *const *units, size_t n,
                     Argosy__Response *planned, const char *(*node_name)(uint32_t node, void *userdata),
                     void *userdata);
