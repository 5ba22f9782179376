// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Whether a service loops: systemd restarts it again and again for its failures (Restart=). A unit that ends
// well and is restarted does not. Pure; times are boot time.
//
//      begins   with the third restart after a failure within RESTART_LOOP_US
//      ends     when RESTART_LOOP_US have passed without one, or systemd's count begins anew: it was started
//               or stopped by somebody
//
// So it does not come and go with each run. It is known as long as this process lives: who begins later
// begins to count.

#include <stdbool.h>
#include <stdint.h>

enum {
        RESTART_LOOP_COUNT = 3,                   // in the manual
        RESTART_LOOP_US = 10 * 60 * 1000 * 1000, // likewise
};

typedef struct RestartLoop { // zero-initialised: nothing was restarted
        uint64_t at_us[RESTART_LOOP_COUNT]; // of the last ones, newest first; 0: not so many
        uint32_t restarts;                  // as seen last
        uint16_t failed;
        bool looping;
} RestartLoop;

// systemd's count of restarts, and the one of those that followed a failure, which counts on modulo its
// size. Whether it loops is another answer now.
bool restart_loop_note(RestartLoop *loop, uint32_t restarts, uint16_t failed, uint64_t now_us);
uint64_t restart_loop_ends_us(const RestartLoop *loop); // by time alone; 0: nothing is counted
