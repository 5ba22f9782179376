// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// The identity of the machine that argosyd runs on, read here and nowhere else. A test with several hosts in
// one process replaces this file.

#include <stdbool.h>
#include <stdint.h>

enum { MACHINE_ID_SIZE = 16, MACHINE_NAME_SIZE = 256 };

// The id of /etc/machine-id, the id of this boot, and one that is made of the first and of `application` and
// does not reveal it.
typedef struct MachineIds {
        uint8_t machine[MACHINE_ID_SIZE], boot[MACHINE_ID_SIZE], host[MACHINE_ID_SIZE];
} MachineIds;

// 0, or negative errno: /etc/machine-id is not there or empty.
int machine_ids(const uint8_t application[MACHINE_ID_SIZE], MachineIds *ret);
// As gethostname(2); it may change while we run. False: it has none.
bool machine_name(char ret[MACHINE_NAME_SIZE]);
// That are there now, without any limit of a control group. At least one processor.
uint64_t machine_processors(void);
uint64_t machine_memory_bytes(void);
