// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What libraft's own disk code asks for, which is in a shared library: these symbols of the program come
// before those of libuv and of the C library. Each goes on to the calls of sim-disk-calls.c, so what libraft
// does to its files is what happens to a disk of the world.
//
// Its writes are submitted to the kernel's asynchronous I/O, and waited for by work of the pool: here they
// are done as they are submitted, and synced at once (RWF_DSYNC). Every file system is one on which libraft
// neither writes past the page cache nor without the pool (a tmpfs).
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/aio_abi.h>
#include <linux/magic.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/vfs.h>
#include <unistd.h>
#include <uv.h>

#include "random.h"
#include "sim-world.h"
#include "uvx.h"

#define EXPORTED __attribute__((visibility("default")))

int __wrap_posix_fallocate64(int fd, off_t offset, off_t len);
int __wrap_linkat(int from_dir, const char *from, int dirfd, const char *path, int flags);
int __wrap_uvx_start_pool(void (*on_thread)(void));

// There are no threads to start.
int __wrap_uvx_start_pool(void (*on_thread)(void)) {
        return 0;
}

// ------------------------------------------------------------------------------------------------ libuv

static int result(uv_fs_t *req, ssize_t r) {
        memset(req, 0, sizeof(*req));
        req->result = r < 0 ? -errno : r;
        return (int) req->result;
}

EXPORTED int uv_fs_open(uv_loop_t *loop, uv_fs_t *req, const char *path, int flags, int mode,
                        uv_fs_cb done) {
        return result(req, open(path, flags | O_CLOEXEC, mode));
}

EXPORTED int uv_fs_close(uv_loop_t *loop, uv_fs_t *req, uv_file fd, uv_fs_cb done) {
        return result(req, close(fd));
}

EXPORTED int uv_fs_fsync(uv_loop_t *loop, uv_fs_t *req, uv_file fd, uv_fs_cb done) {
        return result(req, fsync(fd));
}

EXPORTED int uv_fs_fdatasync(uv_loop_t *loop, uv_fs_t *req, uv_file fd, uv_fs_cb done) {
        return result(req, fdatasync(fd));
}

EXPORTED int uv_fs_ftruncate(uv_loop_t *loop, uv_fs_t *req, uv_file fd, int64_t size, uv_fs_cb done) {
        return result(req, ftruncate(fd, size));
}

EXPORTED int uv_fs_rename(uv_loop_t *loop, uv_fs_t *req, const char *from, const char *to, uv_fs_cb done) {
        return result(req, rename(from, to));
}

EXPORTED int uv_fs_unlink(uv_loop_t *loop, uv_fs_t *req, const char *path, uv_fs_cb done) {
        return result(req, unlink(path));
}

static ssize_t write_vector(int fd, const struct iovec *parts, size_t n, off_t offset) {
        size_t len = 0, at = 0;
        uint8_t *whole;
        ssize_t r;

        for (size_t i = 0; i < n; i++)
                len += parts[i].iov_len;
        whole = malloc(len ?: 1);
        if (!whole)
                abort();
        for (size_t i = 0; i < n; i++) {
                memcpy(whole + at, parts[i].iov_base, parts[i].iov_len);
                at += parts[i].iov_len;
        }
        r = offset < 0 ? write(fd, whole, len) : pwrite(fd, whole, len, offset);
        free(whole);
        return r;
}

EXPORTED int uv_fs_write(uv_loop_t *loop, uv_fs_t *req, uv_file fd, const uv_buf_t bufs[], unsigned n,
                         int64_t offset, uv_fs_cb done) {
        // libuv's are laid out like these
        return result(req, write_vector(fd, (const struct iovec *) bufs, n, offset));
}

// -------------------------------------------------------------------------------------------- the C library

int posix_fallocate_plain(int fd, long offset, long len) __asm__("posix_fallocate");
EXPORTED int posix_fallocate_plain(int fd, long offset, long len) {
        return __wrap_posix_fallocate64(fd, offset, len);
}

int fstatfs_plain(int fd, struct statfs *ret) __asm__("fstatfs");
EXPORTED int fstatfs_plain(int fd, struct statfs *ret) {
        int r = fstatfs(fd, ret);

        ret->f_type = TMPFS_MAGIC;
        return r;
}

static long system_call(long number, ...) {
        static long (*real)(long number, ...);
        long a[6];
        va_list ap;

        if (!real)
                real = (long (*)(long, ...)) dlsym(RTLD_NEXT, "syscall");
        va_start(ap, number);
        for (size_t i = 0; i < 6; i++)
                a[i] = va_arg(ap, long);
        va_end(ap);
        return real(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

EXPORTED int linkat(int from_dir, const char *from, int dirfd, const char *path, int flags) {
        return __wrap_linkat(from_dir, from, dirfd, path, flags);
}

EXPORTED int gettimeofday(struct timeval *restrict ret, void *restrict zone) {
        struct timespec now;
        int r = clock_gettime(CLOCK_REALTIME, &now);

        *ret = (struct timeval){now.tv_sec, now.tv_nsec / 1000};
        return r;
}

EXPORTED int rand(void) {
        return (int) random_below(INT_MAX);
}

EXPORTED void srand(unsigned seed) {
}

// ----------------------------------------------------------------------------------------- asynchronous I/O

enum { AIO_DONE_MAX = 64, AIO_CONTEXT = 1 };

static struct {
        struct io_event events[AIO_DONE_MAX];
        size_t n;
} aio;

static ssize_t aio_write(const struct iocb *request) {
        const struct iovec single = {(void *) (uintptr_t) request->aio_buf, request->aio_nbytes};
        bool vector = request->aio_lio_opcode == IOCB_CMD_PWRITEV;
        ssize_t n = write_vector((int) request->aio_fildes,
                                 vector ? (const struct iovec *) (uintptr_t) request->aio_buf : &single,
                                 vector ? request->aio_nbytes : 1, (off_t) request->aio_offset);

        if (n > 0 && fsync((int) request->aio_fildes) < 0)
                n = -1;
        return n < 0 ? -errno : n;
}

static long aio_submit(long n, struct iocb *const *requests) {
        for (long i = 0; i < n; i++) {
                ssize_t r;

                if (requests[i]->aio_rw_flags & RWF_NOWAIT) { // so libraft leaves it to the pool
                        errno = EOPNOTSUPP;
                        return -1;
                }
                r = aio_write(requests[i]); // whoever dies in here leaves no event behind
                if (aio.n == AIO_DONE_MAX)
                        abort();
                aio.events[aio.n++] = (struct io_event){
                        .data = requests[i]->aio_data, .obj = (uintptr_t) requests[i], .res = r};
        }
        return n;
}

// Each is asked for by who has submitted it, before anybody else submits one.
static long aio_take(long max, struct io_event *ret) {
        long n = 0;

        while (aio.n > 0 && n < max)
                ret[n++] = aio.events[--aio.n];
        return n;
}

EXPORTED long syscall(long number, ...) {
        long a[6];
        va_list ap;

        va_start(ap, number);
        for (size_t i = 0; i < 6; i++)
                a[i] = va_arg(ap, long);
        va_end(ap);
        switch (number) {
        case SYS_io_setup:
                *(aio_context_t *) a[1] = AIO_CONTEXT;
                return 0;
        case SYS_io_destroy:
                return 0;
        case SYS_io_submit:
                return aio_submit(a[1], (struct iocb *const *) a[2]);
        case SYS_io_getevents:
                return aio_take(a[2], (struct io_event *) a[3]);
        default:
                return system_call(number, a[0], a[1], a[2], a[3], a[4], a[5]);
        }
}
