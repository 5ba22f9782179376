// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Text as a terminal shows it: how many columns it takes, shortened where it is too long, and without what a
// terminal would obey: control characters, those that turn text around, and bytes that are no UTF-8, in
// somebody's words become `?`. Times, spans and amounts for people. -ENOMEM: the output holds a part of it.

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <time.h>
#include <wchar.h>

#include "clock.h"
#include "local-time.h"
#include "str.h"
#include "text.h"

const char *colour_on(const TextStyle *s, Colour c) {
        static const char *const codes[] = {"",           "\x1b[1m",    "\x1b[1;31m",
                                            "\x1b[1;32m", "\x1b[1;33m", "\x1b[90m"};

        return s->colour ? codes[c] : "";
}

const char *colour_off(const TextStyle *s, Colour c) {
        return s->colour && c != COLOUR_NONE ? "\x1b[0m" : "";
}

// The columns of one character; one that the locale does not know takes 1.
static size_t columns(const uint8_t *p, size_t n) {
        int w = n > 1 ? wcwidth((wchar_t) str_character(p, n)) : 1;

        return w < 0 ? 1 : (size_t) w;
}

static size_t width_up_to(const char *s, const char *end) {
        size_t width = 0, n;

        for (const uint8_t *p = (const uint8_t *) s; p < (const uint8_t *) end; p += n ?: 1) {
                n = str_utf8_len(p);
                width += columns(p, n);
        }
        return width;
}

size_t text_width(const char *s) {
        return width_up_to(s, s + strlen(s));
}

int text_append_clean(Buf *out, const char *s, bool keep_tabs) {
        int r = 0;

        for (const uint8_t *p = (const uint8_t *) s; *p && r == 0;) {
                size_t n = str_utf8_len(p);
                bool bad = n == 0 || !str_is_seen(p, n);

                if (*p == '\t' && keep_tabs)
                        bad = false;
                r = bad ? buf_append(out, "?", 1) : buf_append(out, p, n);
                p += n ?: 1;
        }
        return r;
}

int text_append_clean_file(Buf *out, const void *data, size_t len) {
        _cleanup_free_ char *copy = malloc(len + 1);
        char *at = copy;
        int r = copy ? 0 : -ENOMEM;

        if (r < 0)
                return r;
        memcpy(copy, data ?: "", len);
        copy[len] = 0;
        for (size_t i = 0; i < len; i++)
                if (!copy[i])
                        copy[i] = '\1';
        for (char *newline; r == 0 && (newline = strchr(at, '\n')); at = newline + 1) {
                *newline = 0;
                r = text_append_clean(out, at, true);
                if (r == 0)
                        r = buf_append(out, "\n", 1);
        }
        return r < 0 ? r : text_append_clean(out, at, true);
}

// As many characters as fit into so many columns, with what is combined with the last one.
static const char *fit(const char *s, size_t width) {
        while (*s) {
                size_t n = str_utf8_len((const uint8_t *) s), w = columns((const uint8_t *) s, n);

                if (w > width)
                        break;
                width -= w;
                s += n ?: 1;
        }
        return s;
}

// From where on the rest fits into so many columns: with a whole character.
static const char *fit_end(const char *s, size_t width) {
        size_t have = text_width(s);

        while (*s) {
                size_t n = str_utf8_len((const uint8_t *) s), w = columns((const uint8_t *) s, n);

                if (have <= width && w > 0)
                        break;
                have -= w;
                s += n ?: 1;
        }
        return s;
}

int text_append_ellipsised(Buf *out, const char *s, size_t width, bool utf8, size_t *ret_width) {
        size_t have = text_width(s), mark_width = utf8 ? 1 : 3, tail;
        const char *mark = utf8 ? "\xe2\x80\xa6" : "...", *head_end, *end;
        int r;

        *ret_width = have;
        if (have <= width)
                return buf_append(out, s, strlen(s));
        if (width < mark_width + 2) {
                head_end = fit(s, width);
                *ret_width = width_up_to(s, head_end);
                return buf_append(out, s, (size_t) (head_end - s));
        }
        tail = (width - mark_width) / 2;
        head_end = fit(s, width - mark_width - tail);
        end = fit_end(s, tail);
        *ret_width = width_up_to(s, head_end) + mark_width + text_width(end);
        r = buf_append(out, s, (size_t) (head_end - s));
        if (r == 0)
                r = buf_append(out, mark, strlen(mark));
        return r < 0 ? r : buf_append(out, end, strlen(end));
}

int text_append_span(Buf *out, uint64_t span_us) {
        static const struct {
                const char *suffix;
                uint64_t us;
        } units[] = {{" days", 86400 * USEC_PER_SEC}, {"h", 3600 * USEC_PER_SEC},
                     {"min", 60 * USEC_PER_SEC},      {"s", USEC_PER_SEC},
                     {"ms", USEC_PER_MSEC},           {"us", 1}};
        unsigned written = 0;
        int r = 0;

        if (span_us == 0)
                return buf_append(out, "0", 1);
        for (size_t i = 0; i < ELEMENTSOF(units) && written < 2 && r == 0; i++) {
                uint64_t n = span_us / units[i].us;

                if (n == 0 || (written > 0 && units[i].us < USEC_PER_SEC))
                        continue;
                span_us %= units[i].us;
                r = buf_printf(out, "%s%" PRIu64 "%s", written ? " " : "", n,
                               i == 0 && n == 1 ? " day" : units[i].suffix);
                written++;
        }
        return r;
}

int text_append_time(Buf *out, uint64_t wall_us) {
        char text[64];
        struct tm tm;

        if (!local_time(wall_us, &tm) || strftime(text, sizeof(text), "%a %Y-%m-%d %H:%M:%S %Z", &tm) == 0)
                return buf_append(out, "n/a", 3);
        return buf_printf(out, "%s", text);
}

int text_append_bytes(Buf *out, uint64_t bytes) {
        static const char suffixes[] = "BKMGTPE";
        unsigned i = 0;
        uint64_t rest = 0;

        while (bytes >= 1024 && i < sizeof(suffixes) - 2) {
                rest = bytes % 1024;
                bytes /= 1024;
                i++;
        }
        if (i == 0)
                return buf_printf(out, "%" PRIu64 "B", bytes);
        return buf_printf(out, "%" PRIu64 ".%" PRIu64 "%c", bytes, rest * 10 / 1024, suffixes[i]);
}

bool text_parse_date(const char *text, uint64_t *ret_us) {
        static const char *const formats[] = {"%Y-%m-%d", "%Y-%m-%d %H:%M", "%Y-%m-%d %H:%M:%S"};

        for (size_t i = 0; i < ELEMENTSOF(formats); i++) {
                struct tm tm = {.tm_isdst = -1};
                const char *end = strptime(text, formats[i], &tm);
                time_t t = end && !*end ? mktime(&tm) : -1;

                if (t < 0)
                        continue;
                *ret_us = (uint64_t) t * USEC_PER_SEC;
                return true;
        }
        return false;
}
