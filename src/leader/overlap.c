// SPDX-License-Identifier: LGPL-2.1-or-later
#include "overlap.h"

#include "failing-rules.h"

uint64_t overlap_until(const OldHome *home, const FailingOptions *options, uint64_t lease_us) {
        uint64_t fence_us;

        if (home->stopped || home->ended || (home->heard && !home->held))
                return 0;
        if (!home->lost)
                return OVERLAP_UNTIL_HEARD;
        fence_us = failing_fence_us(options, lease_us);
        return fence_us ? home->lost_us + fence_us : 0;
}
