// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// What this folder keeps in each Host, Node and Unit. tables.h includes this header; only this folder goes
// into the structs.

#include <stdint.h>

typedef struct HostScheduling {
        uint32_t place; // number in the Placement + 1; 0: not there yet
} HostScheduling;

typedef struct NodeScheduling {
        uint32_t place;        // number in the Placement + 1; 0: not there yet
        uint64_t place_labels; // hash of the labels that the Placement was told
} NodeScheduling;

typedef struct UnitScheduling {
        uint32_t place; // number in the Placement + 1; 0: not there
} UnitScheduling;
