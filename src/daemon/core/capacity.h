// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// What this host offers to units that reserve some: its cores and memory, or what a container may use of its
// host's, less and more what the configuration says. It changes while the host is up: by hot-plug, and by
// new limits of the container.

#include <stdbool.h>
#include <stdint.h>

#include "config.h"

#define CGROUP_ROOT "/sys/fs/cgroup"

typedef struct Capacity {
        uint32_t cpu_milli, memory_mib; // thousandths of a core
} Capacity;

// The capacity of a machine of so many cores and bytes within these texts of cpu.max and memory.max; "" or a
// text that cannot be read: no limit. Pure.
Capacity capacity_within(uint64_t cores, uint64_t bytes, const char *cpu_max, const char *memory_max);
// What is offered of it. Pure.
Capacity capacity_offered(const Capacity *whole, const Config *config);
// What it is now. Reads two small files of `cgroup`, the root of all control groups that this host sees:
// only a container's has limits.
Capacity capacity_read(const char *cgroup, const Config *config);
bool capacity_equal(const Capacity *a, const Capacity *b);
