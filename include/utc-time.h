// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// A moment in words of ours to people who may be anywhere.

#include <stdint.h>

enum { UTC_TIME_SIZE = 32 };

// "2026-11-20 10:00:00 UTC"; empty: too far away for a calendar.
void utc_time_format(uint64_t wall_us, char ret[UTC_TIME_SIZE]);
