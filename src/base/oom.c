// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The end of a process that has no memory for what it must not forget. It is said once, and nothing is put
// in order: that would take memory, and may have missed a part already. Never fails; the caller goes on only
// with what it asked for.
#include "oom.h"

#include <stdlib.h>

#include "log.h"
#include "process-end.h"

_Noreturn void oom_end(void) {
        log_error("Fatal: there is no memory left.");
        process_end(EXIT_FAILURE);
}
