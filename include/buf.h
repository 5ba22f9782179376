// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// A byte buffer that grows. Zero-initialised is empty and valid. buf_done() frees the bytes.

#include <stdbool.h>

#include "macro.h"

typedef struct Buf {
        uint8_t *data;
        size_t len;
        size_t allocated;
        // set by its user: bytes that it is done with are overwritten, also when it grows, until it is empty
        // and done. Only buf_append()
        bool secret;
                     // and buf_consume() change its length
} Buf;

void buf_done(Buf *b);
// The same of one that was not told to be secret: its bytes are overwritten first. What it grew out of may
// still be in memory.
void buf_wipe(Buf *b);
// Room for `more` bytes behind len; returns where they go or NULL (out of memory). Does not change len.
uint8_t *buf_reserve(Buf *b, size_t more);
// Room for `size` bytes in all, exactly so many if there is less. False: out of memory.
bool buf_fit(Buf *b, size_t size);
int buf_append(Buf *b, const void *data, size_t len);
int buf_printf(Buf *b, const char *format, ...) _printf_(2, 3);
// Appends `text`, broken at blanks so that no line has more than `width` columns; one word that is longer
// gets a line of its own. The first line begins in `column`, the others are indented. UTF-8 counts by
// characters. `width` 0: no limit. 0 or -ENOMEM.
int buf_append_wrapped(Buf *b, const char *text, size_t column, size_t indent, size_t width);
// Drops the first `n` bytes (n <= len); the rest moves to the front.
void buf_consume(Buf *b, size_t n);
// Takes the bytes as a NUL-terminated string that the caller frees; the buffer is empty afterwards. NULL:
// out of memory.
char *buf_take_string(Buf *b);
#define _cleanup_buf_ _cleanup_(buf_done)
