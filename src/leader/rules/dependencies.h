// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Order and need among units, wherever they run: who comes after whom, who needs whom. Kept up to date unit
// by unit, both directions are looked up at once, and units without dependencies have no part in it. Pure.
//
// The rules, by analogy with systemd's:
//
//   After=B     a start waits while B is being started: until it is up, has finished, or has failed. A stop
//               of B waits while this unit is being stopped. A unit that nobody starts at present (it is not
//               wanted up, no node takes it, its node is lost, what it needs is missing) holds nobody back.
//   Requires=B  like After=B, and a start waits until B is up, or has finished well; that nobody can tell
//               how
//               it ended is not enough. Once it runs, what B does is nothing to it; only an explicit stop of
//               B stops it, too (request-dependencies.c).
//   BindsTo=B   like Requires=B, and it is stopped while B is not up, and started again when B is. What has
//               finished is not up.
//   Before=B    After= in B, written here.
//   Wants=, PartOf=    bring along what is started, and take along what is stopped: matters of the request.

#include <stdbool.h>

#include "list.h"
#include "map.h"
#include "unit-file.h"

// What is seen of a unit on whom others depend, or who depends on others.
typedef enum Standing {
        STANDING_OFF,             // it is not to be up, or there is no such unit
        STANDING_UNKNOWN,         // its host is silent, and not lost yet
        STANDING_NOWHERE,         // wanted up, but on no node, or on one that is lost
        STANDING_COMING,          // it is not up yet, and on its way
        STANDING_BLOCKED,         // it is not up, and what it needs is not on its way either
        STANDING_UP,              // it runs
        STANDING_CHANGING,        // it runs, and is to be restarted, or is on its way down
        STANDING_ENDING,          // it runs, and is to be stopped as soon as who is bound to it has ended
        STANDING_RETRYING,        // its start failed, and systemd tries again by itself
        STANDING_FINISHED,        // it ended well, for good
        STANDING_OUTCOME_UNKNOWN, // it has ended for good, and nobody can tell how
        STANDING_DOWN,            // it was started, and is not up: it failed, ended, or somebody stopped it
} Standing;

// Whether a unit may begin to run, for one of its dependencies.
typedef enum DependencyVerdict {
        DEPENDENCY_GO,
        DEPENDENCY_WAIT,    // what it waits for is on its way
        DEPENDENCY_BLOCKED, // it has to wait for what is not on its way
} DependencyVerdict;

// `kinds`: of UnitDependency, as seen from the one that is to start.
DependencyVerdict dependency_judge_start(unsigned kinds, Standing of_other);
// Whether a unit that runs is to be stopped for it.
bool dependency_judge_run(unsigned kinds, Standing of_other);

typedef struct Dependencies {
        Map names; // private: Dependent by name
} Dependencies;    // zero-initialised: empty

// One unit's dependencies, by its options. Links that it has now are replaced.
void dependencies_done_all(Dependencies *g);
int dependencies_set(Dependencies *g, const char *name, const UnitDependency *list, size_t n) _warn_unused_;
void dependencies_forget(Dependencies *g, const char *name); // those that it has set
// Whether it has set any, or somebody names it.
bool dependencies_knows(const Dependencies *g, const char *name);
// Whether the unit has set any.
bool dependencies_has(const Dependencies *g, const char *name);

// A unit that another one is linked with, seen from the latter.
typedef struct DependencyPeer {
        const char *name; // borrowed until the next dependencies_set()
        unsigned kinds;   // what the unit that was asked about has with it; UNIT_AFTER also if the other one
                          // says UNIT_BEFORE
        unsigned line;    // where that is said
        bool theirs;      // it is the other one that says it
} DependencyPeer;
// Calls `each` until it returns true; returns whether it did. In no particular order; nobody twice unless
// both name each other.
typedef bool (*DependencyEach)(const DependencyPeer *peer, void *userdata);
// Those that the unit waits for, needs or wants.
bool dependencies_each_of(const Dependencies *g, const char *name, DependencyEach each, void *userdata);
// Those that wait for it, need or want it; `kinds` is what they have with it.
bool dependencies_each_on(const Dependencies *g, const char *name, DependencyEach each, void *userdata);
