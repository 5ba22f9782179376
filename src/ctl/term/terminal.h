// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Where one run of argosyctl writes to, and what only a terminal gets: colour, width, a pager, a progress
// line.

#include <stdio.h>
#include <sys/types.h>

#include "text.h"

typedef struct Terminal {
        FILE *out, *err; // borrowed
        TextStyle style; // of out
        bool out_tty, err_tty;
        unsigned err_width; // where messages are broken; 0: nowhere
        unsigned flags;     // TerminalFlags
        pid_t pager;        // 0: none
        struct {
                uint64_t begun_us; // 0: nothing was to be drawn yet
                uint64_t drawn_us; // 0: nothing is drawn
        } progress;
} Terminal;

typedef enum TerminalFlags {
        TERMINAL_FULL = 1 << 0,     // lines may be longer than the terminal is wide
        TERMINAL_NO_PAGER = 1 << 1, // pager_open() does nothing
        TERMINAL_QUIET = 1 << 2,    // progress_draw() does nothing
} TerminalFlags;

// Only stdout and stderr can be terminals; a pager is only used when `out` is stdout.
void terminal_init(Terminal *t, FILE *out, FILE *err, unsigned flags);

// Pipes what is printed on stdout from now on through $SYSTEMD_PAGER, $PAGER or less, if stdout is a
// terminal. pager_close() waits for the user to leave it.
void pager_open(Terminal *t);
void pager_close(Terminal *t);

// One line on stderr that is drawn over itself: how far a wait has come. progress_begin() says that another
// wait begins. Nothing is drawn of a total of 0 without `awaits`. progress_clear() takes the line away, e.g.
// before a message.
typedef struct ProgressState {
        const char *verb;
        size_t done, failed, total; // failed ones are also done
        unsigned seconds;           // since the wait began; progress_draw() knows it
        const char *awaits;         // in place of the numbers: what others are to do; NULL: the numbers
        uint64_t since_us;          // when this wait began, by clock_boot_us(); 0: when it was first drawn
} ProgressState;
void progress_begin(Terminal *t);
void progress_draw(Terminal *t, const ProgressState *state);
void progress_clear(Terminal *t);
// The line's text, for at most `width` columns. Pure.
int progress_format(const ProgressState *s, unsigned width, Buf *out);
