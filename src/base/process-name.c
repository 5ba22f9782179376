// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Whether a process of a given name runs: reads /proc/PID/comm of each process until one has it. Called in
// the pool, as it reads a file of at most COMM_MAX bytes for each process. A process that ends meanwhile, or
// cannot be read, counts as one without that name; so does a /proc that is missing.

#include "process-name.h"

#include <dirent.h>
#include <fcntl.h>
#include <string.h>

#include "buf.h"
#include "fileio.h"
#include "str.h"

enum { COMM_MAX = 64 };

static bool has_name(int proc, const char *pid, const char *name) {
        _cleanup_free_ char *path = str_printf("%s/comm", pid);
        _cleanup_buf_ Buf text = {};
        size_t len = strlen(name);

        return path && file_read(proc, path, COMM_MAX, &text) >= 0 && text.len == len + 1 &&
               memcmp(text.data, name, len) == 0 && text.data[len] == '\n';
}

bool process_name_runs(const char *name) {
        DIR *proc = opendir("/proc");
        const struct dirent *entry;
        bool runs = false;

        while (proc && !runs && (entry = readdir(proc)))
                runs = strspn(entry->d_name, "0123456789") == strlen(entry->d_name) &&
                       has_name(dirfd(proc), entry->d_name, name);
        if (proc)
                closedir(proc);
        return runs;
}
