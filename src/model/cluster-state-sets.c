// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Which units belong to which set: a folder's name in their records. Found without a look at the others, and
// nothing is kept for a unit that belongs to none.
//
// A set is there as long as it has a unit. Follows from the records, so no image has it. -ENOMEM: the state
// is not used any more.

#include <errno.h>

#include "cluster-state-private.h"

typedef struct UnitSet {
        Map units; // name -> UnitEntry
        char name[];
} UnitSet;

static void set_free(void *p) {
        UnitSet *set = p;

        map_done(&set->units);
        free(set);
}

static UnitSet *need_set(ClusterState *s, const char *name) {
        return map_find_str(&s->sets, name) ?: MAP_NEW_STR(&s->sets, UnitSet, name, name);
}

int state_join_set(ClusterState *s, UnitEntry *u) {
        UnitSet *set;

        if (!*u->record->set)
                return 0;
        set = need_set(s, u->record->set);
        return set ? map_add_str(&set->units, u->record->name, u) : -ENOMEM;
}

void state_leave_set(ClusterState *s, const UnitEntry *u) {
        UnitSet *set = *u->record->set ? map_find_str(&s->sets, u->record->set) : NULL;

        if (!set)
                return;
        map_take_str(&set->units, u->record->name);
        if (set->units.count > 0)
                return;
        map_take_str(&s->sets, set->name);
        set_free(set);
}

void state_sets_done(ClusterState *s) {
        map_done_with(&s->sets, set_free);
}

const Map *cluster_state_units_of_set(const ClusterState *s, const char *name) {
        const UnitSet *set = map_find_str(&s->sets, name);

        return set ? &set->units : NULL;
}

uint64_t cluster_state_left_revision(const ClusterState *s) {
        return s->left_revision;
}
