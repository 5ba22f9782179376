// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// When the next batch of unit files is written. After each one PID 1 looks at all its unit directories again
// as soon as it is asked for a unit that it does not have: some 2,000 system calls with what a distribution
// installs, 3 to 6 ms. What is written sooner than PID 1 comes to start it is written for nothing, so the
// more jobs it has to do, the more is gathered first: of 3,000 units of a node it looked 26 times, and 10
// times since this is so. Pure.

#include <stddef.h>
#include <stdint.h>

enum {
        FILES_PER_BATCH = 512, // written by one job of the pool, about 50 us each
        FILES_PACE_US = 20 * 1000, // from the end of one batch to the next, if that is not full
        FILES_BUSY_PACE_US = 60 * 1000, // the same while jobs are under way: units that are destroyed end
                                        // one by one
        FILES_LADEN_PACE_US = 200 * 1000, // and while FILES_LADEN_JOBS are, of which PID 1 does 300 to 600
                                          // in a second
        FILES_LADEN_JOBS = 128,
};

// Boot time from which on it may be, 1: at once, 0: there is none. n_writes: files that wait. n_jobs:
// systemd's that have not ended. ended_us: when the last batch did, 0: there was none.
uint64_t files_pace_due(size_t n_writes, size_t n_jobs, uint64_t ended_us);
