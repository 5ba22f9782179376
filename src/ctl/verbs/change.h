// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// What verbs of units (start, stop ...) have for others: the same for units that a former job names.

#include <stddef.h>

#include "argosy.pb-c.h"

typedef struct Ctl Ctl;

// Asks for these units, which the cluster knows, as that verb of units does (not submit); no file of this
// disk goes with it. Returns an exit code.
int change_again(Ctl *ctl, Argosy__Verb verb, char **names, size_t n);
