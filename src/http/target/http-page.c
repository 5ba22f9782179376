// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Places in lists as text (?page=) and back; http-page.h has the format, byte by byte.
//
//      http_page_format() -> http_page_link() in the header Link -> the client -> http_page_parse()
//
// There is one text for each page. Failures: -EINVAL for a text that is cut off, mistyped or has extra
// bytes; -ESTALE for a page of another question; NULL without memory.

#include "http-page.h"

#include <errno.h>
#include <string.h>

#include "buf.h"
#include "hash.h"
#include "macro.h"
#include "str.h"

enum { VERSION = 1, FIXED = 1 + 4 + 8, CHECKSUM = 4 };

static void put_number(uint8_t *at, uint64_t n, size_t len) {
        for (size_t i = 0; i < len; i++)
                at[i] = (uint8_t) (n >> (8 * (len - 1 - i)));
}

static uint64_t get_number(const uint8_t *at, size_t len) {
        uint64_t n = 0;

        for (size_t i = 0; i < len; i++)
                n = n << 8 | at[i];
        return n;
}

static size_t put_text(uint8_t *at, const char *text) {
        size_t size = strlen(text) + 1;

        memcpy(at, text, size);
        return size;
}

void http_page_format(const HttpPage *page, uint32_t question, char ret[HTTP_PAGE_SIZE]) {
        uint8_t bytes[HTTP_PAGE_BYTES_MAX] = {VERSION};
        size_t len = FIXED;

        put_number(bytes + 1, question, 4);
        put_number(bytes + 5, page->before, 8);
        len += put_text(bytes + len, page->unit);
        len += put_text(bytes + len, page->node);
        put_number(bytes + len, crc32c(0, bytes, len), CHECKSUM);
        *ret = 'p';
        hex_encode(bytes, len + CHECKSUM, ret + 1);
}

static bool take_text(const uint8_t **at, const uint8_t *end, char *ret, size_t size) {
        const uint8_t *nul = memchr(*at, 0, (size_t) (end - *at));
        const char *text = (const char *) *at;

        if (!nul || !str_copy(ret, size, text))
                return false;
        *at = nul + 1;
        return true;
}

// The number of bytes without the checksum; 0: the text is not a page.
static size_t decode(const char *text, uint8_t bytes[HTTP_PAGE_BYTES_MAX]) {
        size_t len = strnlen(text, HTTP_PAGE_SIZE);

        if (*text != 'p' || len % 2 == 0 || len / 2 > HTTP_PAGE_BYTES_MAX || len / 2 < FIXED + 2 + CHECKSUM)
                return 0;
        len /= 2;
        if (!hex_decode(text + 1, bytes, len) || bytes[0] != VERSION)
                return 0;
        len -= CHECKSUM;
        return get_number(bytes + len, CHECKSUM) == crc32c(0, bytes, len) ? len : 0;
}

static bool is_word(const char *text) {
        for (const char *p = text; *p; p++)
                if (*p <= ' ' || *p >= 0x7f)
                        return false;
        return true;
}

// Whether the page is a place in a list of jobs (`before`) or in another list (`unit`, `node`).
static bool is_place(const HttpPage *page) {
        if (page->before > 0)
                return !*page->unit && !*page->node;
        return unit_name_kind(page->unit, NULL) != UNIT_NAME_INVALID && is_word(page->node);
}

int http_page_parse(const char *text, uint32_t question, HttpPage *ret) {
        uint8_t bytes[HTTP_PAGE_BYTES_MAX];
        size_t len = decode(text, bytes);
        const uint8_t *at = bytes + FIXED;
        HttpPage page = {};

        if (len == 0)
                return -EINVAL;
        page.before = get_number(bytes + 5, 8);
        if (!take_text(&at, bytes + len, page.unit, sizeof(page.unit)) ||
            !take_text(&at, bytes + len, page.node, sizeof(page.node)) || at != bytes + len ||
            !is_place(&page))
                return -EINVAL;
        if (get_number(bytes + 1, 4) != question)
                return -ESTALE;
        *ret = page;
        return 0;
}

bool http_page_question(const char *text, uint32_t *ret) {
        uint8_t bytes[HTTP_PAGE_BYTES_MAX];

        if (decode(text, bytes) == 0)
                return false;
        *ret = (uint32_t) get_number(bytes + 1, 4);
        return true;
}

// Appends `text` with all characters escaped that a URI in a header must not have.
static int append_escaped(Buf *out, const char *text, size_t len) {
        int r = 0;

        for (size_t i = 0; i < len && r == 0; i++) {
                uint8_t c = (uint8_t) text[i];

                r = c <= ' ' || c >= 0x7f || strchr("#<>\"\\^`{|}", c) ? buf_printf(out, "%%%02X", c)
                                                                       : buf_append(out, &c, 1);
        }
        return r;
}

char *http_page_link(const char *target, const char *page) {
        size_t path = strcspn(target, "?");
        _cleanup_buf_ Buf out = {};
        char mark = '?';

        if (buf_append(&out, "<", 1) < 0 || append_escaped(&out, target, path) < 0)
                return NULL;
        for (const char *p = target + path; *p; p += 1 + strcspn(p + 1, "&")) {
                size_t len = strcspn(p + 1, "&");

                if (len == 0 || str_has_prefix(p + 1, "page="))
                        continue;
                if (buf_append(&out, &mark, 1) < 0 || append_escaped(&out, p + 1, len) < 0)
                        return NULL;
                mark = '&';
        }
        if (buf_printf(&out, "%cpage=%s>; rel=\"next\"", mark, page) < 0)
                return NULL;
        return buf_take_string(&out);
}
