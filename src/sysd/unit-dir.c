// SPDX-License-Identifier: LGPL-2.1-or-later
//
// See the public header for the layout and for the order of a batch, the private one for lifetimes.

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "unit-dir-private.h"
#include "unit-name.h"

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

int unit_dir_new_at(int fd, const char *dir, const char *const *search_dirs, UnitDir **ret) {
        _cleanup_(unit_dir_freep) UnitDir *d = calloc(1, sizeof(*d));
        int r;

        if (!d) {
                close(fd);
                return -ENOMEM;
        }
        d->fd = fd;
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

static void entry_done(void *p) {
        Entry *e = p;

        unit_dir_links_free(e->links);
        unit_dir_links_free(e->next_links);
        free(e);
}

static void template_done(void *p) {
        unit_file_free(((Template *) p)->file);
        free(p);
}

UnitDir *unit_dir_free(UnitDir *d) {
        if (!d)
                return NULL;
        unit_dir_survey_end(d);
        map_done_with(&d->entries, entry_done);
        map_done_with(&d->templates, template_done);
        if (d->fd >= 0)
                close(d->fd);
        for (char **p = d->foreign; p && *p; p++)
                free(*p);
        free(d->foreign);
        free(d->path);
        free(d);
        return NULL;
}

// ---- entries and templates

static Template *template_new(UnitDir *d, const char *name) {
        Template *t = calloc(1, sizeof(*t) + strlen(name) + 1);

        if (!t)
                return NULL;
        list_init(&t->instances);
        strcpy(t->name, name);
        if (map_add_str(&d->templates, t->name, t) < 0) {
                free(t);
                return NULL;
        }
        return t;
}

static int entry_find_template(UnitDir *d, Entry *e) {
        _cleanup_free_ char *name = NULL;

        if (e->template)
                return 0;
        name = unit_name_template(e->name);
        e->template = name ? map_find_str(&d->templates, name) ?: template_new(d, name) : NULL;
        if (!e->template)
                return -ENOMEM;
        list_append(&e->template->instances, &e->in_template);
        return 0;
}

static Entry *entry_new(UnitDir *d, const char *name, bool from_template) {
        Entry *e = calloc(1, sizeof(*e) + strlen(name) + 1);

        if (!e)
                return NULL;
        list_init(&e->in_template);
        strcpy(e->name, name);
        if ((from_template && entry_find_template(d, e) < 0) || map_add_str(&d->entries, e->name, e) < 0) {
                list_unlink(&e->in_template);
                free(e);
                return NULL;
        }
        return e;
}

static void entry_free(UnitDir *d, Entry *e) {
        list_unlink(&e->in_template);
        map_take_str(&d->entries, e->name);
        entry_done(e);
}

static void template_collect(UnitDir *d, Template *t) {
        if (!list_is_empty(&t->instances))
                return;
        map_take_str(&d->templates, t->name);
        template_done(t);
}

static int name_check(const char *name, bool from_template) {
        switch (unit_name_kind(name, NULL)) {
        case UNIT_NAME_PLAIN:
                return from_template ? -EINVAL : 0;
        case UNIT_NAME_INSTANCE:
                return 0;
        default:
                return -EINVAL;
        }
}

static int slice_check(const char *slice) {
        return slice && (strlen(slice) >= UNIT_DIR_SLICE_SIZE || strpbrk(slice, " \t\r\n%\\\"'")) ? -EINVAL
                                                                                                  : 0;
}

// ---- what is there already

// What is true for all instances is in the template's.
static bool needs_dropin(const Entry *e, const char *slice) {
        return !e->template || slice || e->failing.cut_off_stop;
}

// Reads the entry's own file and drop-in and looks for its links; believes the template. True: all is as
// `spec` and `slice` want it.
static bool entry_inspect(UnitDir *d, Entry *e, const Hash *spec, const char *slice) {
        _cleanup_(unit_file_freep) UnitFile *file = NULL;
        Hash own = unit_dir_inspect_file(d, e->name, &file);
        Template *t = e->template;
        const UnitFile *says;
        bool good;

        e->own_file = !hash_is_zero(&own);
        if (t && !e->own_file && unit_dir_vacant(d, e->name) < 0)
                good = false; // masked
        else
                good = hash_equal(e->own_file || !t ? &own : &t->spec, spec);
        says = e->own_file || !t ? file : t->file;
        e->failing = says ? says->failing : (FailingOptions){};
        unit_dir_links_free(e->links);
        if (unit_dir_links_of(says, e->name, &e->links) < 0)
                good = false;
        return unit_dir_links_are(d, e->name, e->links, &e->enabled) && good && (!t || t->dropin) &&
               (!needs_dropin(e, slice) || unit_dir_dropin_is(d, e->name, slice, &e->failing));
}

static void template_inspect(UnitDir *d, Template *t) {
        unit_file_free(t->file);
        t->spec = unit_dir_inspect_file(d, t->name, &t->file);
        t->dropin = unit_dir_dropin_is(d, t->name, NULL, NULL);
}

static void entry_learn(UnitDir *d, Entry *e, const Hash *spec, const char *slice) {
        bool good = entry_inspect(d, e, spec, slice);

        e->spec = good ? *spec : (Hash){};
        snprintf(e->slice, sizeof(e->slice), "%s", slice ?: "");
}

int unit_dir_adopt(UnitDir *d, const char *name, bool from_template, const Hash *spec, const char *slice) {
        Entry *e;
        int r;

        if (slice && !*slice)
                slice = NULL;
        r = name_check(name, from_template) ?: slice_check(slice);
        if (r < 0)
                return r;
        if (map_find_str(&d->entries, name))
                return -EEXIST;
        e = entry_new(d, name, from_template);
        if (!e)
                return -ENOMEM;
        if (e->template && hash_is_zero(&e->template->spec))
                template_inspect(d, e->template);
        entry_learn(d, e, spec, slice);
        return hash_is_zero(&e->spec);
}

int unit_dir_check(UnitDir *d, const char *name) {
        Entry *e = map_find_str(&d->entries, name);
        Hash spec;

        if (!e)
                return -ENOENT;
        if (hash_is_zero(&e->spec))
                return 1;
        if (e->template) {
                Hash before = e->template->spec;

                template_inspect(d, e->template);
                if (!hash_equal(&before,
                                &e->template->spec)) // not written by us: nobody who follows it is right
                        list_foreach (n, &e->template->instances) {
                                Entry *other = CONTAINER_OF(n, Entry, in_template);

                                if (other != e && !other->own_file)
                                        other->spec = (Hash){};
                        }
        }
        spec = e->spec;
        entry_learn(d, e, &spec, *e->slice ? e->slice : NULL);
        return hash_is_zero(&e->spec);
}

bool unit_dir_find(const UnitDir *d, const char *name, Hash *ret_spec) {
        const Entry *e = map_find_str(&d->entries, name);

        if (e && ret_spec)
                *ret_spec = e->spec;
        return e;
}

bool unit_dir_is_enabled(const UnitDir *d, const char *name) {
        const Entry *e = map_find_str(&d->entries, name);

        return e && e->enabled;
}

// ---- a batch. Each step goes over all items; an item that failed takes no further part.

static const char *item_slice(const UnitDirItem *item) {
        return item->slice && *item->slice ? item->slice : NULL;
}

static Entry *entry_of(UnitDir *d, const UnitDirItem *item) {
        Entry *e = item->error == 0 ? map_find_str(&d->entries, item->name) : NULL;

        return e && e->item == item ? e : NULL; // NULL also: has nothing to do
}

static bool is_write(const UnitDirItem *item) {
        return item->error == 0 && !item->remove;
}

// A unit may turn from or into an instance of its template.
static int entry_rehome(UnitDir *d, Entry *e, bool from_template) {
        Template *before = e->template;
        int r;

        r = from_template ? entry_find_template(d, e) : 0;
        if (r < 0 || !before == !from_template)
                return r;
        if (!from_template) {
                list_unlink(&e->in_template);
                e->template = NULL;
                if (list_is_empty(&before->instances))
                        e->left = before;
        }
        return 0;
}

// What the item's content asks for, and whether the aliases among that can be had.
static int begin_links(UnitDir *d, Entry *e) {
        const UnitDirItem *item = e->item;
        _cleanup_(unit_file_freep) UnitFile *file = unit_dir_parse(item->content, item->len, item->name);
        int r = unit_dir_links_of(file, item->name, &e->next_links);

        e->failing = file ? file->failing : (FailingOptions){};
        return r ?: unit_dir_links_vacant(d, item->name, e->next_links);
}

// All but links under units of the system's.
static bool is_in_place(const Entry *e, const UnitDirItem *item) {
        return !!e->template == item->from_template && hash_equal(&e->spec, &item->spec) &&
               streq(e->slice, item_slice(item) ?: "");
}

static int begin_write(UnitDir *d, UnitDirItem *item) {
        Entry *e = map_find_str(&d->entries, item->name);
        Template *t;
        int r;

        r = name_check(item->name, item->from_template) ?: slice_check(item_slice(item));
        if (r < 0)
                return r;
        if (e && e->item)
                return -EINVAL;
        if (e && is_in_place(e, item)) {
                if (!e->links || e->enabled == item->enable)
                        return 0;
                e->item = item;
                e->links_only = true;
                return begin_links(d, e);
        }
        r = e ? unit_dir_replaceable(d, item->name) : unit_dir_vacant(d, item->name);
        if (r < 0)
                return r;
        if (!e)
                e = entry_new(d, item->name, item->from_template);
        if (!e)
                return -ENOMEM;
        e->item = item;
        r = begin_links(d, e);
        if (r == 0)
                r = entry_rehome(d, e, item->from_template);
        t = e->template;
        if (r < 0 || !t)
                return r;
        if (hash_is_zero(&t->spec))
                r = unit_dir_vacant(d, t->name);
        if (r == 0 && !hash_equal(&t->spec, &item->spec))
                t->next = item;
        return r;
}

static int begin_remove(UnitDir *d, UnitDirItem *item) {
        Entry *e = map_find_str(&d->entries, item->name);

        if (e && e->item)
                return -EINVAL;
        if (e)
                e->item = item;
        return 0;
}

// Rewrites that do not touch the template's content still need the drop-ins that may be missing.
static int write_dropins(UnitDir *d, Entry *e) {
        Template *t = e->template;
        const char *slice = item_slice(e->item);
        int r;

        if (t && !t->dropin) {
                r = unit_dir_put_dropin(d, t->name, NULL, NULL);
                if (r < 0)
                        return r;
                t->dropin = true;
        }
        if (needs_dropin(e, slice))
                return unit_dir_put_dropin(d, e->name, slice, &e->failing);
        return 0; // one that is no longer wanted goes at the end
}

static int drop_old_links(UnitDir *d, Entry *e) {
        return unit_dir_links_drop(d, e->name, e->links, e->next_links, e->item);
}

static int put_links(UnitDir *d, Entry *e) {
        int r;

        unit_dir_links_free(e->links);
        e->links = TAKE_PTR(e->next_links);
        r = unit_dir_links_put(d, e->name, e->links, e->item->enable, e->item);
        if (r == 0)
                e->enabled = e->item->enable;
        return r;
}

// Whether the unit will follow the template's file once the batch is done.
static bool will_follow(const Entry *e) {
        const Template *t = e->template;

        return t && hash_equal(t->next ? &t->next->spec : &t->spec, &e->item->spec);
}

static int write_own_file(UnitDir *d, Entry *e) {
        int r;

        if (will_follow(e))
                return 0;
        r = unit_dir_put_file(d, e->name, e->item->content, e->item->len);
        if (r == 0)
                e->own_file = true;
        return r;
}

// Gives everyone who still runs the template's present content a file of their own, then replaces the
// template.
static int replace_template(UnitDir *d, Template *t) {
        int r = unit_dir_replaceable(d, t->name);

        if (r < 0)
                return r;
        list_foreach (n, &t->instances) {
                Entry *e = CONTAINER_OF(n, Entry, in_template);

                if (e->item || e->own_file || hash_is_zero(&e->spec))
                        continue;
                if (linkat(d->fd, t->name, d->fd, e->name, 0) < 0) {
                        if (errno != EEXIST)
                                return -errno;
                        e->spec = (Hash){}; // somebody has masked this one: the others do not wait for him
                        continue;
                }
                e->own_file = true;
                d->changed = true;
        }
        r = unit_dir_put_file(d, t->name, t->next->content, t->next->len);
        if (r < 0)
                return r;
        t->spec = t->next->spec;
        unit_file_free(t->file);
        t->file = unit_dir_parse(t->next->content, t->next->len, t->name);
        return 0;
}

static int write_template(UnitDir *d, Entry *e) {
        Template *t = e->template;

        if (!t || !will_follow(e))
                return 0;
        if (t->next && t->error == 0 && !hash_equal(&t->spec, &t->next->spec))
                t->error = replace_template(d, t);
        return t->error;
}

static int finish_write(UnitDir *d, Entry *e) {
        const char *slice = item_slice(e->item);
        int r = 0;

        if (e->own_file && will_follow(e)) {
                r = unit_dir_drop_file(d, e->name);
                e->own_file = r < 0;
        }
        if (r == 0 && !needs_dropin(e, slice))
                r = unit_dir_drop_dropin(d, e->name);
        if (r < 0)
                return r;
        e->spec = e->item->spec;
        e->own_file = e->own_file || !e->template;
        snprintf(e->slice, sizeof(e->slice), "%s", slice ?: "");
        return 0;
}

static int remove_template(UnitDir *d, Template *t) {
        int r = 0;

        if (!list_is_empty(&t->instances))
                return 0;
        if (!hash_is_zero(&t->spec))
                r = unit_dir_replaceable(d, t->name) ?: unit_dir_drop_file(d, t->name);
        if (r == -EEXIST) // somebody's mask: theirs
                r = 0;
        if (r == 0) // also what a crash left of it
                r = unit_dir_drop_dropin(d, t->name);
        if (r == 0) {
                t->spec = (Hash){};
                t->dropin = false;
        }
        return r;
}

static int remove_entry(UnitDir *d, Entry *e) {
        Template *t = e->template;
        int r = unit_dir_links_drop(d, e->name, e->links, NULL, e->item);

        if (r == 0)
                r = unit_dir_replaceable(d, e->name);
        if (r == 0)
                r = unit_dir_drop_file(d, e->name);
        if (r == 0 || r == -EEXIST)
                r = unit_dir_drop_dropin(d, e->name);
        if (r == 0 && t) {
                list_unlink(&e->in_template);
                r = remove_template(d, t);
                if (r < 0)
                        list_append(&t->instances, &e->in_template);
        }
        if (r < 0) {
                e->spec = (Hash){};
                e->item = NULL;
                return r;
        }
        entry_free(d, e);
        if (t)
                template_collect(d, t);
        return 0;
}

static void step(UnitDir *d, UnitDirItem *items, size_t n, int (*run)(UnitDir *, Entry *)) {
        for (size_t i = 0; i < n; i++) {
                Entry *e = is_write(&items[i]) ? entry_of(d, &items[i]) : NULL;

                if (e && (!e->links_only || run == put_links))
                        items[i].error = run(d, e);
        }
}

// What stays behind a failed write is ours, in a state that is not known: it is kept and written again, or
// removed, later. Only a unit that never got anything on the disk is forgotten.
static void end_item(UnitDir *d, UnitDirItem *item) {
        Entry *e = map_find_str(&d->entries, item->name);
        Template *t;

        if (!e || e->item != item)
                return;
        t = TAKE_PTR(e->left);
        if (t && remove_template(d, t) == 0)
                template_collect(d, t);
        t = e->template;
        if (t)
                t->next = NULL, t->error = 0;
        e->item = NULL;
        e->links_only = false;
        e->next_links = unit_dir_links_free(e->next_links);
        if (item->error == 0)
                return;
        if (item->error == -EEXIST && hash_is_zero(&e->spec) && !e->own_file) {
                (void) unit_dir_links_drop(d, e->name, e->links, NULL, item);
                (void) unit_dir_drop_dropin(d, e->name);
                entry_free(d, e);
                if (t && remove_template(d, t) == 0)
                        template_collect(d, t);
                return;
        }
        e->spec = (Hash){};
}

void unit_dir_apply(UnitDir *d, UnitDirItem *items, size_t n) {
        for (size_t i = 0; i < n; i++)
                items[i].error = items[i].remove ? begin_remove(d, &items[i]) : begin_write(d, &items[i]);
        step(d, items, n, write_dropins);
        step(d, items, n, drop_old_links);
        step(d, items, n, write_own_file);
        step(d, items, n, write_template);
        step(d, items, n, finish_write);
        step(d, items, n, put_links);
        for (size_t i = 0; i < n; i++) {
                Entry *e = items[i].remove ? entry_of(d, &items[i]) : NULL;

                if (e)
                        items[i].error = remove_entry(d, e);
        }
        for (size_t i = 0; i < n; i++)
                end_item(d, &items[i]);
        if (d->changed)
                unit_dir_advance_mtime(d);
}
