// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A unit's processes may be in groups below its own (delegation). The kernel sums CPU, memory, IO and
// pids.current over all of them; cgroup.threads lists one group only, so where there is no pids.current the
// groups below are walked. A directory that has none is known by its link count.

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cgroup-files.h"
#include "clock.h"

enum {
        FILE_READ_MAX = 16 * 1024, // bytes of cpu.stat, io.stat (a line of 100 bytes for each device)
        THREADS_READ_MAX = 4 * 1024 * 1024, // bytes of cgroup.threads
        THREAD_LINE_MAX = 16,               // of one of its lines: a number and a newline
};

static int open_at(int dir, const char *name) {
        int fd = openat(dir, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);

        return fd < 0 ? -errno : fd;
}

static void close_one(int *fd) {
        if (*fd >= 0)
                close(TAKE_FD(*fd));
}

void cgroup_files_close(CgroupFiles *f) {
        close_one(&f->dir);
        close_one(&f->cpu);
        close_one(&f->memory);
        close_one(&f->io);
        close_one(&f->tasks);
}

// Controllers may be switched on for a group later; what is missing is looked for now and then.
static void open_missing(CgroupFiles *f, uint64_t now_us) {
        int fd;

        f->searched_us = now_us;
        if (f->cpu < 0)
                f->cpu = open_at(f->dir, "cpu.stat");
        if (f->memory < 0)
                f->memory = open_at(f->dir, "memory.current");
        if (f->io < 0)
                f->io = open_at(f->dir, "io.stat");
        if (f->tasks >= 0 && !f->by_threads)
                return;
        fd = open_at(f->dir, "pids.current");
        if (fd >= 0) {
                close_one(&f->tasks);
                f->tasks = fd;
                f->by_threads = false;
        } else if (f->tasks < 0) {
                f->tasks = open_at(f->dir, "cgroup.threads");
                f->by_threads = true;
        }
}

static int open_group(CgroupFiles *f, const char *path, uint64_t now_us) {
        struct stat st;

        f->dir = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
        if (f->dir < 0)
                return -errno;
        if (fstat(f->dir, &st) < 0) {
                int r = -errno;

                close_one(&f->dir);
                return r;
        }
        f->run = st.st_ino;
        open_missing(f, now_us);
        return 0;
}

// The whole file as a string. The kernel writes these files in one piece, so that one read gets it all; a
// second one, only to see the end, would make it write them again. Negative errno: of pread(2), or -ENOENT
// (not open), -EFBIG.
static int read_text(int fd, char text[static FILE_READ_MAX]) {
        ssize_t n;

        if (fd < 0)
                return -ENOENT;
        n = pread(fd, text, FILE_READ_MAX, 0);
        if (n < 0)
                return -errno;
        if (n == FILE_READ_MAX)
                return -EFBIG;
        text[n] = 0;
        return 0;
}

// Here the kernel gives whole lines, as many as there is room for: less than that is the end.
static int count_lines(int fd, uint64_t *count) {
        char text[4096];
        off_t at = 0;
        ssize_t n;

        do {
                n = pread(fd, text, sizeof(text), at);
                if (n < 0)
                        return -errno;
                for (ssize_t i = 0; i < n; i++)
                        *count += text[i] == '\n';
                at += n;
        } while (n > (ssize_t) sizeof(text) - THREAD_LINE_MAX && at < THREADS_READ_MAX);
        return 0;
}

static bool has_groups_below(int dir) {
        struct stat st;

        return fstat(dir, &st) == 0 && st.st_nlink != 2; // 1: a file system that does not count
}

static void count_below(int dir, unsigned depth, unsigned *left, uint64_t *count);

static void count_group(int parent, const char *name, unsigned depth, unsigned *left, uint64_t *count) {
        int dir = openat(parent, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW), fd;

        if (dir < 0)
                return; // removed meanwhile
        fd = open_at(dir, "cgroup.threads");
        if (fd >= 0)
                (void) count_lines(fd, count);
        close_one(&fd);
        if (depth < CGROUP_DEPTH_MAX)
                count_below(dir, depth, left, count);
        close(dir);
}

static void count_below(int dir, unsigned depth, unsigned *left, uint64_t *count) {
        struct dirent *e;
        DIR *d;
        int fd;

        if (!has_groups_below(dir))
                return;
        fd = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        d = fd >= 0 ? fdopendir(fd) : NULL;
        if (!d) {
                close_one(&fd);
                return;
        }
        while (*left > 0 && (e = readdir(d))) {
                if (e->d_type != DT_DIR || e->d_name[0] == '.')
                        continue;
                (*left)--;
                count_group(dirfd(d), e->d_name, depth + 1, left, count);
        }
        closedir(d);
}

static int read_tasks(CgroupFiles *f, char text[static FILE_READ_MAX], uint64_t *ret) {
        unsigned left = CGROUP_BELOW_MAX;
        uint64_t n = 0;
        int r;

        if (f->tasks < 0)
                return -ENOENT;
        if (!f->by_threads) {
                r = read_text(f->tasks, text);
                if (r == 0 && usage_parse_number(text, &n))
                        *ret = n;
                return r;
        }
        r = count_lines(f->tasks, &n);
        if (r < 0)
                return r;
        count_below(f->dir, 0, &left, &n);
        *ret = n;
        return 0;
}

// -ENODEV: this group is gone, perhaps another one has taken its place.
static int read_files(CgroupFiles *f, UnitUsage *ret) {
        char text[FILE_READ_MAX];
        uint64_t n, w;
        int r;

        *ret = (UnitUsage){true, f->run, 0, USAGE_NONE, USAGE_NONE, USAGE_NONE, USAGE_NONE, USAGE_NONE};
        r = read_text(f->cpu, text);
        if (r == -ENODEV)
                return r;
        ret->at_us = clock_monotonic_us();
        if (r == 0 && usage_parse_key(text, "usage_usec", &n))
                ret->cpu_us = n;
        r = read_tasks(f, text, &ret->tasks);
        if (r == -ENODEV)
                return r;
        if (read_text(f->memory, text) == 0 && usage_parse_number(text, &n))
                ret->memory = n;
        if (read_text(f->io, text) == 0 && usage_parse_io(text, &n, &w)) {
                ret->io_read = n;
                ret->io_write = w;
        }
        return 0;
}

void cgroup_files_read(CgroupFiles *f, const char *path, UnitUsage *ret) {
        uint64_t now_us = clock_monotonic_us();
        int r = -ENODEV;

        if (f->dir >= 0) {
                if (now_us - f->searched_us >= CGROUP_AGAIN_SEC * USEC_PER_SEC)
                        open_missing(f, now_us);
                r = read_files(f, ret);
        }
        if (r == -ENODEV) {
                cgroup_files_close(f);
                r = open_group(f, path, now_us);
                if (r == 0)
                        r = read_files(f, ret);
        }
        if (r < 0) {
                cgroup_files_close(f);
                *ret = (UnitUsage){};
        }
}
