// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// What happens when there is no memory. One policy, in the whole program:
//
//      what a peer's bytes ask for     may fail with that request, and nothing else has changed: -ENOMEM
//                                      goes
//                                      back to where the request is answered
//      everything else                 ends the process, here or by daemon_fail(): a table that has missed
//                                      something would lie from then on. systemd starts the daemon again,
//                                      which disturbs no unit; what it has to know is in the log, in the
//                                      ledger and with the other hosts
//
// So code that cannot undo what it has done calls these, and does not return -ENOMEM for a caller to forget
// about.

#include <errno.h>

#include "macro.h"

_Noreturn void oom_end(void);

// Both return what they are given, or not at all.
// NULL: there was none.
_warn_unused_ static inline void *oom_checked(void *memory) {
        if (!memory)
                oom_end();
        return memory;
}

// -ENOMEM: there was none. Any other error is handed on.
static inline int oom_check(int r) {
        if (r == -ENOMEM)
                oom_end();
        return r;
}
