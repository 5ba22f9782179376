// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Whether units may have the content that a rollout has for them next, as to the order that others have got
// since it began, and as to what they need to start with it.

#include "batch-builder.h"
#include "dependencies.h"
#include "leader-core.h"

// Why a unit does not get the content of a rollout.
enum {
        ROLLOUT_NO_NODE = 1, // takes it with that content, now
        ROLLOUT_IN_CYCLE,    // the order would go with that content
        ROLLOUT_BLOCKED,     // its start would be, for what it needs
};

// Of one unit that gets this content by the entry. 0: the entry has its order; ROLLOUT_IN_CYCLE: it goes in
// a cycle, and `ret` has the words; or a negative errno. `planned`: as of ordering_judge().
int rollout_order_take(const Leader *l, Dependencies *planned, BatchBuilder *b, const char *name,
                       SpecEntry *spec, char *ret, size_t size) _warn_unused_;
// Of a global unit, whose record gets what its nodes have: by this entry, or some day, which the entry does
// not note. 0 also of others, and on the way back: the record has still that content.
int rollout_order_settle(const Leader *l, Dependencies *planned, BatchBuilder *b,
                         const Argosy__RolloutRecord *r, char *ret, size_t size) _warn_unused_;
int rollout_order_judge(const Leader *l, Dependencies *planned, BatchBuilder *b,
                        const Argosy__RolloutRecord *r, char *ret, size_t size) _warn_unused_;
// Whether the unit, were it to start anew with that content (NULL: its own), would wait for what is not on
// its way: ROLLOUT_BLOCKED, and `ret` says for what. 0: it would not; or -ENOMEM.
int rollout_order_blocks(const Leader *l, const BatchBuilder *b, const char *name, SpecEntry *spec,
                         char *ret, size_t size) _warn_unused_;
