// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// What the list verbs print: rows that become one array with --json, and else a table.

#include "ctl.h"
#include "json.h"

typedef struct CtlRows {
        Table table; // without --json
        Json json;   // with it
} CtlRows;

// Asks, and prints what `f` makes of the rows of each answer: it gets a CtlRows as its userdata. headers: n,
// of the table's columns. Returns an exit code.
int ctl_rows_print(Ctl *ctl, Argosy__Request *request, const char *const *headers, size_t n, ResponseFn f);
// A time, or nothing for 0. 0 or -ENOMEM.
int ctl_rows_add_time(Table *t, uint64_t at_us);
