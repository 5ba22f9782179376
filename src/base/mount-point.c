// SPDX-License-Identifier: LGPL-2.1-or-later
//
// See mount-point.h. Each line of the table is a mount: numbers of it, of its parent and of its device, the
// root in its file system, and the place, in which blanks, tabs, ends of line and backslashes stand as \ and
// three octal digits (proc(5)). The longest place that the path lies in is the answer, of two mounts at one
// place the later, which hides the other. What is no such line is passed over.

#include "mount-point.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/sysmacros.h>

#include "fileio.h"
#include "str.h"

enum { FIELDS_BEFORE = 4, TABLE_MAX = 16 * 1024 * 1024 };

static bool is_octal(const char *p) {
        return p[0] >= '0' && p[0] <= '3' && p[1] >= '0' && p[1] <= '7' && p[2] >= '0' && p[2] <= '7';
}

// A new string of the field's bytes as they are; NULL: out of memory.
static char *unescape(const char *field, size_t len) {
        char *text = malloc(len + 1), *to = text;

        for (size_t i = 0; text && i < len; i++) {
                if (field[i] == '\\' && len - i > 3 && is_octal(field + i + 1)) {
                        *to++ = (char) ((field[i + 1] - '0') * 64 + (field[i + 2] - '0') * 8 +
                                        (field[i + 3] - '0'));
                        i += 3;
                } else {
                        *to++ = field[i];
                }
        }
        if (text)
                *to = 0;
        return text;
}

// The place's field, of `*ret_len` bytes; NULL: the line has none.
static const char *place_of(const char *line, size_t *ret_len) {
        for (unsigned i = 0; i < FIELDS_BEFORE; i++) {
                line += strcspn(line, " \n");
                if (*line != ' ')
                        return NULL;
                line++;
        }
        *ret_len = strcspn(line, " \n");
        return *line == '/' ? line : NULL;
}

// Field 3; 0: the line has none.
static dev_t device_of(const char *line) {
        unsigned major, minor;

        return sscanf(line, "%*u %*u %u:%u ", &major, &minor) == 2 ? makedev(major, minor) : 0;
}

static bool lies_in(const char *path, const char *place) {
        return streq(place, "/") || path_is_beneath(path, place);
}

char *mount_point_find(const char *table, const char *path, dev_t *ret_device) {
        char *best = NULL;

        *ret_device = 0;
        for (const char *line = table; *line; line += strcspn(line, "\n"), line += *line == '\n') {
                size_t len;
                const char *field = place_of(line, &len);
                char *place = field ? unescape(field, len) : NULL;

                if (place && lies_in(path, place) && (!best || strlen(place) >= strlen(best))) {
                        char *former = best;

                        best = place;
                        place = former;
                        *ret_device = device_of(line);
                }
                free(place);
        }
        return best;
}

int mount_table_read(Buf *ret) {
        int r = file_read(AT_FDCWD, "/proc/self/mountinfo", TABLE_MAX, ret);

        return r < 0 ? r : buf_append(ret, "", 1);
}
