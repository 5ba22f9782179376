// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What time it is, and that the turn has something to do. Everything else of a turn is done by leader.c, in an order
// that stands there.
#include "turn.h"

#include "clock.h"

uint64_t leader_now(const Leader *l) {
        return l->config.now_us ? l->config.now_us(l->userdata) : clock_boot_us();
}

uint64_t leader_wall(const Leader *l) {
        return l->config.wall_us ? l->config.wall_us(l->userdata) : clock_wall_us();
}

void leader_mark(Leader *l) {
        if (!l->closing)
                drain_mark(&l->drain);
}

void leader_outside_done(Leader *l) {
        l->n_outside--;
        l->on_outside_done(l);
}

// By the time before it is asked: what the store finds to be over is over here, too, and it tells when there is some
// again.
bool leader_has_authority(Leader *l) {
        uint64_t now = leader_now(l);

        return l->ops.authority_until(l->userdata) > now;
}
