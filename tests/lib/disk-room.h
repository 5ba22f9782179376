// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// How much room file systems are said to have, whatever the machine of the test has: of the dependency
// disk_room.

#include <stdint.h>

// Blocks of 4 KiB that are free of 1,000,000; by default all of them.
extern uint64_t disk_room_free;
// Files that can still be made; by default as many.
extern uint64_t disk_room_inodes;
