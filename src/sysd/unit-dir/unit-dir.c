// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The directory of unit files of one systemd manager: begin, end, and what of an earlier run is still true.
//
//      unit_dir_new() -> unit_dir_adopt() per unit of the ledger -> unit_dir_apply() batches
//          -> unit_dir_check() later
//
// unit-dir.h has the layout and the order of a batch, unit-dir-private.h the lifetimes. Failures: errno. A
// unit whose files are not as noted is kept as unknown (1), and the next batch writes it again.

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "unit-dir-private.h"
#include "unit-dropin.h"

static int copy_dirs(const char *const *dirs, const char *except, char ***ret) {
        size_t n = 0;

        while (dirs && dirs[n])
                n++;
        *ret = calloc(n + 1, sizeof(char *));
        if (!*ret)
                return -ENOMEM;
        for (size_t i = 0, k = 0; i < n; i++) {
                if (streq(dirs[i], except))
                        continue;
                (*ret)[k] = strdup(dirs[i]);
                if (!(*ret)[k++])
                        return -ENOMEM;
        }
        return 0;
}

static const char *entry_name(const void *entry) {
        return ((const Entry *) entry)->name;
}

int unit_dir_new_at(int fd, const char *dir, const char *const *search_dirs, UnitDir **ret) {
        _cleanup_(unit_dir_freep) UnitDir *d = calloc(1, sizeof(*d));
        int r;

        if (!d) {
                close(fd);
                return -ENOMEM;
        }
        d->fd = fd;
        d->entries.name_of = entry_name;
        d->path = strdup(dir);
        if (!d->path)
                return -ENOMEM;
        r = copy_dirs(search_dirs, dir, &d->foreign);
        if (r < 0)
                return r;
        d->mtime_us = unit_dir_mtime_us(d->fd);
        *ret = TAKE_PTR(d);
        return 0;
}

int unit_dir_new(const char *dir, const char *const *search_dirs, UnitDir **ret) {
        int fd;

        if (mkdir(dir, 0755) < 0 && errno != EEXIST)
                return -errno;
        fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        return fd < 0 ? -errno : unit_dir_new_at(fd, dir, search_dirs, ret);
}

UnitDir *unit_dir_free(UnitDir *d) {
        if (!d)
                return NULL;
        unit_dir_survey_end(d);
        name_table_foreach(e, &d->entries) entry_done(d, e);
        name_table_done(&d->entries);
        map_done_with(&d->templates, template_done);
        for (size_t i = 0; i < d->n_slices; i++)
                free(d->slices[i]);
        free(d->slices);
        if (d->fd >= 0)
                close(d->fd);
        for (char **p = d->foreign; p && *p; p++)
                free(*p);
        free(d->foreign);
        free(d->take_from);
        buf_done(&d->gone);
        free(d->path);
        free(d);
        return NULL;
}

// ---- what is there already
static int entry_inspect_links(UnitDir *d, Entry *e, const UnitFile *effective, bool *ret_complete) {
        UnitInstall *links;
        bool enabled;
        int r = unit_dir_links_of(effective, e->name, &links);

        if (r == 0 && links && !entry_more(e)) {
                unit_dir_links_free(links);
                r = -ENOMEM;
        }
        if (r < 0)
                return r;
        if (e->more) {
                unit_dir_links_free(e->more->links);
                e->more->links = links;
        }
        *ret_complete = unit_dir_links_are(d, e->name, links, &enabled);
        e->enabled = enabled;
        return 0;
}

// Reads the entry's own file and drop-in and looks for its links; the template is not read again. True: all
// is as `spec` and `slice` want it.
static bool entry_inspect(UnitDir *d, Entry *e, const Hash *spec, const char *slice) {
        _cleanup_(unit_file_freep) UnitFile *file = NULL;
        Hash own = unit_dir_inspect_file(d, e->name, &file);
        _cleanup_free_ char *secrets = NULL;
        FailingOptions failing = {};
        Template *t = e->template;
        const UnitFile *effective;
        bool good, complete;

        e->own_file = !hash_is_zero(&own);
        if (t && !e->own_file && unit_dir_vacant(d, e->name) < 0)
                good = false; // masked
        else
                good = hash_equal(e->own_file || !t ? &own : &t->spec, spec);
        good = good && unit_dir_beside_stands(d, e->own_file || !t ? e->name : t->name);
        effective = e->own_file || !t ? file : t->file;
        if (effective)
                failing = effective->failing;
        if (effective && unit_dropin_secrets(effective, e->name, &secrets) < 0)
                good = false;
        return entry_inspect_links(d, e, effective, &complete) == 0 && complete && good &&
               (!t || t->dropin) &&
               (!entry_needs_dropin(e, slice, &failing, secrets) ||
                unit_dir_dropin_is(d, e->name, slice, &failing, secrets));
}

static void template_inspect(UnitDir *d, Template *t) {
        unit_file_free(t->file);
        t->spec = unit_dir_inspect_file(d, t->name, &t->file);
        t->dropin = unit_dir_dropin_is(d, t->name, NULL, NULL, NULL);
}

static void entry_learn(UnitDir *d, Entry *e, const Hash *spec, const char *slice) {
        bool good = entry_inspect(d, e, spec, slice);

        if (!good || entry_set_slice(d, e, slice) < 0 || entry_set_spec(e, spec) < 0)
                entry_forget_spec(e);
        entry_settle(e);
}

int unit_dir_adopt(UnitDir *d, const char *name, bool from_template, const Hash *spec, const char *slice) {
        Entry *e;
        int r;

        if (slice && !*slice)
                slice = NULL;
        r = entry_check_name(name, from_template) ?: entry_check_slice(slice);
        if (r < 0)
                return r;
        if (name_table_find(&d->entries, name))
                return -EEXIST;
        e = entry_new(d, name, from_template);
        if (!e)
                return -ENOMEM;
        if (e->template && hash_is_zero(&e->template->spec))
                template_inspect(d, e->template);
        entry_learn(d, e, spec, slice);
        return entry_is_unknown(e);
}

// Somebody else changed the template's file: the spec of each instance that follows it is unknown.
static void template_lost(Template *t) {
        list_foreach (n, &t->instances) {
                Entry *e = CONTAINER_OF(n, Entry, in_template);

                if (!e->own_file)
                        entry_forget_spec(e);
        }
}

int unit_dir_check(UnitDir *d, const char *name) {
        Entry *e = name_table_find(&d->entries, name);
        Hash spec;

        d->has_pin = false;
        if (!e)
                return -ENOENT;
        if (entry_is_unknown(e))
                return 1;
        spec = *entry_spec(e);
        if (e->template) {
                Hash before = e->template->spec;

                template_inspect(d, e->template);
                if (!hash_equal(&before, &e->template->spec))
                        template_lost(e->template);
        }
        entry_learn(d, e, &spec, entry_slice(d, e));
        return entry_is_unknown(e);
}

bool unit_dir_find(const UnitDir *d, const char *name, Hash *ret_spec) {
        const Entry *e = name_table_find(&d->entries, name);

        if (e && ret_spec)
                *ret_spec = *entry_spec(e);
        return e;
}

bool unit_dir_is_enabled(const UnitDir *d, const char *name) {
        const Entry *e = name_table_find(&d->entries, name);

        return e && e->enabled;
}
