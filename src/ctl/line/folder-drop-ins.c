// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The parts that a template's folder would have are those of the template's content; without a template in
// the export, those that its first instance says it took from there. Each content of the family is composed
// of what would be on the disk and compared with what it is to be: so nothing is split that an apply of the
// folder would change.

#include "folder-drop-ins.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fileio.h"
#include "map.h"
#include "quadlet.h"
#include "str.h"
#include "unit-name.h"
#include "unit-parts.h"

// ------------------------------------------------------------------------------------------------ families

typedef struct Families {
        size_t *first; // of each file, the first one of its family
        char **names;  // of each file, its template's, or its own
} Families;

static void families_done(Families *f, size_t n) {
        for (size_t i = 0; f->names && i < n; i++)
                free(f->names[i]);
        free(f->names);
        free(f->first);
}

static char *family_of(const char *name) {
        return unit_name_kind(name, NULL) == UNIT_NAME_INSTANCE ? unit_name_template(name) : strdup(name);
}

static int find_families(const FolderExport *e, Families *ret) {
        _cleanup_(map_done) Map first = {};

        ret->first = calloc(e->n_files + 1, sizeof(*ret->first));
        ret->names = calloc(e->n_files + 1, sizeof(*ret->names));
        if (!ret->first || !ret->names)
                return -ENOMEM;
        for (size_t i = 0; i < e->n_files; i++) {
                uintptr_t known;

                ret->names[i] = family_of(e->files[i].name);
                if (!ret->names[i])
                        return -ENOMEM;
                known = (uintptr_t) map_find_str(&first, ret->names[i]);
                ret->first[i] = known ? known - 1 : i;
                if (!known && map_add_str(&first, ret->names[i], (void *) (i + 1)) < 0)
                        return -ENOMEM;
        }
        return 0;
}

static bool has_drop_ins(const FolderExportFile *f) {
        return f->has_drop_ins ||
               (f->content.len > 0 && unit_parts_has_drop_ins(f->content.data, f->content.len));
}

int folder_drop_ins_spread(FolderExport *e, bool *ret_more) {
        _cleanup_free_ uint8_t *seen = calloc(e->n_files + 1, 1);
        enum { DIFFERS = 1, DROP_INS = 2 };
        Families families = {};
        int r = seen ? find_families(e, &families) : -ENOMEM;

        *ret_more = false;
        for (size_t i = 0; r == 0 && i < e->n_files; i++)
                seen[families.first[i]] |= (uint8_t) ((e->files[i].differs ? DIFFERS : 0) |
                                                      (has_drop_ins(&e->files[i]) ? DROP_INS : 0));
        for (size_t i = 0; r == 0 && i < e->n_files; i++)
                if (!e->files[i].differs && seen[families.first[i]] == (DIFFERS | DROP_INS))
                        e->files[i].differs = *ret_more = true;
        families_done(&families, e->n_files);
        return r;
}

// ------------------------------------------------------------------------------------------------ decided

typedef struct Parts {
        UnitPart file;
        UnitPart list[2 * UNIT_DROP_INS_MAX];
        size_t n;
} Parts;

// The unit file, and the drop-ins that are in the folder of that unit.
static void take_parts(const FolderExportFile *f, const char *unit, Parts *ret) {
        UnitPart part;
        UnitParts p;

        unit_parts_begin(&p, f->content.data, f->content.len);
        (void) unit_parts_next(&p, &ret->file);
        ret->n = 0;
        while (unit_parts_next(&p, &part))
                if (unit_part_is_of(&part, unit))
                        ret->list[ret->n++] = part;
}

bool folder_part_is_unit(const UnitPart *part) {
        size_t len = strlen(QUADLET_CONTAINER);

        return unit_part_is_beside(part) && part->path_len > len &&
               memcmp(part->path + part->path_len - len, QUADLET_CONTAINER, len) == 0;
}

// Adds the parts that stand behind the drop-ins in the content.
static size_t add_beside(const FolderExportFile *f, UnitPart *list, size_t n) {
        UnitPart part;
        UnitParts p;

        unit_parts_begin(&p, f->content.data, f->content.len);
        while (unit_parts_next(&p, &part))
                if (unit_part_is_beside(&part) && n < 2 * UNIT_DROP_INS_MAX)
                        list[n++] = part;
        return n;
}

// 1: the content is what would be read again; 0 or -ENOMEM.
static int comes_back(const FolderExportFile *f, const char *family, const Parts *shared) {
        _cleanup_free_ Parts *parts = calloc(1, sizeof(*parts));
        _cleanup_free_ UnitPart *read = calloc(ELEMENTSOF(parts->list), sizeof(*read));
        _cleanup_buf_ Buf again = {}, why = {};
        size_t n;
        int r;

        if (!parts || !read)
                return -ENOMEM;
        if (f->content.len == 0) // it does not differ, and none of its family has drop-ins
                return 1;
        take_parts(f, f->name, parts);
        for (size_t i = 0; i < shared->n && !streq(f->name, family); i++)
                parts->list[parts->n++] = shared->list[i];
        n = unit_parts_pick(parts->list, parts->n, f->name, family, read, NULL);
        n = add_beside(f, read, n);
        for (size_t i = 0; i < n; i++)
                if (folder_part_is_unit(&read[i])) // the folder may have another file of that name
                        return 0;
        r = unit_parts_compose(parts->file.content, parts->file.len, read, n, &again, &why);
        if (r < 0)
                return r == -ENOMEM ? r : 0;
        return again.len == f->content.len && memcmp(again.data, f->content.data, again.len) == 0;
}

