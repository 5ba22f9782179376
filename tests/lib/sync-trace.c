// SPDX-License-Identifier: LGPL-2.1-or-later
#include "sync-trace.h"

#include <string.h>
#include <sys/stat.h>

static char trace[64];

int __real_fsync(int fd);
int __wrap_fsync(int fd);
int __real_renameat(int from_dir, const char *from, int to_dir, const char *to);
int __wrap_renameat(int from_dir, const char *from, int to_dir, const char *to);

static void note(char what) {
        size_t len = strlen(trace);

        if (len + 1 < sizeof(trace))
                trace[len] = what;
}

void sync_trace_clear(void) {
        memset(trace, 0, sizeof(trace));
}

const char *sync_trace(void) {
        return trace;
}

int __wrap_fsync(int fd) {
        struct stat st;

        if (fstat(fd, &st) == 0)
                note(S_ISDIR(st.st_mode) ? 'd' : 'f');
        return __real_fsync(fd);
}

int __wrap_renameat(int from_dir, const char *from, int to_dir, const char *to) {
        note('r');
        return __real_renameat(from_dir, from, to_dir, to);
}
