// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The rule of the table in the header, as two questions: until when nothing may begin elsewhere, and whether
// the unit may still run. They differ for a host that is lost without a guard: nobody waits for it, and
// nobody says that it is down.

#include "fencing-policy.h"

static bool has_ended(const PreviousNode *previous) {
        return previous->stopped || previous->ended || (previous->reported && !previous->held);
}

uint64_t fencing_policy_until(const PreviousNode *previous, FencingGuard guard) {
        if (has_ended(previous))
                return 0;
        if (!previous->lost)
                return FENCING_UNTIL_REPORTED;
        return guard.fence_us || previous->lingers ? previous->lost_us + guard.fence_us : 0;
}

bool fencing_policy_may_run(const PreviousNode *previous, FencingGuard guard, uint64_t now_us) {
        if (has_ended(previous))
                return false;
        return !previous->lost || guard.unguarded || now_us < previous->lost_us + guard.fence_us;
}
