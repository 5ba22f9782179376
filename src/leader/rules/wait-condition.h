// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// When has a unit reached what was asked for? Pure.
//
// A waiting client names a verb and the revision that its change got. Agents report, per unit, the newest
// revision that they have finished acting on, so "is it done?" is a comparison that any leader can make at
// any time, also one elected a moment ago. A unit that moves meanwhile gets a greater revision on its new
// node: the wait follows it there by itself.

#include <errno.h>
#include <stdbool.h>

#include "argosy.pb-c.h"

// One node that has, or is to have, the unit.
typedef struct WaitNode {
        const char *node; // its name, for messages
        bool wanted;      // the record places it here; else it is on its way out
        bool lost;        // the host is lost, or cannot use its manager: nobody knows, and nobody waits
        bool fenced;      // and a guard will have ended by a known time what may run there
        bool silent;      // and what may run there nobody but that host can tell
        bool held;        // what it depends on keeps its start back
        bool blocked;     // and is not on its way
        bool refused;     // its name belongs to somebody else there; it goes elsewhere
        bool seen;        // what it was like when it was seen last is below
        bool reported;    // and is known now
        bool unsettled;   // a one-shot has ended there, and the log does not say yet how
        const Argosy__Outcome *outcome; // as the log has it; NULL: it has not ended for good
        uint64_t revision;
        Argosy__LoadState load;
        Argosy__ActiveState active;
        const char *sub, *result, *error;
        Argosy__Probation probation; // of its start; PASSED also if its host has said so of all until then
        bool skipped; // systemd skipped its start, since a condition is not met
        bool unneeded; // systemd stopped it, since no unit needs it
} WaitNode;

typedef struct WaitView {
        const Argosy__UnitRecord *record; // NULL: no such unit (any more)
        const WaitNode *nodes;
        size_t n_nodes;
        bool stranded;      // placed on a lost host, and no other node takes it
        bool unscheduled;   // it has no node or a lost one, and the next batch may find it another
        size_t n_refused;   // of a unit that runs on all nodes: those that refuse its name
        size_t n_gave_way;  // and those where it gives way to another one
        bool hosts_unattached; // some host within its lease has not yet told this leader what it holds
        // there was such a unit: this wait has seen it, or the log says that it was destroyed since
        bool was_known;
} WaitView;

typedef struct WaitVerdict {
        bool done;
        int status;          // 0 or positive errno
        const char *message; // "" or a reason; static or from the view
        const char *node;    // the node that the reason is about; NULL: none
        bool blocked;        // it waits for another unit: the caller knows for which
        bool unplaced;       // no node takes it at the moment: the caller knows why
        bool left_out;       // nodes do not have it that might: the caller knows which, and why
        bool skipped;        // that it runs was not wanted by its own conditions: the caller knows which
        bool silent;         // it may still run on nodes that are not heard: the caller knows on which
        bool reverted_along;  // what follows was another instance's start
        const char *reverted; // what came of the start that was waited for: it has its former content again,
                              // and how that does is
                              // `message`, "" if it is well; NULL: it has the content that it was given
} WaitVerdict;

// What the status of a `silent` verdict is.
#define WAIT_MAY_RUN EHOSTDOWN

// `revision` is the one that the change got.
WaitVerdict wait_condition_judge(Argosy__Verb verb, uint64_t revision, const WaitView *v);

// The same for a wait for a state, whatever brings it about: nothing is hopeless but a unit that does not
// exist.
WaitVerdict wait_condition_judge_goal(Argosy__UnitGoal goal, const WaitView *v);
