// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// The Placement (placement.h) follows the tables: hosts and nodes before something is placed, units with
// their records. A Scheduler is a time in which what is placed counts although no record says so yet; when
// it is freed, the records count again.

#include "batch-builder.h"
#include "leader-core.h"
#include "placement.h"
#include "scheduler-nodes.h"
#include "scheduler-rounds.h"
#include "scheduler-units.h"
#include "unit-file.h"

typedef struct Scheduler Scheduler;
enum { SCHEDULER_WHY_SIZE = 256 };

typedef struct SchedulerAnswer {
        uint32_t node;             // 0: none takes it now
        char why[SCHEDULER_WHY_SIZE]; // if it is its role that keeps it from one, else ""; filled in like
                                   // refusals
        bool possible;             // some member could take it if it were up
        bool too_many_tied;        // more than PLACEMENT_FOLLOWS_MAX are to be together: placed as if it
                                   // named fewer
        Argosy__Refusal **refusals;
        size_t n_refusals;
} SchedulerAnswer;

void scheduler_open(Leader *l); // begins to follow
// Follows no more, and gives away what there was. Units and nodes keep their numbers: they are given away as
// well.
SchedulerTables *scheduler_close(Leader *l) _warn_unused_;
SchedulerTables *scheduler_tables_free(SchedulerTables *t); // on any thread; returns NULL
Scheduler *scheduler_new(Leader *l, uint32_t without_host) _warn_unused_;
Scheduler *scheduler_free(Scheduler *p);
// One whose answers change nothing, also not who is next. No other one lives beside it.
Scheduler *scheduler_new_preview(Leader *l);
// One that lives for many turns, on a copy of the Placement: what others ask and decide between two of its
// times, each from scheduler_enter() to scheduler_leave(), which last no longer than a turn, is as if it
// were not there. For others both do nothing. When it is outdated, numbers in the copy may be those of
// others, and names be gone: it is freed then.
Scheduler *scheduler_new_copy(Leader *l);
// What there is, and what of it is reserved; the units of roles.
void scheduler_figures(Leader *l, CounterList *to);
size_t scheduler_placement_bytes(const Leader *l);

void scheduler_enter(Scheduler *p);
void scheduler_leave(Scheduler *p);
bool scheduler_is_outdated(const Scheduler *p);
DEFINE_CLEANUP(Scheduler *, scheduler_free)
// Before a new unit is placed: it goes only where the data of the unit is that it activates, if it may be
// there (data-nodes.h).
void scheduler_keep_with(Scheduler *p, const char *name, const UnitOptions *options, const char *activates);
// `explain`: fill in the refusals when node is 0.
int scheduler_place(Scheduler *p, const char *name, const UnitOptions *options, bool explain,
                    SchedulerAnswer *ret);
// The same, without reasons, for a unit that is to be on a node with another one, which goes there
// afterwards: on a node that admits `mate`, the options of that one, and where those are that it is to be
// with.
int scheduler_place_for_both(Scheduler *p, const char *name, const UnitOptions *options,
                             const UnitOptions *mate, SchedulerAnswer *ret);
// Why no node takes a unit that scheduler_place() or a record has made known, and that has none: `why` and
// the refusals.
int scheduler_explain(Scheduler *p, const char *name, SchedulerAnswer *ret);
void scheduler_answer_done(SchedulerAnswer *p);
// The unit is to have these options: by them it is asked whether a node admits it.
void scheduler_know(Scheduler *p, const char *name, const UnitOptions *options);
// The unit goes to this node, whatever it demands: it counts there.
void scheduler_put(Scheduler *p, const char *name, const UnitOptions *options, uint32_t node);

// What was asked for it is refused: for whatever is decided next the unit is as its record says, or is not
// wanted if it has none.
void scheduler_take_back(Scheduler *p, const char *name);
// The same of all that was placed since the mark and is not in the batch, which was rolled back. p NULL:
// nothing was.
size_t scheduler_mark(const Scheduler *p);
void scheduler_rollback(Scheduler *p, size_t mark, const BatchBuilder *b);
// Whether any of these is on a node with one that the batch had before that mark of it, and that has another
// network or volume of a name.
bool scheduler_meets_earlier(const Scheduler *p, size_t mark, const BatchBuilder *b,
                             BatchBuilderMark before);

// The node's host is chosen less for a while.
void scheduler_penalise(Leader *l, const Node *n, uint32_t points, uint64_t half_us);
int unit_why(Leader *l, const UnitEntry *e, char **ret_why, Argosy__Refusal ***ret, size_t *ret_n);
