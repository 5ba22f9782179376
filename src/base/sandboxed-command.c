// SPDX-License-Identifier: LGPL-2.1-or-later
//
//   a directory with the files -> fork -> nobody, limits, a filter of system calls -> exec -> output in
//   memory -> wait
//
// Output goes to a file in memory whose size is limited, so the program never waits for its reader. The
// child calls only what may be called between fork and exec. It dies with the process that started it; then
// its directory stays in /tmp.
//
// The filter refuses what a parser of files does not need and could harm others with: sockets, signals,
// other processes' memory, namespaces, mounts. It lists what is refused, since the program is somebody
// else's, in any version.

#include "sandboxed-command.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fileio.h"
#include "seccomp-architecture.h"
#include "str.h"

enum {
        NOBODY = 65534,
        FILES_OPEN_MAX = 256,
        NICE = 10,
        EXIT_NOT_STARTED = 127,
};

static const rlim_t memory_max = 512 << 20, addresses_max = 4ULL << 30; // the latter of what reserves much

struct SandboxedCommand {
        pid_t pid; // 0: it has ended
        int pidfd, output; // -1: none
        char dir[32];
        char home[64], runtime_dir[64], dir_variable[96]; // of the environment; empty: there is none
        bool reserves_much;
        char **names; // of its files
        size_t n_names;
};

// ----------------------------------------------------------------------------------------------- the filter

static const int refused[] = {
        SYS_socket,
        SYS_connect,
        SYS_sendto,
        SYS_sendmsg,
        SYS_kill,
        SYS_tkill,
        SYS_pidfd_open,
        SYS_ptrace,
        SYS_process_vm_readv,
        SYS_process_vm_writev,
        SYS_unshare,
        SYS_setns,
        SYS_mount,
        SYS_umount2,
        SYS_chroot,
        SYS_keyctl,
        SYS_add_key,
        SYS_request_key,
        SYS_bpf,
        SYS_perf_event_open,
        SYS_mq_open,
#ifdef SYS_userfaultfd
        SYS_userfaultfd,
#endif
#ifdef SYS_io_uring_setup
        SYS_io_uring_setup,
#endif
#ifdef SYS_socketcall
        SYS_socketcall,
#endif
#ifdef SYS_shmget
        SYS_shmget,
#endif
};

enum { FILTER_MAX = 2 * ELEMENTSOF(refused) + 8 };

#define LOAD(member) \
        ((struct sock_filter) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, member)))
#define ANSWER(action) ((struct sock_filter) BPF_STMT(BPF_RET | BPF_K, (action)))
#define UNLESS_EQUAL(value, skip) \
        ((struct sock_filter) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned) (value), 0, (skip)))

static int refuse_calls(void) {
        struct sock_filter f[FILTER_MAX];
        struct sock_fprog program = {.filter = f};
        unsigned short n = 0;

        if (SECCOMP_ARCHITECTURE == 0)
                return 0;
        f[n++] = LOAD(arch);
        f[n++] = (struct sock_filter) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SECCOMP_ARCHITECTURE, 1, 0);
        f[n++] = ANSWER(SECCOMP_RET_KILL_PROCESS);
        f[n++] = LOAD(nr);
#ifdef __x86_64__
        f[n++] = (struct sock_filter) BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, 0x40000000, 0, 1); // x32
        f[n++] = ANSWER(SECCOMP_RET_KILL_PROCESS);
#endif
        for (size_t i = 0; i < ELEMENTSOF(refused); i++) {
                f[n++] = UNLESS_EQUAL(refused[i], 1);
                f[n++] = ANSWER(SECCOMP_RET_ERRNO | EPERM);
        }
        f[n++] = ANSWER(SECCOMP_RET_ALLOW);
        program.len = n;
        return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) < 0 ? -errno : 0;
}

// ------------------------------------------------------------------------------------------------ the child

static int limit(int what, rlim_t value) {
        const struct rlimit l = {value, value};

        return setrlimit((__rlimit_resource_t) what, &l) < 0 ? -errno : 0;
}

static int become_nobody(void) {
        // where that is allowed; the filter refuses sockets anyway
        (void) unshare(CLONE_NEWNET | CLONE_NEWIPC);
        if (setgroups(0, NULL) < 0 || setresgid(NOBODY, NOBODY, NOBODY) < 0 ||
            setresuid(NOBODY, NOBODY, NOBODY) < 0)
                return -errno;
        return setresuid((uid_t) -1, 0, (uid_t) -1) == 0 ? -EPERM : 0; // cannot be
}

