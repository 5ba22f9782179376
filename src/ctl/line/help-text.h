// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// What `help`, `--help` and the shells' completions print: all of it out of the list of verbs and the
// table of options.

#include <stdbool.h>
#include <stdio.h>

#include "verb-list.h"

void help_all(FILE *f, const VerbList *l);
// The verbs of one family, such as "role".
void help_family(FILE *f, const VerbList *l, const char *family);
void help_verb(FILE *f, const Verb *v);
// Words for shell completion, one a line. `what`:
//      verbs        first words of verbs
//      families     those of them that take a second word
//      FAMILY       the second words of this one
//      options      of the verb named by `words`
//      valued       options that take a value, of all verbs
//      kinds        of events
//      arguments    what the arguments of the verb named by `words` may be: unit, file, node, role, pool,
//                   or a word itself
// False: no such question.
bool help_words(FILE *f, const VerbList *l, const char *what, char *const *words, size_t n);
