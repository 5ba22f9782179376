// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Carried files of units that are exported into a folder: noted, then unwanted ones removed, then written.
//
//      folder_carried_note() per unit -> their bytes are fetched -> folder_carried_drop()
//          -> folder_carried_write()
//
// Paths are resolved beneath the folder, without links. A folder has one file of each name: if units have
// different ones the export is refused (-EINVAL, *why) before anything is written. Else -errno and
// *ret_name.

#include "folder-carried.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "array.h"
#include "carried-files.h"
#include "fileio.h"
#include "folder-drop-ins.h"
#include "str.h"
#include "unit-folder.h"

static void names_done(FolderExportNames *n) {
        for (size_t i = 0; i < n->n; i++)
                free(n->list[i]);
        free(n->list);
}

void folder_carried_done(FolderExport *e) {
        for (size_t i = 0; i < e->n_carried; i++) {
                free(e->carried[i].name);
                buf_done(&e->carried[i].bytes);
        }
        free(e->carried);
        names_done(&e->found);
        names_done(&e->kept);
}

static const FolderExportCarried *find(const FolderExport *e, const char *name) {
        for (size_t i = 0; i < e->n_carried; i++)
                if (streq(e->carried[i].name, name))
                        return &e->carried[i];
        return NULL;
}

// Whether the name belongs to a unit file or to drop-ins of the folder.
static bool is_taken(const char *name) {
        char first[CARRIED_NAME_MAX + 1];
        UnitFolderEntry entry;

        str_fit(first, sizeof(first), "%.*s", (int) strcspn(name, "/"), name);
        entry = unit_folder_entry(first);
        return entry != UNIT_FOLDER_ENTRY_OTHER && entry != UNIT_FOLDER_ENTRY_NONE;
}

static int note(FolderExport *e, const char *unit, const CarriedFile *file, Buf *why) {
        const FolderExportCarried *there = find(e, file->name);
        FolderExportCarried *new;

        if (is_taken(file->name)) {
                (void) buf_printf(
                        why, "%s cannot be exported: its file %s has the name of a unit file or of drop-ins",
                        unit, file->name);
                return -EINVAL;
        }
        if (there && hash_equal(&there->hash, &file->hash) && there->executable == file->executable)
                return 0;
        if (there) {
                (void) buf_printf(why, "%s and %s cannot be exported into one folder: their files %s differ",
                                  there->unit, unit, file->name);
                return -EINVAL;
        }
        if (ARRAY_GROW(e->carried, e->carried_allocated, e->n_carried + 1) < 0)
                return -ENOMEM;
        new = &e->carried[e->n_carried];
        *new = (FolderExportCarried){
                .unit = unit, .hash = file->hash, .executable = file->executable, .size = file->size};
        new->name = strdup(file->name);
        e->n_carried += new->name != NULL;
        return new->name ? 0 : -ENOMEM;
}

// A file that a container names is in its content.
static int note_beside(FolderExport *e, const char *unit, const UnitPart *part, Buf *why) {
        CarriedFile file = {.size = part->len, .hash = hash_of(part->content, part->len)};
        size_t n = e->n_carried;
        int r;

        file.name = strndup(part->path, part->path_len);
        r = file.name ? note(e, unit, &file, why) : -ENOMEM;
        if (r == 0 && e->n_carried > n) {
                e->carried[n].is_here = true;
                r = buf_append(&e->carried[n].bytes, part->content, part->len);
        }
        free(file.name);
        return r;
}

static int note_all_beside(FolderExport *e, const FolderExportFile *f, Buf *why) {
        UnitPart part;
        UnitParts p;
        int r = 0;

        unit_parts_begin(&p, f->content.data, f->content.len);
        while (r == 0 && unit_parts_next(&p, &part))
                if (unit_part_is_beside(&part) && !folder_part_is_unit(&part))
                        r = note_beside(e, f->name, &part, why);
        return r;
}

int folder_carried_note(FolderExport *e, FolderExportFile *f, Buf *why) {
        _cleanup_carried_files_ CarriedFiles files = {};
        int r = note_all_beside(e, f, why) ?: carried_files_read(f->content.data, f->content.len, &files);

        for (size_t i = 0; r == 0 && i < files.n; i++)
                r = note(e, f->name, &files.list[i], why);
        if (r == -EBADMSG) {
                (void) buf_printf(why, "%s cannot be exported: the list of its files cannot be read",
                                  f->name);
                return -EINVAL;
        }
        f->content.len = carried_files_text_len(f->content.data, f->content.len);
        return r;
}

// --------------------------------------------------------------------------------------- beneath the folder

static int open_existing(int fd, const char *name) {
        struct open_how how = {.flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC,
                               .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS};
        long opened = syscall(SYS_openat2, fd, name, &how, sizeof(how));

        return opened < 0 ? -errno : (int) opened;
}

static int open_folder(int fd, const char *name) {
        return mkdirat(fd, name, 0777) < 0 && errno != EEXIST ? -errno : open_existing(fd, name);
}

// ------------------------------------------------------------------------------------------------ removed

static bool is_kept(const FolderExport *e, const char *name) {
        for (size_t i = 0; i < e->kept.n; i++)
                if (streq(e->kept.list[i], name))
                        return true;
        return find(e, name);
}

// Removes the file, and then each parent folder that is empty.
static int drop_one(int dirfd, const char *name) {
        char path[CARRIED_NAME_MAX + 1];
        int flags = 0;

        str_fit(path, sizeof(path), "%s", name);
        for (;;) {
                char *slash = strrchr(path, '/');
                _cleanup_(closep) int fd = -1;

                if (slash)
                        *slash = 0;
                fd = slash ? open_existing(dirfd, path) : dup(dirfd);
                if (fd < 0)
                        return fd == -ENOENT ? 0 : slash ? fd : -errno;
                if (unlinkat(fd, slash ? slash + 1 : path, flags) < 0)
                        return flags || errno == ENOENT ? 0 : -errno;
                if (!slash)
                        return 0;
                flags = AT_REMOVEDIR;
        }
}

int folder_carried_drop(const FolderExport *e, int dirfd, const char **ret_name) {
        for (size_t i = 0; i < e->found.n; i++) {
                int r = is_kept(e, e->found.list[i]) ? 0 : drop_one(dirfd, e->found.list[i]);

                *ret_name = e->found.list[i];
                if (r < 0)
                        return r;
        }
        return 0;
}

// ------------------------------------------------------------------------------------------------ written

static int write_one(const FolderExportCarried *c, int dirfd, mode_t mode) {
        _cleanup_(closep) int fd = dup(dirfd);
        const char *at = c->name;

        if (fd < 0)
                return -errno;
        for (const char *slash; (slash = strchr(at, '/')); at = slash + 1) {
                char name[CARRIED_NAME_MAX + 1];
                int below;

                str_fit(name, sizeof(name), "%.*s", (int) (slash - at), at);
                below = open_folder(fd, name);
                if (below < 0)
                        return below;
                close(fd);
                fd = below;
        }
        return file_replace(fd, at, c->bytes.data, c->bytes.len,
                            c->executable ? mode | (mode & 0444) >> 2 : mode, 0);
}

int folder_carried_write(const FolderExport *e, int dirfd, mode_t mode, const char **ret_name) {
        for (size_t i = 0; i < e->n_carried; i++) {
                int r = write_one(&e->carried[i], dirfd, mode);

                *ret_name = e->carried[i].name;
                if (r < 0)
                        return r;
        }
        return 0;
}
