// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// What main() can do after it has read its options.

#include <stdbool.h>
#include <uv.h>

#include "paths.h"

typedef struct Daemon Daemon;

typedef struct RunOptions {
        Paths paths;
        char *user_name; // with paths.user: of the user
        bool debug;
} RunOptions;

// What main() does with it, in a process of its own, is daemon_run(). A test with several hosts in one
// process calls this, and runs the loop.
// `d` is zero-initialised; it and `options` outlive the loop. Negative errno: *ret_why (malloc'd, may be
// NULL) is a sentence for people, and what was opened by then is left open.
int daemon_start(Daemon *d, uv_loop_t *loop, const RunOptions *options, char **ret_why);

// Runs the daemon until it ends; returns the exit status. `argv` is for executing itself again.
int daemon_run(const RunOptions *options, char **argv);
// `argosyd --recover`: offline, after the quorum was lost for good. Exit status; explains itself on stderr.
int recover_run(const RunOptions *options);
// The same without a word: *ret_said (malloc'd, NULL without memory) is the sentence for people, also after
// success. Negative errno. The lock of the state directory is kept until the process ends.
int recover_here(const RunOptions *options, char **ret_said);
