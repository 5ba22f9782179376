// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// The plan of a story: what it may contain, and its steps. Everything else follows from it. A seed is one
// plan; a file is another one, which needs no seed, and stays what it is when a seed becomes something else
// since there is a feature more.

#include "choices.h"
#include "swarm.h"

enum { STORY_STEPS_MAX = 4096 };

typedef struct StoryPlan {
        uint64_t seed;   // 0: it was read from a file
        uint64_t chance; // of clocks, pool, names: what no step draws
        Swarm swarm;
        Step steps[STORY_STEPS_MAX];
        size_t n_steps;
} StoryPlan;

// All of it depends on the seed alone.
void story_plan_draw(StoryPlan *ret, uint64_t seed);

// As text, one line each, numbers in hexadecimal: "chance N", "FIGURE N", "KIND.NAME WEIGHT" of what is not
// left out, and the steps: "ask WORD", "time WORD" ... What begins with # is for people.
int story_plan_read(StoryPlan *ret, const char *path); // negative errno; it has said why
int story_plan_write(const StoryPlan *p, const char *path, const char *heading);
// What a story may contain, one line.
void story_plan_describe(const StoryPlan *p, char *ret, size_t size);
