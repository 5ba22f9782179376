// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// What the files of the scheduler share: the Placement, and what is known of it.

#include "leader-core.h"
#include "placement.h"
#include "tables.h"
#include "unit-file.h"

typedef struct Scheduler Scheduler;

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
        uint32_t labelled_host;  // DUE_LABELS: the hosts up to that one have theirs
        Node **nodes;            // by number in the Placement
        size_t n_nodes;
        Map provisional; // ProvisionalUnit by name: units without a record, while a Scheduler lives
        // `placement` and `provisional units` are those of a Scheduler that has a copy (scheduler_enter())
        bool is_copy;
        uint64_t n_renumbered; // units and nodes that were given a number or lost it; and kinds of resources
        // that were asked for last, the last one first. Of `placement` as it is while it is no copy
        KnownClass classes[KNOWN_CLASSES];
};

typedef struct ProvisionalUnit {
        uint32_t unit;
        char name[];
} ProvisionalUnit;

struct Scheduler {
        Leader *leader;
        char **touched; // names
        size_t n_touched;
        Unit **released; // recorded units: they live longer
        size_t n_released;
        bool preview;
        // For a Scheduler with a copy: that and its provisional units; from scheduler_enter() to
        // scheduler_leave() what the tables had.
        Placement *copy;
        Map provisional;
        uint64_t n_renumbered; // when it was made
};
