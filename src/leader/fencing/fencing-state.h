// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// What this folder keeps in each Host and Node. tables.h includes this header; only this folder goes into
// the structs.

#include <stdint.h>

#include "cluster-state.h"

typedef struct HostFencing {
        uint64_t
                // until then it is waited for what the host said may still run there (UnitOnNode.lingers)
                lingers_until_us;
        uint64_t mass_loss_of_us; // Host.lost_us, if the host is one of those of a mass loss
} HostFencing;

typedef struct NodeFencing {
        const Tombstone *open; // the first tombstone of the node that is not over; NULL: not looked for
} NodeFencing;
