// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Files of units on the disk: written once, linked into the folder of each unit that has them, and removed with the last.
//
// A folder is never changed: the next one is made as units/.NAME and exchanged with it, so whoever opens a path below it sees the one or the
// other. A failure in between leaves the old folder and what was made of the new one, which the next try or the next start removes.

#include "carried-store.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "fileio.h"
#include "str.h"

enum {
        DEPTH_MAX = 16, // of folders in a folder; names are CARRIED_NAME_MAX long at most, but whoever is root may have made others
        FREE_SHARE = 4, // a quarter of the file system stays free: PID 1 needs it
        STORE_NAME_SIZE = HASH_HEX_SIZE + 2,
};

static void closep(int *fd) {
        if (*fd >= 0)
                close(*fd);
}

static void store_name(const Hash *hash, bool executable, char ret[STORE_NAME_SIZE]) {
        hash_hex(hash, HASH_SIZE, ret);
        if (executable)
                strcat(ret, ".x");
}

// Made if need be; whatever the umask is, others may look into it.
static int open_dir_at(int dirfd, const char *name, bool make) {
        int fd;

        if (make && mkdirat(dirfd, name, 0755) < 0 && errno != EEXIST)
                return -errno;
        fd = openat(dirfd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (fd < 0)
                return -errno;
        if (make && fchmod(fd, 0755) < 0) {
                int r = -errno;

                close(fd);
                return r;
        }
        return fd;
}

static int open_below(const char *dir, const char *name, bool make) {
        _cleanup_(closep) int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

        return fd < 0 ? -errno : open_dir_at(fd, name, make);
}

// ------------------------------------------------------------------------------------------------ contents

bool carried_store_has(const char *dir, const Hash *hash, bool executable) {
        char name[STORE_NAME_SIZE];
        _cleanup_free_ char *path = NULL;

        store_name(hash, executable, name);
        path = str_printf("%s/files/%s", dir, name);
        return path && faccessat(AT_FDCWD, path, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

static int check_room(int fd, size_t len) {
        struct statvfs v;
        uint64_t needed;

        if (fstatvfs(fd, &v) < 0)
                return -errno;
        needed = (len + v.f_frsize - 1) / v.f_frsize + v.f_blocks / FREE_SHARE;
        return v.f_blocks == 0 || v.f_bavail >= needed ? 0 : -ENOSPC;
}

int carried_store_put(const char *dir, const Hash *hash, bool executable, const void *bytes, size_t len) {
        _cleanup_(closep) int fd = open_below(dir, "files", true);
        Hash actual = hash_of(bytes, len);
        char name[STORE_NAME_SIZE];
        int r = fd;

        if (r >= 0)
                r = hash_equal(&actual, hash) ? check_room(fd, len) : -EBADMSG;
        if (r < 0)
                return r;
        store_name(hash, executable, name);
        return file_replace(fd, name, bytes, len, executable ? 0555 : 0444, 0);
}

static void drop(int fd, const char *name) {
        struct stat st;

        if (fstatat(fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode) && st.st_nlink == 1)
                (void) unlinkat(fd, name, 0);
}

void carried_store_drop(const char *dir, const Hash *hash, bool executable) {
        _cleanup_(closep) int fd = open_below(dir, "files", false);
        char name[STORE_NAME_SIZE];

        store_name(hash, executable, name);
        if (fd >= 0)
                drop(fd, name);
}

// ------------------------------------------------------------------------------------------------ removing

static int remove_tree(int dirfd, const char *name, unsigned depth);

static int empty(int fd, unsigned depth) {
        DIR *d = fdopendir(fd);
        const struct dirent *e;
        int r = 0;

        if (!d) {
                r = -errno;
                close(fd);
                return r;
        }
        while (r == 0 && (e = readdir(d)))
                if (!streq(e->d_name, ".") && !streq(e->d_name, ".."))
                        r = remove_tree(dirfd(d), e->d_name, depth + 1);
        closedir(d);
        return r;
}

static int remove_tree(int dirfd, const char *name, unsigned depth) {
        int fd, r;

        if (unlinkat(dirfd, name, 0) == 0 || errno == ENOENT)
                return 0;
        if (errno != EISDIR && errno != EPERM)
                return -errno;
        fd = depth < DEPTH_MAX + CARRIED_NAME_MAX / 2 ? open_dir_at(dirfd, name, false) : -ELOOP;
        if (fd < 0)
                return fd;
        r = empty(fd, depth);
        if (r == 0 && unlinkat(dirfd, name, AT_REMOVEDIR) < 0)
                r = -errno;
        return r;
}

int carried_folder_remove(const char *dir, const char *unit) {
        _cleanup_(closep) int units = open_below(dir, "units", false);

        if (units < 0)
                return units == -ENOENT ? 0 : units;
        return remove_tree(units, unit, 0);
}

// ------------------------------------------------------------------------------------------------ making

// "a/b" of "a/b/c": each part of it below fd.
static int make_folders(int fd, const char *name) {
        char path[CARRIED_NAME_MAX + 1];

        for (const char *slash = strchr(name, '/'); slash; slash = strchr(slash + 1, '/')) {
                int made;

                str_fit(path, sizeof(path), "%.*s", (int) (slash - name), name);
                made = open_dir_at(fd, path, true);
                if (made < 0)
                        return made;
                close(made);
        }
        return 0;
}

static int link_file(int files, int folder, const CarriedFile *f) {
        char name[STORE_NAME_SIZE];
        int r = make_folders(folder, f->name);

        if (r < 0)
                return r;
        store_name(&f->hash, f->executable, name);
        if (linkat(files, name, folder, f->name, 0) == 0)
                return 0;
        return errno == ENOENT ? -ENODATA : -errno;
}

static int fill(int files, int folder, const CarriedFiles *list) {
        int r = 0;

        for (size_t i = 0; r == 0 && i < list->n; i++)
                r = link_file(files, folder, &list->list[i]);
        return r;
}

// The new one takes the name, and what had it goes.
static int exchange(int units, const char *fresh, const char *unit) {
        if (renameat2(units, fresh, units, unit, RENAME_NOREPLACE) == 0)
                return 0;
        if (errno != EEXIST || renameat2(units, fresh, units, unit, RENAME_EXCHANGE) < 0)
                return -errno;
        return remove_tree(units, fresh, 0);
}

int carried_folder_put(const char *dir, const char *unit, const CarriedFiles *list) {
        _cleanup_(closep) int files = open_below(dir, "files", true), units = open_below(dir, "units", true), folder = -1;
        _cleanup_free_ char *fresh = str_printf(".%s", unit);
        int r = files < 0 ? files : units < 0 ? units : fresh ? 0 : -ENOMEM;

        if (r == 0)
                r = remove_tree(units, fresh, 0);
        if (r < 0)
                return r;
        folder = open_dir_at(units, fresh, true);
        r = folder < 0 ? folder : fill(files, folder, list);
        return r < 0 ? r : exchange(units, fresh, unit);
}

// ------------------------------------------------------------------------------------------------ sweeping

typedef struct Sweep {
        bool (*kept)(const char *unit, void *userdata);
        void *userdata;
} Sweep;

static void each_entry(int fd, void (*each)(int fd, const char *name, const Sweep *s), const Sweep *s) {
        DIR *d = fd >= 0 ? fdopendir(fd) : NULL;
        const struct dirent *e;

        if (!d) {
                closep(&fd);
                return;
        }
        while ((e = readdir(d)))
                if (!streq(e->d_name, ".") && !streq(e->d_name, ".."))
                        each(dirfd(d), e->d_name, s);
        closedir(d);
}

static void sweep_unit(int fd, const char *name, const Sweep *s) {
        if (*name == '.' || !s->kept(name, s->userdata))
                (void) remove_tree(fd, name, 0);
}

static void sweep_file(int fd, const char *name, const Sweep *s) {
        drop(fd, name);
}

void carried_store_sweep(const char *dir, bool (*kept)(const char *unit, void *userdata), void *userdata) {
        const Sweep s = {kept, userdata};

        each_entry(open_below(dir, "units", false), sweep_unit, &s);
        each_entry(open_below(dir, "files", false), sweep_file, &s);
}
