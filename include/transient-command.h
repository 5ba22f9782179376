// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// A program that this host's systemd runs for argosyd, in a transient service of its own: with its rights,
// network and limits, not those of argosyd. systemd-run(1) asks for it and waits. On the loop.
//
// It stops with argosyd.service (PartOf=), so whoever asked for it is there as long as it runs.

#include <uv.h>

#include "buf.h"

typedef struct TransientCommand TransientCommand;

typedef struct TransientConfig {
        uv_loop_t *loop;
        const char *runner;      // systemd-run, or what stands for it in tests: gets its arguments
        const char *unit;        // "argosyd-image-7.service"; of no other that runs
        const char *description;
        const char *const *args; // NULL-terminated; args[0] is a path
        const char *const *environment; // "NAME=VALUE", NULL-terminated; NULL: none
        unsigned limit_sec;      // then it is stopped
        size_t output_max;       // bytes of what it prints that are kept; one more is an error
        void (*heard)(void *userdata); // it has said something more; NULL: nobody asks before it ends
} TransientConfig;

// `result`: 0: it has ended well; -EIO: it has not; -ETIMEDOUT: it was stopped by its limit; -EFBIG: it
// printed more than output_max bytes. `output`: what it printed; `said`: the end of what it or systemd-run
// said on the other output, at most TRANSIENT_SAID_MAX bytes. Borrowed.
typedef void TransientDone(int result, const Buf *output, const Buf *said, void *userdata);

enum { TRANSIENT_SAID_MAX = 4096 };

// Everything but the loop is copied. `done` fires once, from the loop, never before return, unless it is
// cancelled. -ENOENT: there is no such program; other negative errno: it was not started.
int transient_command_start(const TransientConfig *config, TransientDone *done, void *userdata,
                            TransientCommand **ret);
// The end of what it has said so far, as `said`. Borrowed until the loop goes on.
const Buf *transient_command_said(const TransientCommand *c);
// It is stopped, and `done` does not fire. `closed` (may be NULL) when nothing of it is left on the loop.
void transient_command_cancel(TransientCommand *c, void (*closed)(void *userdata), void *userdata);
