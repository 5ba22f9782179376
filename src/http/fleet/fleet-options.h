// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// A unit file as fleet's API has it: options, each with its section, in their order. Comments and blank
// lines are none, and a value that goes on in the next line has backslash and line feed in it. So the file
// that is made of options is the same on every way, and its SHA-1 is what fleet's client calls the hash of a
// unit. Pure.

#include <stdbool.h>
#include <stddef.h>

#include "buf.h"
#include "json.h"

typedef struct FleetOption {
        char *section, *name, *value;
} FleetOption;

// Zeroed is empty.
typedef struct FleetOptions {
        FleetOption *list;
        size_t n, allocated;
} FleetOptions;

enum { FLEET_HASH_SIZE = 41 };

void fleet_options_done(FleetOptions *o);
// Copies them. 0 or -ENOMEM.
int fleet_options_add(FleetOptions *o, const char *section, const char *name, const char *value);
// What stands in a file; lines that are none of the above are left out. 0 or -ENOMEM.
int fleet_options_read(const char *text, size_t len, FleetOptions *ret);
// The file. 0 or -ENOMEM.
int fleet_options_write(const FleetOptions *o, Buf *ret);
// The hash of that. 0 or -ENOMEM.
int fleet_options_hash(const FleetOptions *o, char ret[FLEET_HASH_SIZE]);
// 1: they make the same file; 0, -ENOMEM.
int fleet_options_equal(const FleetOptions *a, const FleetOptions *b);
// [{"section":...,"name":...,"value":...},...]
void fleet_options_show(const FleetOptions *o, Json *j);
// 0; -EINVAL: they make no file, since they would be read as others, and *ret_why (borrowed) says why;
// -ENOMEM.
int fleet_options_check(const FleetOptions *o, const char **ret_why);
