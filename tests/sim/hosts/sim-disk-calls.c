// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The calls that change files or list directories, wrapped by the linker (sim_disk_args in ../meson.build)
// for all that is linked statically: the product, and the simulator itself. Each carries the call out on the
// real files, and tells sim-disk.c. What is nobody's file passes.
//
// Three things are the story's and not the kernel's: the order in which a directory is listed, the times of
// what was changed (the wall clock of the host, as coarse as the kernel's), and how much room there is.
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "array.h"
#include "macro.h"
#include "random.h"
#include "sim-disk-private.h"

enum { TIME_GRAIN_NS = 4000000 };

// clang-format off
#define WRAPPED(type, name, parameters)       \
        type __real_##name parameters;        \
        type __wrap_##name parameters;        \
        type __wrap_##name parameters
// clang-format on

int __real_openat64(int dirfd, const char *path, int flags, ...);
int __wrap_openat64(int dirfd, const char *path, int flags, ...);
int __wrap_open64(const char *path, int flags, ...);
int __real_utimensat(int dirfd, const char *path, const struct timespec times[2], int flags);
int __wrap_utimensat(int dirfd, const char *path, const struct timespec times[2], int flags);
int __real_futimens(int fd, const struct timespec times[2]);
int __wrap_futimens(int fd, const struct timespec times[2]);

// ------------------------------------------------------------------------------------------------ times

static struct timespec change_time(void) {
        struct timespec now;

        (void) clock_gettime(CLOCK_REALTIME, &now);
        now.tv_nsec -= now.tv_nsec % TIME_GRAIN_NS;
        return now;
}

static void stamp(int fd) {
        struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}};

        if (!sim_current())
                return;
        times[1] = change_time();
        (void) __real_futimens(fd, times);
}

// The directory in which that name is.
static void stamp_parent(int dirfd, const char *path) {
        struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}};
        const char *slash = strrchr(path, '/');
        char parent[PATH_MAX];

        if (!sim_current())
                return;
        times[1] = change_time();
        if (!slash && dirfd != AT_FDCWD) {
                (void) __real_futimens(dirfd, times);
                return;
        }
        if (!slash || slash == path || (size_t) (slash - path) >= sizeof(parent))
                return;
        memcpy(parent, path, (size_t) (slash - path));
        parent[slash - path] = 0;
        (void) __real_utimensat(dirfd, parent, times, 0);
}

WRAPPED(int, utimensat, (int dirfd, const char *path, const struct timespec times[2], int flags)) {
        return __real_utimensat(dirfd, path, times, flags);
}

WRAPPED(int, futimens, (int fd, const struct timespec times[2])) {
        return __real_futimens(fd, times);
}

// ------------------------------------------------------------------------------------------------ files

static int fail(int r) {
        errno = -r;
        return -1;
}

static bool is_there(int dirfd, const char *path) {
        struct stat st;

        return fstatat(dirfd, path, &st, AT_SYMLINK_NOFOLLOW) == 0;
}

static int open_file(int dirfd, const char *path, int flags, mode_t mode) {
        bool makes, unnamed, changes;
        Place p;
        int fd, r;

        if (!sim_disk_find(dirfd, path, &p))
                return __real_openat64(dirfd, path, flags, mode);
        unnamed = (flags & O_TMPFILE) == O_TMPFILE;
        makes = (flags & O_CREAT) && !is_there(dirfd, path);
        changes = makes || unnamed || (flags & O_TRUNC);
        r = changes ? sim_disk_begin_change(p.number, p.kept, CHANGE_MAKE, makes || unnamed) : 0;
        if (r < 0)
                return fail(r);
        fd = __real_openat64(dirfd, path, flags, mode);
        if (fd < 0 || !changes) {
                if (fd >= 0)
                        sim_disk_opened(fd, &p);
                return fd;
        }
        if (makes) {
                sim_disk_note_made(&p, false);
                stamp_parent(dirfd, path);
        }
        if (unnamed)
                p.node = sim_disk_note_unnamed(&p);
        sim_disk_opened(fd, &p);
        if (flags & O_TRUNC)
                sim_disk_note_truncated(p.node, 0);
        stamp(fd);
        sim_disk_end_change(p.number);
        return fd;
}

static mode_t mode_of(int flags, va_list ap) {
        return flags & O_CREAT ? va_arg(ap, mode_t) : 0;
}

int __wrap_openat64(int dirfd, const char *path, int flags, ...) {
        va_list ap;
        mode_t mode;

        va_start(ap, flags);
        mode = mode_of(flags, ap);
        va_end(ap);
        return open_file(dirfd, path, flags, mode);
}

