// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// The turn of the loop: what time it is, who may say something that lasts, and that something is to be done.
//
// There is one wall time, leader_wall(), and one counted time, leader_counted() (leader.h). Nothing else of
// the leader looks at a wall clock, or chooses between these two and the log's.

#include "clock.h"
#include "leader-core.h"

static inline uint64_t leader_now(const Leader *l) {
        return l->config.now_us ? l->config.now_us(l->userdata) : clock_boot_us();
}
// Whether nobody else can lead at this moment. Asked before anything is said that lasts. The time is read
// before the store is asked, so that an authority that the store finds expired is expired here, too.
static inline bool leader_has_authority(Leader *l) {
        uint64_t now = leader_now(l);

        return l->ops.authority_until(l->userdata) > now;
}
// Whether leader_wall() is what the clocks of the voters say, or that of the only one; else it is counted on
// from the log's.
bool leader_wall_is_agreed(const Leader *l);
// A host has said what its wall clock is ahead of our boot clock. True: leader_wall() is another one, or
// whether it is agreed.
bool leader_wall_hear(Leader *l, uint32_t host, int64_t offset_us);
void leader_time_begin(Leader *l);      // a term: nobody has been heard
void leader_time_on_applied(Leader *l); // after each entry of the log, or its image, also while another one
                                        // leads
static inline void leader_mark(Leader *l) {
        if (!l->closing && !l->drain.marked)
                drain_mark(&l->drain);
}
void leader_outside_begun(Leader *l); // the log, or the pool, has taken a call of ours and will answer
// It has answered: last thing that its callback does, since `l` may be gone afterwards.
void leader_outside_done(Leader *l);
