// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A batch: what is to be written is looked at first (begin_*()), then files, links and drop-ins are written,
// and what is to go is removed, in the order that the public header says. Each step goes over all items; an
// item that failed takes no further part. At the end the directory's time is advanced.

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "quadlet.h"
#include "unit-dir-private.h"
#include "unit-dropin.h"
#include "unit-pin.h"

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
        if (r == 0 && file)
                r = unit_dropin_secrets(file, item->name, &m->secrets);
        return r ?: unit_dir_links_foreign(d, item->name, m->next_links) ? -EEXIST : 0;
}

static int may_stand_there(UnitDir *d, const Entry *e, const char *name) {
        if (unit_dir_is_left_behind(d, name))
                return 0;
        return e ? unit_dir_replaceable(d, name) : unit_dir_vacant(d, name);
}

// All but links under units of the system's.
static bool is_in_place(const UnitDir *d, const Entry *e, const UnitDirItem *item) {
        return !!e->template == item->from_template && hash_equal(entry_spec(e), &item->spec) &&
               streq(entry_slice(d, e) ?: "", item_slice(item) ?: "");
}

// Nor is what stands beside it another unit's by now.
static bool has_own_beside(const UnitDir *d, const Entry *e, const UnitDirItem *item) {
        const char *name = e->own_file || !e->template ? e->name : e->template->name;

        return !item->beside_again || item->made_len == 0 || unit_dir_is_beside(d, name, item);
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
        e->more->takes = unit_dir_is_left_behind(d, e->name);
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

        r = entry_check_name(item->name, item->from_template) ?: entry_check_slice(item_slice(item));
        if (r < 0)
                return r;
        if (e && entry_item(e))
                return -EINVAL;
        if (e && is_in_place(d, e, item) && has_own_beside(d, e, item))
                return begin_links_only(d, e, item);
        if (quadlet_is(item->content, item->len)) // systemd would see nothing in it
                return -ESTALE;
        r = may_stand_there(d, e, item->name);
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
                r = unit_dir_put_dropin(d, t->name, NULL, NULL, NULL);
                if (r < 0)
                        return r;
                t->dropin = true;
        }
        if (entry_needs_dropin(e, slice, &e->more->failing, e->more->secrets))
                return unit_dir_put_dropin(d, e->name, slice, &e->more->failing, e->more->secrets);
        return 0; // one that is no longer wanted goes at the end
}

static int drop_old_links(UnitDir *d, Entry *e) {
        EntryMore *m = e->more;
        int r = m->takes ? unit_dir_drop_left(d, e->name, m->item) : 0;

        return r ?: unit_dir_links_drop(d, e->name, m->links, m->next_links, m->item);
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

        if (will_follow(e)) // the template's file is not written, and what stands beside it may be another's
                return e->template->next || e->more->item->made_len == 0
                               ? 0
                               : unit_dir_put_beside(d, e->template->name, e->more->item);
        r = unit_dir_put_beside(d, e->name, e->more->item);
        if (r == 0)
                r = unit_dir_put_content(d, e->name,
                                         !e->own_file && e->template ? e->template->name : e->name,
                                         e->more->item->content, e->more->item->len);
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
                        entry_forget_spec(e); // this one was masked by somebody: the others do not wait
                        continue;
                }
                r = unit_dir_copy_beside(d, e->name, t->name);
                if (r < 0)
                        return r;
                d->changed = e->own_file = true;
                if (entry_set_spec(e, &t->spec) < 0)
                        entry_forget_spec(e);
        }
        r = unit_dir_put_beside(d, t->name, t->next);
        if (r == 0)
                r = unit_dir_put_content(d, t->name, t->name, t->next->content, t->next->len);
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

        if ((e->own_file || e->more->takes) && will_follow(e)) {
                r = unit_dir_drop_unit(d, e->name);
                e->own_file = e->own_file && r < 0;
        }
        if (r == 0 && !entry_needs_dropin(e, slice, &e->more->failing, e->more->secrets))
                r = unit_dir_drop_dropin(d, e->name);
        if (r == 0)
                r = entry_set_slice(d, e, slice);
        if (r < 0)
                return r;
        e->own_file = e->own_file || !e->template;
        return entry_set_spec(e, &item->spec);
}

int unit_dir_remove_template(UnitDir *d, Template *t) {
        int r = 0;

        if (!list_is_empty(&t->instances))
                return 0;
        if (!hash_is_zero(&t->spec))
                r = unit_dir_replaceable(d, t->name) ?: unit_dir_drop_unit(d, t->name);
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
                r = unit_dir_drop_unit(d, e->name);
        if (r == 0 || r == -EEXIST)
                r = unit_dir_drop_dropin(d, e->name);
        if (r == 0 && t) {
                list_unlink(&e->in_template);
                r = unit_dir_remove_template(d, t);
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
        if (t && unit_dir_remove_template(d, t) == 0)
                template_collect(d, t);
        t = e->template;
        if (t)
                t->next = NULL, t->error = 0;
        m->item = NULL;
        m->links_only = m->takes = false;
        free(TAKE_PTR(m->secrets));
        m->next_links = unit_dir_links_free(m->next_links);
        if (item->error == -EEXIST && entry_is_unknown(e) && !e->own_file) {
                (void) unit_dir_links_drop(d, e->name, m->links, NULL, item);
                (void) unit_dir_drop_dropin(d, e->name);
                entry_free(d, e);
                if (t && unit_dir_remove_template(d, t) == 0)
                        template_collect(d, t);
                return;
        }
        if (item->error < 0)
                entry_forget_spec(e);
        entry_settle(e);
}

// A one-shot without a pin runs all the same: its start finds that there is none.
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
