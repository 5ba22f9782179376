// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Who may have written a file that is taken because it stands where a command was typed (CWE-427: a
// stranger's web.service in /tmp). A user that can write to the file, to its directory or to one above
// decides what is in it, or which file it is; so each of them is looked at, from the root on, and symbolic
// links are followed by hand, one component at a time: the directory of each link counts, too. What was
// looked at is what is read, since only descriptors are used.
//
//      owner     the caller, root, and under sudo the user that called it, who could have typed the path
//      mode      no other user may write. A group may if it is its owner's alone: of the owner's name, its
//                first group and no other user's, and without other members, as many systems give each user
//                one; and if no access list gives more than the mode says
//      sticky    a directory above may be open to all: entries of others cannot be changed in it
//
// Failures: what cannot be looked at is no file that may be taken.

#include "own-file.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "fileio.h"
#include "macro.h"
#include "str.h"

enum { LINKS_MAX = 40 }; // as the kernel follows

// ---------------------------------------------------------------------------------------------- whose it is

static bool is_ours(uid_t uid) {
        const char *sudo = geteuid() == 0 ? getenv("SUDO_UID") : NULL;
        uint64_t caller;

        return uid == 0 || uid == geteuid() ||
               (sudo && parse_u64(sudo, UINT32_MAX, &caller) && uid == caller);
}

// A user whose first group it is stands in no list of its members. Of users that the name service does not
// list nobody knows.
static bool is_first_group_of_others(gid_t gid, uid_t uid) {
        const struct passwd *pw;
        bool is = false;

        setpwent();
        while (!is && (pw = getpwent()))
                is = pw->pw_gid == gid && pw->pw_uid != uid;
        endpwent();
        return is;
}

static bool is_private_group(gid_t gid, uid_t uid) {
        const struct passwd *pw = getpwuid(uid);
        const struct group *gr = pw && pw->pw_gid == gid ? getgrgid(gid) : NULL;

        if (!gr || !streq(gr->gr_name, pw->pw_name))
                return false;
        for (char **member = gr->gr_mem; *member; member++)
                if (!streq(*member, pw->pw_name))
                        return false;
        return !is_first_group_of_others(gid, uid);
}

// With an access list the mode's group bits are the list's mask.
static bool has_access_list(int fd) {
        char path[32];

        snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
        return getxattr(path, "system.posix_acl_access", NULL, 0) >= 0 ||
               (errno != ENODATA && errno != EOPNOTSUPP);
}

static bool may_others_write(int fd, const struct stat *st) {
        if (st->st_mode & S_IWOTH)
                return true;
        return st->st_mode & S_IWGRP && (!is_private_group(st->st_gid, st->st_uid) || has_access_list(fd));
}

static int say_owner(const char *what, uid_t uid, Buf *why) {
        const struct passwd *pw = getpwuid(uid);
        int r = pw ? buf_printf(why, "%s belongs to %s", what, pw->pw_name)
                   : buf_printf(why, "%s belongs to the user %u", what, uid);

        return r < 0 ? r : -EPERM;
}

static int check(int fd, const struct stat *st, const char *what, bool sticky_is_enough, Buf *why) {
        int r;

        if (!is_ours(st->st_uid))
                return say_owner(what, st->st_uid, why);
        if (S_ISLNK(st->st_mode) || !may_others_write(fd, st) || (sticky_is_enough && st->st_mode & S_ISVTX))
                return 0;
        r = buf_printf(why, "others may write to %s", what);
        return r < 0 ? r : -EPERM;
}

// ----------------------------------------------------------------------------------------------- on the way

typedef struct Walk {
        int fd;         // the directory that was come to
        char *path;     // what that is called
        char *left;     // of the way
        unsigned links; // that were followed
} Walk;

static void walk_done(Walk *w) {
        if (w->fd >= 0)
                close(w->fd);
        free(w->path);
        free(w->left);
}

static int to_root(Walk *w) {
        int fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);

        if (fd < 0)
                return -errno;
        if (w->fd >= 0)
                close(w->fd);
        w->fd = fd;
        free(w->path);
        w->path = strdup("");
        return w->path ? 0 : -ENOMEM;
}

// The next component, in *ret; NULL: that was all.
static int next(Walk *w, char **ret) {
        char *begin = w->left + strspn(w->left, "/");
        size_t len = strcspn(begin, "/");
        char *left;

        *ret = NULL;
        if (len == 0)
                return 0;
        *ret = strndup(begin, len);
        left = *ret ? strdup(begin + len) : NULL;
        if (!left) {
                free(TAKE_PTR(*ret));
                return -ENOMEM;
        }
        free(w->left);
        w->left = left;
        return 0;
}

