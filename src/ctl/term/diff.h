// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// What differs between two texts, as `diff -u` prints it. Pure.

#include "text.h"

typedef struct DiffSide {
        const char *name;
        const void *data;
        size_t len;
} DiffSide;

enum {
        DIFF_CONTEXT = 3,     // lines around what differs
        DIFF_LINES_MAX = 1000, // removed and added together; if more differ, all from the first to the last
                               // of them do
};

typedef enum DiffOutcome { DIFF_SAME, DIFF_DIFFERS } DiffOutcome;

// Appends the difference, or nothing. `clean`: for a terminal, without what that would obey; else byte for
// byte. DiffOutcome or -ENOMEM.
int diff_append(const DiffSide *a, const DiffSide *b, const TextStyle *style, bool clean, Buf *out);
