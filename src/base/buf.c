// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A buffer of bytes that grows by doubling, from BUF_MIN bytes on. A buffer marked `secret` overwrites what
// it frees.
//
//      buf_append(), buf_printf(), buf_reserve() at the end -> buf_consume() at the front, buf_take_string()
//
// Failures: without memory a function returns -ENOMEM, NULL or false and leaves the buffer as it was; only
// buf_append_wrapped() may have appended a part.

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "buf.h"

enum { BUF_MIN = 256 };

// Only `len` bytes are overwritten: a secret buffer writes nothing behind them, and pages never touched cost
// no memory.
void buf_done(Buf *b) {
        if (b->secret && b->data)
                explicit_bzero(b->data, b->len);
        free(b->data);
        *b = (Buf){};
}

void buf_wipe(Buf *b) {
        if (b->data)
                explicit_bzero(b->data, b->allocated);
        buf_done(b);
}

// realloc() could leave a copy in the heap, so a secret buffer is copied by hand and the old memory
// overwritten.
static uint8_t *move(Buf *b, size_t size) {
        uint8_t *p = malloc(size);

        if (!p)
                return NULL;
        if (b->data) {
                memcpy(p, b->data, b->len);
                explicit_bzero(b->data, b->len);
                free(b->data);
        }
        return p;
}

static bool resize(Buf *b, size_t size) {
        uint8_t *p = b->secret ? move(b, size) : realloc(b->data, size);

        if (!p)
                return false;
        b->data = p;
        b->allocated = size;
        return true;
}

uint8_t *buf_reserve(Buf *b, size_t more) {
        size_t need, size;

        if (__builtin_add_overflow(b->len, more, &need))
                return NULL;
        if (need > b->allocated || !b->data) {
                size = b->allocated ?: BUF_MIN;
                while (size < need)
                        if (__builtin_mul_overflow(size, (size_t) 2, &size))
                                return NULL;
                if (!resize(b, size))
                        return NULL;
        }
        return b->data + b->len;
}

bool buf_fit(Buf *b, size_t size) {
        return size <= b->allocated || resize(b, size);
}

int buf_append(Buf *b, const void *data, size_t len) {
        uint8_t *p = buf_reserve(b, len);

        if (!p)
                return -ENOMEM;
        if (len > 0)
                memcpy(p, data, len);
        b->len += len;
        return 0;
}

int buf_printf(Buf *b, const char *format, ...) {
        va_list ap;
        uint8_t *p;
        int n;

        va_start(ap, format);
        n = vsnprintf(NULL, 0, format, ap);
        va_end(ap);
        if (n < 0)
                return -EINVAL;
        p = buf_reserve(b, (size_t) n + 1);
        if (!p)
                return -ENOMEM;
        va_start(ap, format);
        vsnprintf((char *) p, (size_t) n + 1, format, ap);
        va_end(ap);
        b->len += (size_t) n;
        return 0;
}

static size_t characters(const char *s, size_t len) {
        size_t n = 0;

        for (size_t i = 0; i < len; i++)
                n += ((unsigned char) s[i] & 0xc0) != 0x80; // those do not begin a character
        return n;
}

int buf_append_wrapped(Buf *b, const char *text, size_t column, size_t indent, size_t width) {
        bool first = true;

        if (width == 0)
                return buf_append(b, text, strlen(text));
        while (*text) {
                size_t blanks = strspn(text, " "), len = strcspn(text + blanks, " ");
                size_t columns = characters(text + blanks, len);
                int r;

                if (!first && len > 0 && column + blanks + columns > width && column > indent) {
                        r = buf_printf(b, "\n%*s", (int) indent, "");
                        column = indent + columns;
                } else {
                        r = buf_append(b, text, blanks);
                        column += blanks + columns;
                }
                if (r < 0 || buf_append(b, text + blanks, len) < 0)
                        return -ENOMEM;
                text += blanks + len;
                first = false;
        }
        return 0;
}

void buf_consume(Buf *b, size_t n) {
        assert(n <= b->len);
        b->len -= n;
        if (b->len > 0)
                memmove(b->data, b->data + n, b->len);
        if (b->secret && n > 0)
                explicit_bzero(b->data + b->len, n);
}

char *buf_take_string(Buf *b) {
        if (buf_append(b, "", 1) < 0)
                return NULL;
        b->len = b->allocated = 0;
        return (char *) TAKE_PTR(b->data);
}
