// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The limits of a leader (leader-limits.h): the usual values, and whether given ones are valid.
// LEADER_LIMITS -> leader_limits_usual; tests and the simulator give smaller ones, of which leader_new()
// asserts leader_limits_are_valid(). False: a value is below its least or above its usual one, or others may
// have more pending requests than there are.

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
        return limits->pending_requests_others <= limits->pending_requests;
}
