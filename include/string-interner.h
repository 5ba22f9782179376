// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Words out of a small vocabulary that others choose, each kept once: thousands of units share the few
// sub-states that there are. A vocabulary that is not small gets no larger than STRING_INTERNER_MAX.

#include "map.h"

enum {
        STRING_INTERNER_MAX = 256,
        STRING_INTERNER_SIZE = 24, // with the NUL; longer ones are cut
};

typedef struct StringInterner {
        Map words; // the word is key and value
} StringInterner;

// The word as it is kept, until string_interner_done(). "(other)" when there are too many, or no memory for
// one more.
const char *string_interner_get(StringInterner *w, const char *text);
void string_interner_done(StringInterner *w);
