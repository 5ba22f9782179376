// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// What this host says of itself to those it talks to.

#include <stdint.h>

#include "argosy.pb-c.h"

enum { MESH_HELLO_MS = 5000 }; // for the first frame of either side

typedef struct MeshSelf {
        uint32_t host, raft_id, feature_level;
        uint8_t cluster_id[16], boot_id[16];
        uint64_t generation;
} MeshSelf;

// The Hello borrows from `self`.
void mesh_self_hello(MeshSelf *self, Argosy__ToVoter__Hello *ret);
