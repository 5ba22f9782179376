// SPDX-License-Identifier: LGPL-2.1-or-later
//
// How often a unit that changes by itself is reported: REPORT_BURST times at once, then once in
// REPORT_INTERVAL_US. One number says how far its allowance is used; 0: now, else the boot time when it may,
// on a tick, so that many wake together.

#include "macro.h"

#include "report-pace.h"

uint64_t report_pace(ReportPace *p, uint64_t now_us) {
        const uint64_t ahead = (REPORT_BURST - 1) * (uint64_t) REPORT_INTERVAL_US;
        uint64_t used_until = MAX_OF(p->used_until_us, now_us);

        if (used_until - now_us > ahead)
                return (used_until - ahead + REPORT_TICK_US - 1) / REPORT_TICK_US * REPORT_TICK_US;
        p->used_until_us = used_until + REPORT_INTERVAL_US;
        return 0;
}

uint64_t report_gather(size_t n_jobs, uint64_t sent_us, uint64_t now_us) {
        uint64_t until = sent_us + REPORT_GATHER_US;

        return n_jobs >= REPORT_GATHER_JOBS && until > now_us ? until : 0;
}
