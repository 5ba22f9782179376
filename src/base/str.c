// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Text: cutting it at the border of a character, numbers and time spans out of it, hexadecimal digits, parts
// of URLs. What is cut is UTF-8 whenever it was before; what is no UTF-8 is cut at the byte. Parsers take
// all of the text or nothing, and leave *ret alone when they return false.

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

#include "clock.h"
#include "str.h"

enum { UTF8_MAX = 4 }; // bytes of a character

// The length of a character, by its first byte.
static size_t utf8_length(unsigned char first) {
        return first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : first >= 0xc0 ? 2 : 1;
}

char *str_printf(const char *format, ...) {
        va_list ap;
        char *s;
        int r;

        va_start(ap, format);
        r = vasprintf(&s, format, ap);
        va_end(ap);
        return r < 0 ? NULL : s;
}

void str_lower(char *s) {
        for (; *s; s++)
                if (*s >= 'A' && *s <= 'Z')
                        *s = (char) (*s - 'A' + 'a');
}

bool str_has_prefix(const char *s, const char *prefix) {
        return strncmp(s, prefix, strlen(prefix)) == 0;
}

bool path_is_beneath(const char *path, const char *dir) {
        size_t len = strlen(dir);

        return str_has_prefix(path, dir) && (!path[len] || path[len] == '/');
}

void *str_new_with(size_t size, size_t at, const char *text) {
        size_t text_size = strlen(text) + 1;
        char *new = calloc(1, MAX_OF(size, at + text_size));

        if (new)
                memcpy(new + at, text, text_size);
        return new;
}

bool str_copy(char *ret, size_t size, const char *s) {
        size_t len = strlen(s);

        if (len >= size) {
                *ret = 0;
                return false;
        }
        memcpy(ret, s, len + 1);
        return true;
}

static bool is_inside_character(char c) {
        return ((unsigned char) c & 0xc0) == 0x80;
}

size_t str_cut_bytes(const char *s, size_t len, size_t max) {
        size_t n = max;

        if (len <= max)
                return len;
        while (n > 0 && max - n < UTF8_MAX - 1 && is_inside_character(s[n]))
                n--;
        return is_inside_character(s[n]) ? max : n; // no UTF-8 at all
}

size_t str_cut(const char *s, size_t max) {
        return str_cut_bytes(s, strnlen(s, max + 1), max);
}

char *str_dup_cut(const char *s, size_t max) {
        return strndup(s, str_cut(s, max));
}

size_t str_vfit(char *ret, size_t size, const char *format, va_list ap) {
        int r = vsnprintf(ret, size, format, ap);
        size_t len = size - 1, last = len;

        if (r < 0 || size == 0)
                return 0;
        if ((size_t) r < size)
                return (size_t) r;
        // What follows is not known any more: the last character that begins must have come to its end.
        while (last > 0 && len - last < UTF8_MAX - 1 && is_inside_character(ret[last - 1]))
                last--;
        if (last > 0 && len - (last - 1) < utf8_length((unsigned char) ret[last - 1]))
                len = last - 1;
        ret[len] = 0;
        return len;
}

size_t str_fit(char *ret, size_t size, const char *format, ...) {
        va_list ap;
        size_t len;

        va_start(ap, format);
        len = str_vfit(ret, size, format, ap);
        va_end(ap);
        return len;
}

int str_refuse(char **ret_why, const char *format, ...) {
        char text[STR_WHY_SIZE];
        va_list ap;

        va_start(ap, format);
        str_vfit(text, sizeof(text), format, ap);
        va_end(ap);
        *ret_why = strdup(text);
        return -EINVAL;
}

bool str_has_suffix(const char *s, const char *suffix) {
        size_t a = strlen(s), b = strlen(suffix);

        return a >= b && streq(s + a - b, suffix);
}

void hex_encode(const void *data, size_t len, char *ret) {
        static const char digits[] = "0123456789abcdef";
        const uint8_t *p = data;

        for (size_t i = 0; i < len; i++) {
                *ret++ = digits[p[i] >> 4];
                *ret++ = digits[p[i] & 15];
        }
        *ret = 0;
}

static int hex_digit(char c) {
        if (c >= '0' && c <= '9')
                return c - '0';
        if (c >= 'a' && c <= 'f')
                return c - 'a' + 10;
        if (c >= 'A' && c <= 'F')
                return c - 'A' + 10;
        return -1;
}

bool hex_decode(const char *hex, void *ret, size_t len) {
        uint8_t *p = ret;

        if (strlen(hex) != 2 * len)
                return false;
        for (size_t i = 0; i < len; i++) {
                int hi = hex_digit(hex[2 * i]), lo = hex_digit(hex[2 * i + 1]);

                if (hi < 0 || lo < 0)
                        return false;
                p[i] = (uint8_t) (hi << 4 | lo);
        }
        return true;
}

