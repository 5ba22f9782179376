// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Makes a red story shorter, as long as it stays red for the same reason.

#include "plan.h"

typedef struct Shrink {
        StoryPlan *plan;  // becomes the shortest that was found
        unsigned hosts_min; // that a story must have; 0: 1
        size_t red_step;  // at which it ends; n_steps: behind all of them
        // Whether that plan is red for the same reason, and at which step.
        bool (*is_red)(const StoryPlan *plan, size_t *ret_step, void *userdata);
        void *userdata;
        unsigned n_played;
} Shrink;

void shrink(Shrink *s);
