// SPDX-License-Identifier: LGPL-2.1-or-later
//
// See lease-length.h. Every lease that a host holds is one of two: a former leader gave it, and it is no
// longer than the log says; or this leader did, and it is the shorter one of both. So the longer one of both
// is long enough to wait for each of them, and nothing here can fail.
#include "lease-length.h"

#include "clock.h"
#include "macro.h"

uint32_t lease_length_counted_ms(uint32_t own_ms, uint32_t logged_ms) {
        return MAX_OF(own_ms, logged_ms);
}

uint32_t lease_length_given_ms(uint32_t own_ms, uint32_t logged_ms) {
        return logged_ms > 0 ? MIN_OF(own_ms, logged_ms) : own_ms;
}

uint64_t lease_length_log_at_us(uint32_t own_ms, uint32_t logged_ms, uint64_t leads_us) {
        if (own_ms == logged_ms)
                return 0;
        return leads_us + (own_ms > logged_ms ? 0 : logged_ms * USEC_PER_MSEC);
}
