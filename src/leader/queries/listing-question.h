// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Questions for lists of units and of unit files.

#include "leader-core.h"

enum {
        // patterns with wildcards in one question; each name is compared with all of them
        LISTED_GLOBS_MAX = 64,
        LISTED_GLOB_MAX = 255, // bytes of one of them
};

// Whether the request is one for a list that is made in turns (listings.h).
bool listing_is_long(const Leader *l, const Argosy__Request *request);
// Answers what would be compared for too long; NULL: it is not.
Argosy__Response *listing_refuse(const Argosy__Request *request);

// The patterns of the request, and their number.
char **listing_patterns(const Argosy__Request *request, size_t *ret_n);
const Argosy__ListFilter *listing_filter(const Argosy__Request *request); // NULL: all rows are wanted
// Names without wildcards are looked up; of a page with patterns they are compared as these are.
bool listing_compares_all(const Argosy__ListFilter *m, char *const *patterns, size_t n);
