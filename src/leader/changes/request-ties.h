// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Whether the units of a large request may be planned some at a time, each of these parts in an entry of the
// log of its own. They may where what becomes of one unit says nothing about another: then the parts, one
// after the other, come to the same as the whole, but that a large unit of one chunk is placed after a small
// one of a chunk before. Pure.
//
// The whole is planned at once where a unit has dependencies or others depend on it, activates or is
// activated, brings units along (Also=), or is to be with others or replaces them. That is one turn of the
// loop for all of them, so there may be REQUEST_TIED_MAX of these at most. Where units differ in role or
// priority whose turn it is depends on that (request-turns.c): they are planned at once, too, and of more
// than that each chunk has an order of its own.

#include "map.h"
#include "change-ops.h"

typedef struct RequestTies {
        size_t n_checked; // names
        bool tied;       // plan the whole at once
        bool ranked;     // they differ in role or priority
        bool repeats;    // one is named twice
        Map names;       // that were looked at -> which one it is, counted from 1
        Map files;       // that came along, by name, as far as they were looked at
        size_t n_files_checked;
        // Role and priority of the first unit.
        bool has_first;
        char *role;
        int16_t priority;
} RequestTies; // zero-initialised: nothing was looked at

enum {
        REQUEST_TIES_MORE = 1,
        REQUEST_TIED_MAX = 512, // at about 15 us each
        REQUEST_ALONG_MAX = 2048, // that go along with what it names, since they depend on that: at about 2
                                  // us each
};

// Looks at `most` more names, or at fewer and some files. `only_names`: whether they are tied is known. 0:
// at all of them, or they are tied; REQUEST_TIES_MORE: there are more; -ENOMEM.
int request_ties_check(RequestTies *t, const ClusterState *state, const Argosy__Request__Change *change,
                       size_t most, bool only_names, const ChangeOps *ops, void *userdata);
// a refusal; NULL: out of memory
Argosy__Response *request_ties_too_many(const Argosy__Request__Change *change);
// For a request that was checked whole: the file of that name that came along, or NULL; and whether a name
// occurs earlier.
const Argosy__NamedFile *request_ties_file(const RequestTies *t, const char *name);
bool request_ties_is_repeat(const RequestTies *t, const char *name, size_t i);
void request_ties_done(RequestTies *t);
