// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// How often the changing state of one unit is told to the leader: at once as long as it changes now and
// then; a unit that crashes again and again has used up REPORT_BURST and is told about every
// REPORT_INTERVAL_US, with the state that it has then. Reports that somebody may wait for (an order was
// carried out, a unit is gone, a one-shot has ended) are not counted. What a unit goes through while an
// order is carried out waits for a tick: mostly that is over before, and told with the end.
//
// And when the reports that are due leave: each by itself costs a TLS record, a segment and a turn of the
// leader's loop, some 40 us on both sides together, more than all that is done for the unit besides. While
// many jobs are under way the next report is only moments away, so they leave together, REPORT_GATHER_US
// after the last ones; the last REPORT_GATHER_JOBS, and whatever happens while there are fewer jobs, at
// once. Pure.

#include <stddef.h>
#include <stdint.h>

enum {
        REPORT_BURST = 10,
        REPORT_INTERVAL_US = 1000 * 1000,
        REPORT_TICK_US = 50 * 1000, // delayed reports leave together
        REPORT_GATHER_US = 20 * 1000,
        REPORT_GATHER_JOBS = 16,
};

typedef struct ReportPace {
        uint64_t used_until_us; // each report uses up an interval; zero for a new unit
} ReportPace;

// 0: tell it now, that is counted. Otherwise when (boot time) to ask again, a multiple of REPORT_TICK_US.
uint64_t report_pace(ReportPace *p, uint64_t now_us);
// When (boot time) reports that are due may leave, 0: now. n_jobs: jobs of systemd's that have not ended;
// sent_us: when all were last sent.
uint64_t report_gather(size_t n_jobs, uint64_t sent_us, uint64_t now_us);
