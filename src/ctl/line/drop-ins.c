// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Reads a unit's drop-ins ("web.service.d/*.conf" beside its file), and the files that a container names,
// and composes them with the file.
//
//      drop_ins_read(): the unit's directory, then its template's -> sorted
//          -> drop_ins_add_to(): volumes and networks that are named -> the content
//
// A directory is looked at by name, one call where there is none; its files are opened by its descriptor.
// Failures: -errno and a sentence in *why. A file that changes while it is read is refused, as are links
// and, if `only_own`, files that others can write. Limits: UNIT_FILE_MAX bytes, 2 * UNIT_DROP_INS_MAX files.

#include "drop-ins.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "array.h"
#include "carried-files.h"
#include "fileio.h"
#include "own-file.h"
#include "quadlet.h"
#include "str.h"
#include "unit-file.h"
#include "unit-name.h"

static void drop_in_free(UnitPart *part) {
        free((char *) part->path);
        free((char *) part->content);
}

void drop_ins_done(DropIns *d) {
        for (size_t i = 0; i < d->n; i++)
                drop_in_free(&d->list[i]);
        free(d->list);
        *d = (DropIns){};
}

// ------------------------------------------------------------------------------------------------ one file

typedef struct Place {
        const DropInFolder *folder;
        const char *directory; // "web.service.d"
} Place;

static int refuse(const Place *p, const char *name, int error, const char *what, Buf *why) {
        int r = buf_printf(why, "%s%s%s%s%s", p->folder->shown, p->directory, name ? "/" : "", name ?: "",
                           what);

        return r < 0 ? r : error;
}

static int refuse_others(const Place *p, const Buf *whose, Buf *why) {
        int r = buf_printf(why,
                           "there is a folder %s here, and %.*s: name the unit's file with its path to take "
                           "both all the same",
                           p->directory, (int) whose->len, (const char *) whose->data);

        return r < 0 ? r : -EPERM;
}

static int fail(const Place *p, const char *name, int error, Buf *why) {
        int r;

        if (error == -ENOMEM)
                return error;
        if (error == -ELOOP || error == -EISDIR || error == -ENXIO) // a link; a folder; a socket
                return refuse(p, name, error, " is not a regular file; links are not followed", why);
        if (error == -EFBIG) {
                r = buf_printf(why, "%s%s/%s is larger than %d KiB", p->folder->shown, p->directory, name,
                               UNIT_FILE_MAX / 1024);
                return r < 0 ? r : error;
        }
        if (error == -EAGAIN)
                return refuse(p, name, error, " was changed while it was read: ask again", why);
        r = buf_printf(why, "cannot read %s%s%s%s: %s", p->folder->shown, p->directory, name ? "/" : "",
                       name ?: "", strerror(-error));
        return r < 0 ? r : error;
}