int percent_decode(const char *text, size_t len, bool plus_is_blank, char **ret) {
        _cleanup_free_ char *out = malloc(len + 1);
        size_t n = 0;

        if (!out)
                return -ENOMEM;
        for (size_t i = 0; i < len; i++) {
                int hi, lo;

                if (text[i] != '%') {
                        out[n++] = plus_is_blank && text[i] == '+' ? ' ' : text[i];
                        continue;
                }
                hi = i + 2 < len ? hex_digit(text[i + 1]) : -1;
                lo = hi < 0 ? -1 : hex_digit(text[i + 2]);
                if (lo < 0 || (hi << 4 | lo) == 0)
                        return -EINVAL;
                out[n++] = (char) (hi << 4 | lo);
                i += 2;
        }
        out[n] = 0;
        *ret = TAKE_PTR(out);
        return 0;
}

static bool is_tail(uint8_t b) {
        return (b & 0xc0) == 0x80;
}

size_t str_utf8_len(const uint8_t *p) {
        if (p[0] < 0x80)
                return 1;
        if (p[0] >= 0xc2 && p[0] <= 0xdf)
                return is_tail(p[1]) ? 2 : 0;
        if (p[0] >= 0xe0 && p[0] <= 0xef) {
                if (!is_tail(p[1]) || !is_tail(p[2]))
                        return 0;
                if ((p[0] == 0xe0 && p[1] < 0xa0) || (p[0] == 0xed && p[1] > 0x9f))
                        return 0;
                return 3;
        }
        if (p[0] >= 0xf0 && p[0] <= 0xf4) {
                if (!is_tail(p[1]) || !is_tail(p[2]) || !is_tail(p[3]))
                        return 0;
                if ((p[0] == 0xf0 && p[1] < 0x90) || (p[0] == 0xf4 && p[1] > 0x8f))
                        return 0;
                return 4;
        }
        return 0;
}

// What is invisible, or turns the text around: U+0080 to U+009F, the marks and overrides of direction, and
// what separates lines.
static bool is_unseen(uint32_t c) {
        return c < 0x20 || (c >= 0x7f && c < 0xa0) || c == 0x61c || c == 0x200e || c == 0x200f ||
               (c >= 0x2028 && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069) || c == 0xfeff;
}

uint32_t str_character(const uint8_t *p, size_t n) {
        uint32_t c = n == 1 ? p[0] : p[0] & (0x7fu >> n);

        for (size_t i = 1; i < n; i++)
                c = c << 6 | (p[i] & 0x3f);
        return c;
}

bool str_is_seen(const uint8_t *p, size_t len) {
        return !is_unseen(str_character(p, len));
}

bool str_is_plain(const char *s) {
        for (const uint8_t *p = (const uint8_t *) s; *p;) {
                size_t n = str_utf8_len(p);

                if (n == 0 || !str_is_seen(p, n))
                        return false;
                p += n;
        }
        return true;
}

char *str_printable(const char *s, size_t max) {
        char *copy = strndup(s, max);

        for (char *p = copy; p && *p; p++)
                if (*p < ' ' || *p > '~')
                        *p = '?';
        return copy;
}

bool parse_u64(const char *s, uint64_t max, uint64_t *ret) {
        uint64_t n = 0;

        if (!*s)
                return false;
        for (; *s; s++) {
                if (*s < '0' || *s > '9' || __builtin_mul_overflow(n, UINT64_C(10), &n) ||
                    __builtin_add_overflow(n, (uint64_t) (*s - '0'), &n))
                        return false;
        }
        if (n > max)
                return false;
        *ret = n;
        return true;
}

bool parse_span_us(const char *s, uint64_t *ret) {
        static const struct {
                const char *suffix;
                uint64_t us;
        } units[] = {{"us", 1},
                     {"ms", USEC_PER_MSEC},
                     {"min", 60 * USEC_PER_SEC},
                     {"h", 3600 * USEC_PER_SEC},
                     {"d", 24 * 3600 * USEC_PER_SEC},
                     {"s", USEC_PER_SEC},
                     {"", USEC_PER_SEC}};
        uint64_t whole = 0, frac = 0, scale = 1, span;
        const char *p = s;

        if (*p < '0' || *p > '9')
                return false;
        for (; *p >= '0' && *p <= '9'; p++) {
                whole = whole * 10 + (uint64_t) (*p - '0');
                if (whole > UINT32_MAX)
                        return false;
        }
        if (*p == '.')
                for (p++; *p >= '0' && *p <= '9' && scale < 1000000; p++) {
                        frac = frac * 10 + (uint64_t) (*p - '0');
                        scale *= 10;
                }
        while (*p == ' ')
                p++;
        for (size_t i = 0; i < ELEMENTSOF(units); i++)
                if (streq(p, units[i].suffix)) {
                        span = whole * units[i].us + frac * units[i].us / scale;
                        *ret = span;
                        return true;
                }
        return false;
}
