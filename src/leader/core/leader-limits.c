// SPDX-License-Identifier: LGPL-2.1-or-later
//
// See leader-limits.h. The usual values are those of its table; nothing else is written down of them.
#include "leader-limits.h"

const LeaderLimits leader_limits_usual = {
#define LEADER_LIMIT_USUAL_OF(name, usual, least, what) .name = usual,
        LEADER_LIMITS(LEADER_LIMIT_USUAL_OF)
#undef LEADER_LIMIT_USUAL_OF
};

static bool is_within(unsigned value, unsigned least, unsigned usual) {
        return value >= least && value <= usual;
}

bool leader_limits_are_valid(const LeaderLimits *limits) {
#define LEADER_LIMIT_WITHIN(name, usual, least, what) \
        if (!is_within(limits->name, least, usual))   \
                return false;
        LEADER_LIMITS(LEADER_LIMIT_WITHIN)
#undef LEADER_LIMIT_WITHIN
        return limits->tickets_others <= limits->tickets;
}
