// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// What carries the verbs out, one file for each family. Each takes the words behind the verb, whose
// number the table has checked, and returns the exit code.

#include <stddef.h>

typedef struct Ctl Ctl;

#define VERB(name, alias, args, group, options, min, max, run, help) \
        int run(Ctl *ctl, char **words, size_t n);
#include "verb-rows.h"
