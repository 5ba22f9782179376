// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Turns of those that wait for a node, and what is asked of units before they have one.

#include "leader-core.h"
#include "unit-file.h"

typedef struct Scheduler Scheduler;

// The role of a unit with these options, by its number; and whether one of the one role has its turn before
// one of the other as things are.
uint32_t scheduler_role(const Scheduler *p, const UnitOptions *options);
bool scheduler_role_before(const Scheduler *p, uint32_t a, uint32_t b);
// How much a unit with these options demands, of the resource of which that is most: in millionths of what
// the hosts offer.
uint32_t scheduler_share(Scheduler *p, const UnitOptions *options);
// Lets a recorded unit take part in rounds as long as the Scheduler lives, also if it is on a node.
void scheduler_offer(Scheduler *p, Unit *u);
// The unit leaves the node where it counts, and waits no more; or waits for its turn in rounds. Those that
// scheduler_place() found no node for have their turn again when all of them were let go, and are wanted
// then.
void scheduler_want(Scheduler *p, const char *name, bool wanted);
// The unit waits, and was last on this node (0: on none), wherever it counts: that is where it goes back to,
// if it can.
void scheduler_take_off(Scheduler *p, const char *name, uint32_t node);
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
// scheduler-rounds.c. NULL: it has no record.
Unit *scheduler_unit_at(const Leader *l, uint32_t number);
