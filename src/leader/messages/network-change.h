// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// A network is a name and a file. If a unit gets another file of one, all units that have the same one get
// that file with it, as a node has one network of each name; who has a third file has another network. And
// if a container is called otherwise, who has its network (Network=db.container) gets its file, by which a
// node knows that name. Which these are, and what they get.

#include "batch-builder.h"
#include "cluster-state.h"
#include "unit-parts.h"

typedef struct ChangedNetwork {
        char *file;    // "front.network", "db.container"
        UnitPart part; // its lines, in the next content
        Hash of;       // of these: quadlet_beside_hash()
        Hash before;   // of those whose place they take; zero: of all others, as of a container's file who
                       // has its network may have an older one
} ChangedNetwork;

typedef struct NetworkChange {
        ChangedNetwork *list;
        size_t n, allocated;
} NetworkChange; // zero-initialised: nothing changes

// Networks of which the next content of the unit, which outlives *ret, has other files than the content; and
// its own file, if only that has its container's name. 0 or -ENOMEM; ends with network_change_done() in both
// cases.
int network_change_of(const char *unit, const void *content, size_t len, const void *next, size_t next_len,
                      NetworkChange *ret) _warn_unused_;
// A network that a content names, and whose file it brings.
typedef struct NamedNetwork {
        const char *file; // "front.network"
        UnitPart part;    // its lines
        bool is_new;      // the content of before has no such file
} NamedNetwork;

// Calls `each` for every one of `names` (UnitFile.networks) that the content brings; not for containers,
// whose networks are where these are. `before`: what the unit has, NULL: nothing. What `each` returns but 0
// ends it and is returned. 0 or -ENOMEM.
int network_change_each_named(const char *names, const void *content, size_t len, const SpecEntry *before,
                              int (*each)(const NamedNetwork *n, void *userdata),
                              void *userdata) _warn_unused_;
// One more, of another change, unless it has that; its lines live as long. 0 or -ENOMEM.
int network_change_add_once(NetworkChange *c, const ChangedNetwork *w) _warn_unused_;
void network_change_done(NetworkChange *c);
// Whether a unit with this content gets another one by that.
bool network_change_concerns(const NetworkChange *c, const SpecEntry *spec);
// Whether it has one of the files that come.
bool network_change_has(const NetworkChange *c, const SpecEntry *spec);
// The text of that content: 0 or -ENOMEM; to be freed in both cases.
int network_change_text(const NetworkChange *c, const SpecEntry *spec, Buf *ret) _warn_unused_;
// Puts it. 0; -EINVAL and *ret_why, or -EDQUOT, as batch_put_content(); -ENOMEM.
int network_change_put(const NetworkChange *c, BatchBuilder *b, const ClusterState *state,
                       const SpecEntry *spec, Hash *ret, char **ret_why) _warn_unused_;
// "front.network", or several with that between them. NULL: out of memory.
char *network_change_names(const NetworkChange *c, const char *between);
