// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The verbs of `secret`: set, delete, rotate-key, list.
//
//      secret set: standard input or --file, byte for byte -> SecretBytes -> the leader
//          -> --restart: stale units
//
// A value never comes from the command line, which others can see and shells remember. It is in memory of
// its own until it is sent, then overwritten; no verb reads one back. Limit: SECRET_VALUE_MAX bytes.
// Failures: an exit code after its message, also for a file that changes while it is read.

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "array.h"
#include "change.h"
#include "ctl-jobs.h"
#include "ctl-rows.h"
#include "ctl.h"
#include "message-of.h"
#include "rollouts.h"
#include "row-json.h"
#include "secret-bytes.h"
#include "secret-name.h"
#include "str.h"
#include "table.h"
#include "text.h"
#include "unit-name.h"
#include "verbs.h"

// ---- reading one

// The buffer has one byte more than the limit, so that longer input is noticed.
static int read_all(int fd, SecretBytes *ret) {
        _cleanup_(secret_bytes_done) SecretBytes bytes = {};
        size_t len = 0;
        ssize_t n;
        int r = secret_bytes_new(SECRET_VALUE_MAX + 1, &bytes);

        if (r < 0)
                return r;
        do {
                n = read(fd, bytes.data + len, bytes.len - len);
                len += n > 0 ? (size_t) n : 0;
        } while ((n > 0 && len < bytes.len) || (n < 0 && errno == EINTR));
        if (n < 0)
                return -errno;
        if (len > SECRET_VALUE_MAX)
                return -EFBIG;
        if (len == 0)
                return -ENODATA;
        bytes.len = len;
        *ret = bytes;
        bytes = (SecretBytes){};
        return 0;
}

static bool is_same_file(const struct stat *a, const struct stat *b) {
        return a->st_size == b->st_size && a->st_mtim.tv_sec == b->st_mtim.tv_sec &&
               a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

static int read_open_file(int fd, SecretBytes *ret) {
        struct stat before, after;
        int r;

        if (fstat(fd, &before) < 0)
                return -errno;
        if (!S_ISREG(before.st_mode))
                return -EMEDIUMTYPE;
        r = read_all(fd, ret);
        if (r < 0)
                return r;
        if (fstat(fd, &after) < 0)
                return -errno;
        return is_same_file(&before, &after) ? 0 : -ESTALE;
}

static int read_file(const char *path, SecretBytes *ret) {
        int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK), r;

        if (fd < 0)
                return -errno;
        r = read_open_file(fd, ret);
        close(fd);
        if (r < 0)
                secret_bytes_done(ret);
        return r;
}

static int complain(Ctl *ctl, int r, const char *from) {
        switch (r) {
        case -EFBIG:
                return ctl_fail(ctl, "%s: a secret has %d bytes at most", from, SECRET_VALUE_MAX);
        case -ENODATA:
                return ctl_fail(ctl, "%s is empty: a secret has at least one byte", from);
        case -EMEDIUMTYPE:
                return ctl_fail(ctl, "%s is no regular file", from);
        case -ESTALE:
                return ctl_fail(ctl, "%s was changed while it was read", from);
        default:
                return ctl_fail(ctl, "cannot read %s: %s", from, strerror(-r));
        }
}

// ---- restarting those that have an older version

typedef struct Stale {
        char **units; // NULL-terminated
        size_t n;
} Stale;

static int on_stale(Ctl *ctl, const Argosy__Response *r, void *userdata) {
        Stale *s = userdata;

        for (size_t i = 0; r->what_case == ARGOSY__RESPONSE__WHAT_SECRETS && i < r->secrets->n_rows; i++)
                for (size_t k = 0; k < r->secrets->rows[i]->n_uses; k++) {
                        if (ARRAY_RESERVE(s->units, s->n + 2) < 0)
                                return -ENOMEM;
                        s->units[s->n] = strdup(r->secrets->rows[i]->uses[k]->unit);
                        if (!s->units[s->n])
                                return -ENOMEM;
                        s->units[++s->n] = NULL;
                }
        return 0;
}

static int find_stale(Ctl *ctl, char *name, Stale *ret) {
        Argosy__Request__SecretList list =
                MESSAGE_OF(request__secret_list, .names = &name, .n_names = 1, .stale = true);
        Argosy__Request request = REQUEST_OF(SECRET_LIST, secret_list, &list);

        return ctl_ask(ctl, &request, 0, on_stale, ret);
}

static bool has_before(const Stale *s, size_t n, const char *name) {
        for (size_t i = 0; i < n; i++)
                if (streq(s->units[i], name))
                        return true;
        return false;
}

