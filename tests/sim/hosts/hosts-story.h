// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// One story of whole hosts: its steps one by one, each with the time that passes behind it, while events of
// the world go on by themselves.
//
//      plan -> step: asks.c, hosts-faults.c, time -> hosts, each with its PID 1
//                                                      | entries, answers, places
//                                checks.c <- truth <---+
//
// The truth is the log: a state of its own, which has applied every entry that was committed before a check
// looks at it.

#include "cluster-state.h"
#include "plan.h"
#include "sim-net.h"
#include "sim-world.h"
#include "story.h"

typedef struct HostsStory {
        StoryPlan plan;
        size_t step;
        ClusterState *truth;
        uint64_t truth_index; // that it has applied
        uint64_t n_transitions; // of units on machines
        // At its end.
        uint64_t virtual_us;
        SimFigures figures;
        SimNetFigures net;
} HostsStory;

extern HostsStory hosts_story;

// Returns when it has ended well. A check that fails ends the process.
void hosts_story_play(const StoryPlan *plan, StoryOutput output);
// The same in parts, for a story that is a script: until a leader was found; all is mended, and the checks
// look; its end.
void hosts_story_begin(const StoryPlan *plan, StoryOutput output);
void hosts_story_calm_down(void);
void hosts_story_end(void);
// All of the log that is committed, and the checks have looked at each entry.
void hosts_story_catch_up(void);
