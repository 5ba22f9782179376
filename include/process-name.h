// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Whether some process has a name, as the kernel keeps it: the first 15 bytes of its program's file name
// (proc(5), comm).

#include <stdbool.h>

// Reads one file of /proc for each process, so it is for the pool. What cannot be read has no name.
bool process_name_runs(const char *name);