// Those that would be in the folder of the template.
static void take_shared(const FolderExport *e, const Families *families, size_t first, Parts *ret) {
        const char *family = families->names[first];
        size_t of = first;

        for (size_t i = first; i < e->n_files; i++)
                if (families->first[i] == first && streq(e->files[i].name, family))
                        of = i;
        take_parts(&e->files[of], family, ret);
}

static int decide_family(FolderExport *e, const Families *families, size_t first) {
        _cleanup_free_ Parts *shared = calloc(1, sizeof(*shared));
        int split = 1;

        if (!shared)
                return -ENOMEM;
        take_shared(e, families, first, shared);
        for (size_t i = first; i < e->n_files && split > 0; i++)
                if (families->first[i] == first)
                        split = comes_back(&e->files[i], families->names[first], shared);
        for (size_t i = first; i < e->n_files && split >= 0; i++)
                if (families->first[i] == first)
                        e->files[i].split = split;
        return MIN_OF(split, 0);
}

int folder_drop_ins_decide(FolderExport *e) {
        Families families = {};
        bool any = false;
        int r = 0;

        for (size_t i = 0; i < e->n_files; i++)
                any |= e->files[i].differs && has_drop_ins(&e->files[i]);
        if (!any)
                return 0;
        r = find_families(e, &families);
        for (size_t i = 0; r == 0 && i < e->n_files; i++)
                if (families.first[i] == i && e->files[i].differs && e->files[i].content.len > 0)
                        r = decide_family(e, &families, i);
        families_done(&families, e->n_files);
        return r;
}

void folder_drop_ins_file(const FolderExportFile *f, Buf *ret) {
        UnitPart part;
        UnitParts p;

        *ret = f->content;
        if (!f->split)
                return;
        unit_parts_begin(&p, f->content.data, f->content.len);
        (void) unit_parts_next(&p, &part);
        ret->len = part.len;
}

// ------------------------------------------------------------------------------------------------ written

// The drop-ins that are to be in the folder of that unit: its own, or for a template what its instances
// share.
static const FolderExportFile *find_source(const FolderExport *e, const char *name) {
        const FolderExportFile *shares = NULL;

        for (size_t i = 0; i < e->n_files; i++) {
                const FolderExportFile *f = &e->files[i];
                _cleanup_free_ char *family = NULL;

                if (streq(f->name, name))
                        return f;
                if (shares || !f->split || unit_name_kind(name, NULL) != UNIT_NAME_TEMPLATE)
                        continue;
                family = family_of(f->name);
                if (family && streq(family, name))
                        shares = f;
        }
        return shares;
}

static int open_directory(int dirfd, const char *path, bool make) {
        int fd;

        if (make && mkdirat(dirfd, path, 0777) < 0 && errno != EEXIST)
                return -errno;
        fd = openat(dirfd, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        return fd >= 0 ? fd : errno == ELOOP ? -ENOTDIR : -errno;
}

// Drop-ins that are there and are not among these.
static int remove_others(int fd, const Parts *parts) {
        int copy = dup(fd), r = 0;
        const struct dirent *entry;
        DIR *dir = copy < 0 ? NULL : fdopendir(copy);

        if (!dir) {
                r = -errno;
                if (copy >= 0)
                        close(copy);
                return r;
        }
        rewinddir(dir);
        while (r == 0 && (errno = 0, entry = readdir(dir))) {
                bool wanted = *entry->d_name == '.' || !str_has_suffix(entry->d_name, ".conf");

                for (size_t i = 0; i < parts->n && !wanted; i++) {
                        const char *base = memrchr(parts->list[i].path, '/', parts->list[i].path_len) + 1;
                        size_t len = (size_t) (parts->list[i].path + parts->list[i].path_len - base);

                        wanted = strlen(entry->d_name) == len && memcmp(entry->d_name, base, len) == 0;
                }
                if (!wanted && unlinkat(fd, entry->d_name, 0) < 0)
                        r = -errno;
        }
        if (r == 0)
                r = -errno;
        closedir(dir);
        return r;
}

static int put(int fd, const UnitPart *part, mode_t mode) {
        const char *base = memrchr(part->path, '/', part->path_len) + 1;
        _cleanup_free_ char *name = strndup(base, (size_t) (part->path + part->path_len - base));

        return name ? file_replace(fd, name, part->content, part->len, mode, 0) : -ENOMEM;
}

int folder_drop_ins_write(const FolderExport *e, const char *file, int dirfd, mode_t mode) {
        _cleanup_free_ char *path = str_printf("%s.d", file), *name = quadlet_unit(file);
        _cleanup_free_ Parts *parts = calloc(1, sizeof(*parts));
        const FolderExportFile *f = name ? find_source(e, name) : NULL;
        int fd, r;

        if (!path || !name || !parts)
                return -ENOMEM;
        if (f && f->split &&
            quadlet_is_container(file) ==
                    quadlet_is(f->content.data,
                               f->content.len)) // else they are beside the file of the other kind
                take_parts(f, name, parts);
        fd = open_directory(dirfd, path, parts->n > 0);
        if (fd < 0)
                return fd == -ENOENT ? 0 : fd;
        r = remove_others(fd, parts);
        for (size_t i = 0; i < parts->n && r == 0; i++)
                r = put(fd, &parts->list[i], mode);
        close(fd);
        if (r == 0 && parts->n == 0 && unlinkat(dirfd, path, AT_REMOVEDIR) < 0 && errno != ENOTEMPTY &&
            errno != EEXIST)
                r = -errno;
        return r;
}
