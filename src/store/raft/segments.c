// SPDX-License-Identifier: LGPL-2.1-or-later

// Names of libraft's segments, and truncations that were interrupted (segments.h): FIRST-LAST is closed,
// open-N open.
//
//      segments_undo_truncation() before libraft starts    segments_are_truncated() after a truncation
//
// Failures: errno; a directory that cannot be read counts as not truncated.

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
// libraft truncates a segment by writing the rest to another one with the same first entry and removing the
// old one. After a crash in between it finds both and calls the log damaged. Nothing was written behind the
// shorter one, which may not be whole: the shorter one is removed, and the log is as it was before the
// truncation.

static bool has_longer(const char *dir, unsigned long long first, unsigned long long last) {
        DIR *d = opendir(dir);
        struct dirent *e;
        bool found = false;

        while (d && (e = readdir(d))) {
                unsigned long long other, other_last;

                found |= segment_is_closed(e->d_name, &other, &other_last) && other == first &&
                         other_last > last;
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
