// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Shared by decide.c, decide-moves.c, decide-changes.c, decide-jobs.c and decide-parts.c.

#include "batch-builder.h"
#include "dependencies.h"
#include "leader-core.h"
#include "request.h"
#include "scheduler.h"
#include "tickets.h"

typedef struct Decision {
        Leader *leader;
        BatchBuilder batch;
        Scheduler *scheduler; // made when first needed
        Dependencies planned; // of units that the batch puts
        uint64_t n_jobs;      // that it begins
} Decision;

// Bytes of an entry that are kept free while a request is planned: for its job, and what stands behind all.
enum { ENTRY_SPARE_BYTES = 4096 };

void decision_need_scheduler(Decision *d);

// What became of a request that fails now, for the end of the sentence that says why: in `text` or constant.
typedef char DecideExtent[96];
const char *decide_extent(const Ticket *t, DecideExtent text);

// decide-moves.c. 0 or -ENOMEM.
int decide_moves(Decision *d);    // those that are moving: another node, if they still have to go
int decide_pending(Decision *d);  // units that are pending, if there may be room for somebody
// Those that wait for their turn although they have a node are asked about anew if what they were asked about may have
// changed (Leader.enqueued_stale).
void decide_pending_anew(Leader *l);

// Whether the unit, in Leader.moving, still has to go elsewhere; and where it would go now, which counts in the
// Placement and changes nothing else. 0 or -ENOMEM.
bool move_is_due(Decision *d, const Unit *u, const UnitEntry *e);
// Whether it would leave a node that is emptied, or where it is replaced, but too many of its group are down.
bool move_is_held(const Decision *d, const Unit *u, const UnitEntry *e);
typedef struct MoveChoice {
        enum {
                MOVE_NOT,   // its options cannot be read
                MOVE_LATER, // not before `at_us`
                MOVE_WAITS, // it stays where it is, or nowhere, until there is something for it
                MOVE_GOES,  // to `node`; 0: it leaves its node without having another one
        } verdict;
        uint64_t at_us;
        uint32_t node;
} MoveChoice;
int move_choose(Decision *d, Unit *u, UnitEntry *e, MoveChoice *ret);

// decide-changes.c
// Into the batch; returns what change_plan() does.
int decision_plan_change(Decision *d, const Argosy__Request__Change *change, Argosy__Response **ret);
// A Change. 1: in the batch; 0: answered, or a later turn goes on with it; -EBUSY: next batch.
int decide_change(Decision *d, Ticket *t);
// Plans `change` (all of the ticket's, or a part of it) for the batch. 1: in the batch; 0: there is nothing to store,
// or its id was applied before; 0 without *ret: it is too long, which the ticket was told. -EBUSY, -ENOMEM.
int decide_units(Decision *d, Ticket *t, const Argosy__Request__Change *change, Argosy__Response **ret);
// When the log has them: what is known of them only then.
void decide_complete(Leader *l, Ticket *t, Argosy__Response *response);
const ChangeOps *decide_change_ops(void);
// Whether the nodes that refused this unit, and where it failed, are asked again. `u` may be NULL.
bool decide_forgets_refusals(const Argosy__Request__Change *change, const Unit *u);

// decide-jobs.c
// Whether a request of the queue may be planned: 1; 0: it was answered; -EBUSY: next batch; -ENOMEM.
int decide_job_admit(Decision *d, Ticket *t);
// It is in the batch, behind the mark, and so is its job then. 0 or -ENOMEM.
int decide_job_put(Decision *d, Ticket *t, BatchBuilderMark mark);
// The same of moves of the rebalance that is under way, if there are any.
int decide_job_put_rebalance(Decision *d, BatchBuilderMark mark);

// decide-plan.c
// A Change that is only asked about, before anything is in the batch. 0: answered; or a negative errno.
int decide_dry_run(Decision *d, Ticket *t);

// decide-parts.c
// A Change of many units. CHANGE_WHOLE: it is to be planned at once; else as decide_change().
enum { CHANGE_WHOLE = 2 };
int decide_parts(Decision *d, Ticket *t);
