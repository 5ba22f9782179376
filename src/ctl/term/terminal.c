// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What only a terminal gets: colours, a width, a pager, a line of progress.
//
//      terminal_init() -> pager_open() -> output -> pager_close()     progress_begin()
//          -> progress_draw() -> _clear()
//
// Each is left out where output goes to a file or the environment says so (NO_COLOR, TERM, PAGER). Without a
// pager, or memory, the text goes out as it is.

#include <errno.h>
#include <langinfo.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "clock.h"
#include "str.h"
#include "terminal.h"

enum {
        PROGRESS_AFTER_MS = 250, // a command that is done by then draws nothing
        PROGRESS_EVERY_MS = 100,
        BAR_MAX = 30,
        WIDTH_DEFAULT = 80,
};

static unsigned width_of(int fd) {
        struct winsize ws;
        uint64_t n;
        const char *env = getenv("COLUMNS");

        if (env && parse_u64(env, 10000, &n) && n > 0)
                return (unsigned) n;
        if (ioctl(fd, TIOCGWINSZ, &ws) == 0 && ws.ws_col > 0)
                return ws.ws_col;
        return WIDTH_DEFAULT;
}

static bool env_is_set(const char *name) {
        const char *v = getenv(name);

        return v && *v;
}

void terminal_init(Terminal *t, FILE *out, FILE *err, unsigned flags) {
        const char *term = getenv("TERM");

        *t = (Terminal){.out = out, .err = err, .flags = flags};
        t->out_tty = out == stdout && isatty(STDOUT_FILENO);
        t->err_tty = err == stderr && isatty(STDERR_FILENO) && !(term && streq(term, "dumb"));
        t->err_width = t->err_tty ? width_of(STDERR_FILENO) : 0;
        t->style = (TextStyle){
                .colour = t->out_tty && !env_is_set("NO_COLOR") && !(term && streq(term, "dumb")),
                .utf8 = streq(nl_langinfo(CODESET), "UTF-8"),
                .width = t->out_tty && !(flags & TERMINAL_FULL) ? width_of(STDOUT_FILENO) : 0,
        };
}

// Runs in the child; what it reads is fd 0.
static void exec_pager(const char *wanted) {
        char buffer[4096];
        ssize_t n;

        setenv("LESS", getenv("SYSTEMD_LESS") ?: "FRSXMK", 1);
        setenv("LESSSECURE", "1", 0);
        if (wanted)
                execl("/bin/sh", "sh", "-c", wanted, NULL);
        else {
                execlp("pager", "pager", NULL);
                execlp("less", "less", NULL);
                execlp("more", "more", NULL);
        }
        while ((n = read(STDIN_FILENO, buffer, sizeof(buffer))) > 0)
                if (write(STDOUT_FILENO, buffer, (size_t) n) != n)
                        break;
        _exit(0);
}

void pager_open(Terminal *t) {
        const char *wanted = getenv("SYSTEMD_PAGER") ?: getenv("PAGER");
        int fds[2];

        if (!t->out_tty || (t->flags & TERMINAL_NO_PAGER) || t->pager > 0 ||
            (wanted && (!*wanted || streq(wanted, "cat"))))
                return;
        fflush(t->out);
        if (pipe(fds) < 0)
                return;
        t->pager = fork();
        if (t->pager == 0) {
                prctl(PR_SET_PDEATHSIG, SIGTERM);
                dup2(fds[0], STDIN_FILENO);
                close(fds[0]);
                close(fds[1]);
                exec_pager(wanted);
        }
        if (t->pager > 0) {
                dup2(fds[1], STDOUT_FILENO);
                signal(SIGINT, SIG_IGN);  // it is the pager's now
                signal(SIGPIPE, SIG_IGN); // it may be left before everything was shown
        } else
                t->pager = 0;
        close(fds[0]);
        close(fds[1]);
}

void pager_close(Terminal *t) {
        if (t->pager <= 0)
                return;
        fflush(t->out);
        close(STDOUT_FILENO);
        while (waitpid(t->pager, NULL, 0) < 0 && errno == EINTR)
                ;
        t->pager = 0;
}

// What others say never commands the terminal. The end stays, which is what changes.
static int format_awaits(const ProgressState *s, unsigned width, Buf *out) {
        _cleanup_buf_ Buf clean = {};
        _cleanup_free_ char *text = NULL;
        char head[64], tail[16] = "";
        size_t fixed, shown;

        str_fit(head, sizeof(head), "%s: waiting for ", s->verb);
        if (s->seconds > 0)
                snprintf(tail, sizeof(tail), " (%us)", s->seconds);
        fixed = strlen(head) + strlen(tail) + 1;
        if (text_append_clean(&clean, s->awaits, false) < 0 || !(text = buf_take_string(&clean)) ||
            buf_printf(out, "%s", head) < 0 ||
            text_append_ellipsised(out, text, width > fixed ? width - fixed : 1, false, &shown) < 0)
                return -ENOMEM;
        return buf_printf(out, "%s", tail);
}

int progress_format(const ProgressState *s, unsigned width, Buf *out) {
        char tail[96], bar[BAR_MAX + 1];
        size_t fixed, size, filled;
        int n;

        if (s->awaits)
                return format_awaits(s, width, out);
        n = snprintf(tail, sizeof(tail), " %zu/%zu", s->done, s->total);
        if (s->failed > 0)
                n += snprintf(tail + n, sizeof(tail) - (size_t) n, ", %zu failed", s->failed);
        if (s->seconds > 0)
                n += snprintf(tail + n, sizeof(tail) - (size_t) n, " (%us)", s->seconds);
        fixed = strlen(s->verb) + (size_t) n + 3; // blank and brackets
        if (s->total < 2 || width < fixed + 5)
                return buf_printf(out, "%s%s", s->verb, tail);
        size = MIN_OF((size_t) width - fixed - 1, (size_t) BAR_MAX);
        filled = size * s->done / s->total;
        memset(bar, ' ', size);
        memset(bar, '=', filled);
        if (filled < size)
                bar[filled] = '>';
        bar[size] = 0;
        return buf_printf(out, "%s [%s]%s", s->verb, bar, tail);
}

void progress_begin(Terminal *t) {
        progress_clear(t);
        t->progress.begun_us = 0;
}

void progress_draw(Terminal *t, const ProgressState *state) {
        ProgressState s = *state;
        _cleanup_buf_ Buf line = {};
        uint64_t now = clock_boot_us(), drawn_us = t->progress.drawn_us;

        if (!t->err_tty || t->flags & TERMINAL_QUIET || (s.total == 0 && !s.awaits))
                return;
        if (s.since_us > 0 || t->progress.begun_us == 0)
                t->progress.begun_us = s.since_us > 0 ? s.since_us : now;
        if (now < t->progress.begun_us + PROGRESS_AFTER_MS * USEC_PER_MSEC ||
            (drawn_us > 0 && now < drawn_us + PROGRESS_EVERY_MS * USEC_PER_MSEC && s.done < s.total &&
             !s.awaits))
                return;
        s.seconds = (unsigned) ((now - t->progress.begun_us) / USEC_PER_SEC);
        if (progress_format(&s, width_of(STDERR_FILENO), &line) < 0)
                return;
        t->progress.drawn_us = now;
        fprintf(t->err, "\r%.*s\x1b[K", (int) line.len, (const char *) line.data);
        fflush(t->err);
}

void progress_clear(Terminal *t) {
        if (t->progress.drawn_us == 0)
                return;
        fputs("\r\x1b[K", t->err);
        fflush(t->err);
        t->progress.drawn_us = 0;
}
