// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// What only a terminal gets: colour, width, a pager, a progress line.

#include "ctl.h"

// Fills ctl->style, out_tty and err_tty.
void terminal_init(Ctl *ctl);

// Pipes what is printed on stdout from now on through $SYSTEMD_PAGER, $PAGER or less, if stdout is a
// terminal and --no-pager was not given. pager_close() waits for the user to leave it.
void pager_open(Ctl *ctl);
void pager_close(Ctl *ctl);

// One line on stderr that is drawn over itself. progress_clear() takes it away, e.g. before a message.
typedef struct Progress {
        const char *verb;
        uint64_t drawn_us; // 0: nothing is drawn
        uint64_t begun_us;
} Progress;
void progress_draw(Ctl *ctl, Progress *p, size_t done, size_t failed, size_t total);
void progress_clear(Ctl *ctl, Progress *p);
// The line's text, for at most `width` columns. Pure.
typedef struct ProgressState {
        const char *verb;
        size_t done, failed, total; // failed ones are also done
        unsigned seconds;           // since the wait began
} ProgressState;
int progress_format(const ProgressState *s, unsigned width, Buf *out);
