// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// What becomes of an argosyd that cannot start: clients that wait on its socket are told why
// (exit-reason.h), and it ends. What needs a person ends with EX_CONFIG, after which systemd does not start
// it again by itself. Everything else may mend itself (a file system that is mounted later), so systemd
// tries again; but each failure in a row makes the try last longer before it ends, in which it goes on
// answering. The count stands in the runtime directory, which a restart keeps and a boot does not.

#include <stdbool.h>

// 0 at the first failure, so that `systemctl start` fails at once; then 1 s, twice as much each time, 30 s
// at most. Pure.
unsigned start_failure_pause_ms(unsigned n);

// `runtime_dir` NULL: not known. `error`: negative errno. `served`: the socket is answered by somebody else
// already. Returns the exit status.
int start_failed(const char *runtime_dir, int error, const char *why, bool served);
// It has started.
void start_succeeded(const char *runtime_dir);
