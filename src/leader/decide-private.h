// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Shared by decide.c, decide-moves.c, decide-changes.c, decide-jobs.c, decide-parts.c, decide-plan.c, decide-aims.c,
// decide-undo.c, decide-apply.c, decide-rolling.c, decide-cancel.c, decide-queue.c and decide-dry-runs.c.

#include "batch-builder.h"
#include "dependencies.h"
#include "leader-core.h"
#include "request.h"
#include "scheduler.h"
#include "tickets.h"

typedef struct AimList AimList;
typedef struct UndoList UndoList;

typedef struct Decision {
        Leader *leader;
        BatchBuilder batch;
        Scheduler *scheduler; // made when first needed
        Dependencies planned; // of units that the batch puts
        uint64_t n_jobs;      // that it begins
        size_t n_stored, stored_bytes; // jobs of these that are held back, and their requests
        const UndoList *undo; // whose units are planned at the moment; NULL: none
        const AimList *aims;  // the same
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
// A Change. PLAN_IN_BATCH; PLAN_SETTLED; -EBUSY: next batch.
int decide_change(Decision *d, Ticket *t);
// Plans `change` (all of the ticket's, or a part of it, which has no id unless it is the last) for the
// batch. PLAN_IN_BATCH; 0: there is nothing to store, or it was applied before; 0 without *ret: it is too long, or somebody has changed a
// unit of it, which the ticket was told. -EBUSY, -ENOMEM.
int decide_units(Decision *d, Ticket *t, const Argosy__Request__Change *change, Argosy__Response **ret);
// When the log has them: what is known of them only then.
void decide_complete(Leader *l, Ticket *t, Argosy__Response *response);
const ChangeOps *decide_change_ops(void);
// NULL: there is no such node. `userdata` is the leader.
const char *decide_node_name(uint32_t node, void *userdata);
// Whether the nodes that refused this unit, and where it failed, are asked again. `u` may be NULL.
bool decide_forgets_refusals(const Argosy__Request__Change *change, const Unit *u);

// decide-repeats.c
// What is said of units of a Change that the log has, by the job of the ticket. 0, or what change_plan() returns.
int decide_repeat(Decision *d, const Ticket *t, const Argosy__Request__Change *change, Argosy__Response **ret);

// decide-jobs.c
// Whether a request of the queue may be planned: STEP_PASSED; PLAN_SETTLED; -EBUSY: next batch; -ENOMEM.
int decide_job_admit(Decision *d, Ticket *t);
// Whether nobody has changed these units of the ticket's request since the revision that it is bound to, if it is:
// STEP_PASSED; or PLAN_SETTLED.
int decide_job_check_units(const Leader *l, Ticket *t, const Argosy__Request__Change *change);
// The same of what has changed by the revision `at` last; what that is called begins the sentence.
int decide_job_check_revision(Ticket *t, const char *what, uint64_t at);
// Of a unit or a template, and of its instances: that of the newest change.
uint64_t decide_job_group_revision(const Leader *l, const char *name);
// It is in the batch, behind the mark, and so is its job then; also if nothing is, and its job is open (ticket_has_open_job()). 0 or -ENOMEM.
int decide_job_put(Decision *d, Ticket *t, BatchBuilderMark mark);
// It is held back: its job is in the batch, without any effect, and with what is stored of it. 0 or -ENOMEM.
int decide_job_hold(Decision *d, Ticket *t, Argosy__StoredRequest *stored);
// The same of moves of the rebalance that is under way, if there are any.
int decide_job_put_rebalance(Decision *d, BatchBuilderMark mark);
// And of a step of a rollout, if the job that began it is kept. `userdata` is the Decision.
int decide_job_put_rollout(const Argosy__RolloutRecord *r, BatchBuilderMark mark, void *userdata);

// decide-queue.c
// Whether a request that may be planned is held back. STEP_PASSED: it is not; QUEUE_HOLDS: its job is in the batch, without
// any effect; PLAN_SETTLED: it was answered, or is held as it was; -EBUSY: next batch; -ENOMEM.
enum { QUEUE_HOLDS = 2 };
int decide_queue_admit(Decision *d, Ticket *t);
// What is said to who asks for it again. NULL: out of memory.
Argosy__Response *decide_queue_held_response(const Leader *l, uint64_t job);

// decide-dry-runs.c
// A Change that is only asked about, before anything is in the batch. 0: answered; DRY_RUN_GOES_ON: a later turn goes
// on with it, and nothing is to be decided before; or a negative errno.
enum { DRY_RUN_GOES_ON = 1 };
int decide_dry_run(Decision *d, Ticket *t);

// decide-plan.c
// What becomes of a Change: made (NULL: out of memory), its units planned, all of them at once or one part after the
// other, then what follows from it, then its words; and freed, in any case. `in_turns`: each of these may be in a turn
// of its own, as long as it is not outdated and the log says nothing new.
typedef struct DryRunPlan DryRunPlan;
DryRunPlan *dry_run_plan_new(Leader *l, bool in_turns) _warn_unused_;
DryRunPlan *dry_run_plan_free(DryRunPlan *p);
bool dry_run_plan_is_outdated(const DryRunPlan *p);
// Before the units of `change`, or what follows, are planned in a turn; and after, whatever both have returned.
int dry_run_plan_enter(DryRunPlan *p, const Argosy__Request__Change *change);
void dry_run_plan_leave(DryRunPlan *p);
int dry_run_plan_units(DryRunPlan *p, const Argosy__Request__Change *change);
int dry_run_plan_follow(DryRunPlan *p);
int dry_run_plan_describe(DryRunPlan *p, Argosy__Response **ret);

// decide-aims.c
typedef struct AimItem {
        const char *name;
        bool aimed; // it is to be as the aim says; else it stays
        ChangeAim aim;
        size_t bytes;       // that its content adds to the log
        Argosy__Verb verb; // what to wait for then
} AimItem;
enum { AIM_SAID = 1 };
struct AimList {
        const AimItem *(*item)(const AimList *list, size_t i);
        size_t n;
        Map by_name; // -> AimItem
        Argosy__NamedFile **files; // that ChangeAim.file is about
        size_t n_files;
        // What is said of one that stays. AIM_SAID; 0: nothing; -ENOMEM.
        int (*describe)(const Leader *l, const Ticket *t, const AimList *list, const AimItem *item,
                        Argosy__Response__UnitResult *ret);
};
// The next part of it, as decide_change(). Each time the list has the same units in the same order, judged anew.
int decide_aims(Decision *d, Ticket *t, const AimList *list);
// Whether all of it is in the log, under the request's id. Also of an Undo.
bool decide_aims_are_over(const Leader *l, const Ticket *t);
// The same: results of a part behind those of the parts before it, and nodes that refused the unit, and where it failed,
// are asked again, if it has an aim that is about that.
int decide_aims_append(Argosy__Response *from, Argosy__Response *to);
void decide_aims_forget_refusals(Leader *l, const char *name, const ChangeAim *aim);
// What is said of all that stay. 0 or -ENOMEM.
int decide_aims_describe(const Leader *l, const Ticket *t, const AimList *list, Argosy__Response *ret);

// decide-undo.c. As decide_change().
int decide_undo(Decision *d, Ticket *t);
// decide-cancel.c. As decide_change().
int decide_cancel(Decision *d, Ticket *t);
// decide-apply.c. As decide_change().
int decide_apply(Decision *d, Ticket *t);
// Before it waits for its turn: NULL, or what is wrong with it.
Argosy__Response *decide_apply_refuse(const Argosy__Request *request);

// decide-parts.c
// A Change of many units. CHANGE_WHOLE: it is to be planned at once; else as decide_change().
enum { CHANGE_WHOLE = 2 };
int decide_parts(Decision *d, Ticket *t);
// As many units one entry has of a Change like that.
size_t change_part_units(const Argosy__Request__Change *change);
// Names of the ticket's Change up to the end of the part that is planned. 0: it is none in parts.
uint32_t decide_parts_end(const Ticket *t);
// What is said of the units of the part that is planned. NULL: it is none in parts.
const Argosy__Response__Change *decide_parts_results(const Ticket *t);
// Whether the log has that part, by what is known of the whole request.
bool decide_part_is_done(const Leader *l, const Ticket *t);
