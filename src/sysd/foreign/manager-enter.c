// SPDX-License-Identifier: LGPL-2.1-or-later
//
// How the helper becomes somebody else for good: a user, or a process in a container's namespaces. Each
// function goes all the way or returns an error, and then the caller ends the process: half a change of
// rights is never used. A container's init is known by its pid and by when it was born, so that a number
// that was given again is not entered.

#include "manager-enter.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <linux/capability.h>
#include <linux/keyctl.h>
#include <linux/openat2.h>
#include <pwd.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "buf.h"
#include "cgroup-path.h"
#include "fileio.h"
#include "process-birth.h"
#include "str.h"

// A parent that died before it was asked for sends no signal, and getppid() tells nothing across pid
// namespaces. But argosyd closes the link before it kills a helper, and the kernel does when argosyd dies.
static int die_with_parent(void) {
        char byte;

        if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0)
                return -errno;
        return recv(STDIN_FILENO, &byte, sizeof(byte), MSG_PEEK | MSG_DONTWAIT) == 0 ? -ECANCELED : 0;
}

// Called after the last change of credentials, since those clear the death signal and make a process
// dumpable.
int enter_lock_down(void) {
        static const struct rlimit none = {};

        umask(022);
        if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0 ||
            setrlimit(RLIMIT_CORE, &none) < 0)
                return -errno;
        return die_with_parent();
}

// ---- a user

int enter_user(uid_t uid, char **ret_home) {
        _cleanup_free_ char *home = NULL;
        struct passwd *pw;

        if (chdir("/") < 0)
                return -errno;
        errno = 0;
        pw = getpwuid(uid); // may ask a directory service: argosyd limits the time
        if (!pw)
                return errno > 0 ? -errno : -ESRCH;
        home = strdup(pw->pw_dir && *pw->pw_dir == '/' ? pw->pw_dir : "/");
        if (!home)
                return -ENOMEM;
        if (getuid() == uid && geteuid() == uid && uid != 0) { // argosyd of that user itself
                *ret_home = TAKE_PTR(home);
                return enter_lock_down();
        }
        if (initgroups(pw->pw_name, pw->pw_gid) < 0 || setresgid(pw->pw_gid, pw->pw_gid, pw->pw_gid) < 0 ||
            setresuid(uid, uid, uid) < 0)
                return -errno;
        if (setresuid((uid_t) -1, 0, (uid_t) -1) == 0) // cannot be
                return -EPERM;
        *ret_home = TAKE_PTR(home);
        return enter_lock_down();
}

// ---- a container

static bool same_namespace(pid_t pid, const char *kind, int *ret_error) {
        char theirs[64], ours[64];
        struct stat a, b;

        snprintf(theirs, sizeof(theirs), "/proc/%d/ns/%s", (int) pid, kind);
        snprintf(ours, sizeof(ours), "/proc/self/ns/%s", kind);
        if (stat(theirs, &a) < 0 || stat(ours, &b) < 0) {
                *ret_error = errno == ENOENT ? -ESRCH : -errno;
                return true;
        }
        return a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

// The namespaces that the container has for itself. One that it shares with us (often the network) may
// belong to a user namespace in which this process has no rights any more.
static int own_namespaces(pid_t leader, bool visible, int *ret_error) {
        static const struct {
                const char *name;
                int flag;
        } kinds[] = {{"user", CLONE_NEWUSER},
                     {"net", CLONE_NEWNET},
                     {"ipc", CLONE_NEWIPC},
                     {"uts", CLONE_NEWUTS},
                     {"cgroup", CLONE_NEWCGROUP}};
        int flags = CLONE_NEWNS | (visible ? CLONE_NEWPID : 0);

        for (size_t i = 0; i < (visible ? ELEMENTSOF(kinds) : 1) && !*ret_error; i++)
                if (!same_namespace(leader, kinds[i].name, ret_error))
                        flags |= kinds[i].flag;
        return flags;
}

// Our service sees the control groups read-only; PID 1 does not.
static int join_mounts_of_pid1(void) {
        int fd = open("/proc/1/ns/mnt", O_RDONLY | O_CLOEXEC), r;

        if (fd < 0)
                return -errno;
        r = setns(fd, CLONE_NEWNS) < 0 ? -errno : 0;
        close(fd);
        return r;
}

static int move_to(const char *procs) {
        int fd = open(procs, O_WRONLY | O_CLOEXEC | O_NOFOLLOW), r;

        if (fd < 0)
                return -errno;
        r = write(fd, "0", 1) < 0 ? -errno : 0;
        close(fd);
        return r;
}

// Joins the cgroup of the container's init: what takes this process over there uses nothing of our service's
// limits, and ends with the container. Without cgroup version 2 the process stays where it is.
static int join_cgroup(pid_t leader) {
        char root[CGROUP_PATH_MAX];
        int r = join_mounts_of_pid1();

        if (r == 0)
                r = cgroup_manager_root(leader, root, sizeof(root));
        if (r == -ENOENT)
                return 0;
        if (r == 0) {
                _cleanup_free_ char *scope = str_printf("%s/init.scope/cgroup.procs", root),
                                    *top = str_printf("%s/cgroup.procs", root);

                r = scope && top ? move_to(scope) : -ENOMEM;
                if (r == -ENOENT)
                        r = move_to(top);
        }
        return r;
}

// The pid namespace is joined only if it has to be, and by children that are born later: a process in it can
// be seen, and perhaps traced, by the container's root. Then nothing of ours may be left in its memory.
static int join_namespaces(pid_t leader, uint64_t born, bool visible) {
        int fd, error = 0, r, flags;

        fd = (int) syscall(SYS_pidfd_open, leader, 0);
        if (fd < 0)
                return -errno;
        // Asked after the open: setns() enters the process that has the number now, or fails.
        if (process_birth(leader) != born)
                error = -ESRCH;
        else if (same_namespace(leader, "pid", &error) || same_namespace(leader, "mnt", &error))
                error = error ?: -EINVAL; // nothing of ours: not a container's init
        flags = own_namespaces(leader, visible, &error);
        if (!error && visible)
                error = join_cgroup(leader);
        if (!error && (setgroups(0, NULL) < 0 || setns(fd, flags) < 0)) // inside the first may be forbidden
                error = -errno;
        r = error;
        close(fd);
        return r;
}

// Root inside, but without root's rights: what belongs to root it can change, nothing else.
static int drop_capabilities(void) {
        struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
        static const struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3];

        for (int cap = 0; cap <= CAP_LAST_CAP; cap++)
                if (prctl(PR_CAPBSET_DROP, cap, 0, 0, 0) < 0 && errno != EINVAL)
                        return -errno;
        return syscall(SYS_capset, &header, none) < 0 ? -errno : 0;
}

