// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// What this folder keeps in each Node. tables.h includes this header; only this folder goes into the struct.

#include <stddef.h>

#include "list.h"

typedef struct NodeQuestions {
        ListNode calls;     // NodeCall.by_node
        size_t n_listeners; // of limits.node_listeners
} NodeQuestions;

static inline void node_questions_init(NodeQuestions *q) {
        list_init(&q->calls);
}
