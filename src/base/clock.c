// SPDX-License-Identifier: LGPL-2.1-or-later
#include <time.h>

#include "clock.h"

static uint64_t read_us(clockid_t id) {
        struct timespec ts;

        clock_gettime(id, &ts); // cannot fail for clocks that exist since Linux 2.6.39
        return (uint64_t) ts.tv_sec * USEC_PER_SEC + (uint64_t) ts.tv_nsec / 1000;
}

uint64_t clock_boot_us(void) {
        return read_us(CLOCK_BOOTTIME);
}

uint64_t clock_monotonic_us(void) {
        return read_us(CLOCK_MONOTONIC);
}

uint64_t clock_wall_us(void) {
        return read_us(CLOCK_REALTIME);
}
