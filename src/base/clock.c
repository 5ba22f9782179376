// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The kernel's clocks as numbers: microseconds of boot time for what lasts over a suspend, of monotonic time
// for what does not, of wall time for people and for what other machines compare; CPU nanoseconds of this
// thread. Each function is one clock_gettime(), from any thread, and cannot fail.

#include <time.h>

#include "clock.h"

static uint64_t read_ns(clockid_t id) {
        struct timespec ts;

        clock_gettime(id, &ts); // cannot fail for clocks that exist since Linux 2.6.39
        return (uint64_t) ts.tv_sec * UINT64_C(1000000000) + (uint64_t) ts.tv_nsec;
}

uint64_t clock_boot_us(void) {
        return read_ns(CLOCK_BOOTTIME) / 1000;
}

uint64_t clock_monotonic_us(void) {
        return read_ns(CLOCK_MONOTONIC) / 1000;
}

uint64_t clock_wall_us(void) {
        return read_ns(CLOCK_REALTIME) / 1000;
}

uint64_t clock_thread_ns(void) {
        return read_ns(CLOCK_THREAD_CPUTIME_ID);
}
