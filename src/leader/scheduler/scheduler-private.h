// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Shared by scheduler.c, scheduler-nodes.c, scheduler-units.c, scheduler-rounds.c, scheduler-rebalance.c and
// scheduler-roles.c.

#include "leader-core.h"
#include "scheduler-spec.h"
#include "scheduler.h"
#include "tables.h"
#include "unit-file.h"

typedef struct SchedulerRole {
        uint32_t number; // in the Placement
        char name[];
} SchedulerRole;

enum { KNOWN_CLASSES = 2 };

// A class, and the options that mean it, whatever the name of the unit. A reference to each; NULL: none.
typedef struct KnownClass {
        UnitOptions *options;
        uint32_t class;
} KnownClass;

struct SchedulerTables {
        Placement *placement;
        Map roles;               // SchedulerRole by name; always with ROLE_DEFAULT
        uint64_t roles_revision; // of the records as they are here
        uint32_t role, anything; // ROLE_DEFAULT's number; the class of units that nothing is known of
        bool sorted;             // the nodes that a leader that begins has found
        bool labels_due; // of all nodes: pools have changed
        uint32_t labelled_host; // they were, of the hosts up to that one
        Node **nodes;            // by number in the Placement
        size_t n_nodes;
        Map guests; // Guest by name: units without a record, while a Scheduler lives
        // `placement` and `guests` are those of a Scheduler that has a copy (scheduler_enter())
        bool is_copy;
        uint64_t n_renumbered; // units and nodes that were given a number or lost it; and kinds of resources
        // that were asked for last, the last one first. Of `placement` as it is while it is no copy
        KnownClass classes[KNOWN_CLASSES];
};

typedef struct Guest {
        uint32_t unit;
        char name[];
} Guest;

struct Scheduler {
        Leader *leader;
        char **touched; // names
        size_t n_touched;
        Unit **released; // recorded units: they live longer
        size_t n_released;
        bool dry_run;
        // For a Scheduler with a copy: that and its guests; from scheduler_enter() to scheduler_leave() what
        // the tables had.
        Placement *copy;
        Map guests;
        uint64_t n_renumbered; // when it was made
};

// scheduler.c
// So many nodes were found since then, unless it is only said what would be.
void scheduler_note_placements(const Scheduler *p, size_t n, uint64_t began_us);

// scheduler-nodes.c
// What there is as it is now; the host of that number (0: none) as if it took nobody.
void scheduler_sync_nodes(Leader *l, uint32_t without_host);
void scheduler_add_new_nodes(Leader *l);    // with their labels
void scheduler_sync_all_offers(Leader *l);  // there is a new kind of resource
void scheduler_mark_labels(SchedulerTables *t); // before a node is chosen next

// scheduler-units.c. The unit of this name there, made if need be: with a record or named by somebody's
// options, or a guest.
uint32_t scheduler_get_unit(Leader *l, const char *name, bool guest);
// Gives it the class that its options mean. 0; SCHEDULER_TOO_MANY_TIED: as if it named fewer that it is to
// be with;
// -ENOSPC, -EINVAL: they demand what cannot be counted any more.
enum { SCHEDULER_TOO_MANY_TIED = 1 }; // more than PLACEMENT_FOLLOWS_MAX
void scheduler_forget_classes(SchedulerTables *t); // that are remembered
// Those that it is to be with, beside its own ones. As scheduler_set_options().
int scheduler_add_affinity(Leader *l, const char *name, uint32_t unit, char **names);
int scheduler_set_options(Leader *l, const char *name, uint32_t unit, const UnitOptions *options);

// scheduler.c. The unit is again as its record is when the Scheduler is freed.
void scheduler_touch(Scheduler *p, const char *name);

// scheduler-rounds.c. NULL: it has no record.
Unit *scheduler_unit_at(const Leader *l, uint32_t number);

// scheduler-roles.c
// The roles as the records have them. 0; -ENOSPC: more roles or resources than can be.
int scheduler_sync_roles(Leader *l);
void scheduler_roles_done(SchedulerTables *t);
// That of the unit with these options; ROLE_DEFAULT's if there is none of that name.
uint32_t scheduler_role_of(const SchedulerTables *t, const UnitOptions *options);
// scheduler_held_back() for a unit by its number.
bool scheduler_role_refuses(const Leader *l, uint32_t unit, char *ret, size_t size);
const char *scheduler_role_name(const SchedulerTables *t, uint32_t number);