// The death signal comes behind the last change of credentials, which clears it.
static int lock_down(pid_t parent, rlim_t memory) {
        int r = geteuid() == 0 ? become_nobody() : 0;

        if (r >= 0 &&
            (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0))
                r = -errno;
        if (r >= 0 && getppid() != parent)
                r = -ECANCELED;
        if (r >= 0)
                r = limit(RLIMIT_CPU, SANDBOXED_CPU_SEC);
        if (r >= 0)
                r = limit(RLIMIT_AS, memory);
        if (r >= 0)
                r = limit(RLIMIT_FSIZE, SANDBOXED_OUTPUT_MAX);
        if (r >= 0)
                r = limit(RLIMIT_NOFILE, FILES_OPEN_MAX);
        if (r >= 0)
                r = limit(RLIMIT_CORE, 0);
        (void) setpriority(PRIO_PROCESS, 0, NICE);
        return r < 0 ? r : refuse_calls();
}

static void run_child(const SandboxedCommand *c, const char *program, const char *const *args,
                      pid_t parent) {
        const char *environment[] = {"PATH=/usr/sbin:/usr/bin:/sbin:/bin",
                                     "LANG=C.UTF-8",
                                     "SYSTEMD_COLORS=0",
                                     "SYSTEMD_LOG_TARGET=console",
                                     "SYSTEMD_PAGER=cat",
                                     NULL,
                                     NULL,
                                     NULL,
                                     NULL};
        size_t n = 5;
        int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
        sigset_t none;

        for (const char *const *more = (const char *const[]){c->home, c->runtime_dir, c->dir_variable, NULL};
             *more; more++)
                if (**more)
                        environment[n++] = *more;
        sigemptyset(&none);
        (void) sigprocmask(SIG_SETMASK, &none, NULL);
        (void) signal(SIGPIPE, SIG_DFL);
        (void) signal(SIGXFSZ, SIG_IGN); // what does not fit is left out, and it goes on
        if (null < 0 || dup2(null, STDIN_FILENO) < 0 || dup2(c->output, STDOUT_FILENO) < 0 ||
            dup2(c->output, STDERR_FILENO) < 0 || chdir(c->dir) < 0 ||
            lock_down(parent, c->reserves_much ? addresses_max : memory_max) < 0)
                _exit(EXIT_NOT_STARTED);
        // kernels before 5.9: all are to be closed by exec
        (void) syscall(SYS_close_range, STDERR_FILENO + 1, ~0U, 0);
        execve(program, (char *const *) args, (char *const *) environment);
        _exit(EXIT_NOT_STARTED);
}

// -------------------------------------------------------------------------------------------- the directory

static int write_file(int dir, const SandboxedFile *file) {
        int fd = openat(dir, file->name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600), r = 0;
        const char *p = file->content;

        if (fd < 0)
                return -errno;
        for (size_t left = file->len; left > 0 && r == 0;) {
                ssize_t n = write(fd, p, left);

                if (n < 0 && errno != EINTR)
                        r = -errno;
                if (n > 0) {
                        p += n;
                        left -= (size_t) n;
                }
        }
        if (r == 0 && fchmod(fd, 0644) < 0)
                r = -errno;
        close(fd);
        return r;
}

// The home's name is no unit's name, so no file has it. Nothing is to be written there; as root it is open
// to the command's user by its mode, since root without capabilities cannot change its owner.
static int make_home(SandboxedCommand *c, int dir) {
        if (mkdirat(dir, SANDBOXED_HOME, 0700) < 0 ||
            (geteuid() == 0 && fchmodat(dir, SANDBOXED_HOME, 0777, 0) < 0))
                return -errno;
        str_fit(c->home, sizeof(c->home), "HOME=%s/" SANDBOXED_HOME, c->dir);
        str_fit(c->runtime_dir, sizeof(c->runtime_dir), "XDG_RUNTIME_DIR=%s/" SANDBOXED_HOME, c->dir);
        return 0;
}

static int fill_dir(SandboxedCommand *c, const SandboxedConfig *config) {
        int dir = open(c->dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC), r;

        if (dir < 0)
                return -errno;
        r = fchmod(dir, 0755) < 0 ? -errno : 0;
        for (size_t i = 0; i < config->n_files && r == 0; i++) {
                const char *name = config->files[i].name;

                c->names[i] = strchr(name, '/') ? NULL : strdup(name);
                r = c->names[i] ? write_file(dir, &config->files[i]) : -EINVAL;
                c->n_names++;
        }
        if (r == 0 && config->home)
                r = make_home(c, dir);
        close(dir);
        return r;
}

static void remove_dir(SandboxedCommand *c) {
        int dir = *c->dir ? open(c->dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC) : -1;

        if (dir >= 0 && *c->home) {
                (void) dir_empty(dir, SANDBOXED_HOME);
                (void) unlinkat(dir, SANDBOXED_HOME, AT_REMOVEDIR);
        }
        for (size_t i = 0; i < c->n_names; i++) {
                if (dir >= 0 && c->names[i])
                        (void) unlinkat(dir, c->names[i], 0);
                free(c->names[i]);
        }
        if (dir >= 0) {
                close(dir);
                (void) rmdir(c->dir);
        }
        free(c->names);
}

