// SPDX-License-Identifier: LGPL-2.1-or-later
//
// diff @JOB [@JOB]: all that differs in what the cluster is to be between two jobs, or since one. First a line for each unit
// and each setting, then the files. Units whose files have changed alike (the instances of a template) share one difference.

#include <inttypes.h>
#include <stdlib.h>

#include "cluster-diff.h"
#include "contents.h"
#include "ctl.h"
#include "job-changes.h"
#include "json.h"
#include "macro.h"
#include "str.h"
#include "terminal.h"

typedef struct ClusterDiff {
        Ctl *ctl;
        JobChanges changes;
        uint64_t from, to;  // jobs; 0: now
        UnitChange **units; // that differ, first by their files and then by name
        size_t n_units;
        SettingChange **settings; // by name
        size_t n_settings;
} ClusterDiff;

// ---- what differs

static bool differs(const UnitChange *u) {
        return !streq(u->before.rev, u->after.rev) || !streq(u->before.desired, u->after.desired);
}

static int by_file_and_name(const void *a, const void *b) {
        const UnitChange *x = *(UnitChange *const *) a, *y = *(UnitChange *const *) b;
        int r = strcmp(x->before.rev, y->before.rev);

        if (r == 0)
                r = strcmp(x->after.rev, y->after.rev);
        return r != 0 ? r : strcmp(x->unit, y->unit);
}

static int by_name(const void *a, const void *b) {
        const UnitChange *x = *(UnitChange *const *) a, *y = *(UnitChange *const *) b;

        return strcmp(x->unit, y->unit);
}

static int by_setting(const void *a, const void *b) {
        const SettingChange *x = *(SettingChange *const *) a, *y = *(SettingChange *const *) b;

        return strcmp(x->setting, y->setting);
}

static void exchange(UnitChange *u) {
        UnitThen before = u->before;

        u->before = u->after;
        u->after = before;
}

// As they are to be read: from the first that was named to the second.
static int collect(ClusterDiff *d, bool backwards) {
        d->units = calloc(d->changes.units.count + 1, sizeof(*d->units));
        d->settings = calloc(d->changes.settings.count + 1, sizeof(*d->settings));
        if (!d->units || !d->settings)
                return -1;
        map_foreach (slot, &d->changes.units) {
                UnitChange *u = slot->value;

                if (backwards)
                        exchange(u);
                if (differs(u))
                        d->units[d->n_units++] = u;
        }
        map_foreach (slot, &d->changes.settings) {
                SettingChange *s = slot->value;

                if (backwards) {
                        char *before = s->before;

                        s->before = s->after;
                        s->after = before;
                }
                if (!streq(s->before, s->after))
                        d->settings[d->n_settings++] = s;
        }
        if (d->n_settings > 0)
                qsort(d->settings, d->n_settings, sizeof(*d->settings), by_setting);
        return 0;
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

        for (size_t i = 0; code == EXIT_OK && i < d->n_settings; i++)
                code = print_setting(d->ctl, d->settings[i]);
        if (d->n_units > 0)
                qsort(d->units, d->n_units, sizeof(*d->units), by_name);
        for (size_t i = 0; code == EXIT_OK && i < d->n_units; i++)
                code = print_unit(d->ctl, d->units[i]);
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
        name_side(first, n, d->from, from.there, from_name, sizeof(from_name));
        name_side(first, n, d->to, to.there, to_name, sizeof(to_name));
        if (code == EXIT_OK)
                code = content_print_difference(d->ctl,
                                                &(DiffSide){from_name, from.bytes.data, from.bytes.len},
                                                &(DiffSide){to_name, to.bytes.data, to.bytes.len});
        buf_done(&from.bytes);
        buf_done(&to.bytes);
        return code;
}

// What cannot be had of one file is said, and the others are shown.
static int print_files(ClusterDiff *d) {
        int code = EXIT_OK;

        if (d->n_units > 0)
                qsort(d->units, d->n_units, sizeof(*d->units), by_file_and_name);
        for (size_t i = 0, n; i < d->n_units; i += n) {
                UnitChange *first = d->units[i];

                for (n = 1; i + n < d->n_units && streq(d->units[i + n]->before.rev, first->before.rev) &&
                            streq(d->units[i + n]->after.rev, first->after.rev);)
                        n++;
                if (!streq(first->before.rev, first->after.rev))
                        code = print_file(d, first, n) ?: code;
        }
        return code;
}

// ---- for programs: what differs, and by which hashes, not how

static const char *change_of(const char *before, const char *after) {
        return !*before ? "make" : !*after ? "destroy" : "change";
}

static void json_settings(const ClusterDiff *d, Json *j) {
        json_key(j, "settings");
        json_begin(j, '[');
        for (size_t i = 0; i < d->n_settings; i++) {
                const SettingChange *s = d->settings[i];
                const char *const words[][2] = {{"setting", s->setting},
                                                {"change", change_of(s->before, s->after)},
                                                {"before", s->before},
                                                {"after", s->after}};

                json_begin(j, '{');
                json_strings(j, words, ELEMENTSOF(words));
                json_end(j, '}');
        }
        json_end(j, ']');
}

static void json_units(const ClusterDiff *d, Json *j) {
        json_key(j, "units");
        json_begin(j, '[');
        for (size_t i = 0; i < d->n_units; i++) {
                const UnitChange *u = d->units[i];
                const char *const words[][2] = {{"unit", u->unit},
                                                {"change", change_of(u->before.rev, u->after.rev)},
                                                {"rev", u->before.rev},
                                                {"rev_after", u->after.rev},
                                                {"desired", u->before.desired},
                                                {"desired_after", u->after.desired}};

                json_begin(j, '{');
                json_strings(j, words, ELEMENTSOF(words));
                json_end(j, '}');
        }
        json_end(j, ']');
}

static int print_json(ClusterDiff *d) {
        Json j = {.f = d->ctl->term.out, .pretty = d->ctl->opt.json == JSON_PRETTY};

        if (d->n_units > 0)
                qsort(d->units, d->n_units, sizeof(*d->units), by_name);
        json_begin(&j, '{');
        json_key(&j, "from");
        json_u64(&j, d->from);
        json_key(&j, "to");
        if (d->to > 0)
                json_u64(&j, d->to);
        else
                json_null(&j);
        json_settings(d, &j);
        json_units(d, &j);
        json_end(&j, '}');
        json_finish(&j);
        return EXIT_OK;
}

// ---- the verb

static int print(ClusterDiff *d) {
        int code;

        if (d->ctl->opt.json != JSON_OFF)
                return print_json(d);
        if (d->n_units + d->n_settings == 0)
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
        bool backwards;
        int code;

        if (n > 2 || !read_moment(args[0], &d.from) || (n == 2 && !read_moment(args[1], &d.to)))
                return ctl_usage(
                        ctl, "that is compared from @JOB, or from @JOB to @JOB, with the numbers of jobs");
        backwards = d.to > 0 && d.to < d.from;
        code = backwards ? job_changes_read(ctl, NULL, d.to, d.from, &d.changes)
                         : job_changes_read(ctl, NULL, d.from, d.to, &d.changes);
        if (code == EXIT_OK)
                code = collect(&d, backwards) < 0 ? ctl_oom(ctl) : print(&d);
        free(d.units);
        free(d.settings);
        job_changes_done(&d.changes);
        return code;
}
