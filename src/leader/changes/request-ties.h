// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Whether the units of a large request may be planned some at a time, each of these parts in an entry of the log of
// its own. They may where what becomes of one unit says nothing about another: then the parts, one after the other,
// come to the same as the whole, but that a large unit of one part is placed after a small one of a part before. Pure.
//
// The whole is planned at once where a unit has dependencies or others depend on it, activates or is activated,
// brings units along (Also=), is to be with others or replaces them, where units differ in role or priority (whose turn it
// is depends on that, request-turns.c), where one is named twice, or its content is that of its siblings.

#include "map.h"
#include "request.h"

typedef struct RequestTies {
        size_t n_checked; // names
        bool tied;       // plan the whole at once
        Map names;       // that were looked at
        // Of the first one.
        bool has_first;
        char *role;
        int16_t priority;
} RequestTies; // zero-initialised: nothing was looked at

enum {
        REQUEST_TIES_FILES = 16,         // files of one request that may be taken in parts, and their bytes:
        REQUEST_TIES_BYTES = 64 * 1024,  // each part looks at all of them
        REQUEST_TIES_MORE = 1,
};

// Looks at `most` more names. 0: at all of them, or they are tied; REQUEST_TIES_MORE: there are more; -ENOMEM.
int request_ties_check(RequestTies *t, const ClusterState *state, const Argosy__Request__Change *change,
                       size_t most, const ChangeOps *ops, void *userdata);
void request_ties_done(RequestTies *t);
