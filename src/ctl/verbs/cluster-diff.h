// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// What differs in the whole cluster between two jobs, or since one: the verb diff, where its words begin
// with @.

#include <stddef.h>

typedef struct Ctl Ctl;

// diff of the whole cluster, of words that begin with @. An exit code.
int cluster_diff_run(Ctl *ctl, char **args, size_t n);
