// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// The whole terminal, for a program that draws over what it has drawn: the other screen, keys as they are
// pressed, and the terminal as it was before on every way out that a program can see (also a signal, and
// Ctrl-Z until it is continued).

#include <signal.h>
#include <stdbool.h>
#include <termios.h>

#include "buf.h"

typedef struct Screen {
        int wake_fd; // readable when screen_next() has something; -1: not entered
        int signal_fd;
        int in, out;
        struct termios before;
        sigset_t mask;
        unsigned width, height;
} Screen;

enum { // what screen_next() returns beside the keys, which are bytes
        SCREEN_NOTHING = 0,
        SCREEN_RESIZED = 256,
        SCREEN_END = 257,  // Ctrl-C, a signal to end, or nobody at the keys any more
        SCREEN_STOP = 258, // Ctrl-Z: call screen_stop() when nobody waits for us
};

// Both descriptors must be terminals. Until screen_leave() signals to end come through screen_next().
// Negative errno: nothing is changed.
int screen_enter(Screen *s, int in, int out);
void screen_leave(Screen *s); // also of one that was not entered
// What has happened, without waiting.
int screen_next(Screen *s);
// Gives the terminal back, stops this process as Ctrl-Z would, and takes the terminal again when it is
// continued. Negative errno: the terminal is gone.
int screen_stop(Screen *s);
// Shows the lines of `text` from the top on, as many as there is room for.
void screen_draw(Screen *s, const Buf *text);
