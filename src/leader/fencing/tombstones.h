// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// What the log knows of nodes where something may still run that no record names.

#include "batch-builder.h"
#include "leader-core.h"
#include "previous-nodes.h"

// What a host's next record drives out of its nodes, in the same entry as that.
int tombstones_chunk_with_host(Leader *l, BatchBuilder *b, const Argosy__HostRecord *next);
// The same of the pool of that name; NULL: it is removed.
int tombstones_chunk_with_pool(Leader *l, BatchBuilder *b, const char *name, const Argosy__PoolRecord *next);
void tombstones_on_applied(Leader *l);         // follows the log
void tombstones_on_time(Leader *l);            // a guard has ended something
void tombstones_on_wanted(Leader *l, const Unit *u, Node *n); // the node is to have the unit, maybe again
void tombstones_on_lost(Leader *l, Host *h);
// A host that is switched off says what may still run there.
void tombstones_on_goodbye(Leader *l, Host *h, const Argosy__ToVoter__Goodbye *goodbye);
void tombstones_chunk(Leader *l, const UnitOnNode *s); // a unit that runs on all nodes is not wanted on this
                                                      // one
int tombstones_chunk_decide(Leader *l, BatchBuilder *b); // 0 or -ENOMEM
int tombstones_clear_decide(Leader *l, BatchBuilder *b);
void tombstones_retire(Leader *l); // a term is over: nothing is due any more
// Calls `each` for every node on which something of this name may run that its record, if it has one, does
// not want there. `u`: what is known of the unit of that name; NULL: nothing.
void tombstones_each(const Leader *l, const char *name, const Unit *u, const UnitEntry *e,
                     void (*each)(const Node *n, void *userdata), void *userdata);
// What the log knows of a unit that it has no record of, and that is seen on a node: that it was destroyed,
// or nothing. So it is with what a host brings that was away for too long, or whose cluster was rebuilt from
// an older log.
const char *tombstones_word(const Leader *l, const char *name);
// Names the nodes of which that is true in the result of this verb. 0 or -ENOMEM.
int tombstones_fill(const Leader *l, Argosy__Response__UnitResult *result, Argosy__Verb verb,
                    PreviousNodeQuestion question);
