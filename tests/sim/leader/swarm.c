// SPDX-License-Identifier: LGPL-2.1-or-later
//
// See swarm.h.
#include "swarm.h"

#include "world.h"

enum { WEIGHT_MAX = 64 };

#define SWARM_NAME(name, what) #name,
const char *const swarm_fault_names[_FAULTS] = {SWARM_FAULTS(SWARM_NAME)}, *const swarm_load_names[_LOADS] = {SWARM_LOADS(SWARM_NAME)};

// The more of them are left out, the further go those that stay.
static void draw_weights(Draw *d, unsigned *weights, size_t n) {
        unsigned kept = 1 + draw_below(d, 4); // of four

        for (size_t i = 0; i < n; i++) {
                unsigned weight = (unsigned) draw_log(d, 1, WEIGHT_MAX);

                weights[i] = draw_below(d, 4) < kept ? weight : 0;
        }
}

Swarm swarm_draw(uint64_t word) {
        Draw d = draw_from(word);
        Swarm s = {.hosts = 1 + draw_below(&d, 7), .units = (unsigned) draw_log(&d, 3, WORLD_UNITS_MAX)};
        bool slow = draw_one_in(&d, 20); // little happens in much time

        draw_weights(&d, s.faults, _FAULTS);
        draw_weights(&d, s.loads, _LOADS);
        if (s.loads[LOAD_units] < WEIGHT_MAX / 4)
                s.loads[LOAD_units] = WEIGHT_MAX / 4; // without units there is nothing to look at
        if (s.loads[LOAD_several] < WEIGHT_MAX && draw_below(&d, 4) > 0)
                s.loads[LOAD_several] = WEIGHT_MAX;
        s.steps[STEP_ASK] = (unsigned) draw_log(&d, 8, WEIGHT_MAX);
        s.steps[STEP_FAULT] = draw_one_in(&d, 6) ? 0 : (unsigned) draw_log(&d, 1, WEIGHT_MAX);
        s.steps[STEP_TIME] = (unsigned) draw_log(&d, 1, WEIGHT_MAX);
        s.steps[STEP_SETTLE] = (unsigned) draw_log(&d, 1, WEIGHT_MAX);
        s.steps[STEP_CALM] = draw_one_in(&d, 2) ? 0 : 1;
        s.n_steps = (unsigned) draw_log(&d, 48, 480);
        s.lease_ms = (unsigned) draw_log(&d, 500, slow ? 60000 : 2500);
        s.start_ms = draw_one_in(&d, 2) ? 0 : (unsigned) draw_log(&d, 1, slow ? 10000 : 500);
        s.stop_ms = draw_one_in(&d, 2) ? 0 : (unsigned) draw_log(&d, 1, slow ? 10000 : 500);
        s.mass_loss_percent = draw_one_in(&d, 2) ? 100 : 20 + draw_below(&d, 80);
        // What the leader decides about all units that wait has to fit, as it does in an entry of BATCH_SOFT_BYTES.
        s.batch_max = draw_one_in(&d, 4) ? (unsigned) draw_log(&d, 16384, 65536) : 0;
        s.time_max_ms = (unsigned) draw_log(&d, 100, slow ? 30000 : 1000);
        return s;
}
