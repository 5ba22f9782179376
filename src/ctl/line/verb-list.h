// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// What a verb is, and how one is found in a list of them. The list itself stands above all verbs
// (verb-table.h) and is an argument of each function. Pure.

#include <stdbool.h>
#include <stddef.h>

#include "option-table.h"

typedef struct Ctl Ctl;

typedef enum Group {
        GROUP_CHANGE,
        GROUP_SEE,
        GROUP_NODES,
        GROUP_ROLES,
        GROUP_CLUSTER,
        GROUP_OTHER,
        GROUP_HIDDEN,
        _GROUP_MAX
} Group;

enum { ARGS_MAX = 1 << 20 }; // "any number"

typedef struct Verb {
        const char *name;  // "start", "cluster join"
        const char *alias; // or NULL
        const char *args;  // for help: "UNIT..."
        Group group;
        const Option *options; // those that not every verb takes: OPTIONS(), or NULL for none
        unsigned min_args, max_args;
        int (*run)(Ctl *ctl, char **args, size_t n); // returns the exit code
        const char *help;
} Verb;

typedef struct VerbList {
        const Verb *verbs; // those of one family stand together
        size_t n_verbs;
} VerbList;

// The verb that `words` begin with, exactly: families like "cluster" take a second word. *ret_words is how
// many words the name takes. NULL: there is none.
const Verb *verb_list_find(const VerbList *l, char *const *words, size_t n, size_t *ret_words);
// The first verb of two words that begins with this one, e.g. for "cluster" that named "cluster status"; or
// NULL.
const Verb *verb_list_family(const VerbList *l, const char *word);
bool verb_takes(const Verb *v, Option option); // as one of its own, or because every verb takes it
// What follows the family's name and a space in the verb's name. NULL: the verb is not of this family.
const char *verb_second_word(const Verb *v, const char *family);
