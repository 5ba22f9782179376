// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// When a helper is started to look at the unit files of a manager that is not trusted. Its owner can have it
// say all the time that they have changed, and make looking slow: in any case we look for at most one part
// in SEARCH_SHARE of the time. What comes together (systemctl mask, and the reload that follows) is one
// look.
// Pure.

#include <stdint.h>

enum {
        SEARCH_SETTLE_US = 100 * 1000,
        SEARCH_PAUSE_US = 1000 * 1000, // from the end of one look to the next, if that did not take long
        SEARCH_SHARE = 10,
};

typedef struct SearchPace { // boot times, 0: never
        uint64_t asked_us;  // since when there is something to look for
        uint64_t began_us, ended_us;
} SearchPace;

// Something is to be looked for. The first time counts.
void search_pace_ask(SearchPace *p, uint64_t now_us);
void search_pace_begin(SearchPace *p, uint64_t now_us);
void search_pace_end(SearchPace *p, uint64_t now_us);
// Boot time from which on it may begin; 0: nobody has asked.
uint64_t search_pace_due(const SearchPace *p);
