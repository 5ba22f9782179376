// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Words that many records repeat, each kept once. At most STRING_INTERNER_MAX different ones are kept, cut
// to STRING_INTERNER_SIZE: beyond that, and without memory, everything is `(other)`. Nobody has to look at
// an error, and a peer cannot make it grow.

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "str.h"
#include "string-interner.h"

static const char other[] = "(other)";

const char *string_interner_get(StringInterner *w, const char *text) {
        char fitted[STRING_INTERNER_SIZE];
        char *word;

        if (strlen(text) >= sizeof(fitted)) {
                str_fit(fitted, sizeof(fitted), "%s", text);
                text = fitted;
        }
        word = map_find_str(&w->words, text);
        if (word)
                return word;
        word = w->words.count < STRING_INTERNER_MAX ? strdup(text) : NULL;
        if (!word || map_add_str(&w->words, word, word) < 0) {
                free(word);
                return other;
        }
        return word;
}

void string_interner_done(StringInterner *w) {
        map_done_with(&w->words, free);
}
