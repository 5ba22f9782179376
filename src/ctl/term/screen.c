// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A full-screen display: keys, signals and drawing (`argosyctl top`).
//
//      screen_enter() -> screen_draw(), wait for s->wake_fd, screen_next() ... -> screen_leave()
//
// Signals are blocked and read from a descriptor, so none is missed between a look and a wait, and only the
// main program writes to the terminal. screen_stop() gives the terminal back for Ctrl-Z. Failures: -errno
// from enter and stop; SCREEN_END when the terminal has gone.

#include <errno.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "screen.h"

#define ENTER "\x1b[?1049h\x1b[?25l" // the other screen, no cursor
#define LEAVE "\x1b[?25h\x1b[?1049l"

static void write_all(const Screen *s, const char *data, size_t len) {
        while (len > 0) {
                ssize_t n = write(s->out, data, len);

                if (n < 0 && errno == EINTR)
                        continue;
                if (n <= 0)
                        return; // screen_next() will notice that the terminal has gone
                data += n;
                len -= (size_t) n;
        }
}

static void measure(Screen *s) {
        struct winsize ws;

        s->width = 80;
        s->height = 24;
        if (ioctl(s->out, TIOCGWINSZ, &ws) == 0 && ws.ws_col > 0 && ws.ws_row > 0) {
                s->width = ws.ws_col;
                s->height = ws.ws_row;
        }
}

static void signals_of(sigset_t *set) {
        static const int numbers[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP, SIGWINCH};

        sigemptyset(set);
        for (size_t i = 0; i < ELEMENTSOF(numbers); i++)
                sigaddset(set, numbers[i]);
}

static int take_terminal(Screen *s) {
        struct termios raw;

        if (tcgetattr(s->in, &s->before) < 0)
                return -errno;
        raw = s->before;
        raw.c_lflag &= ~(tcflag_t) (ICANON | ECHO);
        raw.c_cc[VMIN] = 0;
        raw.c_cc[VTIME] = 0;
        if (tcsetattr(s->in, TCSADRAIN, &raw) < 0)
                return -errno;
        measure(s);
        write_all(s, ENTER, strlen(ENTER));
        return 0;
}

static void give_terminal(Screen *s) {
        write_all(s, LEAVE, strlen(LEAVE));
        (void) tcsetattr(s->in, TCSADRAIN, &s->before);
}

static int watch(Screen *s) {
        const int fds[] = {s->in, s->signal_fd};

        for (size_t i = 0; i < ELEMENTSOF(fds); i++) {
                struct epoll_event e = {.events = EPOLLIN};

                if (epoll_ctl(s->wake_fd, EPOLL_CTL_ADD, fds[i], &e) < 0)
                        return -errno;
        }
        return 0;
}

static void close_fds(Screen *s) {
        if (s->signal_fd >= 0)
                close(TAKE_FD(s->signal_fd));
        if (s->wake_fd >= 0)
                close(TAKE_FD(s->wake_fd));
}

int screen_enter(Screen *s, int in, int out) {
        sigset_t set;
        int r;

        *s = (Screen){.wake_fd = -1, .signal_fd = -1, .in = in, .out = out};
        signals_of(&set);
        s->wake_fd = epoll_create1(EPOLL_CLOEXEC);
        s->signal_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
        r = s->wake_fd < 0 || s->signal_fd < 0 ? -errno : watch(s);
        if (r == 0) {
                sigprocmask(SIG_BLOCK, &set, &s->mask);
                r = take_terminal(s);
                if (r < 0)
                        sigprocmask(SIG_SETMASK, &s->mask, NULL);
        }
        if (r < 0)
                close_fds(s);
        return r;
}

void screen_leave(Screen *s) {
        if (s->wake_fd < 0)
                return;
        give_terminal(s);
        close_fds(s);
        sigprocmask(SIG_SETMASK, &s->mask, NULL);
}

static int on_signal(Screen *s, uint32_t number) {
        if (number == SIGWINCH) {
                measure(s);
                return SCREEN_RESIZED;
        }
        return number == SIGTSTP ? SCREEN_STOP : SCREEN_END;
}

int screen_next(Screen *s) {
        struct signalfd_siginfo info;
        struct epoll_event events[2];
        unsigned char key;
        ssize_t n;

        if (read(s->signal_fd, &info, sizeof(info)) == sizeof(info))
                return on_signal(s, info.ssi_signo);
        n = read(s->in, &key, 1); // VMIN is 0: it does not wait
        if (n == 1)
                return key;
        if (n < 0 && errno != EAGAIN && errno != EINTR)
                return SCREEN_END; // the terminal has gone
        // Nothing to read although it is said to be readable: the other end has hung up.
        n = epoll_wait(s->wake_fd, events, ELEMENTSOF(events), 0);
        for (ssize_t i = 0; i < n; i++)
                if (events[i].events & (EPOLLHUP | EPOLLERR))
                        return SCREEN_END;
        return SCREEN_NOTHING;
}

int screen_stop(Screen *s) {
        sigset_t set, before;

        give_terminal(s);
        sigemptyset(&set);
        sigaddset(&set, SIGTSTP);
        raise(SIGTSTP); // pending while it is blocked
        sigprocmask(SIG_UNBLOCK, &set, &before);
        // The process is stopped here until SIGCONT.
        sigprocmask(SIG_SETMASK, &before, NULL);
        return take_terminal(s);
}

void screen_draw(Screen *s, const Buf *text) {
        const char *p = (const char *) text->data, *end = p + text->len;
        _cleanup_buf_ Buf out = {};
        int r = buf_printf(&out, "\x1b[H");

        for (unsigned line = 0; line < s->height && p < end && r == 0; line++) {
                const char *newline = memchr(p, '\n', (size_t) (end - p)) ?: end;

                r = buf_printf(&out, "%s%.*s\x1b[K", line ? "\r\n" : "", (int) (newline - p), p);
                p = newline < end ? newline + 1 : end;
        }
        if (r == 0)
                r = buf_printf(&out, "\x1b[J");
        if (r == 0)
                write_all(s, (const char *) out.data, out.len);
}
