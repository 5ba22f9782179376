// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The rule of the table in the header, as two questions: until when nothing may begin elsewhere, and whether
// the unit may still run. They differ for a host that is lost without a guard: nobody waits for it, and
// nobody says that it is down.

#include "overlap.h"

static bool has_ended(const OldHome *home) {
        return home->stopped || home->ended || (home->heard && !home->held);
}

uint64_t overlap_until(const OldHome *home, OldGuard guard) {
        if (has_ended(home))
                return 0;
        if (!home->lost)
                return OVERLAP_UNTIL_HEARD;
        return guard.fence_us || home->lingers ? home->lost_us + guard.fence_us : 0;
}

bool overlap_may_run(const OldHome *home, OldGuard guard, uint64_t now_us) {
        if (has_ended(home))
                return false;
        return !home->lost || guard.unguarded || now_us < home->lost_us + guard.fence_us;
}
