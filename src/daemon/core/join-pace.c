// SPDX-License-Identifier: LGPL-2.1-or-later
//
// How many join requests are answered: JOIN_RATE_PER_SEC per address and JOIN_RATE_OF_ALL times that in all.
//
//      join_pace_takes(): a request uses up part of a second, which comes back with time
//          -> true, up to JOIN_BURST
//
// A request that is refused for its address uses up nothing of the common rate. Addresses share slots by
// their hash. Each has two, and the one with more left counts: who shares one of them with somebody who asks
// without end is heard by the other. Nothing fails; the boot clock does not go back.

#include "join-pace.h"

#include "clock.h"
#include "macro.h"
#include "map.h"

// The time at which all used rate has come back, if one more request is taken.
static uint64_t with_one_more(uint64_t used_until_us, unsigned times, uint64_t now_us) {
        return MAX_OF(used_until_us, now_us) + USEC_PER_SEC / (JOIN_RATE_PER_SEC * times);
}

bool join_pace_takes(JoinPace *p, const Principal *from, uint64_t now_us) {
        uint64_t hash = map_hash(from, sizeof(*from)), *first = &p->used_until_us[0][hash % JOIN_PACE_SLOTS],
                 *second = &p->used_until_us[1][hash / JOIN_PACE_SLOTS % JOIN_PACE_SLOTS],
                 next = with_one_more(MIN_OF(*first, *second), 1, now_us),
                 of_all = with_one_more(p->all_used_until_us, JOIN_RATE_OF_ALL, now_us);

        if (MAX_OF(next, of_all) > now_us + JOIN_BURST * USEC_PER_SEC / JOIN_RATE_PER_SEC)
                return false;
        *first = MAX_OF(*first, next);
        *second = MAX_OF(*second, next);
        p->all_used_until_us = of_all;
        return true;
}
