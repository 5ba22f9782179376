// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Each path is resolved by the kernel beneath the folder (openat2), so that neither .. nor a link leads out
// of it, also if others change it meanwhile.
// A file that changes while it is read is refused: half of one configuration and half of the next is none.
//
// What is too much ends the reading before it is read. Nothing of it is kept then.

#include "carried-sources.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "array.h"
#include "carried-files.h"
#include "fileio.h"
#include "own-file.h"
#include "str.h"

typedef struct Reader {
        const DropInFolder *folder;
        int fd; // of the folder
        CarriedSources *sources;
        CarriedFiles files;
        size_t room; // bytes that may still come
        Buf *why;
} Reader;

void carried_sources_done(CarriedSources *c) {
        for (size_t i = 0; i < c->n; i++)
                free(c->list[i].data);
        for (size_t i = 0; i < c->n_names; i++)
                free(c->names[i]);
        free(c->list);
        free(c->names);
        *c = (CarriedSources){};
}

static int refuse(const Reader *r, const char *path, int error, const char *what) {
        int k = buf_printf(r->why, "%s%s%s", r->folder->shown, path, what);

        return k < 0 ? k : error;
}

static int fail(const Reader *r, const char *path, int error) {
        int k;

        if (error == -ENOMEM)
                return error;
        if (error == -ENOENT)
                return refuse(r, path, error, ", which File= names, is not there");
        if (error == -ELOOP || error == -EXDEV)
                return refuse(
                        r, path, error,
                        " leads through a link or out of the folder of the unit file: File= follows none");
        if (error == -ENXIO || error == -ENODEV)
                return refuse(r, path, error, " is not a regular file");
        if (error == -EFBIG)
                k = buf_printf(r->why,
                               "%s%s is larger than %d KiB, the most that a file of a unit may have: larger "
                               "things are images or packages",
                               r->folder->shown, path, CARRIED_FILE_MAX / 1024);
        else if (error == -EAGAIN)
                return refuse(r, path, error, " was changed while it was read: ask again");
        else
                k = buf_printf(r->why, "cannot read %s%s: %s", r->folder->shown, path, strerror(-error));
        return k < 0 ? k : error;
}

static int open_beneath(int fd, const char *path, uint64_t flags) {
        struct open_how how = {.flags = flags | O_RDONLY | O_NONBLOCK | O_CLOEXEC,
                               .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS};
        long r = syscall(SYS_openat2, fd, *path ? path : ".", &how, sizeof(how));

        return r < 0 ? -errno : (int) r;
}

// A file that nobody has named by its path, or a folder in which one is: the caller's own.
static int check_own(const Reader *r, int fd, const char *path, bool is_file) {
        _cleanup_buf_ Buf whose = {};
        _cleanup_(closep) int parent = -1;
        _cleanup_free_ char *dir = NULL;
        const char *slash = strrchr(path, '/');
        int k = 0, opened;

        if (!r->folder->only_own)
                return 0;
        dir = strndup(path, slash ? (size_t) (slash - path) : 0);
        if (!dir)
                return -ENOMEM;
        parent = is_file ? open_beneath(r->fd, dir, O_DIRECTORY) : -1;
        k = is_file && parent < 0 ? parent : own_directory_check(is_file ? parent : fd, &whose);
        if (k == 0 && is_file) {
                opened = own_file_open(parent, slash ? slash + 1 : path, &whose);
                k = MIN_OF(opened, 0);
                closep(&opened);
        }
        if (k != -EPERM)
                return k < 0 ? fail(r, path, k) : 0;
        k = buf_printf(r->why,
                       "%s%s is a file of a unit here, and %.*s: name the unit's file with its path to take "
                       "both all the same",
                       r->folder->shown, path, (int) whose.len, (const char *) whose.data);
        return k < 0 ? k : -EPERM;
}

static bool is_same(const struct stat *a, const struct stat *b) {
        return a->st_size == b->st_size && a->st_mtim.tv_sec == b->st_mtim.tv_sec &&
               a->st_mtim.tv_nsec == b->st_mtim.tv_nsec && a->st_ctim.tv_sec == b->st_ctim.tv_sec &&
               a->st_ctim.tv_nsec == b->st_ctim.tv_nsec;
}

