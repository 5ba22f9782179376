// SPDX-License-Identifier: LGPL-2.1-or-later
//
// See swarm.h.
#include "swarm.h"

#include <stddef.h>

#include "macro.h"

#define SWARM_NAME(name, what) #name,
const char *const swarm_load_names[_LOADS] = {SWARM_LOADS(SWARM_NAME)};

void swarm_draw_weights(Draw *d, unsigned *weights, size_t n) {
        unsigned kept = 1 + draw_below(d, 4); // of four

        for (size_t i = 0; i < n; i++) {
                unsigned weight = (unsigned) draw_log(d, 1, SWARM_WEIGHT_MAX);

                weights[i] = draw_below(d, 4) < kept ? weight : 0;
        }
}

// ------------------------------------------------------------------------------------- limits of the leader

#define SWARM_LIMIT(name, usual, least, what) {#name, offsetof(LeaderLimits, name), usual, least},
const SwarmLimit swarm_limits_table[] = {LEADER_LIMITS(SWARM_LIMIT)};
const size_t swarm_n_limits = ELEMENTSOF(swarm_limits_table);

unsigned *swarm_limit(LeaderLimits *limits, size_t i) {
        return (unsigned *) ((char *) limits + swarm_limits_table[i].offset);
}

void swarm_draw_limits(Draw *d, LeaderLimits *ret) {
        unsigned drawn = draw_one_in(d, 2) ? 0 : 1u << draw_below(d, 5); // of sixteen

        for (size_t i = 0; i < swarm_n_limits; i++) {
                const SwarmLimit *limit = &swarm_limits_table[i];
                unsigned value = (unsigned) draw_log(d, MAX_OF(limit->least, 1u), limit->usual);

                if (draw_below(d, 16) < drawn && value < limit->usual)
                        *swarm_limit(ret, i) = value;
        }
}

LeaderLimits swarm_limits(const Swarm *s) {
        LeaderLimits limits = s->limits;

        for (size_t i = 0; i < swarm_n_limits; i++)
                if (*swarm_limit(&limits, i) == 0)
                        *swarm_limit(&limits, i) = swarm_limits_table[i].usual;
        limits.pending_requests_others = MIN_OF(limits.pending_requests_others, limits.pending_requests);
        return limits;
}
