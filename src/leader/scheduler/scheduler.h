// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// The Placement (placement.h) follows the tables: hosts and nodes before something is placed, units with
// their records. A Scheduler is a time in which what is placed counts although no record says so yet; when
// it is freed, the records count again.

#include "leader-core.h"
#include "placement.h"
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
// For a new leader with all hosts in its tables: adds up to *left of their nodes, in the order of their
// numbers. True: there are no more.
bool scheduler_build_nodes(Leader *l, size_t *left);
// Follows no more, and gives away what there was. Units and nodes keep their numbers: they are given away as
// well.
SchedulerTables *scheduler_close(Leader *l) _warn_unused_;
SchedulerTables *scheduler_tables_free(SchedulerTables *t); // on any thread; returns NULL
// Its record and its options; NULL: it has none, or they cannot be had.
void scheduler_on_unit(Leader *l, Unit *u, const UnitEntry *e, const UnitOptions *options);
void scheduler_on_unit_freed(Leader *l, Unit *u);
void scheduler_on_node_freed(Leader *l, Node *n);
void scheduler_on_exclusion(Leader *l, const Unit *u, uint32_t node, bool excluded); // 0: all nodes
// The Placement is told which nodes refuse a unit: those that have, and, of a name that hosts run from
// fleet's directories, all others. Returns about how many nodes were looked at.
size_t scheduler_set_refusals(Leader *l, Unit *u);
void scheduler_sync_refusals(Leader *l); // of units that some node refuses, or does not any more
bool scheduler_sync_refusals_step(Leader *l); // as much of it as one turn takes; false: there is more
bool scheduler_sync_nodes_step(Leader *l);    // the same of hosts that have changed
bool scheduler_label_step(Leader *l);         // and of labels of all hosts
void scheduler_relabel(Leader *l);            // these are to be looked at anew: pools have changed
// Conflicts= of units that run on every node: with one that is placed on the node; with each other; at all.
bool scheduler_conflict_on(const Leader *l, const Unit *u, const Node *n);
bool scheduler_conflict_between(const Leader *l, const Unit *a, const Unit *b);
bool scheduler_may_conflict(const Leader *l, const Unit *u);
// It is not where those are that it is to be with, or conflicts with somebody there. A node whose labels
// have changed is no reason.
bool scheduler_must_go(const Leader *l, const Unit *u);
// The Placement hears of the host's labels, if they have changed. That is done when something is placed,
// anyway.
void scheduler_follow_labels(Leader *l, const Host *h);
// That is the unit's node, and its labels are not what the file asks for (any more): it stays until somebody
// moves it.
bool scheduler_mismatches(Leader *l, const UnitOnNode *s);
// "needs label disk=ssd, has no label disk": the caller's to free; NULL if it does not.
char *scheduler_mismatch_text(Leader *l, const UnitOnNode *s);
// It would not have to leave that node at once (placement_node_admits()). True for a unit of which the
// Placement does not know.
bool scheduler_node_admits(const Leader *l, const Node *n, const char *name);
// Somebody is there who replaces it.
bool scheduler_is_replaced(const Leader *l, const char *name);
// The unit has a node: puts it, or those that it replaces there, into Leader.moving.
void scheduler_drive_out(Leader *l, Unit *u, const UnitEntry *e);
// The unit has a node, and is to be where others are, which may be elsewhere: puts it into Leader.moving.
void scheduler_reconsider_follower(Leader *l, Unit *u);
// Those who are to be with it: how many. Their names live as long as they are in the Placement.
size_t scheduler_follower_names(const Leader *l, const char *name, const char *ret[PLACEMENT_FOLLOWS_MAX]);
// The same, as far as they are in the tables.
size_t scheduler_followers(const Leader *l, const char *name, Unit *ret[PLACEMENT_FOLLOWS_MAX]);
// Those who are to be with it are looked at again.
void scheduler_refresh_followers(Leader *l, const char *name);
Scheduler *scheduler_new(Leader *l, uint32_t without_host) _warn_unused_;
Scheduler *scheduler_free(Scheduler *p);
// One whose answers change nothing, also not who is next. No other one lives beside it.
Scheduler *scheduler_new_dry_run(Leader *l);
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
// The role of a unit with these options, by its number; and whether one of the one role has its turn before
// one of the other as things are.
uint32_t scheduler_role(const Scheduler *p, const UnitOptions *options);
bool scheduler_role_before(const Scheduler *p, uint32_t a, uint32_t b);
// How much a unit with these options demands, of the resource of which that is most: in millionths of what
// the hosts offer.
uint32_t scheduler_share(Scheduler *p, const UnitOptions *options);
// The unit goes to this node, whatever it demands: it counts there.
void scheduler_put(Scheduler *p, const char *name, const UnitOptions *options, uint32_t node);
// Lets a recorded unit on a node wait in the Placement for another one, and notes it in this list of Leader
// (Unit.enqueued), until its record says where it is, or it is taken out again. What it is counted as
// meanwhile does not change.
void scheduler_enqueue(Leader *l, Unit *u, ListNode *queue);
void scheduler_dequeue(Leader *l, Unit *u);
// Lets a recorded unit take part in rounds as long as the Scheduler lives, also if it is on a node.
void scheduler_offer(Scheduler *p, Unit *u);
void scheduler_set_aside(Scheduler *p, Unit *u); // or keeps it from having a turn as long

