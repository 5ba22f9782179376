// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Which units would be better off on another node, now that their owner asks. Pure: the Placement
// (placement.h) is what is looked at, and nothing about it has changed afterwards.
//
// Better is, in this order:
//      match    a node whose labels are what the unit asks for, if those of its own are not (any more)
//      spread   fewer of its group in its domain (SpreadOver=, PreferSpreadOver=): moved from a domain with
//               at least two more of them than the other one
//      even     a lower load there, together with the weights of the preferences that are not matched there
//               (what placement.h chooses by): moved only if that makes it lower by more than a sixteenth of
//               what the host has (of what is reserved only if the unit reserves something), and by one unit
//               at least, so that small differences move nobody
// Every single move lowers, for the cluster as a whole, the number of units that are not matched, and if
// that stays the same
//      the sum of squares of the groups' counts in their domains, and if that, too,
//      the sum of (load of a host)^2 + 2 * (load of the unit * weights of its unmatched preferences)
// so a plan never goes in cycles, and what a plan would move again is not moved twice but straight to where
// it ends. A unit whose return would make nothing worse is not moved at all.
//
// Never moved: units that the caller exempts, units on nodes that are not open, units that wait or must go
// anyway (that is a round's business), units tied to others (placement_unit_follow()), and those with
// PLACEMENT_BEST_FIT, which are to be uneven, unless their node does not match.
//
// Equal units are taken in the order of their handles. Cost: a glance at every unit; a search for a node
// only for units in a domain that is not the emptiest, on a node that does not match, with an unmatched
// preference, or on a host whose load is noticeably above the lowest.

#include <stdatomic.h>

#include "placement.h"

typedef enum RebalanceWhy {
        REBALANCE_MISMATCH,   // the labels here are not what it asks for
        REBALANCE_SPREAD,     // here, there: units of its group in both domains, before
        REBALANCE_PREFERENCE, // here, there: weights of unmatched preferences
        REBALANCE_UNITS,      // here, there: units on both hosts
        REBALANCE_SHARE,      // here, there: per cent of the scarcest resource that is reserved
} RebalanceWhy;

typedef struct RebalanceMove {
        uint32_t unit, from, to; // nodes
        RebalanceWhy why;
        uint32_t here, there; // before the move, moves before it counted
} RebalanceMove;

typedef struct RebalanceRules {
        size_t max_moves;
        bool (*may_move)(uint32_t unit, void *userdata); // asked once for each unit at most; NULL: all may
        void *userdata;
        // Set by whatever thread when nobody wants the plan any more: it is over soon, with what it has.
        // NULL: to the end.
        const atomic_bool *stopped;
} RebalanceRules;

// *ret: the caller's to free; in an order in which they can be made. *ret_more: max_moves ended the search.
void rebalance_plan(Placement *p, const RebalanceRules *rules, RebalanceMove **ret, size_t *ret_n,
                    bool *ret_more);

// What is left of a plan when the Placement has changed since: the moves that are still possible and better,
// one after the other, with units that are where the plan has them. Nothing about the Placement has changed
// afterwards. Cost: the moves.
void rebalance_revise(Placement *p, RebalanceMove *moves, size_t *n);

// Carries one out if the node takes the unit now and it is still better there; then it counts there. False:
// it is not, and nothing has changed.
bool rebalance_carry_out(Placement *p, uint32_t unit, uint32_t to) _warn_unused_;

// "its group has 4 units in its domain here, 2 there"; NULL: no memory.
char *rebalance_why_text(const RebalanceMove *m);