int __wrap_open64(const char *path, int flags, ...) {
        va_list ap;
        mode_t mode;

        va_start(ap, flags);
        mode = mode_of(flags, ap);
        va_end(ap);
        return open_file(AT_FDCWD, path, flags, mode);
}

WRAPPED(int, close, (int fd)) {
        sim_disk_closed(fd);
        return __real_close(fd);
}

// One that does not fit writes what does, or nothing.
static bool grows(int fd, uint64_t end) {
        struct stat st;

        return fstat(fd, &st) == 0 && end > (uint64_t) st.st_size;
}

ssize_t __real_pwrite64(int fd, const void *data, size_t len, off_t offset);
ssize_t __wrap_pwrite64(int fd, const void *data, size_t len, off_t offset);

static ssize_t write_file(int fd, const void *data, size_t len, off_t offset) {
        OpenFile *f = sim_disk_file(fd);
        uint32_t number = f->number;
        size_t part;
        ssize_t n;
        int r = sim_disk_begin_change(number, f->kept, CHANGE_WRITE, grows(fd, (uint64_t) offset + len));

        if (r < 0)
                return fail(r);
        part = sim_disk_part(number, (uint64_t) offset, len);
        n = __real_pwrite64(fd, data, part, offset);
        if (n > 0)
                sim_disk_note_written(f->node, (uint64_t) offset, data, (size_t) n);
        stamp(fd);
        sim_disk_end_change(number);
        return n;
}

ssize_t __wrap_pwrite64(int fd, const void *data, size_t len, off_t offset) {
        return sim_disk_file(fd) ? write_file(fd, data, len, offset)
                                 : __real_pwrite64(fd, data, len, offset);
}

WRAPPED(ssize_t, write, (int fd, const void *data, size_t len)) {
        off_t at = sim_disk_file(fd) && len > 0 ? lseek(fd, 0, SEEK_CUR) : -1;
        ssize_t n;

        if (at < 0)
                return __real_write(fd, data, len);
        n = write_file(fd, data, len, at);
        if (n > 0)
                (void) lseek(fd, at + n, SEEK_SET);
        return n;
}

static int sync_file(int fd, int (*real)(int fd)) {
        OpenFile *f = sim_disk_file(fd);
        int r;

        if (!f)
                return real(fd);
        r = sim_disk_begin_change(f->number, f->kept, CHANGE_SYNC, false);
        if (r < 0) {
                sim_disk_note_sync_failed(f->number, f->node);
                return fail(r);
        }
        sim_disk_note_synced(f->number, f->node);
        sim_disk_end_change(f->number);
        return 0;
}

WRAPPED(int, fsync, (int fd)) {
        return sync_file(fd, __real_fsync);
}

WRAPPED(int, fdatasync, (int fd)) {
        return sync_file(fd, __real_fdatasync);
}

WRAPPED(int, ftruncate64, (int fd, off_t size)) {
        OpenFile *f = sim_disk_file(fd);
        int r = f ? sim_disk_begin_change(f->number, f->kept, CHANGE_WRITE, false) : 0;

        if (r < 0)
                return fail(r);
        r = __real_ftruncate64(fd, size);
        if (!f || r < 0)
                return r;
        sim_disk_note_truncated(f->node, (uint64_t) size);
        stamp(fd);
        sim_disk_end_change(f->number);
        return 0;
}

WRAPPED(int, posix_fallocate64, (int fd, off_t offset, off_t len)) {
        OpenFile *f = sim_disk_file(fd);
        bool more = f && grows(fd, (uint64_t) (offset + len));
        int r = f ? sim_disk_begin_change(f->number, f->kept, CHANGE_WRITE, more) : 0;

        if (r < 0)
                return -r;
        r = more ? __real_ftruncate64(fd, offset + len) : f ? 0 : __real_posix_fallocate64(fd, offset, len);
        if (r < 0)
                return errno;
        if (more)
                sim_disk_note_truncated(f->node, (uint64_t) (offset + len));
        if (f)
                sim_disk_end_change(f->number);
        return r;
}

// ------------------------------------------------------------------------------------------------ names

// Behind a change that has made the name, or has removed it, if it did.
static int end_name(int r, int dirfd, const char *path, const Place *p) {
        int error = errno;

        if (r < 0) {
                errno = error;
                return r;
        }
        stamp_parent(dirfd, path);
        sim_disk_end_change(p->number);
        return r;
}

