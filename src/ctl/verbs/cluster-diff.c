// SPDX-License-Identifier: LGPL-2.1-or-later
//
// diff @JOB [@JOB]: all that differs in what the cluster wants between two jobs, or since one.
//
//      changes_between() -> job_difference() -> a line per setting and unit
//          -> the files' differences, or JSON
//
// Units whose files have changed alike (the instances of a template) share one difference. A file that
// cannot be fetched is an error message, and the others are shown. Failures: an exit code after its message.

#include <inttypes.h>
#include <stdlib.h>

#include "changes-between.h"
#include "cluster-diff.h"
#include "contents.h"
#include "ctl.h"
#include "macro.h"
#include "str.h"
#include "terminal.h"

typedef struct ClusterDiff {
        Ctl *ctl;
        JobChanges changes;
        JobDifference is;
} ClusterDiff;

static int by_file_and_name(const void *a, const void *b) {
        const UnitChange *x = *(UnitChange *const *) a, *y = *(UnitChange *const *) b;
        int r = strcmp(x->before.rev, y->before.rev);

        if (r == 0)
                r = strcmp(x->after.rev, y->after.rev);
        return r != 0 ? r : strcmp(x->unit, y->unit);
}

// ---- lines

static int print_line(Ctl *ctl, char mark, Colour colour, const char *text) {
        _cleanup_buf_ Buf clean = {};

        if (text_append_clean(&clean, text, false) < 0)
                return ctl_oom(ctl);
        fprintf(ctl->term.out, "%s%c %.*s%s\n", colour_on(&ctl->term.style, colour), mark, (int) clean.len,
                (const char *) clean.data, colour_off(&ctl->term.style, colour));
        return EXIT_OK;
}

static char *words_of(const UnitChange *u) {
        bool file = !streq(u->before.rev, u->after.rev),
             desired = !streq(u->before.desired, u->after.desired);

        if (!*u->before.rev)
                return str_printf("%s: %s", u->unit, u->after.desired);
        if (!*u->after.rev)
                return str_printf("%s: was %s", u->unit, u->before.desired);
        return str_printf("%s: %s%s%s%s%s", u->unit, file ? "another file" : "", file && desired ? ", " : "",
                          desired ? u->before.desired : "", desired ? " -> " : "",
                          desired ? u->after.desired : "");
}

static int print_unit(Ctl *ctl, const UnitChange *u) {
        bool made = !*u->before.rev, gone = !*u->after.rev;
        _cleanup_free_ char *text = words_of(u);

        return text ? print_line(ctl,
                                 made   ? '+'
                                 : gone ? '-'
                                        : '~',
                                 made   ? COLOUR_GREEN
                                 : gone ? COLOUR_RED
                                        : COLOUR_YELLOW,
                                 text)
                    : ctl_oom(ctl);
}

static int print_setting(Ctl *ctl, const SettingChange *s) {
        _cleanup_free_ char *text = !*s->before ? str_printf("%s: %s", s->setting, s->after)
                                    : !*s->after
                                            ? str_printf("%s: was %s", s->setting, s->before)
                                            : str_printf("%s: %s -> %s", s->setting, s->before, s->after);

        return text ? print_line(ctl,
                                 !*s->before  ? '+'
                                 : !*s->after ? '-'
                                              : '~',
                                 !*s->before  ? COLOUR_GREEN
                                 : !*s->after ? COLOUR_RED
                                              : COLOUR_YELLOW,
                                 text)
                    : ctl_oom(ctl);
}

static int print_lines(ClusterDiff *d) {
        int code = EXIT_OK;

        for (size_t i = 0; code == EXIT_OK && i < d->is.n_settings; i++)
                code = print_setting(d->ctl, d->is.settings[i]);
        for (size_t i = 0; code == EXIT_OK && i < d->is.n_units; i++)
                code = print_unit(d->ctl, d->is.units[i]);
        return code;
}

// ---- files

static void name_side(const UnitChange *first, size_t n, uint64_t job, bool there, char *ret, size_t size) {
        size_t len;

        if (!there) {
                str_fit(ret, size, "/dev/null");
                return;
        }
        len = str_fit(ret, size, "%s", first->unit);
        if (n > 1)
                len += str_fit(ret + len, size - len, " and %zu more", n - 1);
        if (job > 0)
                str_fit(ret + len, size - len, ", job %" PRIu64, job);
        else
                str_fit(ret + len, size - len, ", now");
}

static int print_file(ClusterDiff *d, UnitChange *first, size_t n) {
        Content from = {}, to = {};
        char from_name[512], to_name[512];
        int code = EXIT_OK;

        if (*first->before.rev)
                code = content_fetch(d->ctl, first->unit, first->before.rev, &from);
        if (code == EXIT_OK && *first->after.rev)
                code = content_fetch(d->ctl, first->unit, first->after.rev, &to);
        name_side(first, n, d->is.from, from.there, from_name, sizeof(from_name));
        name_side(first, n, d->is.to, to.there, to_name, sizeof(to_name));
        if (code == EXIT_OK)
                code = content_print_difference(d->ctl, first->unit,
                                                &(DiffSide){from_name, from.bytes.data, from.bytes.len},
                                                &(DiffSide){to_name, to.bytes.data, to.bytes.len});
        buf_done(&from.bytes);
        buf_done(&to.bytes);
        return code;
}

// A file that cannot be fetched is reported, and the others are shown.
static int print_files(ClusterDiff *d) {
        int code = EXIT_OK;

        if (d->is.n_units > 0)
                qsort(d->is.units, d->is.n_units, sizeof(*d->is.units), by_file_and_name);
        for (size_t i = 0, n; i < d->is.n_units; i += n) {
                UnitChange *first = d->is.units[i];

                for (n = 1; i + n < d->is.n_units &&
                            streq(d->is.units[i + n]->before.rev, first->before.rev) &&
                            streq(d->is.units[i + n]->after.rev, first->after.rev);)
                        n++;
                if (!streq(first->before.rev, first->after.rev))
                        code = print_file(d, first, n) ?: code;
        }
        return code;
}

// ---- the verb

static int print(ClusterDiff *d) {
        int code;

        if (d->ctl->opt.json != JSON_OFF) {
                Json j = {.f = d->ctl->term.out, .pretty = d->ctl->opt.json == JSON_PRETTY};

                job_difference_json(&d->is, &j);
                json_finish(&j);
                return EXIT_OK;
        }
        if (d->is.n_units + d->is.n_settings == 0)
                return EXIT_OK;
        pager_open(&d->ctl->term);
        code = print_lines(d);
        return code ?: print_files(d);
}

static bool read_moment(const char *word, uint64_t *ret) {
        return *word == '@' && parse_u64(word + 1, INT64_MAX, ret) && *ret > 0;
}

int cluster_diff_run(Ctl *ctl, char **args, size_t n) {
        ClusterDiff d = {.ctl = ctl};
        uint64_t from, to = 0, older;
        int code;

        if (n > 2 || !read_moment(args[0], &from) || (n == 2 && !read_moment(args[1], &to)))
                return ctl_usage(
                        ctl, "that is compared from @JOB, or from @JOB to @JOB, with the numbers of jobs");
        older = to > 0 ? MIN_OF(from, to) : from;
        code = changes_between(ctl, NULL, older, to > 0 ? MAX_OF(from, to) : 0, &d.changes);
        if (code == EXIT_OK)
                code = job_difference(&d.changes, from, to, &d.is) < 0 ? ctl_oom(ctl) : print(&d);
        job_difference_done(&d.is);
        job_changes_done(&d.changes);
        return code;
}
