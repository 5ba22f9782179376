// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Files of templates that stand beside a unit which starts instances of them (OnFailure=x@%n); they begin
// with a mark.
//
//      companion_file_put() -> written by rename, the directory's time advanced -> companion_file_drop()
//
// The directory's time grows strictly with each change (unit-dir.h): systemd compares it with that of its
// last scan. A name that a foreign file has, here or in another directory, is left to it. Failures: errno.

#include "companion-file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <sys/stat.h>
#include <unistd.h>

#include "buf.h"
#include "fileio.h"
#include "quadlet.h"
#include "str.h"
#include "unit-file.h"
#include "unit-name.h"

bool companion_file_is(int dirfd, const char *name) {
        char text[sizeof(COMPANION_FILE_MARK) - 1];
        int fd = openat(dirfd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
        ssize_t n = fd >= 0 ? read(fd, text, sizeof(text)) : -1;

        if (fd >= 0)
                close(fd);
        return n == (ssize_t) sizeof(text) && memcmp(text, COMPANION_FILE_MARK, sizeof(text)) == 0;
}

static uint64_t mtime_us(int fd) {
        struct stat st;

        return fstat(fd, &st) < 0
                       ? 0
                       : (uint64_t) st.st_mtim.tv_sec * 1000000 + (uint64_t) st.st_mtim.tv_nsec / 1000;
}

static void advance_mtime(int fd, uint64_t before) {
        uint64_t now = mtime_us(fd), next = MAX_OF(now, before) + 1;
        struct timespec times[2] = {
                {.tv_nsec = UTIME_OMIT},
                {.tv_sec = (time_t) (next / 1000000), .tv_nsec = (long) (next % 1000000) * 1000}};

        (void) futimens(fd, times);
}

static bool is_elsewhere(const char *dir, const char *const *search_dirs, const char *name) {
        for (; search_dirs && *search_dirs; search_dirs++) {
                _cleanup_free_ char *path = str_printf("%s/%s", *search_dirs, name);
                struct stat st;

                if (path && !streq(*search_dirs, dir) && lstat(path, &st) == 0)
                        return true;
        }
        return false;
}

static int put(int fd, const char *name, const void *content, size_t len) {
        uint64_t before = mtime_us(fd);
        _cleanup_buf_ Buf have = {}, want = {};
        bool is_there = faccessat(fd, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
        int r;

        if (is_there && !companion_file_is(fd, name))
                return COMPANION_AS_IT_WAS;
        if (buf_append(&want, COMPANION_FILE_MARK, strlen(COMPANION_FILE_MARK)) < 0 ||
            buf_append(&want, content, len) < 0)
                return -ENOMEM;
        if (is_there && file_read(fd, name, 2 * UNIT_FILE_MAX, &have) == 0 && have.len == want.len &&
            memcmp(have.data, want.data, want.len) == 0)
                return COMPANION_AS_IT_WAS;
        r = file_replace(fd, name, want.data, want.len, 0644, 0);
        if (r < 0)
                return r;
        advance_mtime(fd, before);
        return is_there ? COMPANION_REPLACED : COMPANION_NEW;
}

int companion_file_put(const char *dir, const char *const *search_dirs, const char *name,
                       const void *content, size_t len) {
        int fd, r;

        if (is_elsewhere(dir, search_dirs, name) ||
            quadlet_is(content, len)) // a [Container] file becomes a unit only where it is placed
                return companion_file_drop(dir, name); // systemd may have loaded either file
        fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (fd < 0)
                return -errno;
        r = put(fd, name, content, len);
        close(fd);
        return r;
}

int companion_file_drop(const char *dir, const char *name) {
        int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC), r = 0;
        uint64_t before;

        if (fd < 0)
                return errno == ENOENT ? 0 : -errno;
        before = mtime_us(fd);
        if (companion_file_is(fd, name)) {
                r = unlinkat(fd, name, 0) < 0 && errno != ENOENT ? -errno : 0;
                advance_mtime(fd, before);
        }
        close(fd);
        return r;
}

int companion_files_foreach(const char *dir, void (*each)(const char *name, void *userdata),
                            void *userdata) {
        DIR *d = opendir(dir);
        const struct dirent *entry;
        int r;

        if (!d)
                return errno == ENOENT ? 0 : -errno;
        while ((errno = 0, entry = readdir(d)))
                if (unit_name_kind(entry->d_name, NULL) == UNIT_NAME_TEMPLATE &&
                    companion_file_is(dirfd(d), entry->d_name))
                        each(entry->d_name, userdata);
        r = -errno;
        closedir(d);
        return r;
}