WRAPPED(int, mkdirat, (int dirfd, const char *path, mode_t mode)) {
        Place p;
        int r;

        if (!sim_disk_find(dirfd, path, &p) || is_there(dirfd, path))
                return __real_mkdirat(dirfd, path, mode);
        r = sim_disk_begin_change(p.number, p.kept, CHANGE_MAKE, true);
        if (r < 0)
                return fail(r);
        r = __real_mkdirat(dirfd, path, mode);
        if (r == 0)
                sim_disk_note_made(&p, true);
        return end_name(r, dirfd, path, &p);
}

int __wrap_mkdir(const char *path, mode_t mode);
int __wrap_mkdir(const char *path, mode_t mode) {
        return __wrap_mkdirat(AT_FDCWD, path, mode);
}

// Not on the disk: nothing there has symbolic links.
WRAPPED(int, symlinkat, (const char *text, int dirfd, const char *path)) {
        Place p;
        int r;

        if (!sim_disk_find(dirfd, path, &p))
                return __real_symlinkat(text, dirfd, path);
        if (p.kept)
                abort();
        r = sim_disk_begin_change(p.number, false, CHANGE_MAKE, true);
        return r < 0 ? fail(r) : end_name(__real_symlinkat(text, dirfd, path), dirfd, path, &p);
}

// Not by its name: libraft's call comes here by that (sim-raft-uv.c).
static int link_really(int from_dir, const char *from, int dirfd, const char *path, int flags) {
        return (int) syscall(SYS_linkat, (long) from_dir, (long) from, (long) dirfd, (long) path,
                             (long) flags, 0L);
}

// On the disk only what had no name before (O_TMPFILE) is linked.
WRAPPED(int, linkat, (int from_dir, const char *from, int dirfd, const char *path, int flags)) {
        OpenFile *f = NULL;
        Place p;
        int fd, r;

        if (!sim_disk_find(dirfd, path, &p))
                return link_really(from_dir, from, dirfd, path, flags);
        if (sscanf(from, "/proc/self/fd/%i", &fd) == 1)
                f = sim_disk_file(fd);
        if (p.kept && !f)
                abort();
        r = sim_disk_begin_change(p.number, p.kept, CHANGE_MAKE, true);
        if (r < 0)
                return fail(r);
        r = link_really(from_dir, from, dirfd, path, flags);
        if (r == 0 && p.kept) {
                p.node = f->node;
                sim_disk_note_named(&p);
        }
        return end_name(r, dirfd, path, &p);
}

WRAPPED(int, unlinkat, (int dirfd, const char *path, int flags)) {
        Place p;
        int r;

        if (!sim_disk_find(dirfd, path, &p) || !is_there(dirfd, path))
                return __real_unlinkat(dirfd, path, flags);
        r = sim_disk_begin_change(p.number, p.kept, CHANGE_NAME, false);
        if (r < 0)
                return fail(r);
        r = __real_unlinkat(dirfd, path, flags);
        if (r == 0)
                sim_disk_note_removed(&p);
        return end_name(r, dirfd, path, &p);
}

int __wrap_unlink(const char *path);
int __wrap_unlink(const char *path) {
        return __wrap_unlinkat(AT_FDCWD, path, 0);
}

int __wrap_rmdir(const char *path);
int __wrap_rmdir(const char *path) {
        return __wrap_unlinkat(AT_FDCWD, path, AT_REMOVEDIR);
}

WRAPPED(int, renameat2, (int from_dir, const char *from, int to_dir, const char *to, unsigned flags)) {
        Place p, q;
        int r;

        if (!sim_disk_find(from_dir, from, &p) || !sim_disk_find(to_dir, to, &q))
                return __real_renameat2(from_dir, from, to_dir, to, flags);
        if (p.kept != q.kept || (p.kept && flags))
                abort();
        r = sim_disk_begin_change(p.number, p.kept, CHANGE_NAME, false);
        if (r < 0)
                return fail(r);
        r = __real_renameat2(from_dir, from, to_dir, to, flags);
        if (r == 0) {
                sim_disk_note_renamed(&p, &q);
                stamp_parent(from_dir, from);
        }
        return end_name(r, to_dir, to, &q);
}

int __wrap_renameat(int from_dir, const char *from, int to_dir, const char *to);
int __wrap_renameat(int from_dir, const char *from, int to_dir, const char *to) {
        return __wrap_renameat2(from_dir, from, to_dir, to, 0);
}

int __wrap_rename(const char *from, const char *to);
int __wrap_rename(const char *from, const char *to) {
        return __wrap_renameat2(AT_FDCWD, from, AT_FDCWD, to, 0);
}

