// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The units of the replicated state: by name, by where they are placed, sorted, and those that are dirty.
// How the next record of a unit comes out of the one before is in cluster-state-records.c.
//
// A unit stands in all of its tables or, after state_take_unit(), in none but the dirty list, from which the
// leader takes the last of it. -ENOMEM: the state is not used any more.

#include "cluster-state-private.h"

#include <errno.h>

#include "array.h"
#include "message.h"
#include "str.h"

// ------------------------------------------------------------------------------------------------ units

void state_free_unit(ClusterState *s, UnitEntry *u) {
        state_retire_record(s, u->record);
        state_retire(s, u, sizeof *u + strlen(u->name) + 1);
}

int state_note_dirty(ClusterState *s, UnitEntry *u) {
        if (ARRAY_GROW(s->dirty, s->dirty_allocated, s->n_dirty + 1) < 0)
                return -ENOMEM;
        s->dirty[s->n_dirty++] = u;
        u->dirty = true;
        return 0;
}

static int link_placed(ClusterState *s, UnitEntry *u) {
        NodeIndex *n;

        if (u->record->global) {
                list_append(&s->globals, &u->placed);
                s->n_globals++;
        } else if (u->record->node > 0) {
                n = state_need_node(s, u->record->node);
                if (!n)
                        return -ENOMEM;
                list_append(&n->units, &u->placed);
                n->n_units++;
        }
        return 0;
}

static void unlink_placed(ClusterState *s, UnitEntry *u) {
        if (!list_is_linked(&u->placed))
                return;
        list_unlink(&u->placed);
        if (u->record->global) {
                s->n_globals--;
        } else {
                NodeIndex *n = state_find_node(s, u->record->node);

                n->n_units--;
                state_drop_unused_node(s, n);
        }
}

static int link_unit(ClusterState *s, UnitEntry *u, SpecEntry *spec) {
        uint32_t number = 0;
        int r = name_table_add(&s->units, u);

        if (r < 0)
                return r;
        r = unit_order_add(&s->by_name, u);
        if (r < 0) {
                name_table_take(&s->units, u->name);
                return r;
        }
        r = link_placed(s, u);
        if (r == 0)
                r = state_join_set(s, u);
        if (r == 0)
                r = paged_table_add(&s->unit_records, &u->record, &number);
        if (r < 0) {
                unlink_placed(s, u);
                state_leave_set(s, u);
                unit_order_remove(&s->by_name, u);
                name_table_take(&s->units, u->name);
                return r;
        }
        u->number = number;
        return 0;
}

int state_add_unit(ClusterState *s, Argosy__UnitRecord *record, SpecEntry *spec, UnitEntry **ret) {
        UnitEntry *u = NEW_WITH_TEXT(UnitEntry, name, record->name);
        int r;

        if (!u)
                return -ENOMEM;
        free(record->name);
        record->name = u->name;
        u->record = record;
        list_init(&u->placed);
        r = state_use_spec(s, spec);
        if (r == 0)
                r = link_unit(s, u, spec);
        if (r < 0) {
                record->name = NULL;
                free(u);
                return r;
        }
        state_share_hash(record, spec);
        u->spec = spec;
        *ret = u;
        return 0;
}

int state_replace_unit(ClusterState *s, UnitEntry *u, Argosy__UnitRecord *record, bool inherit,
                       SpecEntry *spec) {
        Argosy__UnitRecord *before = u->record;
        bool moves = !streq(before->set, record->set);
        int r = paged_table_set(&s->unit_records, u->number, &record);

        if (r < 0) {
                message_free(record);
                return r;
        }
        unlink_placed(s, u);
        if (moves)
                state_leave_set(s, u);
        if (moves && *before->set)
                s->left_revision = record->revision;
        record->name = u->name;
        state_share_hash(record, spec);
        if (inherit) {
                record->outcomes = before->outcomes;
                record->n_outcomes = before->n_outcomes;
        } else {
                state_retire_outcomes(s, before);
        }
        u->record = record;
        state_retire_body(s, before);
        r = state_use_spec(s, spec); // first, in case it is the same
        state_unuse_spec(s, u->spec);
        u->spec = spec;
        if (r == 0 && moves)
                r = state_join_set(s, u);
        return r < 0 ? r : link_placed(s, u);
}

int state_take_unit(ClusterState *s, UnitEntry *u) {
        int r = paged_table_remove(&s->unit_records, u->number);

        if (r < 0)
                return r;
        unlink_placed(s, u);
        state_leave_set(s, u);
        s->left_revision = s->revision;
        if (s->walk == u)
                (void) cluster_state_walk_next(s);
        unit_order_remove(&s->by_name, u);
        name_table_take(&s->units, u->name);
        state_unuse_spec(s, u->spec);
        u->spec = NULL;
        return 0;
}

UnitEntry *cluster_state_find_unit(const ClusterState *s, const char *name) {
        return name_table_find(&s->units, name);
}

size_t cluster_state_n_units(const ClusterState *s) {
        return s->units.count;
}

NameKey name_key(const char *name, void *thing) {
        NameKey key = {.name = name, .thing = thing};

        memcpy(key.head, name, strnlen(name, sizeof key.head));
        return key;
}

static int key_compare(const void *a, const void *b) {
        const NameKey *x = a, *y = b;
        int r = memcmp(x->head, y->head, sizeof x->head);

        return r ? r : strcmp(x->name, y->name);
}

void name_keys_sort(NameKey *keys, size_t n) {
        qsort(keys, n, sizeof *keys, key_compare);
}

int cluster_state_each_unit(const ClusterState *s, const char *prefix, UnitEntryEach each, void *userdata) {
        return unit_order_each(&s->by_name, prefix, each, userdata);
}

UnitEntry *cluster_state_next_unit(const ClusterState *s, const char *name) {
        return unit_order_next(&s->by_name, name);
}

void cluster_state_walk_begin(ClusterState *s) {
        s->walk_place = (UnitPlace){};
        s->walk = unit_order_next(&s->by_name, "");
}

UnitEntry *cluster_state_walk_next(ClusterState *s) {
        UnitEntry *u = s->walk;

        if (u)
                s->walk = unit_order_behind(&s->by_name, u, &s->walk_place);
        return u;
}

// ---------------------------------------------------------------------------------------------- dirty units

UnitEntry *cluster_state_next_dirty(ClusterState *s) {
        while (s->n_dirty_taken < s->n_dirty) {
                UnitEntry *u = s->dirty[s->n_dirty_taken++];

                u->dirty = false;
                if (!u->removed || u->existed)
                        return u;
                state_free_unit(s, u); // it came and went, and nobody has seen it
        }
        free(s->dirty);
        s->dirty = NULL;
        s->n_dirty = s->n_dirty_taken = s->dirty_allocated = 0;
        return NULL;
}

void cluster_state_dirty_done(ClusterState *s, UnitEntry *u) {
        if (u->removed)
                state_free_unit(s, u);
}

void cluster_state_drop_dirty(ClusterState *s) {
        UnitEntry *u;

        while (cluster_state_next_tombstone(s))
                continue;
        while (cluster_state_next_dirty_host(s))
                continue;
        while (cluster_state_next_job(s))
                continue;
        while (cluster_state_next_ended_job(s) > 0)
                continue;
        while ((u = cluster_state_next_dirty(s)))
                cluster_state_dirty_done(s, u);
}
