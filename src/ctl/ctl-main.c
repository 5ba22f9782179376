// SPDX-License-Identifier: LGPL-2.1-or-later
//
// From the words to the exit code: read the command line, find the socket, run the verb, flush. The only
// place that knows the table of verbs.
//
// A verb's failure is the exit code; output that could not be written is one, too, unless its reader has
// closed it.

#include <errno.h>
#include <locale.h>
#include <poll.h>
#include <unistd.h>

#include "clock.h"
#include "ctl-jobs.h"
#include "ctl-main.h"
#include "ctl.h"
#include "help-text.h"
#include "job-wait.h"
#include "str.h"
#include "verb-table.h"
#include "xdg.h"

#define SOCKET_NAME "argosy/argosy.sock"
#define SOCKET_DEFAULT "/run/" SOCKET_NAME

// What is said on the command line counts before the environment. A new string, or NULL after a complaint.
static char *find_socket(Ctl *ctl) {
        Xdg xdg;
        char *path = NULL;

        if (ctl->opt.socket || !ctl->opt.given[OPT_USER]) {
                path = strdup(ctl->opt.socket ?: getenv("ARGOSY_SOCKET") ?: SOCKET_DEFAULT);
                if (!path)
                        ctl_oom(ctl);
                return path;
        }
        if (xdg_init(&xdg, environ, NULL) < 0) {
                ctl_oom(ctl);
                return NULL;
        }
        if (!xdg.runtime_dir)
                ctl_fail(ctl,
                         "--user needs XDG_RUNTIME_DIR, which logging in sets; without a login try "
                         "XDG_RUNTIME_DIR=/run/user/%u",
                         (unsigned) getuid());
        else if (!(path = str_printf("%s/" SOCKET_NAME, xdg.runtime_dir)))
                ctl_oom(ctl);
        xdg_done(&xdg);
        return path;
}

// The job is held. argosyctl waits for it, unless --no-block was given.
static int wait_for_held(Ctl *ctl) {
        if (ctl->opt.given[OPT_HOLD] || ctl->opt.given[OPT_NO_BLOCK])
                return EXIT_OK;
        return jobs_wait(ctl, ctl->held, ctl->n_held);
}

static int run(Ctl *ctl) {
        _cleanup_free_ char *socket = NULL;
        int code;

        if (ctl->opt.given[OPT_VERSION]) {
                fprintf(ctl->term.out, "argosyctl %s\n", ARGOSY_VERSION);
                return EXIT_OK;
        }
        if (ctl->opt.given[OPT_HELP]) {
                if (ctl->opt.family)
                        help_family(ctl->term.out, ctl->verbs, ctl->opt.family);
                else if (ctl->opt.verb)
                        help_verb(ctl->term.out, ctl->opt.verb);
                else
                        help_all(ctl->term.out, ctl->verbs);
                return EXIT_OK;
        }
        if (ctl->opt.timeout_us > 0)
                ctl->deadline_us = clock_boot_us() + ctl->opt.timeout_us;
        socket = find_socket(ctl);
        if (!socket)
                return EXIT_FAILED;
        ctl_use_socket(ctl, socket);
        code = ctl_jobs_init(ctl) < 0 ? ctl_oom(ctl) : ctl_jobs_check(ctl);
        if (code == EXIT_OK)
                code = ctl->opt.verb->run(ctl, ctl->opt.args, ctl->opt.n_args);
        if (code == CTL_HELD || (code == EXIT_OK && ctl->n_held > 0))
                code = wait_for_held(ctl);
        if (code != EXIT_OK && code != EXIT_DETACHED)
                ctl_suggest(ctl);
        ctl_jobs_done(ctl);
        client_done(&ctl->client);
        return code;
}

// `| head -1` reads what it wants and leaves. Only a caller that ignores SIGPIPE, as services do, lets us
// see it.
static bool reader_is_gone(FILE *out) {
        struct pollfd p = {.fd = fileno(out), .events = POLLOUT};

        return p.fd >= 0 && poll(&p, 1, 0) > 0 && p.revents & (POLLERR | POLLHUP);
}

// What is still in the buffer leaves.
static int flush_output(Ctl *ctl) {
        bool failed = ferror(ctl->term.out);

        errno = EIO; // of an earlier write, when the last one succeeds
        if ((fflush(ctl->term.out) == 0 && !failed) || reader_is_gone(ctl->term.out))
                return EXIT_OK;
        fprintf(ctl->term.err, "argosyctl: cannot write the output: %s\n", strerror(errno));
        return EXIT_FAILED;
}

static unsigned terminal_flags(const bool *given) {
        return (given[OPT_FULL] ? TERMINAL_FULL : 0) | (given[OPT_NO_PAGER] ? TERMINAL_NO_PAGER : 0) |
               (given[OPT_QUIET] ? TERMINAL_QUIET : 0);
}

// It quotes what was typed, or what a script was given.
static int complain(FILE *err, const Buf *why) {
        _cleanup_buf_ Buf clean = {};

        if (text_append_clean_file(&clean, why->data, why->len) == 0)
                fprintf(err, "argosyctl: %.*s\nTry argosyctl --help.\n", (int) clean.len,
                        (const char *) clean.data);
        return EXIT_USAGE;
}

int ctl_main(int argc, char **argv, FILE *out, FILE *err) {
        Ctl ctl = {.verbs = &verb_table, .deadline_us = CLIENT_NEVER, .client.fd = -1};
        _cleanup_buf_ Buf why = {};
        int code, written;

        setlocale(LC_ALL, "");
        if (options_parse(&verb_table, argc, argv, &ctl.opt, &why) < 0)
                return complain(err, &why);
        terminal_init(&ctl.term, out, err, terminal_flags(ctl.opt.given));
        code = run(&ctl);
        written = ctl.term.pager > 0 ? EXIT_OK : flush_output(&ctl);
        pager_close(&ctl.term);
        buf_done(&ctl.refused);
        return code == EXIT_OK ? written : code;
}
