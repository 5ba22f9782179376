// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Looks a verb up by the words of a command line: `start`, `cluster join`, or fleetctl's name for it
// (alias). verb_list_find() -> the verb and how many words it took -> verb_takes() for each option. NULL: no
// verb has that name; abbreviations are not guessed. Nothing is allocated.

#include <string.h>

#include "str.h"
#include "verb-list.h"

bool verb_takes(const Verb *v, Option option) {
        for (const Option *o = v->options; o && *o; o++)
                if (*o == option)
                        return true;
        return option_is_global(option);
}

const char *verb_second_word(const Verb *v, const char *family) {
        size_t len = strlen(family);

        return strncmp(v->name, family, len) == 0 && v->name[len] == ' ' ? v->name + len + 1 : NULL;
}

const Verb *verb_list_family(const VerbList *l, const char *word) {
        for (size_t i = 0; i < l->n_verbs; i++)
                if (verb_second_word(&l->verbs[i], word))
                        return &l->verbs[i];
        return NULL;
}

const Verb *verb_list_find(const VerbList *l, char *const *words, size_t n, size_t *ret_words) {
        for (size_t i = 0; n > 0 && i < l->n_verbs; i++) {
                const Verb *v = &l->verbs[i];
                const char *second = verb_second_word(v, words[0]);

                if (second && n > 1 && streq(words[1], second))
                        *ret_words = 2;
                else if (streq(words[0], v->name) || (v->alias && streq(words[0], v->alias)))
                        *ret_words = 1;
                else
                        continue;
                return v;
        }
        return NULL;
}
