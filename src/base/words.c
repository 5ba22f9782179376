// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Words that many records repeat, each kept once. At most WORDS_MAX different ones are kept, cut to
// WORDS_SIZE: beyond that, and without memory, everything is `(other)`. Nobody has to look at an error, and
// a peer cannot make it grow.

#include <errno.h>
#include <stdio.h>

#include "str.h"
#include "words.h"

static const char other[] = "(other)";

const char *words_get(Words *w, const char *text) {
        char fitted[WORDS_SIZE];
        char *word;

        str_fit(fitted, sizeof(fitted), "%s", text);
        word = map_find_str(&w->words, fitted);
        if (word)
                return word;
        word = w->words.count < WORDS_MAX ? strdup(fitted) : NULL;
        if (!word || map_add_str(&w->words, word, word) < 0) {
                free(word);
                return other;
        }
        return word;
}

void words_done(Words *w) {
        map_done_with(&w->words, free);
}
