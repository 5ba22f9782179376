// SPDX-License-Identifier: LGPL-2.1-or-later

// See segments.h. libraft calls a closed segment FIRST-LAST, and one that it writes to open-N.

#include "segments.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <unistd.h>

bool segment_is_closed(const char *name, unsigned long long *ret_first, unsigned long long *ret_last) {
        int end = 0;

        return sscanf(name, "%llu-%llu%n", ret_first, ret_last, &end) == 2 && end > 0 && name[end] == 0;
}

bool segments_are_truncated(const char *dir, uint64_t index) {
        DIR *d = opendir(dir);
        struct dirent *e;
        bool truncated = d;

        while (d && (e = readdir(d))) {
                unsigned long long first, last;

                truncated &= !segment_is_closed(e->d_name, &first, &last) || last < index;
        }
        if (d)
                closedir(d);
        return truncated;
}

// ---- guard 20: a truncation that was interrupted
//
// libraft writes what is left of a segment to another one with the same first entry, and then removes the segment. If it
// goes down in between, it finds two and calls the log damaged. Nothing was written behind the shorter one yet, which may
// not be whole either: the longer is the log as it was before.

static bool has_longer(const char *dir, unsigned long long first, unsigned long long last) {
        DIR *d = opendir(dir);
        struct dirent *e;
        bool found = false;

        while (d && (e = readdir(d))) {
                unsigned long long other, other_last;

                found |= segment_is_closed(e->d_name, &other, &other_last) && other == first && other_last > last;
        }
        if (d)
                closedir(d);
        return found;
}

int segments_undo_truncation(const char *dir) {
        DIR *d = opendir(dir);
        struct dirent *e;
        int r = 0;

        if (!d)
                return -errno;
        while (r == 0 && (e = readdir(d))) {
                unsigned long long first, last;

                if (segment_is_closed(e->d_name, &first, &last) && has_longer(dir, first, last) &&
                    (unlinkat(dirfd(d), e->d_name, 0) < 0 || fsync(dirfd(d)) < 0))
                        r = -errno;
        }
        closedir(d);
        return r;
}
