// SPDX-License-Identifier: LGPL-2.1-or-later
//
// localtime_r() alone takes the time zone that was there when it was called first, and a daemon outlives
// `timedatectl set-timezone`. tzset() looks at $TZ, or where that is not set at /etc/localtime, and reads it
// again if it is another one: a stat(2). A helper that has entered somebody else's root sets $TZ before, and
// keeps that.
//
// Failures: none of its own.

#include "local-time.h"

#include "clock.h"

bool local_time(uint64_t wall_us, struct tm *ret) {
        time_t seconds = (time_t) (wall_us / USEC_PER_SEC);

        tzset();
        return localtime_r(&seconds, ret);
}
