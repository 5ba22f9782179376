// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Text for people: columns, colours, times and sizes. Pure; what the terminal can do comes in as a
// TextStyle.

#include <stdbool.h>

#include "buf.h"

typedef enum Colour {
        COLOUR_NONE,
        COLOUR_BOLD,
        COLOUR_RED,
        COLOUR_GREEN,
        COLOUR_YELLOW,
        COLOUR_GREY
} Colour;

typedef struct TextStyle {
        bool colour;
        bool utf8;      // the locale can show more than ASCII
        unsigned width; // columns of the terminal; 0: no limit
} TextStyle;

// Escape sequences, empty when colours are off.
const char *colour_on(const TextStyle *s, Colour c);
const char *colour_off(const TextStyle *s, Colour c);

// Columns that `s` takes on a terminal, by wcwidth(3) of this locale: two of a wide character, none of what
// is combined with another. One for each invalid byte, and for what the locale does not know.
size_t text_width(const char *s);
// Appends `s` without control characters, also of direction, and invalid bytes ('?' in their place; a tab
// stays if `keep_tabs`): what units, nodes and logs say must not reach the terminal as a command to it.
int text_append_clean(Buf *out, const char *s, bool keep_tabs);
// The same of a whole file, with its lines and tabs. A byte that is 0 is one of those.
int text_append_clean_file(Buf *out, const void *data, size_t len);
// Appends `s` in at most `width` columns, taking characters out of its middle, in *ret_width how many these
// are. `s` must be clean.
int text_append_ellipsised(Buf *out, const char *s, size_t width, bool utf8, size_t *ret_width);

// "5min 3s", "2 days 4h", two units at most, as systemctl shows ages; "0" below a microsecond.
int text_append_span(Buf *out, uint64_t span_us);
// "2026-01-31", with " 22:00" or " 22:00:00" behind it, in local time. False: it is none.
bool text_parse_date(const char *text, uint64_t *ret_us);
// "Fri 2026-11-20 10:00:00 UTC", local time zone.
int text_append_time(Buf *out, uint64_t wall_us);
// "4.5M": powers of 1024, as systemd writes sizes.
int text_append_bytes(Buf *out, uint64_t bytes);
