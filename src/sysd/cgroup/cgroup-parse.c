// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The kernel's cgroup files as numbers (memory.current, cpu.stat, io.stat; "Control Group v2" in its
// documentation). usage_parse_number(), usage_parse_key(), usage_parse_io(): text -> numbers in the kernel's
// units; sums stop at the maximum. False: the text has no such number. Newer kernels may add keys and lines,
// so unknown ones are passed over.

#include "cgroup-usage.h"

// Decimal digits up to one of the characters of `ends` or the end of the text.
static bool number_at(const char *p, const char *ends, uint64_t *ret) {
        uint64_t n = 0;

        if (*p < '0' || *p > '9')
                return false;
        for (; *p >= '0' && *p <= '9'; p++)
                if (__builtin_mul_overflow(n, 10, &n) ||
                    __builtin_add_overflow(n, (uint64_t) (*p - '0'), &n))
                        return false;
        if (*p && !strchr(ends, *p))
                return false;
        *ret = n;
        return true;
}

static const char *next_line(const char *line) {
        line += strcspn(line, "\n");
        return *line ? line + 1 : line;
}

bool usage_parse_key(const char *text, const char *key, uint64_t *ret) {
        size_t len = strlen(key);

        for (const char *line = text; *line; line = next_line(line))
                if (strncmp(line, key, len) == 0 && line[len] == ' ')
                        return number_at(line + len + 1, "\n", ret);
        return false;
}

bool usage_parse_number(const char *text, uint64_t *ret) {
        return number_at(text, "\n", ret);
}

// "rbytes=1234" somewhere behind the device.
static bool field_of_line(const char *line, const char *key, uint64_t *ret) {
        const char *end = line + strcspn(line, "\n");
        size_t len = strlen(key);

        for (const char *p = line + strcspn(line, " \n"); p < end; p += strcspn(p, " \n")) {
                p += *p == ' ';
                if (strncmp(p, key, len) == 0 && p[len] == '=')
                        return number_at(p + len + 1, " \n", ret);
        }
        return false;
}

static uint64_t add(uint64_t a, uint64_t b) {
        uint64_t sum;

        return __builtin_add_overflow(a, b, &sum) || sum == USAGE_NONE ? USAGE_NONE - 1 : sum;
}

bool usage_parse_io(const char *text, uint64_t *ret_read, uint64_t *ret_write) {
        uint64_t read = 0, write = 0;
        bool understood = !*text;

        for (const char *line = text; *line; line = next_line(line)) {
                uint64_t r, w;

                // A device that was never used by this group has a line without fields.
                if (line[strcspn(line, " \n")] != ' ' || line[strcspn(line, " \n") + 1] == '\n') {
                        understood = understood || strchr(line, ':') != NULL;
                        continue;
                }
                if (!field_of_line(line, "rbytes", &r) || !field_of_line(line, "wbytes", &w))
                        continue;
                understood = true;
                read = add(read, r);
                write = add(write, w);
        }
        if (!understood)
                return false;
        *ret_read = read;
        *ret_write = write;
        return true;
}
