// SPDX-License-Identifier: LGPL-2.1-or-later
//
// See swarm.h.
#include "swarm.h"

#include <stdio.h>
#include <string.h>

#include "leader-rig.h"
#include "macro.h"

enum { WEIGHT_MAX = 64 };

#define SWARM_NAME(name, what) #name,
const char *const swarm_fault_names[_FAULTS] = {SWARM_FAULTS(SWARM_NAME)}, *const swarm_load_names[_LOADS] = {SWARM_LOADS(SWARM_NAME)};

static bool is_named(const char *names, const char *name) {
        size_t len = strlen(name);

        for (const char *at = names; (at = strstr(at, name)); at += len)
                if ((at == names || at[-1] == ' ') && at[len] == ' ')
                        return true;
        return false;
}

// The more of them are left out, the further go those that stay.
static void draw_weights(Draw *d, unsigned *weights, size_t n, const char *const *names, const char *without) {
        unsigned kept = 1 + draw_below(d, 4); // of four

        for (size_t i = 0; i < n; i++) {
                unsigned weight = (unsigned) draw_log(d, 1, WEIGHT_MAX);

                weights[i] = draw_below(d, 4) < kept && !is_named(without, names[i]) ? weight : 0;
        }
}

Swarm swarm_draw(uint64_t word, const char *without) {
        Draw d = draw_from(word);
        Swarm s = {.hosts = 1 + draw_below(&d, 7), .units = (unsigned) draw_log(&d, 3, 24)};

        draw_weights(&d, s.faults, _FAULTS, swarm_fault_names, without);
        draw_weights(&d, s.loads, _LOADS, swarm_load_names, without);
        if (!is_named(without, "units") && s.loads[LOAD_units] < WEIGHT_MAX / 4)
                s.loads[LOAD_units] = WEIGHT_MAX / 4; // without units there is nothing to look at
        s.steps[STEP_ASK] = (unsigned) draw_log(&d, 8, WEIGHT_MAX);
        s.steps[STEP_FAULT] = draw_one_in(&d, 6) ? 0 : (unsigned) draw_log(&d, 1, WEIGHT_MAX);
        s.steps[STEP_TIME] = (unsigned) draw_log(&d, 1, WEIGHT_MAX);
        s.steps[STEP_SETTLE] = (unsigned) draw_log(&d, 1, WEIGHT_MAX);
        s.steps[STEP_CALM] = (unsigned) draw_log(&d, 1, 4);
        s.n_steps = (unsigned) draw_log(&d, 24, 240);
        s.lease_ms = (unsigned) draw_log(&d, 500, 60000);
        s.start_ms = draw_one_in(&d, 2) ? 0 : (unsigned) draw_log(&d, 1, 10000);
        s.stop_ms = draw_one_in(&d, 2) ? 0 : (unsigned) draw_log(&d, 1, 10000);
        s.mass_loss_percent = draw_one_in(&d, 2) ? 100 : 20 + draw_below(&d, 80);
        s.batch_max = draw_one_in(&d, 4) ? (unsigned) draw_log(&d, 2048, 65536) : 0;
        s.time_max_ms = (unsigned) draw_log(&d, 250, 30000);
        return s;
}

void story_plan_draw(StoryPlan *ret, uint64_t seed) {
        Draw d = draw_from(seed);
        Swarm s;

        *ret = (StoryPlan){.seed = seed, .swarm = draw_word(&d)};
        s = swarm_draw(ret->swarm, "");
        for (unsigned i = 0; i < s.n_steps; i++)
                ret->steps[ret->n_steps++] = (Step){(StepKind) draw_weighted(&d, s.steps, _STEP_KINDS), draw_word(&d)};
        ret->steps[ret->n_steps++] = (Step){STEP_CALM, draw_word(&d)};
}
