// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A wall-clock time in microseconds as text in UTC: "2026-11-20 10:00:00 UTC". The leader uses UTC as it
// does not know where the text is read; argosyctl shows its own time zone elsewhere. Failure: a year that
// the C library's calendar does not have makes the text empty.

#include "utc-time.h"

#include <time.h>

#include "clock.h"

void utc_time_format(uint64_t wall_us, char ret[UTC_TIME_SIZE]) {
        time_t seconds = (time_t) (wall_us / USEC_PER_SEC);
        struct tm tm;

        if (!gmtime_r(&seconds, &tm) || strftime(ret, UTC_TIME_SIZE, "%Y-%m-%d %H:%M:%S UTC", &tm) == 0)
                *ret = 0;
}
