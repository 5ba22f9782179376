// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What every verb needs first: saying what is wrong, and not dying of Ctrl-C. How a verb ends is decided
// in one place, its handler; everything below returns and prints at most warnings. Messages are cleaned
// of what a terminal would obey, and broken where it ends.

#include <errno.h>
#include <signal.h>
#include <stdarg.h>

#include "ctl.h"

static volatile sig_atomic_t interrupted;

static void on_interrupt(int sig) {
        interrupted = 1;
}

void ctl_catch_interrupt(Ctl *ctl) {
        struct sigaction sa = {.sa_handler = on_interrupt}; // without SA_RESTART

        sigemptyset(&sa.sa_mask);
        sigaction(SIGINT, &sa, NULL);
}

void ctl_use_socket(Ctl *ctl, const char *path) {
        interrupted = 0;
        client_init(&ctl->client, path, &interrupted);
        ctl->client.user = ctl->opt.given[OPT_USER];
}

static void print_message(Ctl *ctl, const char *prefix, const char *format, va_list ap) {
        _cleanup_buf_ Buf clean = {}, lines = {};
        _cleanup_free_ char *text = NULL, *line = NULL;

        if (vasprintf(&text, format, ap) < 0) {
                text = NULL;
                return;
        }
        if (text_append_clean(&clean, text, true) < 0 || !(line = buf_take_string(&clean)) ||
            buf_append_wrapped(&lines, line, strlen(prefix), MESSAGE_INDENT, ctl->term.err_width) < 0)
                return;
        progress_clear(&ctl->term);
        fflush(ctl->term.out);
        fprintf(ctl->term.err, "%s%.*s\n", prefix, (int) lines.len, (const char *) lines.data);
}

int ctl_fail(Ctl *ctl, const char *format, ...) {
        va_list ap;

        va_start(ap, format);
        print_message(ctl, "argosyctl: ", format, ap);
        va_end(ap);
        return EXIT_FAILED;
}

int ctl_usage(Ctl *ctl, const char *format, ...) {
        va_list ap;

        va_start(ap, format);
        print_message(ctl, "argosyctl: ", format, ap);
        va_end(ap);
        return EXIT_USAGE;
}

int ctl_bad_word(Ctl *ctl, int error, const Buf *why) {
        if (error == -ENOMEM)
                return ctl_oom(ctl);
        ctl_fail(ctl, "%.*s", (int) why->len, (const char *) why->data);
        return error == -EINVAL || error == -E2BIG ? EXIT_USAGE : EXIT_FAILED; // the others are the disk's
}

int ctl_oom(Ctl *ctl) {
        return ctl_fail(ctl, "out of memory");
}

void ctl_say(Ctl *ctl, const char *format, ...) {
        _cleanup_free_ char *text = NULL;
        _cleanup_buf_ Buf clean = {};
        va_list ap;
        int r;

        va_start(ap, format);
        r = vasprintf(&text, format, ap);
        va_end(ap);
        if (r < 0)
                text = NULL;
        if (!text || text_append_clean(&clean, text, true) < 0) {
                (void) ctl_oom(ctl);
                return;
        }
        fprintf(ctl->term.out, "%.*s\n", (int) clean.len, (const char *) clean.data);
}

int ctl_print_table(Ctl *ctl, const Table *table) {
        _cleanup_buf_ Buf text = {};

        if (table_format(table, &ctl->term.style, !ctl->opt.given[OPT_NO_LEGEND], &text) < 0)
                return ctl_oom(ctl);
        if (text.len > 0)
                fwrite(text.data, 1, text.len, ctl->term.out);
        return EXIT_OK;
}

void ctl_warn(Ctl *ctl, const char *format, ...) {
        va_list ap;

        if (ctl->opt.given[OPT_QUIET])
                return;
        va_start(ap, format);
        print_message(ctl, "Warning: ", format, ap);
        va_end(ap);
}

const char *status_text(int status, const char *message) {
        return *message ? message : strerror(status);
}
