// SPDX-License-Identifier: LGPL-2.1-or-later
//
// When the next batch of unit files is due (files-pace.h), in microseconds of the boot clock; 0: there is
// none. Each end of a job asks anew: with fewer than FILES_LADEN_JOBS jobs left the batch is due sooner, so
// systemd does not run out of work for it. A pure function; it cannot fail.

#include "files-pace.h"

static uint64_t pace_us(size_t n_jobs) {
        if (n_jobs >= FILES_LADEN_JOBS)
                return FILES_LADEN_PACE_US;
        return n_jobs > 0 ? FILES_BUSY_PACE_US : FILES_PACE_US;
}

uint64_t files_pace_due(size_t n_writes, size_t n_jobs, uint64_t ended_us) {
        if (n_writes == 0)
                return 0;
        if (n_writes >= FILES_PER_BATCH || ended_us == 0)
                return 1;
        return ended_us + pace_us(n_jobs);
}
