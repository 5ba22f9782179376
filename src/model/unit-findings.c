// SPDX-License-Identifier: LGPL-2.1-or-later
//
// systemd's words, one line each (versions 252 to 257 print the same but for details of TEXT):
//
//      DIR/FILE:LINE: TEXT                      about a line; it is ignored, unless the unit is refused
//      NAME: TEXT                               about the file as a whole
//      Unit NAME has a bad unit file setting.   the unit is refused; why stands before it
//      Unit NAME failed to load properly, ...   likewise
//      Unit NAME is masked.                     likewise
//      NAME: Command PATH is not executable: No such file or directory
//
// TEXT about a line is a reason to refuse the unit if the unit is refused and TEXT does not say that
// something is ignored. All else is about other units, or about what is on the machine, and left out:
// missing units may be on another node.

#include "unit-findings.h"

#include <errno.h>
#include <string.h>

#include "array.h"
#include "map.h"
#include "str.h"

static const char fatal_text[] = "Unit configuration has fatal error, unit will not be started";

typedef struct Text {
        const char *at;
        size_t len;
} Text;

typedef struct Parser {
        Map units; // UnitFindings by the name of the unit
        Map files; // and by that of its file
        const char *dir;
} Parser;

// ------------------------------------------------------------------------------------------------ findings

void unit_findings_done(UnitFindings *f) {
        for (size_t i = 0; i < f->n; i++)
                free(f->list[i].text);
        free(f->list);
        *f = (UnitFindings){};
}

int unit_findings_add(UnitFindings *f, unsigned line, UnitFindingKind kind, const char *text, size_t len) {
        static const char more[] = "There is more, which is left out";
        _cleanup_free_ char *copy = NULL;
        char *clean;
        int r;

        f->refused |= kind == UNIT_FINDING_REFUSED;
        if (f->n > (kind == UNIT_FINDING_REFUSED ? 2 * UNIT_FINDINGS_MAX : UNIT_FINDINGS_MAX))
                return 0;
        if (f->n == UNIT_FINDINGS_MAX && kind != UNIT_FINDING_REFUSED) {
                line = 0;
                text = more;
                len = strlen(more);
        }
        if (len > 0 && text[len - 1] == '.')
                len--;
        copy = strndup(text, len);
        clean = copy ? str_printable(copy, UNIT_FINDING_TEXT_MAX) : NULL;
        r = clean ? ARRAY_GROW(f->list, f->allocated, f->n + 1) : -ENOMEM;
        if (r < 0) {
                free(clean);
                return r;
        }
        f->list[f->n++] = (UnitFinding){.line = line, .kind = kind, .text = clean};
        return 0;
}

int unit_findings_copy(const UnitFindings *from, UnitFindings *ret) {
        *ret = (UnitFindings){};
        for (size_t i = 0; i < from->n; i++) {
                const UnitFinding *one = &from->list[i];
                int r = unit_findings_add(ret, one->line, one->kind, one->text, strlen(one->text));

                if (r < 0) {
                        unit_findings_done(ret);
                        return r;
                }
        }
        return 0;
}

static void remove_finding(UnitFindings *f, size_t i) {
        free(f->list[i].text);
        memmove(&f->list[i], &f->list[i + 1], (f->n - i - 1) * sizeof(*f->list));
        f->n--;
}

const UnitFinding *unit_findings_refusal(const UnitFindings *f) {
        for (size_t i = 0; f->refused && i < f->n; i++)
                if (f->list[i].kind == UNIT_FINDING_REFUSED)
                        return &f->list[i];
        return NULL;
}

const char *unit_finding_kind_to_string(UnitFindingKind kind) {
        static const char *const words[] = {[UNIT_FINDING_WARNING] = "warning",
                                            [UNIT_FINDING_REFUSED] = "refused",
                                            [UNIT_FINDING_MISSING] = "missing"};

        // also of what another host says
        return (size_t) kind < ELEMENTSOF(words) ? words[kind] : words[UNIT_FINDING_WARNING];
}

// ------------------------------------------------------------------------------------------------ one line

static bool has_prefix(Text t, const char *prefix) {
        size_t len = strlen(prefix);

        return t.len >= len && memcmp(t.at, prefix, len) == 0;
}

static bool has_suffix(Text t, const char *suffix) {
        size_t len = strlen(suffix);

        return t.len >= len && memcmp(t.at + t.len - len, suffix, len) == 0;
}

static Text skip(Text t, size_t n) {
        return (Text){t.at + n, t.len - n};
}

static bool says_ignored(Text t) {
        return memmem(t.at, t.len, "gnoring", strlen("gnoring"));
}

// "FILE:LINE: TEXT"; a file's name may have a colon, too.
static bool cut_place(Text t, Text *ret_file, unsigned *ret_line, Text *ret_text) {
        for (size_t i = 0; i < t.len; i++) {
                size_t k = i + 1;
                unsigned line = 0;

                if (t.at[i] != ':')
                        continue;
                for (; k < t.len && t.at[k] >= '0' && t.at[k] <= '9' && line < 1000000; k++)
                        line = line * 10 + (unsigned) (t.at[k] - '0');
                if (k == i + 1 || k + 1 >= t.len || t.at[k] != ':' || t.at[k + 1] != ' ')
                        continue;
                *ret_file = (Text){t.at, i};
                *ret_line = line;
                *ret_text = skip(t, k + 2);
                return true;
        }
        return false;
}

static int take_line_of_file(Parser *p, Text t) {
        UnitFindings *f;
        Text file, text;
        unsigned line;

        if (!cut_place(t, &file, &line, &text))
                return 0;
        f = map_find(&p->files, file.at, file.len);
        return f ? unit_findings_add(f, line, UNIT_FINDING_WARNING, text.at, text.len) : 0;
}

