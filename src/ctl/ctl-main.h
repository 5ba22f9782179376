// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// One run of argosyctl.

#include <stdio.h>

#include "exit-code.h"

// Everything, from the words to the exit code. `out` and `err` are borrowed; a pager is only used when out
// is stdout.
int ctl_main(int argc, char **argv, FILE *out, FILE *err);