// Replaces instances by their templates, each once: a rolling restart of a template restarts its stale
// instances.
static int to_templates(Stale *s) {
        size_t n = 0;

        for (size_t i = 0; i < s->n; i++) {
                bool instance = unit_name_kind(s->units[i], NULL) == UNIT_NAME_INSTANCE;
                char *name = instance ? unit_name_template(s->units[i]) : strdup(s->units[i]);

                if (!name)
                        return -ENOMEM;
                free(s->units[i]);
                s->units[i] = NULL;
                if (has_before(s, n, name))
                        free(name);
                else
                        s->units[n++] = name;
        }
        s->n = n;
        return 0;
}

static int restart_some(Ctl *ctl, char *name, Stale *s) {
        if (ctl_jobs_retry(ctl, 0, s->units, s->n) < 0)
                return ctl_oom(ctl);
        return ctl->opt.restart_rolling ? rollouts_restart_for_secret(ctl, name, s->units, s->n)
                                        : change_again(ctl, ARGOSY__VERB__VERB_RESTART, s->units, s->n);
}

enum { STALE_IN_AN_ANSWER = 1000 }; // the leader's limit

// An answer names at most STALE_IN_AN_ANSWER units; restarted ones are not in the next answer.
static int restart_stale(Ctl *ctl, char *name) {
        _cleanup_free_ char *before = NULL;
        int code = EXIT_OK;

        ctl->opt.if_revision = 0; // it applied to the secret
        ctl->opt.given[OPT_IF_REVISION] = false;
        while (code == EXIT_OK) {
                Stale s = {};
                bool again, more;

                code = find_stale(ctl, name, &s);
                more = s.n >= STALE_IN_AN_ANSWER;
                if (code == EXIT_OK && ctl->opt.restart_rolling && to_templates(&s) < 0)
                        code = ctl_oom(ctl);
                again = s.n > 0 && before && streq(s.units[0], before);
                free(before);
                before = s.n > 0 ? strdup(s.units[0]) : NULL;
                if (code == EXIT_OK && s.n > 0)
                        code = again ? ctl_fail(ctl, "%s has an older version of %s still", s.units[0], name)
                                     : restart_some(ctl, name, &s);
                strv_free(s.units);
                if (code == EXIT_OK && more && ctl->opt.given[OPT_NO_BLOCK])
                        code = ctl_fail(ctl,
                                        "%d units are being restarted, and more have an older version of "
                                        "%s: ask again when these are up",
                                        STALE_IN_AN_ANSWER, name);
                if (!before || ctl->opt.given[OPT_NO_BLOCK])
                        break;
        }
        return code;
}

// ---- set

static int on_set(Ctl *ctl, const Argosy__Response *r, void *userdata) {
        Json *j = userdata;

        if (r->what_case != ARGOSY__RESPONSE__WHAT_SECRETS || r->secrets->n_rows != 1)
                return 0;
        if (ctl->opt.json != JSON_OFF) {
                row_json(&secret_row, r->secrets->rows[0], j);
                json_finish(j);
        } else if (!ctl->opt.given[OPT_QUIET] && !ctl->opt.given[OPT_RESTART] &&
                   r->secrets->rows[0]->units > 0)
                fprintf(ctl->term.err,
                        "%u unit%s it: they get version %" PRIu64 " when they are started or restarted, "
                        "registries see it with the next pull.\n",
                        r->secrets->rows[0]->units, r->secrets->rows[0]->units == 1 ? " has" : "s have",
                        r->secrets->rows[0]->version);
        return 0;
}

static int check_restart(Ctl *ctl) {
        if (ctl->opt.given[OPT_RESTART] && ctl->opt.json != JSON_OFF)
                return ctl_usage(ctl, "--restart does not go with --json");
        if ((ctl->opt.given[OPT_MAX_UNAVAILABLE] || ctl->opt.given[OPT_HEALTH]) && !ctl->opt.restart_rolling)
                return ctl_usage(ctl, "--max-unavailable and --health go with --restart=rolling");
        if ((ctl->opt.given[OPT_NO_BLOCK] || ctl->opt.given[OPT_VERBOSE]) && !ctl->opt.given[OPT_RESTART])
                return ctl_usage(ctl, "--no-block and --verbose go with --restart");
        return EXIT_OK;
}

int verb_secret_set(Ctl *ctl, char **words, size_t n) {
        Argosy__Request__SecretSet m = ARGOSY__REQUEST__SECRET_SET__INIT;
        Argosy__Request request = REQUEST_OF(SECRET_SET, secret_set, &m);
        Json j = {.f = ctl->term.out, .pretty = ctl->opt.json == JSON_PRETTY};
        _cleanup_(secret_bytes_done) SecretBytes value = {};
        int code, r;

        code = check_restart(ctl);
        if (code != EXIT_OK)
                return code;
        if (!secret_name_is_valid(words[0]))
                return ctl_usage(ctl, "'%.80s' is no name of a secret: " SECRET_NAME_RULE, words[0],
                                 SECRET_NAME_MAX);
        r = ctl->opt.file ? read_file(ctl->opt.file, &value) : read_all(STDIN_FILENO, &value);
        if (r < 0)
                return complain(ctl, r, ctl->opt.file ?: "standard input");
        m.name = words[0];
        m.value = (ProtobufCBinaryData){value.len, value.data};
        code = ctl_ask(ctl, &request, 0, on_set, &j);
        secret_bytes_done(&value);
        return code == EXIT_OK && ctl->opt.given[OPT_RESTART] ? restart_stale(ctl, words[0]) : code;
}