// Takes the last line, which says that the unit is refused.
static int take_end(Parser *p, Text t) {
        const char *end = memchr(t.at, ' ', t.len);
        Text name = {t.at, end ? (size_t) (end - t.at) : 0}, rest;
        UnitFindings *f = name.len > 0 ? map_find(&p->units, name.at, name.len) : NULL;

        if (!f)
                return 0;
        rest = skip(t, name.len + 1);
        if (has_prefix(rest, "has a bad unit file setting") || has_prefix(rest, "failed to load properly"))
                f->refused = true;
        else if (has_prefix(rest, "is masked"))
                return unit_findings_add(f, 0, UNIT_FINDING_REFUSED, "The unit is masked",
                                         strlen("The unit is masked"));
        return 0;
}

static int take_line_of_unit(Parser *p, Text t) {
        const char *end = memmem(t.at, t.len, ": ", 2);
        size_t len = end ? (size_t) (end - t.at) : 0;
        UnitFindings *f = len > 0 ? map_find(&p->units, t.at, len) : NULL;
        Text text;

        if (!f)
                return 0;
        text = skip(t, len + 2);
        if (has_suffix(text, "efusing.") || has_prefix(text, fatal_text))
                return unit_findings_add(f, 0, UNIT_FINDING_REFUSED, text.at, text.len);
        if (has_prefix(text, "Command ") && has_suffix(text, ": No such file or directory"))
                return unit_findings_add(f, 0, UNIT_FINDING_MISSING, text.at, text.len);
        return says_ignored(text) ? unit_findings_add(f, 0, UNIT_FINDING_WARNING, text.at, text.len) : 0;
}

static int take_line(Parser *p, Text t) {
        size_t len = strlen(p->dir);

        if (t.len > len && has_prefix(t, p->dir) && t.at[len] == '/')
                return take_line_of_file(p, skip(t, len + 1));
        if (has_prefix(t, "Unit "))
                return take_end(p, skip(t, strlen("Unit ")));
        return take_line_of_unit(p, t);
}

// ------------------------------------------------------------------------------------------------ the whole

static bool is_fatal_text(const UnitFinding *f) {
        return f->line == 0 && f->kind == UNIT_FINDING_REFUSED && streq(f->text, fatal_text);
}

// Which lines were the reasons is known now; that there was one is then no news.
static int judge(UnitFindings *f) {
        static const char unknown[] = "The file has a bad setting";
        size_t n_reasons = 0;

        for (size_t i = 0; i < f->n && f->refused; i++) {
                UnitFinding *one = &f->list[i];

                if (one->line > 0 && !says_ignored((Text){one->text, strlen(one->text)}))
                        one->kind = UNIT_FINDING_REFUSED;
                n_reasons += one->kind == UNIT_FINDING_REFUSED && !is_fatal_text(one);
        }
        for (size_t i = f->n; n_reasons > 0 && i > 0; i--)
                if (is_fatal_text(&f->list[i - 1]))
                        remove_finding(f, i - 1);
        return f->refused && !unit_findings_refusal(f)
                       ? unit_findings_add(f, 0, UNIT_FINDING_REFUSED, unknown, strlen(unknown))
                       : 0;
}

static void parser_done(Parser *p) {
        map_done(&p->units);
        map_done(&p->files);
}

int unit_findings_parse(const char *dir, const UnitFindingsOf *units, size_t n, const char *output,
                        size_t len, UnitFindings *rets) {
        _cleanup_(parser_done) Parser p = {.dir = dir};
        int r = 0;

        for (size_t i = 0; i < n && r == 0; i++) {
                r = map_add_str(&p.units, units[i].unit, &rets[i]);
                if (r == 0)
                        r = map_add_str(&p.files, units[i].file, &rets[i]);
        }
        while (len > 0 && r == 0) {
                const char *end = memchr(output, '\n', len);
                size_t size = end ? (size_t) (end - output) : len;

                r = take_line(&p, (Text){output, size});
                size += end != NULL;
                output += size;
                len -= size;
        }
        for (size_t i = 0; i < n && r == 0; i++)
                r = judge(&rets[i]);
        return r;
}

// ------------------------------------------------------------------------------------------------ instances

static bool names_instance(const char *line, size_t len) {
        for (size_t i = 0; i + 1 < len; i++)
                if (line[i] == '%' && strchr("iIjJnNf", line[i + 1]) && line[i + 1])
                        return true;
        return false;
}

static bool line_names_instance(const char *content, size_t len, unsigned number) {
        for (unsigned line = 1; len > 0; line++) {
                const char *end = memchr(content, '\n', len);
                size_t size = end ? (size_t) (end - content) : len;

                if (line == number)
                        return names_instance(content, size);
                size += end != NULL;
                content += size;
                len -= size;
        }
        return false;
}

// A specifier that there is not fails for each instance.
static bool is_of_instance(const UnitFinding *one, const void *content, size_t len) {
        return one->line > 0 && !str_has_prefix(one->text, "Failed to resolve") &&
               line_names_instance(content, len, one->line);
}

bool unit_findings_are_of_instance(const UnitFindings *f, const void *content, size_t len) {
        for (size_t i = 0; i < f->n; i++)
                if (is_of_instance(&f->list[i], content, len))
                        return true;
        return false;
}

void unit_findings_drop_instance(UnitFindings *f, const void *content, size_t len) {
        bool dropped = false;

        for (size_t i = f->n; i > 0; i--) {
                const UnitFinding *one = &f->list[i - 1];

                if (!is_of_instance(one, content, len))
                        continue;
                dropped |= one->kind == UNIT_FINDING_REFUSED;
                remove_finding(f, i - 1);
        }
        if (dropped && !unit_findings_refusal(f))
                f->refused = false;
}
