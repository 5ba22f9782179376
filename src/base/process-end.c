// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The two ends of the process (process-end.h): process_end() with a status, process_abort() with a core.
// Both flush stdio and return to nobody; no destructor runs, and the pool's threads are not waited for.
// Afterwards systemd starts the daemon again, which disturbs no unit.

#include "process-end.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "log.h"

_Noreturn void process_end(int status) {
        fflush(NULL);
        _exit(status);
}

_Noreturn void process_abort(const char *why) {
        log_error("Fatal: %s.", why);
        fflush(NULL);
        abort();
}