// ---- delete

int verb_secret_delete(Ctl *ctl, char **words, size_t n) {
        Argosy__Request__SecretDelete m = MESSAGE_OF(request__secret_delete, .names = words, .n_names = n);
        Argosy__Request request = REQUEST_OF(SECRET_DELETE, secret_delete, &m);

        return ctl_ask(ctl, &request, 0, NULL, NULL);
}

// ---- another key

static int on_rotated(Ctl *ctl, const Argosy__Response *r, void *userdata) {
        if (*r->message && !ctl->opt.given[OPT_QUIET])
                fprintf(ctl->term.err, "%s\n", r->message);
        return 0;
}

int verb_secret_rotate_key(Ctl *ctl, char **words, size_t n) {
        Argosy__Request__SecretRotateKey m =
                MESSAGE_OF(request__secret_rotate_key, .abort = ctl->opt.given[OPT_ABORT]);
        Argosy__Request request = REQUEST_OF(SECRET_ROTATE_KEY, secret_rotate_key, &m);

        return ctl_ask(ctl, &request, CALL_PATIENT | CALL_ONCE | CALL_NOTE, on_rotated, NULL);
}

// ---- list

static int add_number(Table *t, uint64_t number) {
        char text[24];

        snprintf(text, sizeof(text), "%" PRIu64, number);
        return table_add(t, number > 0 ? text : "", COLOUR_NONE);
}

static int add_nodes(Table *t, const Argosy__Response__SecretUse *use) {
        _cleanup_buf_ Buf text = {};
        int r = 0;

        for (size_t i = 0; r == 0 && i < use->n_nodes; i++)
                r = buf_printf(&text, "%s%s", i > 0 ? "," : "", use->nodes[i]);
        r = r < 0 ? r : buf_append(&text, "", 1);
        return r < 0 ? r : table_add(t, (const char *) text.data, COLOUR_NONE);
}

static int add_row(Table *t, const Argosy__Response__SecretRow *row,
                   const Argosy__Response__SecretUse *use) {
        int r = table_add(t, row->name, COLOUR_NONE);

        r = r < 0 ? r : add_number(t, row->version);
        r = r < 0 ? r : ctl_rows_add_time(t, row->at_us);
        r = r < 0 ? r : table_add(t, row->by, COLOUR_NONE);
        r = r < 0 ? r : table_add(t, use ? use->unit : "", COLOUR_NONE);
        r = r < 0 ? r : add_number(t, use ? use->version : 0);
        if (r < 0 || use)
                return r < 0 ? r : add_nodes(t, use);
        return table_add(t, "", COLOUR_NONE);
}

static int add_rows(Table *t, const Argosy__Response__SecretRow *row) {
        int r = row->n_uses == 0 ? add_row(t, row, NULL) : 0;

        for (size_t i = 0; r == 0 && i < row->n_uses; i++)
                r = add_row(t, row, row->uses[i]);
        return r;
}

static int on_rows(Ctl *ctl, const Argosy__Response *r, void *userdata) {
        CtlRows *rows = userdata;
        int e = 0;

        for (size_t i = 0;
             r->what_case == ARGOSY__RESPONSE__WHAT_SECRETS && i < r->secrets->n_rows && e == 0; i++) {
                const Argosy__Response__SecretRow *row = r->secrets->rows[i];

                if (ctl->opt.json != JSON_OFF)
                        row_json(&secret_row, row, &rows->json);
                else
                        e = add_rows(&rows->table, row);
                if (ctl->opt.json == JSON_OFF && row->n_uses < row->units && !ctl->opt.given[OPT_QUIET])
                        fprintf(ctl->term.err, "%s: %u units have it, %zu are listed.\n", row->name,
                                row->units, row->n_uses);
        }
        return e;
}

int verb_secret_list(Ctl *ctl, char **words, size_t n) {
        static const char *const headers[] = {"NAME", "VERSION", "SET", "BY", "UNIT", "HAS", "ON"};
        Argosy__Request__SecretList list = MESSAGE_OF(request__secret_list, .names = words, .n_names = n);
        Argosy__Request request = REQUEST_OF(SECRET_LIST, secret_list, &list);

        return ctl_rows_print(ctl, &request, headers, ELEMENTSOF(headers), on_rows);
}
