// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// What differs between two contents of a unit, by parts: its unit file, drop-ins, and files that come with
// it. Pure.

#include <stddef.h>

#include "argosy.pb-c.h"
#include "macro.h"

enum { CONTENT_PARTS_NAMED = 8 }; // in a message

typedef enum PartChange {
        PART_ADDED,
        PART_CHANGED, // of a file: its bytes, or whether it is executable
        PART_REMOVED,
        PART_CHANGES,
} PartChange;

const char *part_change_to_string(PartChange change);

// `part` is valid during the call: `name` for the unit file, "web.service.d/10-limits.conf", "image" for the
// digest of a container's (content-image.h), or the name of a file (carried-files.h). Below 0: it ends, and
// that is returned.
typedef int (*ContentDifferenceEach)(const char *part, size_t len, PartChange change, void *userdata);

// Calls `each` for the unit file, drop-ins in systemd's order, and files by their names. `name`: what the
// unit file is called. A list of files that cannot be read counts as none. 0, -ENOMEM, or what `each`
// returned.
int content_difference(const char *name, const void *before, size_t before_len, const void *after,
                       size_t after_len, ContentDifferenceEach each, void *userdata);

// The same as a message, to be freed by message_free(): how many there are, and the first of them. *ret
// NULL: neither content has other parts than the unit file, which is called "unit file" here. 0 or -ENOMEM.
int content_difference_parts(const void *before, size_t before_len, const void *after, size_t after_len,
                             Argosy__Response__Parts **ret) _warn_unused_;