// -------------------------------------------------------------------------------------------- begin and end

static bool find_program(const char *name, char *ret, size_t size) {
        static const char *const dirs[] = {"/usr/bin", "/bin"};

        if (*name == '/') {
                str_fit(ret, size, "%s", name);
                return access(ret, X_OK) == 0;
        }
        for (size_t i = 0; i < ELEMENTSOF(dirs); i++) {
                str_fit(ret, size, "%s/%s", dirs[i], name);
                if (access(ret, X_OK) == 0)
                        return true;
        }
        return false;
}

static int start(SandboxedCommand *c, const char *program, const SandboxedConfig *config) {
        pid_t parent = getpid();
        int r;

        strcpy(c->dir, "/tmp/argosy-verify-XXXXXX");
        if (!mkdtemp(c->dir)) {
                *c->dir = 0;
                return -errno;
        }
        c->reserves_much = config->reserves_much;
        if (config->dir_variable)
                str_fit(c->dir_variable, sizeof(c->dir_variable), "%s=%s", config->dir_variable, c->dir);
        r = fill_dir(c, config);
        if (r < 0)
                return r;
        c->output = memfd_create("argosy-verify", MFD_CLOEXEC);
        if (c->output < 0)
                return -errno;
        c->pid = fork();
        if (c->pid < 0) {
                c->pid = 0;
                return -errno;
        }
        if (c->pid == 0)
                run_child(c, program, config->args, parent);
        c->pidfd = (int) syscall(SYS_pidfd_open, c->pid, 0);
        return c->pidfd < 0 ? -errno : 0;
}

int sandboxed_command_start(const SandboxedConfig *config, SandboxedCommand **ret) {
        _cleanup_(sandboxed_command_freep) SandboxedCommand *c = NULL;
        char program[256];
        int r;

        if (!find_program(config->args[0], program, sizeof(program)))
                return -ENOENT;
        c = calloc(1, sizeof(*c));
        if (!c)
                return -ENOMEM;
        c->pidfd = c->output = -1;
        c->names = calloc(config->n_files + 1, sizeof(*c->names));
        if (!c->names)
                return -ENOMEM;
        r = start(c, program, config);
        if (r < 0)
                return r;
        *ret = TAKE_PTR(c);
        return 0;
}

const char *sandboxed_command_dir(const SandboxedCommand *c) {
        return c->dir;
}

static int read_output(const SandboxedCommand *c, Buf *output) {
        off_t at = 0;

        for (;;) {
                uint8_t *p = buf_reserve(output, 16384);
                ssize_t n;

                if (!p)
                        return -ENOMEM;
                n = pread(c->output, p, 16384, at);
                if (n < 0 && errno == EINTR)
                        continue;
                if (n <= 0)
                        return n < 0 ? -errno : 0;
                output->len += (size_t) n;
                at += n;
        }
}

int sandboxed_command_wait(SandboxedCommand *c, unsigned timeout_ms, Buf *output) {
        struct pollfd p = {.fd = c->pidfd, .events = POLLIN};
        int status = 0, n;

        n = poll(&p, 1, (int) timeout_ms);
        if (n == 0 || (n < 0 && errno == EINTR))
                return -ETIMEDOUT;
        if (n < 0)
                return -errno;
        while (waitpid(c->pid, &status, 0) < 0)
                if (errno != EINTR)
                        return -errno;
        c->pid = 0;
        if (!WIFEXITED(status) || WEXITSTATUS(status) == EXIT_NOT_STARTED)
                return -EIO;
        return read_output(c, output);
}

int sandboxed_command_read(const SandboxedCommand *c, const char *name, size_t max, Buf *ret) {
        _cleanup_free_ char *path = str_printf("%s/" SANDBOXED_HOME "/%s", c->dir, name);
        struct stat st;
        int fd, r;

        if (!path)
                return -ENOMEM;
        fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
        if (fd < 0)
                return errno == ELOOP ? -EISDIR : -errno;
        r = fstat(fd, &st) < 0 ? -errno : S_ISREG(st.st_mode) ? file_read_fd(fd, max, ret) : -EISDIR;
        close(fd);
        return r;
}

SandboxedCommand *sandboxed_command_free(SandboxedCommand *c) {
        if (!c)
                return NULL;
        if (c->pid > 0) {
                (void) kill(c->pid, SIGKILL);
                while (waitpid(c->pid, NULL, 0) < 0 && errno == EINTR)
                        ;
        }
        if (c->pidfd >= 0)
                close(c->pidfd);
        if (c->output >= 0)
                close(c->output);
        remove_dir(c);
        free(c);
        return NULL;
}
