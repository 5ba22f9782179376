// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// How often the changing state of one unit is told to the leader: at once as long as it changes now and
// then; a unit that crashes again and again has used up REPORT_BURST and is told about every
// REPORT_INTERVAL_US, with the state that it has then. Reports that somebody may wait for (an order was
// carried out, a unit is gone, a one-shot has ended) are not counted and not delayed. What a unit goes through
// while an order is carried out waits for a tick: mostly that is over before, and told with the end. Pure.

#include <stdint.h>

enum {
        REPORT_BURST = 10,
        REPORT_INTERVAL_US = 1000 * 1000,
        REPORT_TICK_US = 50 * 1000, // delayed reports leave together
};

typedef struct ReportPace {
        uint64_t used_until_us; // each report uses up an interval; zero for a new unit
} ReportPace;

// 0: tell it now, that is counted. Otherwise when (boot time) to ask again, a multiple of REPORT_TICK_US.
uint64_t report_pace(ReportPace *p, uint64_t now_us);
