// SPDX-License-Identifier: LGPL-2.1-or-later

// Whether a unit's name, its template's or its aliases' are already taken by a file that is not ours.
//
//      unit_dir_foreign(): the own directory -> the others that systemd searches
//          -> the path, which the caller frees
//
// One name costs a question per directory, about ten of them. For many names at once it is cheaper to list
// the directories: a survey, which holds for as long as one batch takes. Failures: out of memory is like
// "not foreign"; if a survey fails, each name is looked up by itself.

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>

#include "str.h"
#include "unit-dir-private.h"
#include "unit-name.h"

// A dangling link counts, as it is a mask or an alias. So does a path that cannot be looked at, as systemd
// may see a file.
char *unit_dir_probe(const char *dir, const char *name) {
        _cleanup_free_ char *path = str_printf("%s/%s", dir, name);
        struct stat st;

        if (!path)
                return NULL;
        if (lstat(path, &st) == 0)
                return TAKE_PTR(path);
        if (errno == ENOENT || errno == ENOTDIR || errno == ENAMETOOLONG)
                return NULL;
        return str_printf("%s (which cannot be looked at: %s)", path, strerror(errno));
}

static char *foreign_here(UnitDir *d, const char *name, bool ours) {
        return (ours ? unit_dir_replaceable(d, name) : unit_dir_vacant(d, name)) == -EEXIST
                       ? unit_dir_probe(d->path, name)
                       : NULL;
}

typedef struct ForeignName {
        const char *dir; // one of UnitDir.foreign
        char name[];
} ForeignName;

void unit_dir_survey_end(UnitDir *d) {
        map_done_with(&d->survey, free);
        d->surveyed = false;
}

// Directories come in systemd's order, so the first that has the name wins.
static int survey_name(UnitDir *d, const char *dir, const char *name) {
        ForeignName *f = malloc(sizeof(*f) + strlen(name) + 1);
        int r;

        if (!f)
                return -ENOMEM;
        f->dir = dir;
        strcpy(f->name, name);
        r = map_add_str(&d->survey, f->name, f);
        if (r < 0)
                free(f);
        return r == -EEXIST ? 0 : r;
}

static int survey_dir(UnitDir *d, const char *dir) {
        const struct dirent *entry;
        DIR *stream = opendir(dir);
        int r = 0;

        if (!stream)
                return errno == ENOENT ? 0 : -errno;
        while (r >= 0 && (errno = 0, entry = readdir(stream)))
                r = survey_name(d, dir, entry->d_name);
        if (r >= 0)
                r = -errno;
        closedir(stream);
        return r;
}

void unit_dir_survey_begin(UnitDir *d) {
        for (char **dir = d->foreign; *dir; dir++)
                if (survey_dir(d, *dir) < 0) { // each name is asked for then
                        unit_dir_survey_end(d);
                        return;
                }
        d->surveyed = true;
}

static char *foreign_elsewhere(const UnitDir *d, const char *name, const char *template) {
        const ForeignName *f;
        char *path = NULL;

        if (d->surveyed) {
                f = map_find_str(&d->survey, name) ?: template ? map_find_str(&d->survey, template) : NULL;
                return f ? str_printf("%s/%s", f->dir, f->name) : NULL;
        }
        for (char **dir = d->foreign; !path && *dir; dir++) {
                path = unit_dir_probe(*dir, name);
                if (!path && template)
                        path = unit_dir_probe(*dir, template);
        }
        return path;
}

char *unit_dir_foreign(UnitDir *d, const char *name) {
        const Entry *e = name_table_find(&d->entries, name);
        bool instance = unit_name_kind(name, NULL) == UNIT_NAME_INSTANCE;
        _cleanup_free_ char *template = instance ? unit_name_template(name) : NULL;
        char *path;

        path = unit_dir_is_left_behind(d, name) ? NULL : foreign_here(d, name, e);
        if (!path && template)
                path = foreign_here(d, template, map_find_str(&d->templates, template));
        return path ?: foreign_elsewhere(d, name, template);
}

char *unit_dir_foreign_alias(UnitDir *d, const char *name, const void *content, size_t len) {
        _cleanup_(unit_file_freep) UnitFile *f = unit_dir_parse(content, len, name);
        UnitInstall *links;
        const char *here;
        char *path;

        if (unit_dir_links_of(f, name, &links) < 0)
                return NULL;
        here = unit_dir_links_foreign(d, name, links);
        path = here ? unit_dir_probe(d->path, here) : NULL;
        for (size_t i = 0; links && i < links->n; i++)
                if (links->entries[i].kind == UNIT_INSTALL_ALIAS)
                        for (char **dir = d->foreign; !path && *dir; dir++)
                                path = unit_dir_probe(*dir, links->entries[i].name);
        unit_dir_links_free(links);
        return path;
}

char *unit_dir_foreign_or_alias(UnitDir *d, const char *name, const void *content, size_t len) {
        char *path = unit_dir_foreign(d, name);

        return path || len == 0 ? path : unit_dir_foreign_alias(d, name, content, len);
}
