// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What is ours: entries, the templates that they follow, the slices that they are in. An entry is small, and
// has an EntryMore while there is more to say (unit-dir-private.h). What cannot be noted is -ENOMEM, and the
// entry stays as it was; which of its files are right is not known any more when its content is forgotten.

#include <errno.h>

#include "array.h"
#include "unit-dir-private.h"
#include "unit-name.h"

static void more_free(EntryMore *more) {
        if (!more)
                return;
        unit_dir_links_free(more->links);
        unit_dir_links_free(more->next_links);
        free(more);
}

void entry_done(UnitDir *d, Entry *e) {
        more_free(e->more);
        slab_free(&d->slab, e, SIZE_WITH_NAME(Entry, strlen(e->name)));
}

void template_done(void *p) {
        unit_file_free(((Template *) p)->file);
        free(p);
}

EntryMore *entry_more(Entry *e) {
        if (!e->more)
                e->more = calloc(1, sizeof(*e->more));
        return e->more;
}

// Drops what says nothing.
void entry_settle(Entry *e) {
        EntryMore *m = e->more;

        if (!m || m->item || m->links || (!e->follows && !hash_is_zero(&m->spec)))
                return;
        more_free(m);
        e->more = NULL;
}

const Hash *entry_spec(const Entry *e) {
        static const Hash unknown;

        if (e->follows)
                return &e->template->spec;
        return e->more ? &e->more->spec : &unknown;
}

bool entry_is_unknown(const Entry *e) {
        return hash_is_zero(entry_spec(e));
}

// Zero: its files are not what they should be; that never fails.
int entry_set_spec(Entry *e, const Hash *spec) {
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

void entry_forget_spec(Entry *e) {
        (void) entry_set_spec(e, &(Hash){});
}

const UnitInstall *entry_links(const Entry *e) {
        return e->more ? e->more->links : NULL;
}

const UnitDirItem *entry_item(const Entry *e) {
        return e->more ? e->more->item : NULL;
}

// NULL: none of ours.
const char *entry_slice(const UnitDir *d, const Entry *e) {
        return e->slice ? d->slices[e->slice - 1] : NULL;
}

int entry_set_slice(UnitDir *d, Entry *e, const char *slice) {
        size_t i = 0;

        while (slice && i < d->n_slices && !streq(d->slices[i], slice))
                i++;
        if (slice && i == d->n_slices) {
                if (i == UINT16_MAX || ARRAY_RESERVE(d->slices, i + 1) < 0)
                        return -ENOMEM;
                d->slices[i] = strdup(slice);
                if (!d->slices[i])
                        return -ENOMEM;
                d->n_slices++;
        }
        e->slice = slice ? (uint16_t) (i + 1) : 0;
        return 0;
}

static Template *template_new(UnitDir *d, const char *name) {
        Template *t = MAP_NEW_STR(&d->templates, Template, name, name);

        if (t)
                list_init(&t->instances);
        return t;
}

int entry_find_template(UnitDir *d, Entry *e) {
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

Entry *entry_new(UnitDir *d, const char *name, bool from_template) {
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

void entry_free(UnitDir *d, Entry *e) {
        list_unlink(&e->in_template);
        name_table_take(&d->entries, e->name);
        entry_done(d, e);
}

void template_collect(UnitDir *d, Template *t) {
        if (!list_is_empty(&t->instances))
                return;
        map_take_str(&d->templates, t->name);
        template_done(t);
}

int entry_check_name(const char *name, bool from_template) {
        switch (unit_name_kind(name, NULL)) {
        case UNIT_NAME_PLAIN:
                return from_template ? -EINVAL : 0;
        case UNIT_NAME_INSTANCE:
                return 0;
        default:
                return -EINVAL;
        }
}

int entry_check_slice(const char *slice) {
        return slice && (strlen(slice) >= UNIT_DIR_SLICE_SIZE || strpbrk(slice, " \t\r\n%\\\"'")) ? -EINVAL
                                                                                                  : 0;
}

// What is true for all instances is in the template's.
bool entry_needs_dropin(const Entry *e, const char *slice, const FailingOptions *failing,
                        const char *secrets) {
        return !e->template || slice || failing->cut_off_stop || secrets;
}
