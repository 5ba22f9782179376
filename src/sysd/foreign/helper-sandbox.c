// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A seccomp filter. A helper that has entered a container without a user namespace is root's process:
// without capabilities, but it could signal other processes of root, talk to abstract sockets, or start what
// it finds in the container. An attacker that takes it over by a crafted journal can do none of that: no
// process, no socket, no signal, no file opened but for reading, no memory that is executed and was not from
// the beginning.
//
//   another architecture's call -> the process is ended
//   a call of `checked`         -> EPERM if one of those bits is set in that argument, else allowed
//   a call of `allowed`         -> allowed
//   all others                  -> ENOSYS, so that libraries take what they have for older kernels

#include "helper-sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include "macro.h"
#include "seccomp-architecture.h"

enum {
        SANDBOX_MEMORY = 256 * 1024 * 1024, // of its own; a journal's files, which it maps, are not
        FILTER_MAX = 256,
};

static const int allowed[] = {
        // files and directories
        SYS_read,
        SYS_pread64,
        SYS_readv,
        SYS_close,
        SYS_lseek,
        SYS_getdents64,
        SYS_fstat,
        SYS_statx,
        SYS_fstatfs,
        SYS_statfs,
        SYS_readlinkat,
        SYS_faccessat,
        SYS_fcntl,
        SYS_fadvise64,
        SYS_dup,
        SYS_inotify_init1,
        SYS_inotify_add_watch,
        SYS_inotify_rm_watch,
#ifdef SYS_newfstatat
        SYS_newfstatat,
#endif
#ifdef SYS_faccessat2
        SYS_faccessat2,
#endif
#ifdef SYS_stat
        SYS_stat,
        SYS_lstat,
        SYS_access,
        SYS_readlink,
#endif
#ifdef SYS_fstatat64
        SYS_fstatat64,
        SYS_fstat64,
        SYS_fstatfs64,
        SYS_statfs64,
#endif
#ifdef SYS__llseek
        SYS__llseek,
#endif
#ifdef SYS_fcntl64
        SYS_fcntl64,
#endif
        // memory
        SYS_munmap,
        SYS_mremap,
        SYS_madvise,
        SYS_brk,
        // the link, and waiting
        SYS_sendto,
        SYS_ppoll,
#ifdef SYS_poll
        SYS_poll,
#endif
#ifdef SYS_send
        SYS_send,
#endif
#ifdef SYS_ppoll_time64
        SYS_ppoll_time64,
#endif
        // itself
        SYS_clock_gettime,
        SYS_clock_getres,
        SYS_gettimeofday,
        SYS_getrandom,
        SYS_futex,
        SYS_getpid,
        SYS_gettid,
        SYS_geteuid,
        SYS_getuid,
        SYS_rt_sigprocmask,
        SYS_rt_sigaction,
        SYS_rt_sigreturn,
        SYS_restart_syscall,
        SYS_sched_yield,
        SYS_exit,
        SYS_exit_group,
#ifdef SYS_time
        SYS_time,
#endif
#ifdef SYS_geteuid32
        SYS_geteuid32,
        SYS_getuid32,
#endif
#ifdef SYS_clock_gettime64
        SYS_clock_gettime64,
#endif
#ifdef SYS_futex_time64
        SYS_futex_time64,
#endif
#ifdef SYS_rseq
        SYS_rseq,
#endif
};

static const struct {
        int call;
        unsigned argument;
        unsigned forbidden; // bits
} checked[] = {
        {SYS_openat, 2, O_ACCMODE | O_CREAT | O_TRUNC | O_APPEND},
#ifdef SYS_open
        {SYS_open, 1, O_ACCMODE | O_CREAT | O_TRUNC | O_APPEND},
#endif
#ifdef SYS_mmap2
        {SYS_mmap2, 2, PROT_EXEC},
#else
        {SYS_mmap, 2, PROT_EXEC},
#endif
        {SYS_mprotect, 2, PROT_EXEC},
};

static unsigned low_half_of(unsigned argument) {
        size_t offset = offsetof(struct seccomp_data, args) + argument * sizeof(uint64_t);

        return (unsigned) (offset + (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__ ? sizeof(uint32_t) : 0));
}

_Static_assert(4 + 2 * ELEMENTSOF(allowed) + 5 * ELEMENTSOF(checked) + 1 <= FILTER_MAX, "room for all");

#define LOAD(offset) ((struct sock_filter) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (offset)))
#define ANSWER(action) ((struct sock_filter) BPF_STMT(BPF_RET | BPF_K, (action)))
#define UNLESS_EQUAL(value, skip) \
        ((struct sock_filter) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned) (value), 0, (skip)))
#define UNLESS_ANY(bits, skip) ((struct sock_filter) BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, (bits), 0, (skip)))

static unsigned short make_filter(struct sock_filter f[static FILTER_MAX]) {
        unsigned short n = 0;

        f[n++] = LOAD(offsetof(struct seccomp_data, arch));
        f[n++] = (struct sock_filter) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SECCOMP_ARCHITECTURE, 1, 0);
        f[n++] = ANSWER(SECCOMP_RET_KILL_PROCESS);
        f[n++] = LOAD(offsetof(struct seccomp_data, nr));
        for (size_t i = 0; i < ELEMENTSOF(checked); i++) {
                f[n++] = UNLESS_EQUAL(checked[i].call, 4);
                f[n++] = LOAD(low_half_of(checked[i].argument));
                f[n++] = UNLESS_ANY(checked[i].forbidden, 1);
                f[n++] = ANSWER(SECCOMP_RET_ERRNO | EPERM);
                f[n++] = ANSWER(SECCOMP_RET_ALLOW);
        }
        for (size_t i = 0; i < ELEMENTSOF(allowed); i++) {
                f[n++] = UNLESS_EQUAL(allowed[i], 1);
                f[n++] = ANSWER(SECCOMP_RET_ALLOW);
        }
        f[n++] = ANSWER(SECCOMP_RET_ERRNO | ENOSYS);
        return n;
}

int helper_sandbox_enter(void) {
        static const struct rlimit memory = {SANDBOX_MEMORY, SANDBOX_MEMORY};
        struct sock_filter filter[FILTER_MAX];
        struct sock_fprog program = {.filter = filter};

        if (SECCOMP_ARCHITECTURE == 0)
                return -EOPNOTSUPP;
        program.len = make_filter(filter);
        if (setrlimit(RLIMIT_DATA, &memory) < 0 ||
            prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) < 0)
                return -errno;
        return 0;
}
