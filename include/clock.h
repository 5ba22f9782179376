// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// The clocks, all in microseconds. Decisions never call these: they take the time as an argument.

#include <stdint.h>

#define USEC_PER_MSEC UINT64_C(1000)
#define USEC_PER_SEC UINT64_C(1000000)

// CLOCK_BOOTTIME: grows while the machine is suspended. Leases and everything that is compared with a lease
// use it.
uint64_t clock_boot_us(void);
// CLOCK_MONOTONIC: stops while suspended; for systemd's protocols only.
uint64_t clock_monotonic_us(void);
// CLOCK_REALTIME, for people and for records that outlive a boot.
uint64_t clock_wall_us(void);
// CPU time of the calling thread, in nanoseconds: for measuring ourselves only.
uint64_t clock_thread_ns(void);
