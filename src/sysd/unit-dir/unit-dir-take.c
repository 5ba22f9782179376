// SPDX-License-Identifier: LGPL-2.1-or-later

// What another program has left behind: fleet keeps its unit files in a directory of its own and has systemd
// link them. Once nobody keeps that program's books any more, such a link says for certain whose the name
// was; a plain file says nothing, and is never taken.
//
// Here is only what a batch asks about such links, and how it gets rid of those beside the name's own
// (unit-dir-apply.c); and how a name is given back that did not become ours. What cannot be taken away is an
// errno of the item, and the name's link is there still.

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "str.h"
#include "unit-dir-private.h"

enum { TARGET_MAX = 4096 };

int unit_dir_take_from(UnitDir *d, const char *from) {
        char *copy = *from ? strdup(from) : NULL;

        if (*from && !copy)
                return -ENOMEM;
        free(d->take_from);
        d->take_from = copy;
        return 0;
}

static bool leads_to(int dir, const char *name, const char *target) {
        char text[TARGET_MAX];
        ssize_t len = readlinkat(dir, name, text, sizeof(text));

        return len > 0 && (size_t) len == strlen(target) && memcmp(text, target, (size_t) len) == 0;
}

static bool leads_to_the_file_of(const UnitDir *d, const char *link, const char *name) {
        _cleanup_free_ char *target = d->take_from ? str_printf("%s/%s", d->take_from, name) : NULL;

        return target && leads_to(d->fd, link, target);
}

bool unit_dir_is_left_behind(const UnitDir *d, const char *name) {
        return leads_to_the_file_of(d, name, name);
}

bool unit_dir_is_left_alias(const UnitDir *d, const char *alias, const char *name) {
        return leads_to_the_file_of(d, alias, name) && unit_dir_is_left_behind(d, name);
}

// ---- links beside the name's own

// Drops links of [Install]: systemd has made them to the file itself, or to the link.
static int drop_below(UnitDir *d, const char *below, const char *name, const char *target,
                      UnitDirItem *item) {
        _cleanup_free_ char *link = str_printf("../%s", name),
                            *unit = str_printf("%.*s", (int) (strrchr(below, '.') - below), below);
        int r = 0, dir;

        if (!link || !unit)
                return -ENOMEM;
        dir = openat(d->fd, below, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (dir < 0)
                return errno == ENOENT || errno == ENOTDIR || errno == ELOOP ? 0 : -errno;
        if (leads_to(dir, name, target) || leads_to(dir, name, link)) {
                r = unlinkat(dir, name, 0) < 0 && errno != ENOENT ? -errno : 0;
                (void) buf_append(&item->touched, unit, strlen(unit) + 1);
        }
        close(dir);
        return r;
}

static bool has_links(const char *dir) {
        return str_has_suffix(dir, ".wants") || str_has_suffix(dir, ".requires") ||
               str_has_suffix(dir, ".upholds");
}

static int drop_listed(UnitDir *d, DIR *stream, const char *name, const char *target, UnitDirItem *item) {
        const struct dirent *entry;

        while (errno = 0, entry = readdir(stream)) {
                int r = 0;

                if (has_links(entry->d_name))
                        r = drop_below(d, entry->d_name, name, target, item);
                else if (!streq(entry->d_name, name) && leads_to(d->fd, entry->d_name, target)) // an alias
                        r = unit_dir_drop_file(d, entry->d_name);
                if (r < 0)
                        return r;
        }
        return -errno;
}

int unit_dir_drop_left(UnitDir *d, const char *name, UnitDirItem *item) {
        _cleanup_free_ char *target = str_printf("%s/%s", d->take_from, name);
        int r, copy = target ? openat(d->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
        DIR *stream = copy < 0 ? NULL : fdopendir(copy);

        if (!stream) {
                r = target ? -errno : -ENOMEM;
                if (copy >= 0)
                        close(copy);
                return r;
        }
        r = drop_listed(d, stream, name, target, item);
        closedir(stream);
        return r;
}

// ---- did it become ours?

bool unit_dir_has_content(UnitDir *d, const char *name, const Hash *spec) {
        const Entry *e = name_table_find(&d->entries, name);
        UnitFile *file = NULL;
        Hash own = unit_dir_inspect_file(d, name, &file);

        unit_file_free(file);
        if (!hash_is_zero(&own))
                return hash_equal(&own, spec);
        if (unit_dir_vacant(d, name) < 0)
                return false;
        return e && e->template && hash_equal(&e->template->spec, spec);
}

void unit_dir_disown(UnitDir *d, const char *name, const Hash *spec) {
        Entry *e = name_table_find(&d->entries, name);
        Template *t = e ? e->template : NULL;

        (void) unit_dir_drop_dropin(d, name);
        if (e)
                entry_free(d, e);
        if (t && list_is_empty(&t->instances)) {
                if (hash_equal(&t->spec, spec))
                        (void) unit_dir_remove_template(d, t);
                else
                        (void) unit_dir_drop_dropin(d, t->name);
                template_collect(d, t);
        }
        if (d->changed)
                unit_dir_advance_mtime(d);
}