static bool is_same(const struct stat *a, const struct stat *b) {
        return a->st_size == b->st_size && a->st_mtim.tv_sec == b->st_mtim.tv_sec &&
               a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

static int read_unchanged(int fd, Buf *ret) {
        struct stat before, after;
        int r = fstat(fd, &before) < 0 ? -errno : S_ISREG(before.st_mode) ? 0 : -EISDIR;

        if (r == 0)
                r = file_read_fd(fd, UNIT_FILE_MAX, ret);
        if (r == 0)
                r = fstat(fd, &after) < 0 ? -errno : is_same(&before, &after) ? 0 : -EAGAIN;
        return r;
}

// In a directory that only the caller can write, nobody can replace the file by a link between the two
// calls.
static int open_file(const Place *p, int dirfd, const char *name, Buf *whose) {
        struct stat st;
        int fd;

        if (!p->folder->only_own) {
                fd = openat(dirfd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
                return fd < 0 ? -errno : fd;
        }
        if (fstatat(dirfd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
                return -errno;
        return S_ISREG(st.st_mode) ? own_file_open(dirfd, name, whose) : -EISDIR;
}

static int read_file(const Place *p, int dirfd, const char *name, Buf *ret, Buf *why) {
        _cleanup_buf_ Buf whose = {};
        _cleanup_(closep) int fd = open_file(p, dirfd, name, &whose);
        int r = fd;

        if (r == -EPERM && whose.len > 0)
                return refuse_others(p, &whose, why);
        if (r >= 0)
                r = read_unchanged(fd, ret);
        return r < 0 ? fail(p, name, r, why) : 0;
}

static int add_file(DropIns *d, const Place *p, int dirfd, const char *name, Buf *why) {
        _cleanup_free_ char *path = str_printf("%s/%s", p->directory, name), *text = NULL;
        _cleanup_buf_ Buf content = {};
        size_t len;
        int r;

        if (!unit_drop_in_name_is_valid(name))
                return refuse(p, name, -EINVAL, " cannot be the name of a drop-in", why);
        if (streq(name, CARRIED_FILES_DROP_IN))
                return refuse(p, name, -EINVAL, " is argosy's own: it makes the list of a unit's files",
                              why);
        if (d->n == 2 * UNIT_DROP_INS_MAX)
                return refuse(p, NULL, -E2BIG, " has more drop-ins than a unit may have", why);
        r = path ? read_file(p, dirfd, name, &content, why) : -ENOMEM;
        len = content.len;
        if (r == 0 && !(text = buf_take_string(&content)))
                r = -ENOMEM;
        if (r == 0)
                r = ARRAY_GROW(d->list, d->allocated, d->n + 1);
        if (r == 0) {
                d->list[d->n++] =
                        (UnitPart){.path = path, .path_len = strlen(path), .content = text, .len = len};
                (void) TAKE_PTR(path);
                (void) TAKE_PTR(text);
        }
        return r;
}

// -------------------------------------------------------------------------------------------- one directory

static int add_files(DropIns *d, const Place *p, DIR *dir, Buf *why) {
        const struct dirent *entry;
        int r = 0;

        while (r == 0 && (errno = 0, entry = readdir(dir)))
                if (*entry->d_name != '.' && str_has_suffix(entry->d_name, ".conf"))
                        r = add_file(d, p, dirfd(dir), entry->d_name, why);
        return r == 0 && errno != 0 ? fail(p, NULL, -errno, why) : r;
}

// 1: it is a directory, and not a link to one; 0: there is none.
static int check_directory(const Place *p, const char *path, Buf *why) {
        struct stat st;

        if (fstatat(p->folder->dirfd, path, &st, AT_SYMLINK_NOFOLLOW) < 0)
                return errno == ENOENT || errno == ENOTDIR || errno == ENAMETOOLONG
                               ? 0
                               : fail(p, NULL, -errno, why);
        return S_ISDIR(st.st_mode) ? 1
                                   : refuse(p, NULL, -ENOTDIR,
                                            " is not a folder of drop-ins; links are not followed", why);
}

static int open_directory(const Place *p, const char *path, DIR **ret, Buf *why) {
        _cleanup_(closep) int fd =
                openat(p->folder->dirfd, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        _cleanup_buf_ Buf whose = {};
        int r = fd < 0 ? -errno : 0;

        if (r == 0 && p->folder->only_own)
                r = own_directory_check(fd, &whose);
        if (r == -EPERM && whose.len > 0)
                return refuse_others(p, &whose, why);
        if (r < 0)
                return fail(p, NULL, r, why);
        *ret = fdopendir(fd);
        if (!*ret)
                return fail(p, NULL, -errno, why);
        (void) TAKE_FD(fd);
        return 0;
}

bool drop_ins_are_there(int dirfd, const char *name) {
        _cleanup_free_ char *path = str_printf("%s.d", name);
        const struct dirent *entry;
        bool found = false;
        struct stat st;
        DIR *dir;
        int fd;

        if (!path || fstatat(dirfd, path, &st, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISDIR(st.st_mode))
                return false;
        fd = openat(dirfd, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        dir = fd < 0 ? NULL : fdopendir(fd);
        if (!dir) {
                closep(&fd);
                return false;
        }
        while (!found && (entry = readdir(dir)))
                found = *entry->d_name != '.' && str_has_suffix(entry->d_name, ".conf");
        closedir(dir);
        return found;
}

typedef struct Shared {
        int dirfd;
        const char *dir;
        char ***names;
        size_t *n, *allocated;
} Shared;

// Takes `name`, without ".d".
static int note_shared(const Shared *s, char *name) {
        _cleanup_free_ char *owned = name, *path = name ? str_printf("%s%s", s->dir, name) : NULL,
                            *directory = path ? str_printf("%s.d", path) : NULL;
        int r;

        if (!directory)
                return -ENOMEM;
        if (!drop_ins_are_there(s->dirfd, path))
                return 0;
        for (size_t i = 0; i < *s->n; i++)
                if (streq((*s->names)[i], directory))
                        return 0;
        r = ARRAY_GROW(*s->names, *s->allocated, *s->n + 1);
        if (r == 0)
                (*s->names)[(*s->n)++] = TAKE_PTR(directory);
        return r;
}

// "service", and of "a-b@.service" also "a-@.service".
static int note_all_shared(const Shared *s, const char *file) {
        const char *type = strrchr(file, '.'), *end = file + strcspn(file, "@");
        int r = type ? note_shared(s, strdup(type + 1)) : 0;

        if (type && !*end)
                end = type;
        for (const char *p = file; type && r == 0 && p < end; p++)
                if (*p == '-' && p + 1 < end)
                        r = note_shared(s, str_printf("%.*s%s", (int) (p + 1 - file), file, end));
        return r;
}

int drop_ins_note_shared(int dirfd, const char *dir, const char *file, char ***names, size_t *n,
                         size_t *allocated) {
        Shared s = {dirfd, dir, names, n, allocated};
        _cleanup_free_ char *unit = quadlet_unit(file);
        int r = unit ? note_all_shared(&s, file) : -ENOMEM;

        return r == 0 && !streq(unit, file) ? note_all_shared(&s, unit) : r;
}

static int add_directory(DropIns *d, const DropInFolder *folder, const char *name, Buf *why) {
        _cleanup_free_ char *directory = str_printf("%s.d", name),
                            *path = str_printf("%s%s.d", folder->dir, name);
        Place p = {folder, directory};
        DIR *dir = NULL;
        int r;

        if (!directory || !path)
                return -ENOMEM;
        r = check_directory(&p, path, why);
        if (r <= 0)
                return r;
        r = open_directory(&p, path, &dir, why);
        if (r == 0) {
                r = add_files(d, &p, dir, why);
                closedir(dir);
        }
        return r;
}

// ------------------------------------------------------------------------------------------------ all

static int compare(const void *a, const void *b) {
        return unit_drop_in_compare(a, b);
}

// Drops the template's drop-ins that have the name of one of the instance's own, which are the first n.
static void drop_replaced(DropIns *d, size_t n) {
        size_t kept = n;

        for (size_t i = n; i < d->n; i++) {
                bool replaced = false;

                for (size_t k = 0; k < n; k++)
                        replaced |= unit_drop_in_compare(&d->list[i], &d->list[k]) == 0;
                if (replaced)
                        drop_in_free(&d->list[i]);
                else
                        d->list[kept++] = d->list[i];
        }
        d->n = kept;
}

int drop_ins_read(const DropInFolder *folder, const char *name, DropIns *ret, Buf *why) {
        _cleanup_free_ char *template = NULL;
        int r = add_directory(ret, folder, name, why);

        if (r == 0)
                r = quadlet_file_template(name, &template);
        if (r == 0 && template) {
                size_t n = ret->n;

                ret->of_instance = n > 0;
                r = add_directory(ret, folder, template, why);
                if (r == 0)
                        drop_replaced(ret, n);
        }
        if (ret->n > 1)
                qsort(ret->list, ret->n, sizeof(*ret->list), compare);
        return r;
}

// --------------------------------------------------------------------------------------------- files beside

typedef struct Beside {
        DropIns *drop_ins;
        const DropInFolder *folder;
        const char *name;
        const Buf *content;
        Buf *why;
} Beside;

static int refuse_missing(const Beside *b, const char *file) {
        int r = buf_printf(b->why, "%s%s names %s, and there is no %s%s", b->folder->shown, b->name, file,
                           b->folder->shown, file);

        return r < 0 ? r : -ENOENT;
}

// Its drop-ins (data.volume.d/x.conf) become its own lines, behind those that it has: for Quadlet that is
// the same, and a content so has one part for each file that is named.
static int append_its_drop_ins(const Beside *b, const char *file, Buf *content) {
        _cleanup_(drop_ins_done) DropIns own = {};
        int r = add_directory(&own, b->folder, file, b->why);

        if (own.n > 1)
                qsort(own.list, own.n, sizeof(*own.list), compare);
        for (size_t i = 0; i < own.n && r == 0; i++)
                r = buf_printf(content, "%s\n%.*s",
                               content->len > 0 && content->data[content->len - 1] != '\n' ? "\n" : "",
                               (int) own.list[i].len, own.list[i].content);
        return r;
}

static int open_folder(const DropInFolder *folder) {
        int fd = openat(folder->dirfd, *folder->dir ? folder->dir : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

        return fd < 0 ? -errno : fd;
}

static int add_beside(const char *file, void *userdata) {
        const Beside *b = userdata;
        Place p = {b->folder, ""};
        DropIns *d = b->drop_ins;
        _cleanup_free_ char *path = strdup(file), *text = NULL;
        _cleanup_buf_ Buf content = {};
        _cleanup_(closep) int fd = -1;
        size_t len;
        UnitPart part;
        int r;

        if (quadlet_beside_find(b->content->data, b->content->len, file, &part))
                return 0;
        fd = open_folder(b->folder);
        if (fd >= 0 && faccessat(fd, file, F_OK, AT_SYMLINK_NOFOLLOW) < 0 && errno == ENOENT)
                return refuse_missing(b, file);
        r = !path    ? -ENOMEM
            : fd < 0 ? fail(&p, file, fd, b->why)
                     : read_file(&p, fd, file, &content, b->why);
        if (r == 0)
                r = append_its_drop_ins(b, file, &content);
        len = content.len;
        if (r == 0 && !(text = buf_take_string(&content)))
                r = -ENOMEM;
        if (r == 0)
                r = ARRAY_GROW(d->list, d->allocated, d->n + 1);
        if (r < 0)
                return r;
        d->list[d->n++] = (UnitPart){.path = path, .path_len = strlen(path), .content = text, .len = len};
        (void) TAKE_PTR(path);
        (void) TAKE_PTR(text);
        return 0;
}

// What a drop-in says counts, too.
static int read_beside(DropIns *d, const DropInFolder *folder, const char *name, const Buf *content,
                       Buf *why) {
        _cleanup_buf_ Buf text = {};
        Beside b = {.drop_ins = d, .folder = folder, .name = name, .content = content, .why = why};
        int r = buf_append(&text, content->data, unit_parts_own_len(content->data, content->len));

        for (size_t i = 0; i < d->n && r == 0; i++)
                r = buf_printf(&text, "\n\n%.*s", (int) d->list[i].len, d->list[i].content);
        if (r == 0)
                r = quadlet_beside_each(text.data, text.len, add_beside, &b);
        if (r == 0 && d->n > 1)
                qsort(d->list, d->n, sizeof(*d->list), compare);
        return r;
}

int drop_ins_add_to(DropIns *d, const DropInFolder *folder, const char *name, Buf *content, Buf *why) {
        _cleanup_buf_ Buf composed = {}, sentence = {};
        Buf file;
        int r = quadlet_is_container(name) ? read_beside(d, folder, name, content, why) : 0;

        if (r < 0 || d->n == 0)
                return r;
        r = unit_parts_compose(content->data, content->len, d->list, d->n, &composed, &sentence);
        if (r < 0)
                return sentence.len > 0 && buf_printf(why, "%s%.*s", folder->shown, (int) sentence.len,
                                                      (const char *) sentence.data) < 0
                               ? -ENOMEM
                               : r;
        file = *content;
        *content = composed;
        composed = file; // freed
        return 0;
}
