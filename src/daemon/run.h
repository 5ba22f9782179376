// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// What main() can do after it has read its options.

#include <stdbool.h>

#include "paths.h"

typedef struct RunOptions {
        Paths paths;
        char *user_name; // with paths.user: of the user
        bool debug;
} RunOptions;

// Runs the daemon until it ends; returns the exit status. `argv` is for executing itself again.
int daemon_run(const RunOptions *options, char **argv);
// `argosyd --recover`: offline, after the quorum was lost for good. Exit status; explains itself on stderr.
int recover_run(const RunOptions *options);