static int follow(Walk *w, int link) {
        char target[PATH_MAX];
        ssize_t n = readlinkat(link, "", target, sizeof(target) - 1);
        char *left;

        if (n < 0)
                return -errno;
        target[n] = 0;
        if (++w->links > LINKS_MAX)
                return -ELOOP;
        left = str_printf("%s/%s", target, w->left);
        if (!left)
                return -ENOMEM;
        free(w->left);
        w->left = left;
        return *target == '/' ? to_root(w) : 0;
}

static int enter(Walk *w, int dir, const char *name) {
        char *path = str_printf("%s/%s", w->path, name);

        if (!path)
                return -ENOMEM;
        free(w->path);
        w->path = path;
        close(w->fd);
        w->fd = dir;
        return 0;
}

static bool is_last(const Walk *w) {
        return w->left[strspn(w->left, "/")] == 0;
}

// The last one, which is to be a file. What counts of its directory was looked at.
static int open_last(Walk *w, const char *name, const char *what, Buf *why) {
        int fd = openat(w->fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC), r;
        struct stat st;

        if (fd < 0)
                return -errno;
        r = fstat(fd, &st) < 0 ? -errno : !S_ISREG(st.st_mode) ? -ENOENT : check(fd, &st, what, false, why);
        if (r < 0) {
                close(fd);
                return r;
        }
        return fd;
}

// One component: *ret is the file once it is come to, else -1. `is_file`: at the end stands one.
static int step(Walk *w, const char *name, bool is_file, int *ret, Buf *why) {
        bool last = is_last(w), to_dir;
        _cleanup_(closep) int fd = openat(w->fd, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
        _cleanup_free_ char *what = str_printf("%s/%s", w->path, name);
        struct stat here, st;
        int r;

        *ret = -1;
        if (!what)
                return -ENOMEM;
        if (fd < 0 || fstat(fd, &st) < 0 || fstat(w->fd, &here) < 0)
                return -errno;
        to_dir = S_ISDIR(st.st_mode);
        r = check(w->fd, &here, *w->path ? w->path : "/", to_dir, why);
        if (r == 0)
                // as a directory it is looked at again, by what is taken from it
                r = check(fd, &st, what, true, why);
        if (r < 0)
                return r;
        if (S_ISLNK(st.st_mode))
                return follow(w, fd);
        if (last && is_file) {
                *ret = open_last(w, name, what, why);
                return MIN_OF(*ret, 0);
        }
        return to_dir ? enter(w, TAKE_FD(fd), name) : -ENOTDIR;
}

// A descriptor if `is_file`, else 0.
static int walk(const char *path, bool is_file, Buf *why) {
        Walk w = {.fd = -1, .left = strdup(path)};
        int r = w.left ? to_root(&w) : -ENOMEM, fd = -1;
        struct stat st;

        while (r == 0 && fd < 0) {
                _cleanup_free_ char *name = NULL;

                r = next(&w, &name);
                if (r < 0 || !name)
                        break;
                r = step(&w, name, is_file, &fd, why);
        }
        if (r == 0 && !is_file) {
                r = fstat(w.fd, &st) < 0 ? -errno : check(w.fd, &st, *w.path ? w.path : "/", false, why);
                fd = 0;
        }
        walk_done(&w);
        return r < 0 ? r : fd < 0 ? -ENOENT : fd;
}

// -------------------------------------------------------------------------------------------- what is asked

static int path_of(int dirfd, char ret[static PATH_MAX]) {
        char link[32];
        ssize_t n;

        if (dirfd == AT_FDCWD)
                return getcwd(ret, PATH_MAX) ? 0 : -errno;
        snprintf(link, sizeof(link), "/proc/self/fd/%d", dirfd);
        n = readlink(link, ret, PATH_MAX - 1);
        if (n < 0)
                return -errno;
        ret[n] = 0;
        return 0;
}

int own_directory_check(int dirfd, Buf *why) {
        char path[PATH_MAX];
        int r = path_of(dirfd, path);

        if (r == 0 && *path != '/') // "(unreachable)..."
                r = -ENOENT;
        return r < 0 ? r : walk(path, false, why);
}

int own_file_open(int dirfd, const char *name, Buf *why) {
        Walk here = {.fd = dirfd, .path = (char *) ".", .left = (char *) ""};
        char path[PATH_MAX], all[2 * PATH_MAX];
        int fd = open_last(&here, name, name, why), r;

        if (fd != -ELOOP) // no link
                return fd;
        r = path_of(dirfd, path);
        if (r < 0)
                return r;
        snprintf(all, sizeof(all), "%s/%s", path, name);
        return walk(all, true, why);
}
