// SPDX-License-Identifier: LGPL-2.1-or-later
//
// See swarm.h.
#include "swarm.h"

#define SWARM_NAME(name, what) #name,
const char *const swarm_load_names[_LOADS] = {SWARM_LOADS(SWARM_NAME)};

void swarm_draw_weights(Draw *d, unsigned *weights, size_t n) {
        unsigned kept = 1 + draw_below(d, 4); // of four

        for (size_t i = 0; i < n; i++) {
                unsigned weight = (unsigned) draw_log(d, 1, SWARM_WEIGHT_MAX);

                weights[i] = draw_below(d, 4) < kept ? weight : 0;
        }
}
