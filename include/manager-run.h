// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Which run of a systemd manager it is: its process and that process's start, which a re-exec keeps. The
// machine's manager has one run in each boot; a user's manager begins a new one, with no unit running, while
// the directory of the ledger may outlive the old one.

// Blocks a moment. Compares the run of the manager behind `socket` (its private socket) with that in the
// file `path`, and puts it there. 0: the same, or there was none; 1: another one, and before it was noted an
// empty file `mark` was made; negative errno: it cannot be told, or written, and `path` stands as it was.
int manager_run_check(const char *socket, const char *path, const char *mark);
