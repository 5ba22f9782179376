// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A difference as `diff -u` prints it, made here: unit files are small, a host need not have diffutils for
// it, and what stands in a unit file must not reach the terminal as it is.
//
// Myers' greedy algorithm: V(d, k) is how far one comes in `a` on diagonal k with d lines removed or added;
// the first d with which one comes to both ends is the shortest way, and is walked back through what was
// noted of each d. Lines that are the same at both ends are taken off before. A way longer than
// DIFF_LINES_MAX is not looked for, since it takes the square of that: then all between the ends is removed
// and added.
//
// A line is its bytes with the newline, so a last line without one differs from one with it. -ENOMEM ends
// it.

#include "diff.h"

#include <errno.h>
#include <stdlib.h>

#include "macro.h"

typedef struct Line {
        const char *text;
        size_t len;
        bool marked; // in `a` removed, in `b` added
} Line;

typedef struct Lines {
        Line *lines;
        size_t n;
} Lines;

static int split(const DiffSide *side, Lines *ret) {
        const char *p = side->data, *end = p + side->len;
        size_t n = 0;

        for (size_t i = 0; i < side->len; i++)
                n += p[i] == '\n';
        ret->lines = calloc(n + 1, sizeof(*ret->lines));
        if (!ret->lines)
                return -ENOMEM;
        while (p < end) {
                const char *newline = memchr(p, '\n', (size_t) (end - p));
                const char *next = newline ? newline + 1 : end;

                ret->lines[ret->n++] = (Line){p, (size_t) (next - p), false};
                p = next;
        }
        return 0;
}

static bool line_equal(const Line *a, const Line *b) {
        return a->len == b->len && memcmp(a->text, b->text, a->len) == 0;
}

// ------------------------------------------------------------------------------------------------ the way

// What lies between the ends that are the same.
typedef struct Middle {
        Line *a, *b;
        size_t n, m;
        Buf trace; // V of each d, one behind the other: 2d + 1 numbers, which begin at d * d
} Middle;

static uint32_t *v(const Middle *w, long d, long k) {
        return (uint32_t *) w->trace.data + d * d + d + k;
}

// Whether the way to diagonal k with d changes begins with what `b` adds; else with what `a` loses.
static bool comes_from_above(const Middle *w, long d, long k) {
        return k == -d || (k != d && *v(w, d - 1, k - 1) < *v(w, d - 1, k + 1));
}

static size_t furthest(const Middle *w, long d, long k) {
        size_t x = d == 0 ? 0 : comes_from_above(w, d, k) ? *v(w, d - 1, k + 1) : *v(w, d - 1, k - 1) + 1;

        while (x < w->n && (size_t) ((long) x - k) < w->m && line_equal(&w->a[x], &w->b[(long) x - k]))
                x++;
        return x;
}

// The least number of changes; beyond DIFF_LINES_MAX: it was not found. -ENOMEM.
static long find(Middle *w) {
        for (long d = 0; d <= DIFF_LINES_MAX; d++) {
                size_t bytes = (size_t) (2 * d + 1) * sizeof(uint32_t);

                if (!buf_reserve(&w->trace, bytes))
                        return -ENOMEM;
                w->trace.len += bytes;
                for (long k = -d; k <= d; k += 2) {
                        size_t x = furthest(w, d, k);

                        *v(w, d, k) = (uint32_t) x;
                        if (x >= w->n && (long) x - k >= (long) w->m)
                                return d;
                }
        }
        return DIFF_LINES_MAX + 1;
}

static void mark_way(const Middle *w, long d) {
        long x = (long) w->n, y = (long) w->m;

        for (; d > 0; d--) {
                long k = x - y;
                bool above = comes_from_above(w, d, k);

                k += above ? 1 : -1;
                x = (long) *v(w, d - 1, k);
                y = x - k;
                if (above)
                        w->b[y].marked = true;
                else
                        w->a[x].marked = true;
        }
}

static void mark_all(const Middle *w) {
        for (size_t i = 0; i < w->n; i++)
                w->a[i].marked = true;
        for (size_t i = 0; i < w->m; i++)
                w->b[i].marked = true;
}

static int mark(Lines *a, Lines *b) {
        size_t least = MIN_OF(a->n, b->n), head = 0, tail = 0;
        Middle w = {};
        long d;

        while (head < least && line_equal(&a->lines[head], &b->lines[head]))
                head++;
        while (tail < least - head && line_equal(&a->lines[a->n - 1 - tail], &b->lines[b->n - 1 - tail]))
                tail++;
        w.a = a->lines + head;
        w.b = b->lines + head;
        w.n = a->n - head - tail;
        w.m = b->n - head - tail;
        d = find(&w);
        if (d > DIFF_LINES_MAX)
                mark_all(&w);
        else if (d > 0)
                mark_way(&w, d);
        buf_done(&w.trace);
        return d < 0 ? -ENOMEM : 0;
}

// ------------------------------------------------------------------------------------------------ the text

typedef struct Printer {
        const TextStyle *style;
        bool clean;
        Buf *out;
} Printer;

