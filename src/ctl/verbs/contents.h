// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Contents of unit files as the cluster has them, and what differs between two.

#include "buf.h"
#include "diff.h"

typedef struct Ctl Ctl;

typedef struct Content {
        Buf bytes;
        bool there;
        bool quiet; // that there is none is no error
        bool failed;
} Content;

// What the unit has; or with `rev` the content of that hash. Prints what is wrong and returns an exit code.
int content_fetch(Ctl *ctl, char *unit, char *rev, Content *ret);
// Prints the difference of two contents of the unit, and of its carried files; nothing, if they are alike.
// An exit code.
int content_print_difference(Ctl *ctl, char *unit, const DiffSide *from, const DiffSide *to);
