// SPDX-License-Identifier: LGPL-2.1-or-later
#include <stdarg.h>
#include <stdio.h>

#include "clock.h"
#include "str.h"

char *str_printf(const char *format, ...) {
        va_list ap;
        char *s;
        int r;

        va_start(ap, format);
        r = vasprintf(&s, format, ap);
        va_end(ap);
        return r < 0 ? NULL : s;
}

bool str_has_prefix(const char *s, const char *prefix) {
        return strncmp(s, prefix, strlen(prefix)) == 0;
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
