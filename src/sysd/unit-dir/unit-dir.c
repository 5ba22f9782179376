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
#include "unit-pin.h"

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

static void more_free(EntryMore *more) {
        if (!more)
                return;
        unit_dir_links_free(more->links);
        unit_dir_links_free(more->next_links);
        free(more);
}

static void entry_done(UnitDir *d, Entry *e) {
        more_free(e->more);
        slab_free(&d->slab, e, SIZE_WITH_NAME(Entry, strlen(e->name)));
}

static void template_done(void *p) {
        unit_file_free(((Template *) p)->file);
        free(p);
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
        free(d->path);
        free(d);
        return NULL;
}

// ---- entries and templates

static EntryMore *entry_more(Entry *e) {
        if (!e->more)
                e->more = calloc(1, sizeof(*e->more));
        return e->more;
}

// Drops what says nothing.
static void entry_settle(Entry *e) {
        EntryMore *m = e->more;

        if (!m || m->item || m->links || (!e->follows && !hash_is_zero(&m->spec)))
                return;
        more_free(m);
        e->more = NULL;
}

static const Hash *entry_spec(const Entry *e) {
        static const Hash unknown;

        if (e->follows)
                return &e->template->spec;
        return e->more ? &e->more->spec : &unknown;
}

static bool is_unknown(const Entry *e) {
        return hash_is_zero(entry_spec(e));
}

// Zero: its files are not what they should be; that never fails.
static int entry_set_spec(Entry *e, const Hash *spec) {
        EntryMore *m;

        e->follows =
                e->template && !e->own_file && !hash_is_zero(spec) && hash_equal(&e->template->spec, spec);
        if (e->follows)
                return 0;
        m = hash_is_zero(spec) ? e->more : entry_more(e);
        if (m)
                m->spec = *spec;
        return m || hash_is_zero(spec) ? 0 : -ENOMEM;
}

static void entry_forget_spec(Entry *e) {
        (void) entry_set_spec(e, &(Hash){});
}

static const UnitInstall *entry_links(const Entry *e) {
        return e->more ? e->more->links : NULL;
}

static const UnitDirItem *entry_item(const Entry *e) {
        return e->more ? e->more->item : NULL;
}

// NULL: none of ours.
static const char *entry_slice(const UnitDir *d, const Entry *e) {
        return e->slice ? d->slices[e->slice - 1] : NULL;
}

static int entry_set_slice(UnitDir *d, Entry *e, const char *slice) {
        char **more;
        size_t i = 0;

        while (slice && i < d->n_slices && !streq(d->slices[i], slice))
                i++;
        if (slice && i == d->n_slices) {
                more = i < UINT16_MAX ? realloc(d->slices, (i + 1) * sizeof(*more)) : NULL;
                if (!more)
                        return -ENOMEM;
                d->slices = more;
                d->slices[i] = strdup(slice);
                if (!d->slices[i])
                        return -ENOMEM;
                d->n_slices++;
        }
        e->slice = slice ? (uint16_t) (i + 1) : 0;
        return 0;
}

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
        Entry *e = slab_alloc(&d->slab, SIZE_WITH_NAME(Entry, strlen(name)));

        if (!e)
                return NULL;
        list_init(&e->in_template);
        strcpy(e->name, name);
        if ((from_template && entry_find_template(d, e) < 0) || name_table_add(&d->entries, e) < 0) {
                list_unlink(&e->in_template);
                entry_done(d, e);
                return NULL;
        }
        return e;
}

