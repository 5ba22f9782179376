// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The rows of verbs/verb-rows.h as a table.

#include "verb-table.h"

#include "macro.h"
#include "option-table.h"
#include "verbs.h"

static const Verb verbs[] = {
#define VERB(name, alias, args, group, options, min, max, run, help) \
        {name, alias, args, group, options, min, max, run, help},
#include "verb-rows.h"
};

const VerbList verb_table = {verbs, ELEMENTSOF(verbs)};
