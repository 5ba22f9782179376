// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Rows and columns as text. Cells are copied in, row by row; columns are as wide as their widest cell. Where
// that is more than the terminal, the columns that may shrink lose the middle of their longest cells first.
// Pure.

#include "text.h"

enum { TABLE_COLUMNS_MAX = 32, TABLE_SHRINK_MIN = 12 }; // a column never shrinks below TABLE_SHRINK_MIN

typedef struct TableColumn {
        const char *header; // borrowed
        bool shrink;
        bool optional; // not shown if all its cells are empty
} TableColumn;

typedef struct TableCell {
        char *text; // owned, clean
        Colour colour;
} TableCell;

typedef struct Table {
        TableColumn columns[TABLE_COLUMNS_MAX];
        size_t n_columns;
        TableCell *cells;
        size_t n_cells, allocated;
} Table;

void table_done(Table *t);
#define _cleanup_table_ _cleanup_(table_done)

// Before the first cell.
void table_add_column(Table *t, const char *header, bool shrink, bool optional);
// The next cell, left to right; "" is shown as "-", or as nothing in an optional column. 0 or -ENOMEM.
int table_add(Table *t, const char *text, Colour colour);
static inline size_t table_rows(const Table *t) {
        return t->n_columns ? t->n_cells / t->n_columns : 0;
}
// Appends the whole table; the last row must be complete. style->width 0: nothing shrinks.
int table_format(const Table *t, const TextStyle *style, bool header, Buf *out);