static int read_unchanged(int fd, const struct stat *before, Buf *ret) {
        struct stat after;
        int r = file_read_fd(fd, CARRIED_FILE_MAX, ret);

        if (r == 0)
                r = fstat(fd, &after) < 0 ? -errno : is_same(before, &after) ? 0 : -EAGAIN;
        return r;
}

// Takes the bytes, unless they are there already.
static int keep(Reader *r, const Hash *hash, Buf *bytes) {
        CarriedSources *s = r->sources;
        bool known = false;

        for (size_t i = 0; !known && i < r->files.n; i++)
                known = hash_equal(&r->files.list[i].hash, hash);
        if (known)
                return 0;
        if (ARRAY_GROW(s->list, s->allocated, s->n + 1) < 0)
                return -ENOMEM;
        s->bytes += bytes->len;
        s->list[s->n++] = (ProtobufCBinaryData){bytes->len, bytes->data};
        *bytes = (Buf){};
        return 0;
}

static int note_name(CarriedSources *s, const char *path) {
        if (ARRAY_GROW(s->names, s->names_allocated, s->n_names + 1) < 0)
                return -ENOMEM;
        s->names[s->n_names] = strdup(path);
        return s->names[s->n_names++] ? 0 : -ENOMEM;
}

static int add(Reader *r, const char *path, bool executable, Buf *bytes) {
        Hash hash = hash_of(bytes->data, bytes->len);
        size_t len = bytes->len;
        int k;

        if (len > r->room)
                return refuse(r, path, -EFBIG,
                              " is more than the unit may still have: with all its files 768 KiB; larger "
                              "things are images or packages");
        if (r->files.n == CARRIED_FILES_MAX)
                return refuse(r, path, -EFBIG, " is one file more than the 256 that a unit may have");
        r->room -= len;
        k = keep(r, &hash, bytes) ?: note_name(r->sources, path);
        return k ?: carried_files_add(&r->files, path, executable, len, &hash);
}

static bool has_name(const Reader *r, const char *path) {
        for (size_t i = 0; i < r->files.n; i++)
                if (streq(r->files.list[i].name, path))
                        return true;
        return false;
}

static int read_folder(Reader *r, int fd, const char *path, const char *pattern);

// `fd` is closed by what is called for a folder.
static int read_opened(Reader *r, int fd, const char *path, bool in_pattern) {
        _cleanup_buf_ Buf bytes = {};
        struct stat st;
        int k;

        if (fstat(fd, &st) < 0)
                return fail(r, path, -errno);
        if (S_ISDIR(st.st_mode))
                return in_pattern ? 0 : read_folder(r, fd, path, NULL);
        if (!S_ISREG(st.st_mode))
                return fail(r, path, -ENXIO);
        if (has_name(r, path)) // two lines name it
                return 0;
        if (!carried_file_name_is_valid(path))
                return refuse(r, path, -EINVAL,
                              ": files of units have names of letters, digits and ._@+=,~- alone");
        k = check_own(r, fd, path, true);
        if (k == 0) {
                k = read_unchanged(fd, &st, &bytes);
                k = k < 0 ? fail(r, path, k) : add(r, path, st.st_mode & S_IXUSR, &bytes);
        }
        return k;
}

static int read_path(Reader *r, const char *path, bool in_pattern) {
        _cleanup_(closep) int fd = open_beneath(r->fd, path, 0);

        return fd < 0 ? fail(r, path, fd) : read_opened(r, fd, path, in_pattern);
}

static int compare(const struct dirent **a, const struct dirent **b) {
        return strcmp((*a)->d_name, (*b)->d_name);
}

// Reads entries in the order of their names, so that an error names the same file each time.
static int read_entries(Reader *r, struct dirent **entries, int n, const char *path, const char *pattern) {
        int k = 0;

        for (int i = 0; k == 0 && i < n; i++) {
                const char *name = entries[i]->d_name;
                _cleanup_free_ char *below = str_printf("%s%s%s", path, *path ? "/" : "", name);

                if (!below)
                        return -ENOMEM;
                if (pattern ? fnmatch(pattern, name, FNM_PERIOD) == 0 : *name != '.')
                        k = read_path(r, below, pattern);
        }
        return k;
}

