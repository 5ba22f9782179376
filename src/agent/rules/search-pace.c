// SPDX-License-Identifier: LGPL-2.1-or-later
#include "macro.h"

#include "search-pace.h"

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
