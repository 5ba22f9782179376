// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Each request uses up a part of a second, which comes back as time passes. What an address may not have is not taken from all.
//
// Failures: none. The clock of the boot does not go back.

#include "join-pace.h"

#include "clock.h"
#include "macro.h"
#include "map.h"

static uint64_t used(const JoinAllowance *a, uint64_t now_us) {
        return a->used_us - MIN_OF(a->used_us, now_us - a->since_us);
}

static bool has_room(const JoinAllowance *a, unsigned times, uint64_t now_us) {
        return used(a, now_us) + USEC_PER_SEC / (JOIN_RATE_PER_SEC * times) <= JOIN_BURST * USEC_PER_SEC / JOIN_RATE_PER_SEC;
}

static void take(JoinAllowance *a, unsigned times, uint64_t now_us) {
        a->used_us = used(a, now_us) + USEC_PER_SEC / (JOIN_RATE_PER_SEC * times);
        a->since_us = now_us;
}

bool join_pace_takes(JoinPace *p, const Principal *from, uint64_t now_us) {
        JoinAllowance *own = &p->of[map_hash(from, sizeof(*from)) % JOIN_PACE_SLOTS];

        if (!has_room(own, 1, now_us) || !has_room(&p->all, JOIN_RATE_OF_ALL, now_us))
                return false;
        take(own, 1, now_us);
        take(&p->all, JOIN_RATE_OF_ALL, now_us);
        return true;
}
