// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// What this folder keeps in each Node. tables.h includes this header; only this folder goes into the struct.

#include <stddef.h>

#include "list.h"

typedef struct NodeStream {
        ListNode draining; // in EventStream.draining, while the node is emptied as far as the stream knows
        size_t drain_left, drain_stuck; // as the stream saw them last
} NodeStream;
