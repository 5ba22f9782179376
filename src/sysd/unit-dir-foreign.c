// SPDX-License-Identifier: LGPL-2.1-or-later

#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>

#include "unit-dir-private.h"
#include "unit-name.h"

char *unit_dir_probe(const char *dir, const char *name) {
        struct stat st;
        char *path;

        if (asprintf(&path, "%s/%s", dir, name) < 0)
                return NULL;
        if (lstat(path, &st) == 0) // a dangling link counts: it is a mask or an alias to be
                return path;
        free(path);
        return NULL;
}

static char *foreign_here(UnitDir *d, const char *name, bool ours) {
        return (ours ? unit_dir_replaceable(d, name) : unit_dir_vacant(d, name)) == -EEXIST
                       ? unit_dir_probe(d->path, name)
                       : NULL;
}

char *unit_dir_foreign(UnitDir *d, const char *name) {
        const Entry *e = map_find_str(&d->entries, name);
        bool instance = unit_name_kind(name, NULL) == UNIT_NAME_INSTANCE;
        _cleanup_free_ char *template = instance ? unit_name_template(name) : NULL;
        char *path;

        path = foreign_here(d, name, e);
        if (!path && template)
                path = foreign_here(d, template, map_find_str(&d->templates, template));
        for (char **dir = d->foreign; !path && *dir; dir++) {
                path = unit_dir_probe(*dir, name);
                if (!path && template)
                        path = unit_dir_probe(*dir, template);
        }
        return path;
}

char *unit_dir_foreign_alias(UnitDir *d, const char *name, const void *content, size_t len) {
        _cleanup_(unit_file_freep) UnitFile *f = unit_dir_parse(content, len, name);
        UnitInstall *links;
        char *path = NULL;

        if (unit_dir_links_of(f, name, &links) < 0)
                return NULL;
        for (size_t i = 0; links && i < links->n; i++)
                if (links->entries[i].kind == UNIT_INSTALL_ALIAS)
                        for (char **dir = d->foreign; !path && *dir; dir++)
                                path = unit_dir_probe(*dir, links->entries[i].name);
        unit_dir_links_free(links);
        return path;
}
