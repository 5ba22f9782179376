// SPDX-License-Identifier: LGPL-2.1-or-later

// Files that mark the installation of a snapshot, or a truncation, as under way, so that it can be finished
// after a crash (log-marker.h).
//
//      log_marker_put() -> libraft changes names of files -> log_marker_remove()
//      a crash
//          -> log_markers_finish() at the next start: all segments go if the snapshot is whole, and of a
//             truncation those that begin at its index or behind it
//
// Names are libraft's: "snapshot-TERM-INDEX-TIMESTAMP" and the same with ".meta", closed segments
// "FIRST-LAST" (16 digits each), open segments "open-N". Failures: errno; -EBADMSG for a marker that is no
// number.

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "buf.h"
#include "fileio.h"
#include "log-marker.h"
#include "segments.h"
#include "snapshot-files.h"
#include "str.h"

static int open_dir(const char *dir) {
        int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

        return fd < 0 ? -errno : fd;
}

static void closedirp(DIR **d) {
        if (*d)
                closedir(*d);
}

int log_marker_put(const char *dir, const char *marker, uint64_t index) {
        _cleanup_(closep) int fd = open_dir(dir);
        char text[32];

        if (fd < 0)
                return fd;
        snprintf(text, sizeof(text), "%" PRIu64 "\n", index);
        return file_replace(fd, marker, text, strlen(text), 0600, FILE_SYNC);
}

int log_marker_remove(const char *dir, const char *marker) {
        _cleanup_(closep) int fd = open_dir(dir);

        if (fd < 0)
                return fd;
        if (unlinkat(fd, marker, 0) < 0)
                return errno == ENOENT ? 0 : -errno;
        return fsync(fd) < 0 ? -errno : 0;
}

static int read_marker(int fd, const char *marker, uint64_t *ret) {
        _cleanup_buf_ Buf b = {};
        _cleanup_free_ char *text = NULL;
        int r = file_read(fd, marker, 64, &b);

        if (r < 0)
                return r;
        text = buf_take_string(&b);
        if (!text)
                return -ENOMEM;
        text[strcspn(text, "\n")] = 0;
        return parse_u64(text, UINT64_MAX, ret) ? 0 : -EBADMSG;
}

static bool snapshot_is_complete(int fd, DIR *d, uint64_t index) {
        struct dirent *e;

        rewinddir(d);
        while ((e = readdir(d))) {
                char data[sizeof(e->d_name)];
                SnapshotName of;

                if (!snapshot_is_meta(e->d_name, &of) || of.index != index)
                        continue;
                snprintf(data, sizeof(data), "%.*s", (int) (strlen(e->d_name) - strlen(".meta")), e->d_name);
                if (faccessat(fd, data, F_OK, 0) == 0)
                        return true;
        }
        return false;
}

static bool is_segment(const char *name, uint64_t index) {
        unsigned long long first, last;

        return str_has_prefix(name, "open-") || segment_is_closed(name, &first, &last);
}

static bool begins_behind(const char *name, uint64_t index) {
        unsigned long long first, last;

        return segment_is_closed(name, &first, &last) && first >= index;
}

static int unlink_segments(int fd, DIR *d, bool (*has_to_go)(const char *name, uint64_t index),
                           uint64_t index) {
        struct dirent *e;

        rewinddir(d);
        while ((e = readdir(d)))
                if (has_to_go(e->d_name, index) && unlinkat(fd, e->d_name, 0) < 0)
                        return -errno;
        return fsync(fd) < 0 ? -errno : 0;
}

static int finish_install(int fd, DIR *d, uint64_t index) {
        int r;

        if (!snapshot_is_complete(fd, d, index))
                return 0;
        r = unlink_segments(fd, d, is_segment, index);
        return r < 0 ? r : 1;
}

static int finish_truncation(int fd, DIR *d, uint64_t index) {
        return unlink_segments(fd, d, begins_behind, index);
}

static int finish(const char *dir, const char *marker, int (*act)(int fd, DIR *d, uint64_t index)) {
        _cleanup_(closep) int fd = open_dir(dir);
        _cleanup_(closedirp) DIR *d = NULL;
        uint64_t index;
        int r, done;

        if (fd < 0)
                return fd;
        r = read_marker(fd, marker, &index);
        if (r == -ENOENT)
                return 0;
        if (r < 0)
                return r;
        d = opendir(dir);
        if (!d)
                return -errno;
        done = act(fd, d, index);
        if (done < 0)
                return done;
        r = log_marker_remove(dir, marker);
        return r < 0 ? r : done;
}

int log_markers_finish(const char *dir) {
        int installed = finish(dir, INSTALL_MARKER, finish_install), r;

        if (installed < 0)
                return installed;
        r = finish(dir, TRUNCATION_MARKER, finish_truncation);
        return r < 0 ? r : installed;
}
