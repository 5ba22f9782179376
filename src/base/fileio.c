// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Files and directories as a whole. A file is replaced by writing another one beside it, `.#NAME.new`, and
// renaming that: a reader meets the old content or the new. With FILE_SYNC file and directory are on
// the disk when it returns 0. If it fails before the rename, the new file is removed again and the old one
// stands; if only the directory cannot be synced, the new one is in place and may be gone after a power cut.
// What a crash left behind is overwritten.
//
// dir_empty() and dir_copy_files() follow no symbolic link. Both stop at the first error: what they have
// done until then stays done.

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fileio.h"
#include "str.h"

int file_read_fd(int fd, size_t max_bytes, Buf *ret) {
        size_t before = ret->len;

        for (;;) {
                uint8_t *p = buf_reserve(ret, 4096);
                ssize_t n;

                if (!p)
                        return -ENOMEM;
                n = read(fd, p, 4096);
                if (n < 0 && errno == EINTR)
                        continue;
                if (n < 0) {
                        ret->len = before;
                        return -errno;
                }
                if (n == 0)
                        return 0;
                ret->len += (size_t) n;
                if (ret->len - before > max_bytes) {
                        ret->len = before;
                        return -EFBIG;
                }
        }
}

int file_read(int dirfd, const char *path, size_t max_bytes, Buf *ret) {
        _cleanup_(closep) int fd = openat(dirfd, path, O_RDONLY | O_CLOEXEC | O_NOCTTY);

        return fd < 0 ? -errno : file_read_fd(fd, max_bytes, ret);
}

int dir_sync(int dirfd, const char *path) {
        _cleanup_(closep) int fd = openat(dirfd, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

        if (fd < 0)
                return -errno;
        return fsync(fd) < 0 ? -errno : 0;
}

static int write_all(int fd, const uint8_t *data, size_t len) {
        while (len > 0) {
                ssize_t n = write(fd, data, len);

                if (n < 0 && errno == EINTR)
                        continue;
                if (n < 0)
                        return -errno;
                data += n;
                len -= (size_t) n;
        }
        return 0;
}

int file_replace(int dirfd, const char *path, const void *data, size_t len, mode_t mode,
                 FileWriteFlags flags) {
        const int flags_new = O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW;
        _cleanup_free_ char *dir = strdup(path), *tmp = NULL;
        _cleanup_(closep) int fd = -1;
        char *slash;
        int r;

        if (!dir)
                return -ENOMEM;
        slash = strrchr(dir, '/');
        if (slash)
                *slash = 0;
        tmp = slash ? str_printf("%s/.#%s.new", dir, slash + 1) : str_printf(".#%s.new", path);
        if (!tmp)
                return -ENOMEM;
        fd = openat(dirfd, tmp, flags_new, mode);
        if (fd < 0 && errno == EEXIST) { // a crash left it behind
                (void) unlinkat(dirfd, tmp, 0);
                fd = openat(dirfd, tmp, flags_new, mode);
        }
        if (fd < 0)
                return -errno;
        r = write_all(fd, data, len);
        if (r == 0 && fchmod(fd, mode) < 0)
                r = -errno;
        if (r == 0 && (flags & FILE_SYNC) && fsync(fd) < 0)
                r = -errno;
        if (r == 0 && renameat(dirfd, tmp, dirfd, path) < 0)
                r = -errno;
        if (r < 0) {
                (void) unlinkat(dirfd, tmp, 0);
                return r;
        }
        return flags & FILE_SYNC ? dir_sync(dirfd, !slash ? "." : *dir ? dir : "/") : 0;
}

int dir_empty(int dirfd, const char *path) {
        int fd = openat(dirfd, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW), r = 0;
        DIR *d;

        if (fd < 0)
                return errno == ENOENT ? 0 : -errno;
        d = fdopendir(fd);
        if (!d) {
                r = -errno;
                close(fd);
                return r;
        }
        for (struct dirent *e; r == 0 && (e = readdir(d));) {
                if (streq(e->d_name, ".") || streq(e->d_name, ".."))
                        continue;
                if (unlinkat(fd, e->d_name, 0) == 0 || errno == ENOENT)
                        continue;
                if (errno != EISDIR && errno != EPERM) {
                        r = -errno;
                        break;
                }
                r = dir_empty(fd, e->d_name);
                if (r == 0 && unlinkat(fd, e->d_name, AT_REMOVEDIR) < 0)
                        r = -errno;
        }
        closedir(d);
        return r;
}

static int copy_bytes(int in, int out) {
        uint8_t bytes[64 * 1024];

        for (;;) {
                ssize_t n = read(in, bytes, sizeof(bytes));
                int r;

                if (n < 0 && errno == EINTR)
                        continue;
                if (n <= 0)
                        return n < 0 ? -errno : fsync(out) < 0 ? -errno : 0;
                r = write_all(out, bytes, (size_t) n);
                if (r < 0)
                        return r;
        }
}

static int copy_file(int from, int to, const char *name) {
        _cleanup_(closep) int in = openat(from, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK),
                              out = -1;
        struct stat st;

        if (in < 0)
                return errno == ELOOP ? 0 : -errno;
        if (fstat(in, &st) < 0)
                return -errno;
        if (!S_ISREG(st.st_mode))
                return 0;
        out = openat(to, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, st.st_mode & 0777);
        return out < 0 ? -errno : copy_bytes(in, out);
}

int dir_copy_files(int dirfd, const char *from, const char *to) {
        _cleanup_(closep) int out = openat(dirfd, to, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        int in = openat(dirfd, from, O_RDONLY | O_DIRECTORY | O_CLOEXEC), r = 0;
        DIR *d;

        if (in < 0 || out < 0) {
                r = -errno;
                if (in >= 0)
                        close(in);
                return r;
        }
        d = fdopendir(in);
        if (!d) {
                r = -errno;
                close(in);
                return r;
        }
        for (struct dirent *e; r == 0 && (e = readdir(d));)
                if (!streq(e->d_name, ".") && !streq(e->d_name, ".."))
                        r = copy_file(in, out, e->d_name);
        closedir(d);
        return r;
}
