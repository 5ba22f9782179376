// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Units that start after each other, on whatever node.

#include "batch-builder.h"
#include "dependencies.h"
#include "leader-core.h"
#include "tables.h"
#include "unit-file.h"

// Follows the record. 0 or -ENOMEM.
int ordering_on_unit(Leader *l, Unit *u, const UnitEntry *e, const UnitOptions *options);
void ordering_mark(Leader *l, Unit *u); // something about it has changed
// Something of the unit was seen: a container that waited for its new node's image may go there now.
void ordering_release_move(Leader *l, Unit *u);
// The unit, with its record, is placed: what runs beside it and has no node may have lost its network there.
void ordering_release_beside(Leader *l, const Unit *u, const UnitEntry *e);
// Its host holds the unit after all: an order that needed not go out while its start waited is one to be
// down now.
void ordering_on_first_report(Leader *l, UnitOnNode *s);
void ordering_drain(Leader *l);         // marks the orders that may go out now, or are to be taken back
void ordering_retire(Leader *l);        // a term is over: nothing is due any more
// Notes that. True: nothing is to be sent; else the order is to be adjusted.
bool ordering_hold(Leader *l, UnitOnNode *s, const UnitEntry *e, bool wanted);
void ordering_adjust(const UnitOnNode *s, Argosy__UnitOrder *o);
// Whether what is held back is a start that waits for units which it replaces.
bool ordering_waits_for_replaced(const Leader *l, const UnitOnNode *s);
// Whether an order that goes out nevertheless is one to stay as it is; whether it ends what runs.
bool ordering_keeps(const UnitOnNode *s);
bool ordering_ends(const UnitOnNode *s);
// Whether a unit that the log has could have these options: -EINVAL and *ret_why if its order would go in a
// cycle.
int ordering_check(const Leader *l, const char *name, const char *path, const UnitOptions *options,
                   char **ret_why);
// Whether a unit may have that content beside the order that others have by now, or get by the entry in the
// making: `planned` has what is said by the units of which the batch has an order. 0; -EINVAL and *ret_why,
// which is the caller's (NULL: not asked for); -ENOMEM. What another version has accepted is not refused.
int ordering_judge(const Leader *l, Dependencies *planned, BatchBuilder *b, const char *name,
                   SpecEntry *spec, char **ret_why) _warn_unused_;
// The same; 0: the batch has its order from now on.
int ordering_take(const Leader *l, Dependencies *planned, BatchBuilder *b, const char *name, SpecEntry *spec,
                  char **ret_why) _warn_unused_;
Standing ordering_standing(const Leader *l, const char *name);
// Whether the unit, were it to start anew now, would not have to wait for its dependencies.
bool ordering_lets_start(Leader *l, const char *name);
// The stop of a unit on a node.
typedef struct OrderingStop {
        const Leader *leader;
        bool runs_elsewhere; // so those who are bound to the unit go on
} OrderingStop;
OrderingStop ordering_stop(const Leader *l, const UnitOnNode *s);
// Whether the stop has to wait for this peer of its unit; `userdata` is the OrderingStop.
bool ordering_ends_first(const DependencyPeer *peer, void *userdata);
// ordering-why.c: what the unit on the node's order waits for; false: for nothing.
bool ordering_why(const Leader *l, const UnitOnNode *s, char *ret, size_t size);
// The same, in `buffer`, if it is a start that waits for what is not on its way; else NULL.
const char *ordering_blocked(const Leader *l, const UnitOnNode *s, char *buffer, size_t size);
// Whether the unit, were it to start anew with these options (NULL: its own), would wait for what is neither
// on its way nor changed by the entry in the making; `ret` says for what.
bool ordering_would_block(const Leader *l, const BatchBuilder *b, const char *name,
                          const UnitOptions *options, char *ret, size_t size);
