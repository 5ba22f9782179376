// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// What happens when there is no memory. One policy, in the whole program:
//
//      what a peer's bytes ask for     may fail with that request, and nothing else has changed: -ENOMEM goes
//                                      back to where the request is answered
//      everything else                 ends the process, here or by daemon_fail(): a table that has missed
//                                      something would lie from then on. systemd starts the daemon again,
//                                      which disturbs no unit; what it has to know is in the log, in the
//                                      ledger and with the other hosts
//
// So who cannot go back does not hand -ENOMEM on for somebody above to forget about: he calls these.

#include "macro.h"

// Both return what they are given, or not at all.
void *oom_checked(void *memory) _warn_unused_; // NULL: there was none
int oom_check(int r);                          // -ENOMEM: there was none. Any other error is handed on
_Noreturn void oom_end(void);
