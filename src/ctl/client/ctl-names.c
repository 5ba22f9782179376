// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Which units the words of a command line mean: names, ranges, files and globs.
//
//      ctl_names() -> ranges and files here (unit-args.c), a glob is asked for at the leader
//          -> names, for strv_free()
//
// Limit: UNIT_ARGS_MAX units. Failures: an exit code after its message; a glob that matches nothing is one.

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "ctl.h"
#include "message-of.h"
#include "unit-args.h"
#include "unit-name.h"

void strv_free(char **v) {
        for (char **p = v; p && *p; p++)
                free(*p);
        free(v);
}

// Moves the names out of `a` to the caller. NULL: out of memory.
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

enum { TAKEN_NAMED_MAX = 8 };

void ctl_tell_taken(Ctl *ctl, const UnitArgs *a) {
        char here[PATH_MAX];
        size_t n = 0;

        if (a->n_alone > 0)
                ctl_warn(ctl,
                         "%s%s: drop-ins here are handed in with their unit file, which is not here: they "
                         "are left out",
                         a->alone, a->n_alone > 1 ? " and others" : "");
        ctl_warn_ignored(ctl, "", a->shared, a->n_shared);
        if (!ctl->term.err_tty || ctl->opt.given[OPT_QUIET] || !getcwd(here, sizeof(here)))
                return;
        for (size_t i = 0; i < a->n_files; i++) {
                const UnitArgsFile *f = a->files[i];

                if (f->missing || strchr(f->path, '/') || n++ >= TAKEN_NAMED_MAX)
                        continue;
                fprintf(ctl->term.err, "%s%s", n == 1 ? "Taken from " : ", ", n == 1 ? here : "");
                fprintf(ctl->term.err, "%s%s", n == 1 ? ": " : "", f->path);
        }
        if (n > TAKEN_NAMED_MAX)
                fprintf(ctl->term.err, ", and %zu more", n - TAKEN_NAMED_MAX);
        if (n > 0)
                fprintf(ctl->term.err, "\n");
}

typedef struct Match {
        UnitArgs *args;
        const char *glob;
        unsigned flags;
        size_t found;
        int code; // exit code of an error that was already printed
} Match;

static int refuse_match(Ctl *ctl, Match *m, int error, const Buf *why) {
        m->code = error == -E2BIG ? ctl_fail(ctl, "'%s' means more than %d units; name fewer at a time",
                                             m->glob, UNIT_ARGS_MAX)
                                  : ctl_bad_word(ctl, error, why);
        return -ECANCELED;
}

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
                        return refuse_match(ctl, m, e, &why);
                m->found++;
        }
        return 0;
}

static int match_glob(Ctl *ctl, char *glob, unsigned flags, UnitArgs *a) {
        Argosy__Request__ListUnitFiles list =
                MESSAGE_OF(request__list_unit_files, .patterns = &glob, .n_patterns = 1);
        Argosy__Request request = REQUEST_OF(LIST_UNIT_FILES, list_unit_files, &list);
        Match m = {.args = a, .glob = glob, .flags = flags};
        int code;

        code = ctl_ask(ctl, &request, 0, on_unit_files, &m);
        if (m.code != EXIT_OK)
                return m.code;
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