static int print_clean(Printer *p, const Line *line, size_t len) {
        char *text = strndup(line->text, len);
        int r = text ? text_append_clean(p->out, text, true) : -ENOMEM;

        free(text);
        return r;
}

static int print_line(Printer *p, char sign, const Line *line) {
        Colour colour = sign == '-' ? COLOUR_RED : sign == '+' ? COLOUR_GREEN : COLOUR_NONE;
        bool whole = line->len > 0 && line->text[line->len - 1] == '\n';
        size_t len = line->len - whole;
        int r = buf_printf(p->out, "%s%c", colour_on(p->style, colour), sign);

        if (r == 0)
                r = p->clean ? print_clean(p, line, len) : buf_append(p->out, line->text, len);
        return r
                       ?: buf_printf(p->out, "%s\n%s", colour_off(p->style, colour),
                                     whole ? "" : "\\ No newline at end of file\n");
}

// "3,7"; of no lines the one before them, as patch(1) wants it.
static int print_range(Printer *p, char sign, size_t first, size_t n) {
        if (n == 1)
                return buf_printf(p->out, " %c%zu", sign, first + 1);
        return buf_printf(p->out, " %c%zu,%zu", sign, n > 0 ? first + 1 : first, n);
}

// Where one stands in both.
typedef struct Place {
        size_t i, j;
} Place;

static bool is_marked(const Lines *a, const Lines *b, Place at) {
        return (at.i < a->n && a->lines[at.i].marked) || (at.j < b->n && b->lines[at.j].marked);
}

// Over what is removed and added there.
static Place skip_marked(const Lines *a, const Lines *b, Place at) {
        while (at.i < a->n && a->lines[at.i].marked)
                at.i++;
        while (at.j < b->n && b->lines[at.j].marked)
                at.j++;
        return at;
}

// To the next difference, or the end.
static Place skip_same(const Lines *a, const Lines *b, Place at) {
        while (at.i < a->n && !is_marked(a, b, at)) {
                at.i++;
                at.j++;
        }
        return at;
}

// A hunk begins in `at`, which differs, and ends behind the last difference that is near enough to the one
// before it.
static Place find_end(const Lines *a, const Lines *b, Place at) {
        for (;;) {
                Place end = skip_marked(a, b, at);

                at = skip_same(a, b, end);
                if (!is_marked(a, b, at) || at.i - end.i > 2 * DIFF_CONTEXT)
                        return end;
        }
}

static int print_body(Printer *p, const Lines *a, const Lines *b, Place at, Place end) {
        int r = 0;

        while (r == 0 && (at.i < end.i || at.j < end.j)) {
                if (at.i < a->n && a->lines[at.i].marked)
                        r = print_line(p, '-', &a->lines[at.i++]);
                else if (at.j < b->n && b->lines[at.j].marked)
                        r = print_line(p, '+', &b->lines[at.j++]);
                else {
                        r = print_line(p, ' ', &a->lines[at.i++]);
                        at.j++;
                }
        }
        return r;
}

static int print_hunk(Printer *p, const Lines *a, const Lines *b, Place at, Place end) {
        size_t before = MIN_OF(at.i, (size_t) DIFF_CONTEXT),
               after = MIN_OF(a->n - end.i, (size_t) DIFF_CONTEXT);
        int r;

        at.i -= before;
        at.j -= before;
        end.i += after;
        end.j += after;
        r = buf_printf(p->out, "%s@@", colour_on(p->style, COLOUR_GREY))
                    ?: print_range(p, '-', at.i, end.i - at.i);
        r = r ?: print_range(p, '+', at.j, end.j - at.j);
        r = r ?: buf_printf(p->out, " @@%s\n", colour_off(p->style, COLOUR_GREY));
        return r ?: print_body(p, a, b, at, end);
}

static int print(Printer *p, const char *name_a, const char *name_b, const Lines *a, const Lines *b) {
        Place at = skip_same(a, b, (Place){});
        int r = 0;

        if (!is_marked(a, b, at))
                return DIFF_SAME;
        r = buf_printf(p->out, "%s--- %s\n+++ %s%s\n", colour_on(p->style, COLOUR_BOLD), name_a, name_b,
                       colour_off(p->style, COLOUR_BOLD));
        while (r == 0 && is_marked(a, b, at)) {
                Place end = find_end(a, b, at);

                r = print_hunk(p, a, b, at, end);
                at = skip_same(a, b, end);
        }
        return r < 0 ? r : DIFF_DIFFERS;
}

int diff_append(const DiffSide *a, const DiffSide *b, const TextStyle *style, bool clean, Buf *out) {
        Printer p = {.style = style, .clean = clean, .out = out};
        Lines lines_a = {}, lines_b = {};
        int r = split(a, &lines_a) ?: split(b, &lines_b) ?: mark(&lines_a, &lines_b);

        if (r == 0)
                r = print(&p, a->name, b->name, &lines_a, &lines_b);
        free(lines_a.lines);
        free(lines_b.lines);
        return r;
}
