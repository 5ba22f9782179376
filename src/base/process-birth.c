// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The 22nd field of /proc/PID/stat (proc(5)). The second one, the name in parentheses, is the process's own
// choice and may hold blanks and parentheses, so fields are counted behind the last one of these. A process
// that is gone, and a text that is too short, have no birth.

#include "process-birth.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "buf.h"
#include "fileio.h"
#include "str.h"

enum { STAT_MAX = 4096, NAME_FIELD = 2, BIRTH_FIELD = 22 };

uint64_t process_birth(pid_t pid) {
        _cleanup_free_ char *path = str_printf("/proc/%d/stat", (int) pid);
        _cleanup_buf_ Buf text = {};
        char *field;

        if (!path || file_read(AT_FDCWD, path, STAT_MAX, &text) < 0 || buf_append(&text, "", 1) < 0)
                return 0;
        field = strrchr((char *) text.data, ')');
        for (int i = NAME_FIELD; field && i < BIRTH_FIELD; i++)
                field = strchr(field + 1, ' ');
        return field ? strtoull(field, NULL, 10) : 0;
}