// The unit leaves the node where it counts, and waits no more; or waits for its turn in rounds. Those that
// scheduler_place() found no node for have their turn again when all of them were let go, and are wanted
// then.
void scheduler_want(Scheduler *p, const char *name, bool wanted);
// What was asked for it is refused: for whatever is decided next the unit is as its record says, or is not
// wanted if it has none.
void scheduler_take_back(Scheduler *p, const char *name);
// The unit waits, and was last on this node (0: on none), wherever it counts: that is where it goes back to,
// if it can.
void scheduler_take_off(Scheduler *p, const char *name, uint32_t node);
// Whether the unit, which may have no record, replaces others by what it demands now; and whether it does
// that one, wherever the two are.
bool scheduler_replaces(const Leader *l, const char *name);
bool scheduler_replaces_unit(const Leader *l, const char *name, const char *other);
// Gives another node to a unit that may not be where it counts now: *ret_node, or 0: there is none, and it
// counts where it was. False: it may stay.
bool scheduler_drive(Scheduler *p, const char *name, uint32_t *ret_node);

typedef struct SchedulerStep {
        const char *name; // lives as long as the Scheduler
        Unit *unit;       // NULL: it has no record, and was placed by this Scheduler
        Node *node;       // NULL: it is preempted
        const char *by;   // and by whom
} SchedulerStep;

// Whether the unit may be preempted together with those.
typedef bool (*SchedulerSpares)(Leader *l, const Unit *u, Unit *const *taken, size_t n, void *userdata);
// What is to be done next for those that wait for a node, in their order; at most `most` steps, of which so
// many preempt. *ret: to be freed.
void scheduler_round(Scheduler *p, size_t most, size_t preempt, SchedulerSpares spares, void *userdata,
                     SchedulerStep **ret, size_t *ret_n);

// What would be better elsewhere (rebalance.h), in the words of the tables; units and nodes are borrowed,
// `why` is to be freed.
typedef struct SchedulerMove {
        Unit *unit;
        Node *from, *to;
        char *why;
} SchedulerMove;

// The search for such moves: it may take seconds, so it is the pool's, on a copy of the Placement, and the
// loop is held by a few questions in a turn and by the copy. There is a Scheduler whenever it goes on, so
// that the Placement is as the tables are.
typedef struct SchedulerRebalance SchedulerRebalance;
// Whether the unit may be moved as things are now.
typedef bool (*SchedulerMayMove)(Leader *l, Unit *u, void *userdata);

SchedulerRebalance *scheduler_rebalance_new(Leader *l, size_t max_moves, SchedulerMayMove may_move,
                                            void *userdata);
// Does what can be done in this turn; true: it has come to its end. Else leader_mark() follows when it can
// go on.
bool scheduler_rebalance_step(SchedulerRebalance *r, const Scheduler *p);
// At its end, once: what of its result is right as things are now. *ret is the caller's to free.
void scheduler_rebalance_take(SchedulerRebalance *r, const Scheduler *p, SchedulerMove **ret, size_t *ret_n,
                              bool *ret_more);
// At any time; `userdata` is not used any more. Returns NULL.
SchedulerRebalance *scheduler_rebalance_free(SchedulerRebalance *r);
DEFINE_CLEANUP(SchedulerRebalance *, scheduler_rebalance_free)
// It is placed there from now on; false: that is not possible, or not better any more.
bool scheduler_carry_out(Scheduler *p, const Unit *u, const Node *to);
bool node_takes_units(const Node *n, const char **ret_why);
bool node_admits(const Leader *l, const Node *n, const UnitOptions *options);
// The node's host is chosen less for a while.
void scheduler_penalise(Leader *l, const Node *n, uint32_t points, uint64_t half_us);
int unit_why(Leader *l, const UnitEntry *e, char **ret_why, Argosy__Refusal ***ret, size_t *ret_n);