// ------------------------------------------------------------------------------------------------ lists

typedef struct Listing { // of a directory that is being read
        DIR *stream;
        struct dirent **names;
        size_t n, room, at;
        bool read;
} Listing;

static struct {
        Listing *list;
        size_t n, room;
} listings;

struct dirent *__real_readdir64(DIR *stream);
struct dirent *__wrap_readdir64(DIR *stream);

static Listing *listing_of(DIR *stream) {
        for (size_t i = 0; i < listings.n; i++)
                if (listings.list[i].stream == stream)
                        return &listings.list[i];
        return NULL;
}

static void listing_clear(Listing *l) {
        for (size_t i = 0; i < l->n; i++)
                free(l->names[i]);
        l->n = l->at = 0;
        l->read = false;
}

static void listing_add(DIR *stream) {
        if (ARRAY_GROW(listings.list, listings.room, listings.n + 1) < 0)
                abort();
        listings.list[listings.n++] = (Listing){.stream = stream};
}

static int by_name(const void *a, const void *b) {
        return strcmp((*(struct dirent *const *) a)->d_name, (*(struct dirent *const *) b)->d_name);
}

// All of them at once, in an order that is drawn.
static void listing_read(Listing *l) {
        struct dirent *e;

        while ((e = __real_readdir64(l->stream))) {
                if (ARRAY_GROW(l->names, l->room, l->n + 1) < 0)
                        abort();
                l->names[l->n] = malloc(e->d_reclen);
                if (!l->names[l->n])
                        abort();
                memcpy(l->names[l->n++], e, e->d_reclen);
        }
        if (l->n > 0)
                qsort(l->names, l->n, sizeof(*l->names), by_name);
        for (size_t i = l->n; sim_current() && i > 1; i--) {
                size_t with = random_below((uint32_t) i);
                struct dirent *other = l->names[with];

                l->names[with] = l->names[i - 1];
                l->names[i - 1] = other;
        }
        l->read = true;
}

WRAPPED(DIR *, opendir, (const char *path)) {
        DIR *stream = __real_opendir(path);
        Place p;

        if (stream && sim_disk_find(AT_FDCWD, path, &p)) {
                sim_disk_opened(dirfd(stream), &p);
                sim_disk_file(dirfd(stream))->stream = true;
                listing_add(stream);
        }
        return stream;
}

WRAPPED(DIR *, fdopendir, (int fd)) {
        OpenFile *f = sim_disk_file(fd);
        DIR *stream = __real_fdopendir(fd);

        if (stream && f) {
                f->stream = true;
                listing_add(stream);
        }
        return stream;
}

struct dirent *__wrap_readdir64(DIR *stream) {
        Listing *l = listing_of(stream);

        if (!l)
                return __real_readdir64(stream);
        if (!l->read)
                listing_read(l);
        return l->at < l->n ? l->names[l->at++] : NULL;
}

WRAPPED(void, rewinddir, (DIR *stream)) {
        Listing *l = listing_of(stream);

        if (l)
                listing_clear(l);
        __real_rewinddir(stream);
}

WRAPPED(int, closedir, (DIR *stream)) {
        Listing *l = listing_of(stream);

        if (l) {
                sim_disk_closed(dirfd(stream));
                listing_clear(l);
                free(l->names);
                *l = listings.list[--listings.n];
        }
        return __real_closedir(stream);
}

// ------------------------------------------------------------------------------------------------ room

// The same on every machine that plays.
static int tell_room(int r, bool known, const Place *p, struct statvfs *ret) {
        enum { BLOCK = 4096, BLOCKS = 1024 * 1024 };

        if (r < 0 || !known)
                return r;
        ret->f_bsize = ret->f_frsize = BLOCK;
        ret->f_blocks = BLOCKS;
        ret->f_bfree = ret->f_bavail = sim_disk_has_no_room(p->number, p->kept) ? 0 : BLOCKS / 2;
        ret->f_files = ret->f_ffree = ret->f_favail = 0;
        return 0;
}

WRAPPED(int, statvfs64, (const char *path, struct statvfs *ret)) {
        Place p;
        bool known = sim_disk_find(AT_FDCWD, path, &p);

        return tell_room(__real_statvfs64(path, ret), known, &p, ret);
}

WRAPPED(int, fstatvfs64, (int fd, struct statvfs *ret)) {
        OpenFile *f = sim_disk_file(fd);
        Place p = f ? (Place){.number = f->number, .kept = f->kept} : (Place){};

        return tell_room(__real_fstatvfs64(fd, ret), f, &p, ret);
}
