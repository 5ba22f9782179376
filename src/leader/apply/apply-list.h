// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// The units that an apply is about, and what becomes of each.

#include "apply-look.h"
#include "apply-policy.h"
#include "decide-aims.h"
#include "rollout-group.h"

typedef struct ApplyItem {
        AimItem to;
        const Argosy__Request__Apply__Unit *wanted; // NULL: it is not named
        ApplyUnit unit;
        // the content of `unit` as the folder has it, without the digest of its image (image-pinning.h)
        Hash source;
        ApplySight sight;
        ApplyVerdict verdict;
        bool lost; // its content is not there, and did not come either
        bool changed; // it was changed since the request: it is left as it is
        bool looked;  // for that
        bool judged;  // in this turn
        const UnitEntry *entry; // as it was judged in this turn; NULL: there is none
} ApplyItem;

typedef struct ApplyList {
        AimList aims;
        const Argosy__Request__Apply *m;
        ApplyOptions options;
        ApplyItem *items;
        size_t from, n_listed; // the place of the first of these, and how many there are yet
        ApplyCounts counts;
        size_t n_left;
        Leader *leader;
        RolloutGroup rolls;     // what gets its files a few at a time
        Argosy__JobRecord *job; // of what is in the log already; NULL: nothing is
        Map done;               // names of its units, if the request may be about one of them once more
        PendingRequest *pending;
} ApplyList;

void apply_list_done(ApplyList *list);
void apply_list_clear(ApplyList *list); // has no items; what it is made of, it still has
const ApplyItem *apply_list_item(const AimItem *item);
// AimList.item, of units that go into an entry in this turn: those that were not judged in it are.
const AimItem *apply_list_at(const AimList *list, size_t i);

// All that it is about: for the plan, and to see whether it is still that. 0, -EEXIST: a unit is named
// twice, -ENOMEM.
int apply_list_fill_all(ApplyList *list);
// What the request says is to be done: the same units in the same order each time. The same.
int apply_list_fill_asked(ApplyList *list);
// The same, when it was seen that none is named twice: those from one place on, in their order, as
// apply_list_at() comes to them.
int apply_list_fill_rest(ApplyList *list, size_t from);
// As they are now.
void apply_list_judge(ApplyList *list);
// A hash of what the folder says and of how the units are, but for what became of them by themselves. 0 or
// -ENOMEM.
int apply_list_fingerprint(const ApplyList *list, uint64_t *ret);
