// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// What this folder keeps in each Host, Node and Unit. tables.h includes this header; only this folder goes
// into the structs.

#include <stdbool.h>
#include <stdint.h>

#include "hash.h"
#include "list.h"
#include "unit-name.h"

typedef struct FileQuestion { // which piece of a file a host waits for (file-pieces.c)
        Hash hash;
        char unit[UNIT_NAME_MAX + 1]; // that it is for; "": none can have what was asked for
        uint64_t from;
        bool held; // until the host takes more
} FileQuestion;

typedef struct HostOrdering {
        ListNode due;           // UnitOnNodeWork.order: to be sent
        bool welcoming;         // the host is being told what it is to hold, in parts
        uint32_t welcome_parts; // sent of the Welcome so far
        ListNode *welcome_node; // Node.of_host that the walk through its nodes is at; NULL: it is over
        bool companions_due;    // the host is to be told which templates stand beside its units
        bool companions_cut;    // not all of them fitted, and Host.complaint says so
        FileQuestion file_question;
} HostOrdering;

typedef struct NodeOrdering { // where the walk for the host's Welcome is; NULL: not here
        ListNode *placed;     // Unit.placed
        ListNode *held;       // UnitOnNode.by_node, later
} NodeOrdering;

typedef struct UnitOrdering {
        uint8_t standing; // Standing, as units that depend on this one were told last
} UnitOrdering;

static inline void host_ordering_init(HostOrdering *o) {
        list_init(&o->due);
}

// A member leaves its list: the walk goes on behind it.
static inline void host_ordering_pass_node(HostOrdering *o, ListNode *of_host) {
        list_cursor_pass(&o->welcome_node, of_host);
}

static inline void node_ordering_pass_placed(NodeOrdering *o, ListNode *placed) {
        list_cursor_pass(&o->placed, placed);
}

static inline void node_ordering_pass_held(NodeOrdering *o, ListNode *by_node) {
        list_cursor_pass(&o->held, by_node);
}
