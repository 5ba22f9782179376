// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// When a process was born: with its number that names one process for good, while a number alone is given
// again.

#include <stdint.h>
#include <sys/types.h>

// In clock ticks after boot. Reads one file of /proc. 0: there is no such process, or it cannot be told.
uint64_t process_birth(pid_t pid);
