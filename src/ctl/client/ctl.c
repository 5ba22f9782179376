// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What every verb needs: complaining, asking, names. How a verb ends is decided in one place, its handler;
// everything below returns and prints at most warnings.

#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <unistd.h>

#include "clock.h"
#include "ctl.h"
#include "json.h"
#include "str.h"
#include "terminal.h"
#include "unit-args.h"
#include "unit-name.h"
#include "xdg.h"

#define SOCKET_NAME "argosy/argosy.sock"
#define SOCKET_DEFAULT "/run/" SOCKET_NAME

enum { RETRY_MIN_MS = 100, RETRY_MAX_MS = 1000, RETRY_TELL_MS = 800, REFUSALS_SHOWN = 10 };

static volatile sig_atomic_t interrupted;

static void on_interrupt(int sig) {
        interrupted = 1;
}

void ctl_catch_interrupt(Ctl *ctl) {
        struct sigaction sa = {.sa_handler = on_interrupt}; // without SA_RESTART

        sigemptyset(&sa.sa_mask);
        sigaction(SIGINT, &sa, NULL);
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

void ctl_warn(Ctl *ctl, const char *format, ...) {
        va_list ap;

        if (ctl->opt.given & OPT_QUIET)
                return;
        va_start(ap, format);
        print_message(ctl, "Warning: ", format, ap);
        va_end(ap);
}

const char *status_text(int status, const char *message) {
        return *message ? message : strerror(status);
}

// Says once per run how old an answer without a leader is.
static void warn_stale(Ctl *ctl, const Argosy__Response *r) {
        _cleanup_buf_ Buf age = {};

        if (!r->no_leader || r->status != 0 || ctl->warned_stale)
                return;
        ctl->warned_stale = true;
        if (r->stale_ms == 0 || text_append_span(&age, r->stale_ms * USEC_PER_MSEC) < 0)
                ctl_warn(ctl, "the cluster has no leader at the moment; this is what this host knows");
        else
                ctl_warn(ctl, "the cluster has no leader at the moment; this is %.*s old", (int) age.len,
                         (const char *) age.data);
}

// The daemon gives up looking for a leader when we do; what it then says is worth a moment more.
static uint64_t answer_deadline(const Ctl *ctl, unsigned flags) {
        uint64_t until = clock_boot_us() + ANSWER_SEC * USEC_PER_SEC;

        if ((flags & CALL_PATIENT) || ctl->deadline_us == CLIENT_NEVER)
                return flags & CALL_PATIENT ? ctl->deadline_us : until;
        return MIN_OF(ctl->deadline_us + ANSWER_GRACE_MS * USEC_PER_MSEC, until);
}

// The daemon's patience with a missing leader ends with ours.
static uint32_t timeout_ms_left(const Ctl *ctl) {
        uint64_t now = clock_boot_us(), left;

        if (ctl->deadline_us == CLIENT_NEVER)
                return 0;
        left = ctl->deadline_us > now ? (ctl->deadline_us - now) / USEC_PER_MSEC : 0;
        return left == 0 ? 1 : left > UINT32_MAX ? UINT32_MAX : (uint32_t) left;
}

static int receive(Ctl *ctl, unsigned flags, ResponseFn f, void *userdata, Argosy__Response **ret) {
        uint64_t deadline_us = answer_deadline(ctl, flags);
        int r;

        for (;;) {
                uint64_t tick_us = clock_boot_us() + TICK_MS * USEC_PER_MSEC;

                if (!(flags & CALL_TICK) || tick_us >= deadline_us)
                        return client_receive(&ctl->client, deadline_us, ret);
                r = client_receive(&ctl->client, tick_us, ret);
                if (r != -ETIMEDOUT)
                        return r;
                r = f(ctl, NULL, userdata);
                if (r < 0)
                        return r;
        }
}

int ctl_call(Ctl *ctl, Argosy__Request *request, unsigned flags, ResponseFn f, void *userdata) {
        int r;

        request->timeout_ms = timeout_ms_left(ctl);
        r = client_send(&ctl->client, request, answer_deadline(ctl, flags));
        while (r == 0) {
                Argosy__Response *response;
                bool last;

                r = receive(ctl, flags, f, userdata, &response);
                if (r < 0)
                        break;
                warn_stale(ctl, response);
                if (response->status == 0 && *response->message && !(flags & CALL_NOTE))
                        ctl_warn(ctl, "%s", response->message);
                last = response->final;
                r = f(ctl, response, userdata);
                argosy__response__free_unpacked(response, NULL);
                if (last)
                        break;
        }
        return r;
}

bool ctl_try_again(Ctl *ctl, Patience *p, int *error) {
        uint64_t now = clock_boot_us();

        if (p->lost_us == 0)
                p->lost_us = now;
        if (p->pause_ms == 0)
                p->pause_ms = RETRY_MIN_MS;
        if (now - p->lost_us >= RECONNECT_SEC * USEC_PER_SEC)
                return false;
        if (now >= ctl->deadline_us) {
                *error = -ETIMEDOUT;
                return false;
        }
        if (!p->told &&
            p->pause_ms >= RETRY_TELL_MS) { // a restart of argosyd, or an election, passes in silence
                ctl_warn(ctl, "%s; still trying",
                         ctl->client.fd < 0 ? ctl->client.why : "the cluster has no leader at the moment");
                p->told = true;
        }
        *error = client_pause(&ctl->client, MIN_OF(ctl->deadline_us, now + p->pause_ms * USEC_PER_MSEC));
        p->pause_ms = MIN_OF(2 * p->pause_ms, (uint64_t) RETRY_MAX_MS);
        return *error == 0;
}

typedef struct Ask {
        ResponseFn f;
        void *userdata;
        unsigned flags;
        bool answered; // something has been handed over: the question cannot be asked again
        bool failed;   // a response had a status that was printed here
} Ask;

static int on_answer(Ctl *ctl, const Argosy__Response *r, void *userdata) {
        Ask *a = userdata;

        a->answered = true;
        if (r->status != 0 && !(a->flags & CALL_STATUS)) {
                ctl_fail(ctl, "%s", status_text(r->status, r->message));
                a->failed = true;
                return 0;
        }
        return a->f ? a->f(ctl, r, a->userdata) : 0;
}

int ctl_ask(Ctl *ctl, Argosy__Request *request, unsigned flags, ResponseFn f, void *userdata) {
        Patience patience = {};
        Ask a = {f, userdata, flags, false, false};

        for (;;) {
                int r = ctl_call(ctl, request, flags, on_answer, &a);

                if (r == 0 || r == -ECANCELED)
                        return a.failed ? EXIT_FAILED : EXIT_OK;
                if (r == -ENOMEM)
                        return ctl_oom(ctl);
                if (r == -EINTR)
                        return EXIT_DETACHED;
                if (a.answered || (flags & CALL_ONCE) || !client_is_lost(&ctl->client, r) ||
                    !ctl_try_again(ctl, &patience, &r))
                        return r == -EINTR ? EXIT_DETACHED : ctl_fail(ctl, "%s", ctl->client.why);
        }
}

int ctl_ask_for_list(Ctl *ctl, Json *json, Argosy__Request *request, unsigned flags, ResponseFn f,
                     void *userdata) {
        bool is_json = ctl->opt.json != JSON_OFF;
        int code;

        if (is_json)
                json_begin(json, '[');
        code = ctl_ask(ctl, request, flags, f, userdata);
        if (is_json) {
                json_end(json, ']');
                json_finish(json);
        }
        return code;
}

// Whether these were printed last; from now on they were.
static bool refusals_again(Ctl *ctl, Argosy__Refusal *const *refusals, size_t n) {
        _cleanup_buf_ Buf text = {};
        bool again;

        for (size_t i = 0; i < n; i++)
                if (buf_append(&text, refusals[i]->node, strlen(refusals[i]->node) + 1) < 0 ||
                    buf_append(&text, refusals[i]->reason, strlen(refusals[i]->reason) + 1) < 0)
                        return false;
        again = text.len > 0 && text.len == ctl->refused.len &&
                memcmp(text.data, ctl->refused.data, text.len) == 0;
        buf_done(&ctl->refused);
        ctl->refused = text;
        text = (Buf){};
        return again;
}

void ctl_refusals(Ctl *ctl, FILE *f, Argosy__Refusal *const *refusals, size_t n) {
        size_t show = ctl->opt.given & OPT_FULL ? n : MIN_OF(n, (size_t) REFUSALS_SHOWN);

        if (refusals_again(ctl, refusals, n) && n > 1) {
                fputs("  each node as above\n", f);
                return;
        }
        for (size_t i = 0; i < show; i++) {
                _cleanup_buf_ Buf clean = {}, lines = {};
                _cleanup_free_ char *line = NULL;

                if (text_append_clean(&clean, refusals[i]->node, false) < 0 ||
                    buf_append(&clean, ": ", 2) < 0 ||
                    text_append_clean(&clean, refusals[i]->reason, false) < 0 ||
                    !(line = buf_take_string(&clean)) ||
                    buf_append_wrapped(&lines, line, 2, 2 * MESSAGE_INDENT,
                                       f == ctl->term.err ? ctl->term.err_width : ctl->term.style.width) < 0)
                        return;
                fprintf(f, "  %.*s\n", (int) lines.len, (const char *) lines.data);
        }
        if (show < n)
                fprintf(f, "  and %zu more nodes\n", n - show);
}

void json_refusals(Json *j, Argosy__Refusal *const *refusals, size_t n) {
        json_begin(j, '[');
        for (size_t i = 0; i < n; i++) {
                json_begin(j, '{');
                json_key(j, "node");
                json_string(j, refusals[i]->node);
                json_key(j, "reason");
                json_string(j, refusals[i]->reason);
                json_end(j, '}');
        }
        json_end(j, ']');
}

// ---- names

void strv_free(char **v) {
        for (char **p = v; p && *p; p++)
                free(*p);
        free(v);
}

// The strings of `a` move to the caller; `a` keeps nothing of them.
static char **take_names(UnitArgs *a, size_t *ret_n) {
        if (!a->names)
                a->names = calloc(1, sizeof(char *));
        *ret_n = a->n_names;
        map_done(&a->by_name);
        a->n_names = 0;
        return TAKE_PTR(a->names);
}

static int add_words(Ctl *ctl, UnitArgs *a, char **args, size_t n, UnitArgsFlags flags) {
        for (size_t i = 0; i < n; i++) {
                _cleanup_buf_ Buf why = {};
                int r = unit_args_add(a, args[i], flags, AT_FDCWD, &why);

                if (r < 0)
                        return ctl_bad_word(ctl, r, &why);
        }
        return EXIT_OK;
}

int ctl_patterns(Ctl *ctl, char **args, size_t n_args, char ***ret, size_t *ret_n) {
        _cleanup_unit_args_ UnitArgs a = {};
        int code = add_words(ctl, &a, args, n_args, UNIT_ARGS_KEEP_GLOBS);

        if (code != EXIT_OK)
                return code;
        *ret = take_names(&a, ret_n);
        return *ret ? EXIT_OK : ctl_oom(ctl);
}

typedef struct Match {
        UnitArgs *args;
        unsigned flags;
        size_t found;
} Match;

static int on_unit_files(Ctl *ctl, const Argosy__Response *r, void *userdata) {
        Match *m = userdata;

        if (r->what_case != ARGOSY__RESPONSE__WHAT_UNIT_FILES)
                return 0;
        for (size_t i = 0; i < r->unit_files->n_rows; i++) {
                const char *name = r->unit_files->rows[i]->unit;
                _cleanup_buf_ Buf why = {};
                int e;

                if ((m->flags & NAMES_NO_TEMPLATES) && unit_name_kind(name, NULL) == UNIT_NAME_TEMPLATE)
                        continue;
                e = unit_args_add(m->args, name, 0, AT_FDCWD, &why);
                if (e < 0)
                        return e;
                m->found++;
        }
        return 0;
}

static int match_glob(Ctl *ctl, char *glob, unsigned flags, UnitArgs *a) {
        Argosy__Request__ListUnitFiles list = ARGOSY__REQUEST__LIST_UNIT_FILES__INIT;
        Argosy__Request request = ARGOSY__REQUEST__INIT;
        Match m = {a, flags, 0};
        int code;

        list.patterns = &glob;
        list.n_patterns = 1;
        request.what_case = ARGOSY__REQUEST__WHAT_LIST_UNIT_FILES;
        request.list_unit_files = &list;
        code = ctl_ask(ctl, &request, 0, on_unit_files, &m);
        if (code == EXIT_OK && m.found == 0)
                return ctl_fail(ctl, "no unit matches '%s'", glob);
        return code;
}

int ctl_names(Ctl *ctl, char **args, size_t n_args, unsigned flags, char ***ret, size_t *ret_n) {
        _cleanup_unit_args_ UnitArgs a = {};
        int code = EXIT_OK;

        for (size_t i = 0; i < n_args && code == EXIT_OK; i++)
                code = unit_arg_is_glob(args[i]) ? match_glob(ctl, args[i], flags, &a)
                                                 : add_words(ctl, &a, &args[i], 1, 0);
        if (code != EXIT_OK)
                return code;
        *ret = take_names(&a, ret_n);
        return *ret ? EXIT_OK : ctl_oom(ctl);
}

// ---- main

// What is said on the command line counts before the environment. A new string, or NULL after a complaint.
static char *find_socket(Ctl *ctl) {
        Xdg xdg;
        char *path = NULL;

        if (ctl->opt.socket || !(ctl->opt.given & OPT_USER)) {
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

static int run(Ctl *ctl) {
        _cleanup_free_ char *socket = NULL;
        int code;

        if (ctl->opt.given & OPT_VERSION) {
                fprintf(ctl->term.out, "argosyctl %s\n", ARGOSY_VERSION);
                return EXIT_OK;
        }
        if (ctl->opt.given & OPT_HELP) {
                if (ctl->opt.family)
                        help_family(ctl->term.out, ctl->opt.family);
                else if (ctl->opt.verb)
                        help_verb(ctl->term.out, ctl->opt.verb);
                else
                        help_all(ctl->term.out);
                return EXIT_OK;
        }
        if (ctl->opt.timeout_us > 0)
                ctl->deadline_us = clock_boot_us() + ctl->opt.timeout_us;
        socket = find_socket(ctl);
        if (!socket)
                return EXIT_FAILED;
        client_init(&ctl->client, socket, &interrupted);
        ctl->client.user = ctl->opt.given & OPT_USER;
        code = ctl->opt.verb->run(ctl, ctl->opt.args, ctl->opt.n_args);
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

static unsigned terminal_flags(uint64_t given) {
        return (given & OPT_FULL ? TERMINAL_FULL : 0) | (given & OPT_NO_PAGER ? TERMINAL_NO_PAGER : 0) |
               (given & OPT_QUIET ? TERMINAL_QUIET : 0);
}

int ctl_main(int argc, char **argv, FILE *out, FILE *err) {
        Ctl ctl = {.deadline_us = CLIENT_NEVER, .client.fd = -1};
        _cleanup_buf_ Buf why = {};
        int code, written;

        interrupted = 0;
        setlocale(LC_ALL, "");
        if (options_parse(argc, argv, &ctl.opt, &why) < 0) {
                fprintf(err, "argosyctl: %.*s\nTry argosyctl --help.\n", (int) why.len,
                        (const char *) why.data);
                return EXIT_USAGE;
        }
        terminal_init(&ctl.term, out, err, terminal_flags(ctl.opt.given));
        code = run(&ctl);
        written = ctl.term.pager > 0 ? EXIT_OK : flush_output(&ctl);
        pager_close(&ctl.term);
        buf_done(&ctl.refused);
        return code == EXIT_OK ? written : code;
}
