// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Units that a container's unit needs beside it: those that make its volumes and networks.
//
//   DIR/data-volume.service                      what was made (quadlet_made_next())
//   DIR/web.service.beside/data-volume.service   a hard link to it: web.service needs it
//
// The links are the record of who needs what: the file goes with the last one. They are made before the
// unit's own file and go behind it, so a crash leaves a file too much at most, which the next write of the
// unit looks at. systemd reads no directory of that name. What makes a network may be replaced, by who has
// seen to it that the network is not there any more (UnitDirItem.replaces); others that need it keep a link
// to what was there until they are written.
//
// Failures: the unit is not written: -ENOTUNIQ, a name is taken; -EUCLEAN, a network that is there has
// another file; other -errno.

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fileio.h"
#include "quadlet.h"
#include "str.h"
#include "unit-dir-private.h"
#include "unit-file.h"
#include "unit-name.h"

#define FOLDER ".beside"

enum { FOLDER_SIZE = UNIT_NAME_MAX + sizeof(FOLDER) };

static void folder_of(const char *name, char ret[static FOLDER_SIZE]) {
        snprintf(ret, FOLDER_SIZE, "%s" FOLDER, name);
}

static int open_folder(const UnitDir *d, const char *folder) {
        int fd = openat(d->fd, folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

        return fd < 0 ? -errno : fd;
}

// ----------------------------------------------------------------------------------------------- taken away

// That nobody needs any more.
static int drop_file(UnitDir *d, const char *name, const struct stat *was) {
        struct stat st;
        int r;

        if (was->st_nlink > 2)
                return 0;
        if (fstatat(d->fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0 || st.st_ino != was->st_ino)
                return 0;
        r = unit_dir_drop_file(d, name);
        return r == 0 ? buf_append(&d->gone, name, strlen(name) + 1) : r;
}

static int drop_link(UnitDir *d, int fd, const char *name) {
        struct stat st;
        int r;

        if (fstatat(fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
                return errno == ENOENT ? 0 : -errno;
        r = drop_file(d, name, &st);
        return r == 0 && unlinkat(fd, name, 0) < 0 && errno != ENOENT ? -errno : r;
}

static bool is_among(const char *name, const void *made, size_t len) {
        size_t at = quadlet_made_len(made, len);
        QuadletMade m;

        while (quadlet_made_next(made, len, &at, &m))
                if (streq(m.name, name))
                        return true;
        return false;
}

// Takes the descriptor.
static int drop_others(UnitDir *d, int fd, const void *made, size_t len) {
        DIR *dir = fdopendir(fd);
        const struct dirent *entry;
        int r = 0;

        if (!dir) {
                r = -errno;
                close(fd);
                return r;
        }
        while (r == 0 && (errno = 0, entry = readdir(dir)))
                if (*entry->d_name != '.' && !is_among(entry->d_name, made, len))
                        r = drop_link(d, dirfd(dir), entry->d_name);
        if (r == 0)
                r = -errno;
        closedir(dir);
        return r;
}

// Almost no unit has such a folder: then this is one look.
static int keep_only(UnitDir *d, const char *name, const void *made, size_t len) {
        char folder[FOLDER_SIZE];
        int fd, r;

        folder_of(name, folder);
        if (unlinkat(d->fd, folder, AT_REMOVEDIR) == 0 || errno == ENOENT)
                return 0;
        fd = open_folder(d, folder);
        r = fd < 0 ? fd : drop_others(d, fd, made, len);
        if (r == 0 && unlinkat(d->fd, folder, AT_REMOVEDIR) < 0 && errno != ENOTEMPTY && errno != EEXIST)
                r = -errno;
        return r == -ENOTDIR ? 0 : r; // it is not ours
}

int unit_dir_drop_beside(UnitDir *d, const char *name) {
        return keep_only(d, name, NULL, 0);
}

// ------------------------------------------------------------------------------------------------ put there

static bool is_made(const UnitDir *d, const char *name, Hash *ret) {
        _cleanup_buf_ Buf have = {};

        return file_read(d->fd, name, UNIT_FILE_MAX, &have) == 0 &&
               quadlet_made_of(have.data, have.len, ret);
}

static bool is_of(const UnitDir *d, const char *name, const Hash *content) {
        Hash of;

        return is_made(d, name, &of) && hash_equal(&of, content);
}

// Whoever has that name keeps it, and the unit takes what is there: a volume or a network that the host has
// by itself.
static bool is_somebodys(UnitDir *d, const char *name) {
        _cleanup_free_ char *path = unit_dir_foreign(d, name);
        char own[PATH_MAX];

        return path && (str_fit(own, sizeof(own), "%s/%s", d->path, name) <= 0 || !streq(path, own));
}

static int put_link(UnitDir *d, int fd, const char *name) {
        struct stat file, link;

        if (linkat(d->fd, name, fd, name, 0) == 0)
                return 0;
        if (errno != EEXIST || fstatat(d->fd, name, &file, AT_SYMLINK_NOFOLLOW) < 0 ||
            fstatat(fd, name, &link, AT_SYMLINK_NOFOLLOW) < 0)
                return -errno;
        if (link.st_ino == file.st_ino)
                return 0;
        if (unlinkat(fd, name, 0) < 0 || linkat(d->fd, name, fd, name, 0) < 0) // to what was there before
                return -errno;
        return 0;
}

// The link in the folder is to the file that is there.
static bool is_linked(const UnitDir *d, const char *folder, const char *name) {
        char path[FOLDER_SIZE + UNIT_NAME_MAX + 1];
        struct stat file, link;

        snprintf(path, sizeof(path), "%s/%s", folder, name);
        return fstatat(d->fd, path, &link, AT_SYMLINK_NOFOLLOW) == 0 &&
               fstatat(d->fd, name, &file, AT_SYMLINK_NOFOLLOW) == 0 && link.st_ino == file.st_ino;
}

bool unit_dir_is_beside(const UnitDir *d, const char *name, const UnitDirItem *item) {
        size_t at = quadlet_made_len(item->content, item->made_len);
        char folder[FOLDER_SIZE];
        struct stat st;
        QuadletMade m;

        folder_of(name, folder);
        while (quadlet_made_next(item->content, item->made_len, &at, &m))
                if (!is_linked(d, folder, m.name) &&
                    (fstatat(d->fd, m.name, &st, AT_SYMLINK_NOFOLLOW) < 0 || S_ISREG(st.st_mode)))
                        return false;
        return true;
}

static bool stands(const UnitDir *d, const char *name) {
        struct stat st;

        return fstatat(d->fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
               (!S_ISREG(st.st_mode) || is_made(d, name, &(Hash){}));
}

bool unit_dir_beside_stands(const UnitDir *d, const char *name) {
        char folder[FOLDER_SIZE];
        const struct dirent *entry;
        bool all = true;
        DIR *dir;
        int fd;

        folder_of(name, folder);
        fd = open_folder(d, folder);
        if (fd < 0)
                return true; // almost no unit has one
        dir = fdopendir(fd);
        if (!dir) {
                close(fd);
                return false;
        }
        while (all && (entry = readdir(dir)))
                all = *entry->d_name == '.' || stands(d, entry->d_name);
        closedir(dir);
        return all;
}

bool unit_dir_has_beside(const UnitDir *d, const char *name, const char *beside) {
        _cleanup_free_ char *template =
                unit_name_kind(name, NULL) == UNIT_NAME_INSTANCE ? unit_name_template(name) : NULL;
        const char *const names[] = {name, template};
        char path[FOLDER_SIZE + UNIT_NAME_MAX + 1];
        struct stat st;

        for (size_t i = 0; i < ELEMENTSOF(names) && names[i]; i++) {
                snprintf(path, sizeof(path), "%s" FOLDER "/%s", names[i], beside);
                if (fstatat(d->fd, path, &st, AT_SYMLINK_NOFOLLOW) == 0)
                        return true;
        }
        return false;
}

// What is there was made of another file. 0: it may be replaced.
static int refuse_other(const QuadletMade *m, bool replaces) {
        if (!str_has_suffix(m->name, QUADLET_NETWORK_UNIT))
                return -ENOTUNIQ;
        return replaces ? 0 : -EUCLEAN;
}

// -ENOTUNIQ: a unit of argosy's has that name, or something else was made for another unit here.
static int put_one(UnitDir *d, int fd, const QuadletMade *m, bool replaces) {
        bool there = false;
        struct stat st;
        Hash content;
        int r;

        if (name_table_find(&d->entries, m->name))
                return -ENOTUNIQ;
        if (!quadlet_made_of(m->unit, m->len, &content))
                return -EINVAL;
        if (is_somebodys(d, m->name))
                return 0;
        if (fstatat(d->fd, m->name, &st, AT_SYMLINK_NOFOLLOW) == 0) {
                if (!S_ISREG(st.st_mode))
                        return 0;
                there = is_of(d, m->name, &content);
                r = there ? 0 : refuse_other(m, replaces);
                if (r < 0)
                        return r;
        }
        r = there ? 0 : unit_dir_put_file(d, m->name, m->unit, m->len);
        return r < 0 ? r : put_link(d, fd, m->name);
}

static int put_all(UnitDir *d, const char *name, const void *made, size_t len, bool replaces) {
        char folder[FOLDER_SIZE];
        size_t at = quadlet_made_len(made, len);
        _cleanup_(closep) int fd = -1;
        QuadletMade m;
        int r = 0;

        folder_of(name, folder);
        if (mkdirat(d->fd, folder, 0755) < 0 && errno != EEXIST)
                return -errno;
        fd = open_folder(d, folder);
        if (fd < 0)
                return fd;
        while (r == 0 && quadlet_made_next(made, len, &at, &m))
                r = put_one(d, fd, &m, replaces);
        return r;
}

int unit_dir_put_beside(UnitDir *d, const char *name, const UnitDirItem *item) {
        const void *made = item->content;
        size_t len = item->made_len;
        int r = quadlet_made_len(made, len) < len ? put_all(d, name, made, len, item->replaces) : 0;

        return r < 0 ? r : keep_only(d, name, made, len);
}

int unit_dir_copy_beside(UnitDir *d, const char *name, const char *from) {
        char folder[FOLDER_SIZE], source[FOLDER_SIZE];
        _cleanup_(closep) int fd = -1;
        const struct dirent *entry;
        DIR *dir;
        int r, of;

        folder_of(from, source);
        of = open_folder(d, source);
        if (of < 0)
                return of == -ENOENT ? 0 : of;
        dir = fdopendir(of);
        if (!dir) {
                close(of);
                return -ENOMEM;
        }
        folder_of(name, folder);
        r = mkdirat(d->fd, folder, 0755) < 0 && errno != EEXIST ? -errno : 0;
        fd = r == 0 ? open_folder(d, folder) : -1;
        if (r == 0 && fd < 0)
                r = fd;
        while (r == 0 && (entry = readdir(dir)))
                if (*entry->d_name != '.' && linkat(dirfd(dir), entry->d_name, fd, entry->d_name, 0) < 0 &&
                    errno != EEXIST)
                        r = -errno;
        closedir(dir);
        return r;
}

void unit_dir_take_gone(UnitDir *d, Buf *ret) {
        buf_done(ret);
        *ret = d->gone;
        d->gone = (Buf){};
}
