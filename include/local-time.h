// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// A moment as the clocks of this machine show it.

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

// In the time zone that the machine has now, which may have changed since this process began. In any thread.
// False: too far away for a calendar.
bool local_time(uint64_t wall_us, struct tm *ret);
