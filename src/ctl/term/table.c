// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A table as text: widths of the columns first, then the lines. If the terminal is narrower, the widest of
// the columns that may shrink loses a column of characters at a time, but never beyond TABLE_SHRINK_MIN;
// then lines are longer than the terminal. What stands last in a line is not padded. -ENOMEM: the output
// holds a part of it.

#include <errno.h>

#include "array.h"
#include "table.h"

void table_done(Table *t) {
        for (size_t i = 0; i < t->n_cells; i++)
                free(t->cells[i].text);
        free(t->cells);
        *t = (Table){};
}

void table_add_column(Table *t, const char *header, bool shrink, bool optional) {
        assert(t->n_columns < TABLE_COLUMNS_MAX && t->n_cells == 0);
        t->columns[t->n_columns++] = (TableColumn){header, shrink, optional};
}

int table_add(Table *t, const char *text, Colour colour) {
        _cleanup_buf_ Buf clean = {};
        int r;

        if (ARRAY_GROW(t->cells, t->allocated, t->n_cells + 1) < 0)
                return -ENOMEM;
        r = text_append_clean(&clean, *text || t->columns[t->n_cells % t->n_columns].optional ? text : "-",
                              false);
        if (r < 0)
                return r;
        t->cells[t->n_cells].text = buf_take_string(&clean);
        if (!t->cells[t->n_cells].text)
                return -ENOMEM;
        t->cells[t->n_cells++].colour = colour;
        return 0;
}

// Width 0 means that the column is not shown.
static void natural_widths(const Table *t, bool header, size_t *ret) {
        for (size_t i = 0; i < t->n_cells; i++) {
                size_t w = text_width(t->cells[i].text), c = i % t->n_columns;

                ret[c] = MAX_OF(ret[c], w);
        }
        for (size_t i = 0; i < t->n_columns; i++)
                if (header && !(t->columns[i].optional && ret[i] == 0))
                        ret[i] = MAX_OF(ret[i], text_width(t->columns[i].header));
}

// Takes columns off the widest one that may shrink until the line fits or nothing is left to take.
static void shrink(const Table *t, size_t limit, size_t *widths) {
        size_t total = 0;

        for (size_t i = 0; i < t->n_columns; i++)
                total += widths[i] + (widths[i] > 0 && total > 0);
        while (total > limit) {
                size_t widest = t->n_columns;

                for (size_t i = 0; i < t->n_columns; i++)
                        if (t->columns[i].shrink && widths[i] > TABLE_SHRINK_MIN &&
                            (widest == t->n_columns || widths[i] > widths[widest]))
                                widest = i;
                if (widest == t->n_columns)
                        return;
                widths[widest]--;
                total--;
        }
}

// `pad`: something follows. What stands last is not padded: no blanks at the ends of lines.
static int put_cell(Buf *out, const TextStyle *style, const char *text, Colour colour, size_t width,
                    bool pad) {
        size_t used;
        int r;

        r = buf_printf(out, "%s", colour_on(style, colour));
        if (r == 0)
                r = text_append_ellipsised(out, text, width, style->utf8, &used);
        if (r == 0)
                r = buf_printf(out, "%s", colour_off(style, colour));
        if (r == 0 && pad)
                r = buf_printf(out, "%*s", (int) (width - used + 1), "");
        return r;
}

// One line; `cells` NULL: the headers.
static int put_line(const Table *t, const TextStyle *style, const TableCell *cells, const size_t *widths,
                    Buf *out) {
        size_t last = 0;
        int r = 0;

        for (size_t i = 0; i < t->n_columns; i++)
                if (widths[i] > 0 && *(cells ? cells[i].text : t->columns[i].header))
                        last = i;
        for (size_t i = 0; i <= last && r == 0; i++)
                if (widths[i] > 0)
                        r = put_cell(out, style, cells ? cells[i].text : t->columns[i].header,
                                     cells ? cells[i].colour : COLOUR_BOLD, widths[i], i < last);
        return r < 0 ? r : buf_append(out, "\n", 1);
}

int table_format(const Table *t, const TextStyle *style, bool header, Buf *out) {
        size_t widths[TABLE_COLUMNS_MAX] = {};
        int r = 0;

        assert(t->n_columns > 0 && t->n_cells % t->n_columns == 0);
        natural_widths(t, header, widths);
        if (style->width > 0)
                shrink(t, style->width, widths);
        if (header)
                r = put_line(t, style, NULL, widths, out);
        for (size_t i = 0; i < t->n_cells && r == 0; i += t->n_columns)
                r = put_line(t, style, &t->cells[i], widths, out);
        return r;
}