static void entry_free(UnitDir *d, Entry *e) {
        list_unlink(&e->in_template);
        name_table_take(&d->entries, e->name);
        entry_done(d, e);
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
static bool needs_dropin(const Entry *e, const char *slice, const FailingOptions *failing) {
        return !e->template || slice || failing->cut_off_stop;
}

static int entry_inspect_links(UnitDir *d, Entry *e, const UnitFile *says, bool *ret_complete) {
        UnitInstall *links;
        bool enabled;
        int r = unit_dir_links_of(says, e->name, &links);

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

// Reads the entry's own file and drop-in and looks for its links; believes the template. True: all is as
// `spec` and `slice` want it.
static bool entry_inspect(UnitDir *d, Entry *e, const Hash *spec, const char *slice) {
        _cleanup_(unit_file_freep) UnitFile *file = NULL;
        Hash own = unit_dir_inspect_file(d, e->name, &file);
        FailingOptions failing = {};
        Template *t = e->template;
        const UnitFile *says;
        bool good, complete;

        e->own_file = !hash_is_zero(&own);
        if (t && !e->own_file && unit_dir_vacant(d, e->name) < 0)
                good = false; // masked
        else
                good = hash_equal(e->own_file || !t ? &own : &t->spec, spec);
        says = e->own_file || !t ? file : t->file;
        if (says)
                failing = says->failing;
        return entry_inspect_links(d, e, says, &complete) == 0 && complete && good && (!t || t->dropin) &&
               (!needs_dropin(e, slice, &failing) || unit_dir_dropin_is(d, e->name, slice, &failing));
}

static void template_inspect(UnitDir *d, Template *t) {
        unit_file_free(t->file);
        t->spec = unit_dir_inspect_file(d, t->name, &t->file);
        t->dropin = unit_dir_dropin_is(d, t->name, NULL, NULL);
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
        r = name_check(name, from_template) ?: slice_check(slice);
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
        return is_unknown(e);
}

// The template's file is not what it was, and not by us: nobody who follows it is right.
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
        if (is_unknown(e))
                return 1;
        spec = *entry_spec(e);
        if (e->template) {
                Hash before = e->template->spec;

                template_inspect(d, e->template);
                if (!hash_equal(&before, &e->template->spec))
                        template_lost(e->template);
        }
        entry_learn(d, e, &spec, entry_slice(d, e));
        return is_unknown(e);
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

// ---- a batch. Each step goes over all items; an item that failed takes no further part.

static const char *item_slice(const UnitDirItem *item) {
        return item->slice && *item->slice ? item->slice : NULL;
}

static Entry *entry_of(UnitDir *d, const UnitDirItem *item) {
        Entry *e = item->error == 0 ? name_table_find(&d->entries, item->name) : NULL;

        return e && entry_item(e) == item ? e : NULL; // NULL also: has nothing to do
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
                        e->more->left = before;
        }
        return 0;
}

// What the item's content asks for, and whether the aliases among that can be had.
static int begin_links(UnitDir *d, Entry *e) {
        EntryMore *m = e->more;
        const UnitDirItem *item = m->item;
        _cleanup_(unit_file_freep) UnitFile *file = unit_dir_parse(item->content, item->len, item->name);
        int r = unit_dir_links_of(file, item->name, &m->next_links);

        m->failing = file ? file->failing : (FailingOptions){};
        return r ?: unit_dir_links_vacant(d, item->name, m->next_links);
}

// All but links under units of the system's.
static bool is_in_place(const UnitDir *d, const Entry *e, const UnitDirItem *item) {
        return !!e->template == item->from_template && hash_equal(entry_spec(e), &item->spec) &&
               streq(entry_slice(d, e) ?: "", item_slice(item) ?: "");
}

// The item is this entry's until end_item().
static int entry_take_item(Entry *e, UnitDirItem *item) {
        if (!entry_more(e))
                return -ENOMEM;
        e->more->item = item;
        return 0;
}

// All of it is written: while that is under way it follows nobody.
static int begin_content(UnitDir *d, Entry *e) {
        e->more->spec = *entry_spec(e);
        e->follows = false;
        return begin_links(d, e) ?: entry_rehome(d, e, e->more->item->from_template);
}

static int begin_links_only(UnitDir *d, Entry *e, UnitDirItem *item) {
        int r;

        if (!entry_links(e) || e->enabled == item->enable)
                return 0;
        r = entry_take_item(e, item);
        if (r < 0)
                return r;
        e->more->links_only = true;
        return begin_links(d, e);
}

// With room for the item, so that nothing fails before end_item() looks after it.
static Entry *entry_new_to_write(UnitDir *d, const UnitDirItem *item) {
        Entry *e = entry_new(d, item->name, item->from_template);

        if (e && !entry_more(e)) {
                entry_free(d, e);
                return NULL;
        }
        return e;
}

static int begin_write(UnitDir *d, UnitDirItem *item) {
        Entry *e = name_table_find(&d->entries, item->name);
        Template *t;
        int r;

        r = name_check(item->name, item->from_template) ?: slice_check(item_slice(item));
        if (r < 0)
                return r;
        if (e && entry_item(e))
                return -EINVAL;
        if (e && is_in_place(d, e, item))
                return begin_links_only(d, e, item);
        r = e ? unit_dir_replaceable(d, item->name) : unit_dir_vacant(d, item->name);
        if (r < 0)
                return r;
        if (!e)
                e = entry_new_to_write(d, item);
        if (!e)
                return -ENOMEM;
        r = entry_take_item(e, item) ?: begin_content(d, e);
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
        Entry *e = name_table_find(&d->entries, item->name);

        if (!e)
                return 0;
        return entry_item(e) ? -EINVAL : entry_take_item(e, item);
}

// Rewrites that do not touch the template's content still need the drop-ins that may be missing.
static int write_dropins(UnitDir *d, Entry *e) {
        Template *t = e->template;
        const char *slice = item_slice(e->more->item);
        int r;

        if (t && !t->dropin) {
                r = unit_dir_put_dropin(d, t->name, NULL, NULL);
                if (r < 0)
                        return r;
                t->dropin = true;
        }
        if (needs_dropin(e, slice, &e->more->failing))
                return unit_dir_put_dropin(d, e->name, slice, &e->more->failing);
        return 0; // one that is no longer wanted goes at the end
}

static int drop_old_links(UnitDir *d, Entry *e) {
        EntryMore *m = e->more;

        return unit_dir_links_drop(d, e->name, m->links, m->next_links, m->item);
}

static int put_links(UnitDir *d, Entry *e) {
        EntryMore *m = e->more;
        int r;

        unit_dir_links_free(m->links);
        m->links = TAKE_PTR(m->next_links);
        r = unit_dir_links_put(d, e->name, m->links, m->item->enable, m->item);
        if (r == 0)
                e->enabled = m->item->enable;
        return r;
}

// Whether the unit will follow the template's file once the batch is done.
static bool will_follow(const Entry *e) {
        const Template *t = e->template;

        return t && hash_equal(t->next ? &t->next->spec : &t->spec, &e->more->item->spec);
}

static int write_own_file(UnitDir *d, Entry *e) {
        int r;

        if (will_follow(e))
                return 0;
        r = unit_dir_put_file(d, e->name, e->more->item->content, e->more->item->len);
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

                if (!e->follows)
                        continue;
                if (linkat(d->fd, t->name, d->fd, e->name, 0) < 0) {
                        if (errno != EEXIST)
                                return -errno;
                        entry_forget_spec(e); // somebody has masked this one: the others do not wait for him
                        continue;
                }
                d->changed = e->own_file = true;
                if (entry_set_spec(e, &t->spec) < 0)
                        entry_forget_spec(e);
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
        const UnitDirItem *item = e->more->item;
        const char *slice = item_slice(item);
        int r = 0;

        if (e->own_file && will_follow(e)) {
                r = unit_dir_drop_file(d, e->name);
                e->own_file = r < 0;
        }
        if (r == 0 && !needs_dropin(e, slice, &e->more->failing))
                r = unit_dir_drop_dropin(d, e->name);
        if (r == 0)
                r = entry_set_slice(d, e, slice);
        if (r < 0)
                return r;
        e->own_file = e->own_file || !e->template;
        return entry_set_spec(e, &item->spec);
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
        int r = unit_dir_links_drop(d, e->name, e->more->links, NULL, e->more->item);

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
        if (r < 0)
                return r; // end_item() does the rest
        entry_free(d, e);
        if (t)
                template_collect(d, t);
        return 0;
}

static void step(UnitDir *d, UnitDirItem *items, size_t n, int (*run)(UnitDir *, Entry *)) {
        for (size_t i = 0; i < n; i++) {
                Entry *e = is_write(&items[i]) ? entry_of(d, &items[i]) : NULL;

                if (e && (!e->more->links_only || run == put_links))
                        items[i].error = run(d, e);
        }
}

// What stays behind a failed write is ours, in a state that is not known: it is kept and written again, or
// removed, later. Only a unit that never got anything on the disk is forgotten.
static void end_item(UnitDir *d, UnitDirItem *item) {
        Entry *e = name_table_find(&d->entries, item->name);
        EntryMore *m;
        Template *t;

        if (!e || entry_item(e) != item)
                return;
        m = e->more;
        t = TAKE_PTR(m->left);
        if (t && remove_template(d, t) == 0)
                template_collect(d, t);
        t = e->template;
        if (t)
                t->next = NULL, t->error = 0;
        m->item = NULL;
        m->links_only = false;
        m->next_links = unit_dir_links_free(m->next_links);
        if (item->error == -EEXIST && is_unknown(e) && !e->own_file) {
                (void) unit_dir_links_drop(d, e->name, m->links, NULL, item);
                (void) unit_dir_drop_dropin(d, e->name);
                entry_free(d, e);
                if (t && remove_template(d, t) == 0)
                        template_collect(d, t);
                return;
        }
        if (item->error < 0)
                entry_forget_spec(e);
        entry_settle(e);
}

// Without it a one-shot is run all the same: whoever starts it will see that there is none.
static void put_pin(UnitDir *d, const UnitDirItem *items, size_t n) {
        for (size_t i = 0; i < n && !d->has_pin; i++)
                if (!items[i].remove && unit_pin_is_due(items[i].content, items[i].len))
                        (void) unit_dir_put_pin(d);
}

void unit_dir_apply(UnitDir *d, UnitDirItem *items, size_t n) {
        put_pin(d, items, n);
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
        if (d->entries.count == 0)
                unit_dir_drop_pin(d);
        if (d->changed)
                unit_dir_advance_mtime(d);
}
