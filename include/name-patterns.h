// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Which names somebody means, who may name thousands: those that stand there are looked up, and only the few
// with wildcards are compared. Pure.

#include "map.h"

enum {
        NAME_GLOBS_MAX = 64, // with wildcards, at a time
        NAME_GLOB_MAX = 255,  // bytes of one of them
};

// A zeroed one means all names.
typedef struct NamePatterns {
        Map names;
        const char **globs;
        size_t n_globs, n;
} NamePatterns;

// Why nobody is to ask for these, for people; NULL: they are fine.
const char *name_patterns_error(char *const *patterns, size_t n);
// Borrows them. No pattern at all means all names. 0 or -ENOMEM, and there is nothing to be done away with.
int name_patterns_init(NamePatterns *p, char *const *patterns, size_t n) _warn_unused_;
void name_patterns_done(NamePatterns *p);
bool name_patterns_match(const NamePatterns *p, const char *name);