int enter_container(pid_t leader, uint64_t born, unsigned flags) {
        bool visible = flags & ENTER_TO_BE_SEEN;
        int r;

        if (leader <= 1)
                return -ESRCH;
        r = join_namespaces(leader, born, visible);
        if (r < 0)
                return r;
        if (visible) // an empty one instead of our service's, where the kernel has them
                (void) syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, NULL);
        if (chdir("/") < 0 || setresgid(0, 0, 0) < 0 || setresuid(0, 0, 0) < 0)
                return -errno;
        r = drop_capabilities();
        return r < 0 ? r : enter_lock_down();
}

// ---- directories

// The same where the kernel, or a system call filter (EPERM), does not know openat2(): step by step. The
// names are our own, so none of them is "..".
static int walk(int dirfd, const char *path, uint64_t flags) {
        int fd = *path == '/' ? open("/", O_PATH | O_DIRECTORY | O_CLOEXEC)
                              : fcntl(dirfd, F_DUPFD_CLOEXEC, 0);

        while (fd >= 0 && *(path += strspn(path, "/"))) {
                size_t len = strcspn(path, "/");
                bool last = !path[len];
                char name[NAME_MAX + 1];
                int next = -1;

                if (len < sizeof(name)) {
                        memcpy(name, path, len);
                        name[len] = 0;
                        next = openat(fd, name,
                                      (last ? (int) flags : O_PATH) | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
                }
                close(fd);
                fd = next;
                path += len;
        }
        return fd < 0 ? -errno : fd;
}

static int open2(int dirfd, const char *path, uint64_t flags, uint64_t resolve) {
        struct open_how how = {.flags = flags | O_DIRECTORY | O_CLOEXEC,
                               .resolve = resolve | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS};
        long fd = syscall(SYS_openat2, dirfd, path, &how, sizeof(how));

        if (fd < 0 && (errno == ENOSYS || errno == EPERM))
                return walk(dirfd, path, flags);
        return fd < 0 ? -errno : (int) fd;
}

int enter_open_dir(const char *base, const char *const *names, uid_t owner, bool make) {
        int fd = open2(AT_FDCWD, base, O_PATH, 0);
        struct stat st;

        for (; fd >= 0 && *names; names++) {
                int next = make && mkdirat(fd, *names, 0755) < 0 && errno != EEXIST ? -errno : 0;

                if (next == 0)
                        next = open2(fd, *names, names[1] ? O_PATH : O_RDONLY, RESOLVE_BENEATH);
                close(fd);
                fd = next;
        }
        if (fd >= 0 && (fstat(fd, &st) < 0 || st.st_uid != owner)) {
                close(fd);
                return -EPERM;
        }
        return fd;
}
