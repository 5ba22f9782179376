// SPDX-License-Identifier: LGPL-2.1-or-later
//
//   containers' files, one after the other -> the generator -> units -> with the other files:
// systemd-analyze, once -> findings
//
// A file of which nothing is made is not shown to systemd, which would see a unit without a program. Where
// there is no systemd-analyze, units are made all the same.

#include "file-analysis.h"

#include <errno.h>
#include <string.h>

#include "clock.h"
#include "quadlet-generator.h"
#include "str.h"

enum { MADE_MAX = 128 * 1024 }; // bytes of all that is made of a file: it goes through a helper's reply
#define NOBODYS SIZE_MAX

// ------------------------------------------------------------------------------------------------
// containers

static int add_warning(unsigned line, const char *text, void *userdata) {
        return unit_findings_add(userdata, line, UNIT_FINDING_WARNING, text, strlen(text));
}

static int add_refusal(UnitFindings *f, const char *why) {
        _cleanup_free_ char *text = str_printf("podman's generator: %s", why ?: "");

        return text ? unit_findings_add(f, 0, UNIT_FINDING_REFUSED, text, strlen(text)) : -ENOMEM;
}

static int make_unit(const UnitAnalysisFile *file, unsigned timeout_ms, UnitFindings *findings, Buf *made) {
        static const char missing[] = "no Quadlet here: that takes podman 5.0 or newer";
        _cleanup_free_ char *why = NULL;
        int r = quadlet_warnings(file->content, file->len, add_warning, findings);

        if (r < 0)
                return r;
        r = quadlet_generate(file->name, file->content, file->len, timeout_ms, made, &why);
        if (r == -ENOENT)
                return unit_findings_add(findings, 0, UNIT_FINDING_MISSING, missing, strlen(missing));
        if (r == 0 && made->len > MADE_MAX) {
                made->len = 0;
                return add_refusal(findings, "what it makes of the file is too large");
        }
        return r == -EINVAL ? add_refusal(findings, why) : r;
}

static unsigned left_ms(uint64_t end_us) {
        uint64_t now = clock_boot_us();

        return now < end_us ? (unsigned) ((end_us - now) / USEC_PER_MSEC) : 0;
}

// ------------------------------------------------------------------------------------------------ systemd

// Lines of a unit that was made are no lines of anybody's file.
static int add_findings(UnitFindings *all, const UnitFindings *more, bool made) {
        int r = 0;

        for (size_t i = 0; i < more->n && r == 0; i++)
                r = unit_findings_add(all, made ? 0 : more->list[i].line, more->list[i].kind,
                                      more->list[i].text, strlen(more->list[i].text));
        return r;
}

typedef struct Shown { // to systemd
        UnitAnalysisFile *files;
        UnitFindings *findings;
        size_t *of; // of the files that were given, or NOBODYS
        size_t n, n_made;
} Shown;

static void shown_done(Shown *s) {
        for (size_t i = 0; s->findings && i < s->n; i++)
                unit_findings_done(&s->findings[i]);
        free(s->files);
        free(s->findings);
        free(s->of);
}

static bool is_shown(const Shown *s, const char *name) {
        for (size_t i = 0; i < s->n; i++)
                if (streq(s->files[i].name, name))
                        return true;
        return false;
}

static void show_one(Shown *s, const UnitAnalysisFile *file, size_t of, bool made) {
        s->of[s->n] = of;
        s->n_made += made;
        s->files[s->n++] = *file;
}

// What stands beside it, or systemd would miss that. Several containers may have the same.
static void show_beside(Shown *s, const Buf *made, size_t most) {
        size_t at = quadlet_made_len(made->data, made->len);
        QuadletMade m;

        while (quadlet_made_next(made->data, made->len, &at, &m))
                if (s->n < MIN_OF(most, (size_t) UNIT_ANALYSIS_FILES_MAX) && !is_shown(s, m.name))
                        show_one(s, &(UnitAnalysisFile){m.name, m.unit, m.len}, NOBODYS, true);
}

static size_t count_shown(size_t n, const Buf *made) {
        size_t most = n;

        for (size_t i = 0; i < n; i++)
                for (const uint8_t *at = made[i].data, *end = at + made[i].len; at < end; at++)
                        most += !*at;
        return most;
}

static int show(Shown *s, const UnitAnalysisFile *files, size_t n, const Buf *made) {
        size_t most = count_shown(n, made);

        s->files = calloc(most + 1, sizeof(*s->files));
        s->findings = calloc(most + 1, sizeof(*s->findings));
        s->of = calloc(most + 1, sizeof(*s->of));
        if (!s->files || !s->findings || !s->of)
                return -ENOMEM;
        for (size_t i = 0; i < n; i++) {
                bool is_made = made[i].len > 0;
                UnitAnalysisFile unit = {files[i].name, made[i].data,
                                         quadlet_made_len(made[i].data, made[i].len)};

                if (is_made || !quadlet_is(files[i].content, files[i].len))
                        show_one(s, is_made ? &unit : &files[i], i, is_made);
        }
        for (size_t i = 0; i < n; i++)
                show_beside(s, &made[i], most);
        return 0;
}

static int analyze(const Shown *s, bool user, unsigned timeout_ms, UnitFindings *rets, const Buf *made) {
        _cleanup_(unit_analysis_freep) UnitAnalysis *analysis = NULL;
        int r = s->n > 0 ? unit_analysis_start(s->files, s->n, user, &analysis) : 0;

        if (r == -ENOENT && s->n == s->n_made)
                return 0;
        if (r == 0 && analysis)
                r = unit_analysis_wait(analysis, timeout_ms, s->findings);
        for (size_t i = 0; i < s->n && r == 0; i++)
                if (s->of[i] != NOBODYS)
                        r = add_findings(&rets[s->of[i]], &s->findings[i], made[s->of[i]].len > 0);
        return r;
}

int file_analysis(const UnitAnalysisFile *files, size_t n, bool user, unsigned timeout_ms,
                  UnitFindings *rets, Buf *made) {
        uint64_t end_us = clock_boot_us() + timeout_ms * USEC_PER_MSEC;
        _cleanup_(shown_done) Shown shown = {};
        int r = 0;

        for (size_t i = 0; i < n && r == 0; i++)
                if (quadlet_is(files[i].content, files[i].len))
                        r = make_unit(&files[i], left_ms(end_us), &rets[i], &made[i]);
        if (r == 0)
                r = show(&shown, files, n, made);
        return r < 0 ? r : analyze(&shown, user, left_ms(end_us), rets, made);
}
