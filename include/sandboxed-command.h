// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// A program that reads files of which nothing good is to be expected, and what it prints. It finds the files
// in a directory of its own, and runs as nobody if we are root: without a network, new rights, sockets, or
// processes of others that it could touch, with limits of memory, time and output.
//
// Without root some rights cannot be taken away: then the command can do no more than the user that runs us.

#include <stdbool.h>

#include "buf.h"

typedef struct SandboxedCommand SandboxedCommand;

enum {
        SANDBOXED_OUTPUT_MAX = 128 * 1024, // bytes; what it prints behind them is lost
        SANDBOXED_CPU_SEC = 5,
};

#define SANDBOXED_HOME "home"

typedef struct SandboxedFile {
        const char *name; // in its directory; no path
        const void *content;
        size_t len;
} SandboxedFile;

typedef struct SandboxedConfig {
        const char *const *args; // NULL-terminated; args[0] is a path, or looked for in /usr/bin and /bin
        const SandboxedFile *files;
        size_t n_files;
        // it has a directory of its own to write to: $HOME, $XDG_RUNTIME_DIR, and SANDBOXED_HOME in its
        // directory
        bool home;
        const char *dir_variable; // of its environment, which says where its directory is; NULL: none
        bool reserves_much; // it is one of those (Go's) that reserve more addresses than they use memory
} SandboxedConfig;

// Everything is copied. -ENOENT: there is no such program. Other negative errno: it was not started.
int sandboxed_command_start(const SandboxedConfig *config, SandboxedCommand **ret);
// Its directory, without a slash at the end; the program begins there.
const char *sandboxed_command_dir(const SandboxedCommand *c);
// Waits until it has ended. 0: `output` has what it printed on both outputs, appended. -ETIMEDOUT: it goes
// on. -EIO: it was killed, by its limits or by somebody. Once it has ended, not again.
int sandboxed_command_wait(SandboxedCommand *c, unsigned timeout_ms, Buf *output);
// Appends a file that it has written into its home, once it has ended. 0; -ENOENT: it has not; -EFBIG: it
// has more than `max` bytes; -EISDIR: it is no regular file; other negative errno.
int sandboxed_command_read(const SandboxedCommand *c, const char *name, size_t max, Buf *ret) _warn_unused_;
// Ends it, if it goes on, and removes its directory. Takes NULL.
SandboxedCommand *sandboxed_command_free(SandboxedCommand *c);
DEFINE_CLEANUP(SandboxedCommand *, sandboxed_command_free)
