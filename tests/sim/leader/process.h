// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// What belongs to the process, and not to a cluster, made to depend on nothing but the story: clocks, chance
// and the pool. The symbols are defined in the program itself, so that libuv's and libraft's own calls come
// here as well:
//
//      clock_gettime, uv_hrtime            the story's clock; CPU time is the kernel's
//      random_bytes, random_below          a stream of the story (random.h)
//      uv_queue_work, uv_cancel            work that is done by the loop, at a turn that is drawn, in an
//                                          order that is drawn
//
// The map's seed is drawn once for a process (map.c), from the same constant in each.

#include <stdint.h>

// Before anything of a story is made.
void process_begin(uint64_t word, const uint64_t *now_us, const uint64_t *wall_us);
// CPU time of this process in nanoseconds.
uint64_t process_cpu_ns(void);
