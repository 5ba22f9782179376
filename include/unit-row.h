// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Rows of units on nodes, as lists and answers about a unit have them. What is to be said is given in one
// piece; where it comes from is the caller's matter. All return 0 or -ENOMEM, and NULL for that.

#include "cluster-state.h"
#include "hash.h"

// `node`: as it is shown; it is not known on which one of a host's nodes it is.
Argosy__Response__UnitRow *unit_row_new(const char *unit, const char *node) _warn_unused_;
// The unit on a host's node, with the image of its content. spec NULL: its content is not known; host NULL:
// it is on none.
Argosy__Response__UnitRow *unit_row_of(const char *unit, SpecEntry *spec,
                                       const Argosy__HostRecord *host, uint32_t node) _warn_unused_;
int unit_row_set_host(Argosy__Response__UnitRow *row, const Argosy__HostRecord *host);
// The image that a content has, if it is a container's.
int unit_row_set_image(Argosy__Response__UnitRow *row, const void *content, size_t len);
int unit_row_set_words(Argosy__Response__UnitRow *row, const char *load, const char *active,
                       const char *sub);

// What its host said of it last.
typedef struct UnitRowSeen {
        const Hash *content; // that it has there
        Argosy__LoadState load;
        Argosy__ActiveState active;
        const char *sub, *error, *note;
} UnitRowSeen;

int unit_row_set_seen(Argosy__Response__UnitRow *row, const UnitRowSeen *seen);

// The name of a host's node. NULL: out of memory.
char *host_record_node_name(const Argosy__HostRecord *host, uint32_t node) _warn_unused_;
