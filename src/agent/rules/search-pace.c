// SPDX-License-Identifier: LGPL-2.1-or-later
//
// See search-pace.h. Three times are noted: when somebody first asked, when the last look began and when it
// ended. The next one is due when what comes together has settled, and after a pause of the last one's
// length times SEARCH_SHARE - 1. There is nothing that could fail.

#include "search-pace.h"

#include "macro.h"

void search_pace_ask(SearchPace *p, uint64_t now_us) {
        p->asked_us = p->asked_us ?: now_us;
}

void search_pace_begin(SearchPace *p, uint64_t now_us) {
        p->asked_us = 0;
        p->began_us = now_us;
}

void search_pace_end(SearchPace *p, uint64_t now_us) {
        p->ended_us = now_us;
}

uint64_t search_pace_due(const SearchPace *p) {
        uint64_t took_us = p->ended_us - p->began_us,
                 pause_us = MAX_OF(took_us * (SEARCH_SHARE - 1), (uint64_t) SEARCH_PAUSE_US);

        if (p->asked_us == 0)
                return 0;
        if (p->ended_us == 0)
                return p->asked_us + SEARCH_SETTLE_US;
        return MAX_OF(p->asked_us + SEARCH_SETTLE_US, p->ended_us + pause_us);
}
