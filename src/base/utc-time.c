// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Times that the leader tells are in UTC, since it does not know where they are read; argosyctl shows others in its own time
// zone. A year that the calendar of the C library does not have is no time.

#include "utc-time.h"

#include <time.h>

#include "clock.h"

void utc_time_format(uint64_t wall_us, char ret[UTC_TIME_SIZE]) {
        time_t seconds = (time_t) (wall_us / USEC_PER_SEC);
        struct tm tm;

        if (!gmtime_r(&seconds, &tm) || strftime(ret, UTC_TIME_SIZE, "%Y-%m-%d %H:%M:%S UTC", &tm) == 0)
                *ret = 0;
}
