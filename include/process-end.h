// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// The ends of the process, all of them, but for one that executes the program again (run.c) and for children
// that were forked. A test with several hosts in one process replaces this file, and only that host ends.

#include "macro.h"

// At once: nothing is put in order, what was printed is flushed, and the pool's threads are not waited for,
// as exit() would.
_Noreturn void process_end(int status);
// Something cannot be so, and going on would lie: it is said, and the process ends with a core.
_Noreturn void process_abort(const char *why);
