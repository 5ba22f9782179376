// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The rows of verbs/verb-rows.h as a table (VerbList): name, arguments, options, function, help.
// main() gives it to ctl_main() -> verb_list_find() -> the verb's function.
// A table: nothing fails.

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
