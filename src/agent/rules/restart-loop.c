// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Whether a unit fails and is restarted by systemd again and again (restart-loop.h has the rule).
// restart_loop_note() per change -> looping, if RESTART_LOOP_COUNT restarts lie within RESTART_LOOP_US -> it
// ends by time. The last restarts are kept with the time at which they were seen; several seen at once each
// count. It cannot fail.

#include "restart-loop.h"

#include <string.h>

#include "macro.h"

static void add(RestartLoop *loop, uint64_t now_us) {
        memmove(&loop->at_us[1], &loop->at_us[0], sizeof(loop->at_us) - sizeof(loop->at_us[0]));
        loop->at_us[0] = now_us;
}

bool restart_loop_note(RestartLoop *loop, uint32_t restarts, uint16_t failed, uint64_t now_us) {
        uint16_t more = (uint16_t) (failed - loop->failed);
        bool looped = loop->looping;
        uint64_t oldest;

        if (restarts < loop->restarts || now_us >= restart_loop_ends_us(loop))
                *loop = (RestartLoop){};
        loop->restarts = restarts;
        loop->failed = failed;
        for (unsigned i = 0; i < MIN_OF((unsigned) more, (unsigned) RESTART_LOOP_COUNT); i++)
                add(loop, now_us);
        oldest = loop->at_us[RESTART_LOOP_COUNT - 1];
        loop->looping |= oldest != 0 && now_us - oldest <= RESTART_LOOP_US;
        return loop->looping != looped;
}

uint64_t restart_loop_ends_us(const RestartLoop *loop) {
        return loop->at_us[0] == 0 ? 0 : loop->at_us[0] + RESTART_LOOP_US;
}