// What matches the pattern, or without one all of it and of the folders in it.
static int read_folder(Reader *r, int fd, const char *path, const char *pattern) {
        struct dirent **entries = NULL;
        int k = check_own(r, fd, path, false), n;

        if (k < 0)
                return k;
        if (strlen(path) > CARRIED_NAME_MAX)
                return refuse(r, path, -ENAMETOOLONG, ": that is too deep for a file of a unit");
        n = scandirat(fd, ".", &entries, NULL, compare);
        if (n < 0)
                return fail(r, path, -errno);
        k = read_entries(r, entries, n, path, pattern);
        for (int i = 0; i < n; i++)
                free(entries[i]);
        free(entries);
        return k;
}

static int read_pattern(Reader *r, const FileSource *s) {
        const char *slash = strrchr(s->source, '/');
        _cleanup_free_ char *dir = strndup(s->source, slash ? (size_t) (slash - s->source) : 0);
        _cleanup_(closep) int fd = dir ? open_beneath(r->fd, dir, O_DIRECTORY) : -ENOMEM;

        return fd < 0 ? fail(r, dir, fd) : read_folder(r, fd, dir, slash ? slash + 1 : s->source);
}

static int read_source(Reader *r, const FileSource *s) {
        int k = file_source_is_pattern(s) ? read_pattern(r, s) : read_path(r, s->source, false);

        if (k < 0)
                return k;
        for (size_t i = 0; i < r->files.n; i++)
                if (file_source_covers(s, r->files.list[i].name))
                        return 0;
        return refuse(r, s->source, -ENOENT,
                      file_source_is_pattern(s) ? ", which File= names, fits no file"
                                                : ", which File= names, is empty");
}

static int read_all(Reader *r, const UnitFile *file) {
        int k = 0;

        r->fd = openat(r->folder->dirfd, *r->folder->dir ? r->folder->dir : ".",
                       O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (r->fd < 0)
                return fail(r, "", -errno);
        for (size_t i = 0; k == 0 && i < file->n_file_sources; i++)
                k = read_source(r, &file->file_sources[i]);
        close(r->fd);
        return k;
}

// They came with the text.
static int add_names_beside(CarriedSources *s, const Buf *content) {
        UnitPart part;
        UnitParts p;

        unit_parts_begin(&p, content->data, content->len);
        while (unit_parts_next(&p, &part)) {
                if (!unit_part_is_beside(&part))
                        continue;
                if (ARRAY_GROW(s->names, s->names_allocated, s->n_names + 1) < 0)
                        return -ENOMEM;
                s->names[s->n_names] = strndup(part.path, part.path_len);
                if (!s->names[s->n_names++])
                        return -ENOMEM;
        }
        return 0;
}

int carried_sources_read(const DropInFolder *folder, const char *name, Buf *content, CarriedSources *ret,
                         Buf *why) {
        _cleanup_(unit_file_freep) UnitFile *file = NULL;
        _cleanup_free_ char *reason = NULL;
        Reader r = {.folder = folder, .sources = ret, .why = why};
        int k;

        content->len = carried_files_text_len(content->data, content->len);
        k = add_names_beside(ret, content);
        if (k < 0)
                return k;
        k = unit_file_parse(name, content->data, content->len, &file, NULL);
        if (k < 0)
                return k == -EINVAL ? 0 : k;
        if (file->n_file_sources == 0)
                return 0;
        r.room = CARRIED_UNIT_MAX - MIN_OF(content->len, (size_t) CARRIED_UNIT_MAX);
        k = read_all(&r, file);
        if (k == 0)
                k = carried_files_compose(name, file, &r.files, content, &reason);
        carried_files_done(&r.files);
        if (k != -EINVAL || !reason)
                return k;
        return buf_printf(why, "%s%s: %s", folder->shown, name, reason) < 0 ? -ENOMEM : k;
}
