// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Words out of a small vocabulary that others choose, each kept once: thousands of units share the few
// sub-states that there are. A vocabulary that is not small gets no larger than WORDS_MAX.

#include "map.h"

enum {
        WORDS_MAX = 256,
        WORDS_SIZE = 24, // with the NUL; longer ones are cut
};

typedef struct Words {
        Map words; // the word is key and value
} Words;

// The word as it is kept, until words_done(). "(other)" when there are too many, or no memory for one more.
const char *words_get(Words *w, const char *text);
void words_done(Words *w);
