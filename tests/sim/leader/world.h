// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// One story: a leader with everything around it (leader-rig.h), who asks it for what, what breaks, and what
// is known about it all without asking the leader. There is one at a time.
//
//      plan (choices.h, swarm.h) -> world_step() -> asks.c, faults.c, time -> the rig
//                                                                              | entries, messages,
//                                                                              responses
//                                               checks.c <- story.c <- hooks <-+

#include "asks.h"
#include "choices.h"
#include "leader-rig.h"
#include "plan.h"
#include "story.h"
#include "swarm-faults.h"

typedef struct World {
        Rig rig;
        StoryPlan plan;
        size_t step;
        bool is_failing; // the log takes nothing
        bool clock_was_set; // some wall clock of this story
        uint64_t n_transitions; // of units on hosts
        bool all_due; // of all stories: steps of a turn are called without work, too (due.h)
        bool is_telling; // a process of its own tells this one what came of it
} World;

extern World world;

// The whole story: returns when it has ended well. A check that fails ends the process (cmocka's
// fail_msg()).
void world_play(const StoryPlan *plan, StoryOutput output);

// What is broken works again, and so much time passes that whatever waits for it has happened.
void world_calm_down(void);
// What is looked at when everything works and is at rest; nothing else is looked at any more.
void world_finish(void);
// What hosts have for units that reserve something, and for containers.
void world_offer(void);

// In a process of its own: what happens there is no part of the story. What is red there ends the story.
void world_play_apart(void (*play)(void));
// Zeroed memory that such a process has in common with the one that it comes from.
void *world_share(size_t size);
// For who plays it with planted faults (tools/lib/mutants/schemata.py), and NULL otherwise: whether what
// such a process has told is told again, with a fault that matters there; then this is another process, too.
extern bool (*world_is_told_again)(void);

typedef struct WorldShared {
        void *data;
        size_t size;
} WorldShared;
enum { WORLD_SHARED_MAX = 4 };
extern WorldShared world_shared[WORLD_SHARED_MAX];
extern size_t world_n_shared;

// trials.c: what is tried in a process of its own, which ends with it
void trials_play(void);

// disks.c
void disks_begin(void);
void disks_on_host_message(uint32_t host, const Argosy__ToHost *m);
void disks_on_turn(void);
void disks_end(void);

// checks-images.c
void images_begin(void);

// faults.c
void faults_step(Draw *d);
void faults_heal(void); // everything works again
void faults_healed(void); // and all of that has been heard of
void faults_begin(void);
void faults_end(void);
void faults_on_entry(void);
void faults_on_turn(void);
void faults_on_voter_message(uint32_t host, const Argosy__ToVoter *m);
// What it says need not be true, and what is said of it and its units follows from that.
bool world_host_lies(uint32_t host);

// faults-meet.c: two of SWARM_FAULTS
void fault_meet(Draw *d);
void fault_rotate(Draw *d);

// lies.c
Argosy__ToVoter *lies_draw(Draw *d, const RigHost *h); // from the heap
// The log can take what comes, and somebody leads.
bool world_is_well(void);
// LeaseSec= of leaders is drawn from 2, 3 and 4 quarters of the story's.
unsigned world_lease_ms(unsigned quarters);
// The host was not removed from the cluster. One that was does what its agent did before, and hears of
// nothing.
bool world_is_member(uint32_t host);
