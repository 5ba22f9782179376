// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Roles in the Placement, as the log's records are; and what a role uses, in rows and sentences.
//
//      scheduler_on_roles(): the records' revision has changed -> scheduler_sync_roles()
//          -> units find theirs by name
//
// A role without a record that units still name stays, with no settings. Failures: -ENOMEM; -ENOSPC: too
// many resources.

#include <errno.h>
#include <inttypes.h>

#include "due.h"
#include "response.h"
#include "scheduler-nodes.h"
#include "scheduler-roles.h"
#include "scheduler-tables.h"
#include "str.h"
#include "tables.h"
#include "unit-file.h"

static SchedulerRole *role_find(const SchedulerTables *t, const char *name) {
        return map_find_str(&t->roles, name);
}

// The resource's number. A new one makes all nodes due, as what they offer of it is not known yet.
static int resource_of(Leader *l, const char *name) {
        bool new = false;
        int r = placement_resource(l->places->placement, name, &new);

        if (new)
                scheduler_mark_labels(l);
        return r;
}

static int amounts(Leader *l, Argosy__Amount *const *from, size_t n, int64_t to[static 1]) {
        for (size_t i = 0; i < n; i++) {
                int resource = resource_of(l, from[i]->resource);

                if (resource < 0)
                        return resource;
                to[resource] = (int64_t) MIN_OF(from[i]->amount, (uint64_t) INT64_MAX);
        }
        return 0;
}

// `record` NULL: the settings of a role without a record.
static int settings_of(Leader *l, const Argosy__RoleRecord *record, PlacementRole *ret) {
        int r;

        *ret = (PlacementRole){.weight = 1};
        for (size_t i = 0; i < PLACEMENT_RESOURCES_MAX; i++)
                ret->limit[i] = -1;
        if (!record)
                return 0;
        ret->weight = MAX_OF(record->weight, 1U);
        r = amounts(l, record->guarantee, record->n_guarantee, ret->guarantee);
        return r < 0 ? r : amounts(l, record->limit, record->n_limit, ret->limit);
}

static int role_put(Leader *l, const char *name, const Argosy__RoleRecord *record) {
        SchedulerTables *t = l->places;
        SchedulerRole *role = role_find(t, name);
        PlacementRole settings;
        int r = settings_of(l, record, &settings);

        if (r < 0)
                return r;
        if (role) {
                placement_role_set(t->placement, role->number, &settings);
                return 0;
        }
        role = malloc(sizeof *role + strlen(name) + 1);
        if (!role)
                return -ENOMEM;
        strcpy(role->name, name);
        r = placement_role_add(t->placement, &settings, &role->number);
        if (r >= 0)
                r = map_add_str(&t->roles, role->name, role);
        if (r < 0)
                free(role);
        return r;
}

static int role_drop(Leader *l, SchedulerRole *role) {
        SchedulerTables *t = l->places;
        PlacementRoleUse use;

        placement_role_use(t->placement, role->number, &use);
        if (use.units > 0)
                return role_put(l, role->name, NULL);
        map_take_str(&t->roles, role->name);
        placement_role_remove(t->placement, role->number);
        free(role);
        return 0;
}

int scheduler_sync_roles(Leader *l) {
        SchedulerTables *t = l->places;
        size_t n;
        Argosy__RoleRecord *const *records = cluster_state_roles(l->state, &n);
        int r = role_put(l, ROLE_DEFAULT, cluster_state_find_role(l->state, ROLE_DEFAULT));

        for (size_t i = 0; i < n && r >= 0; i++)
                r = role_put(l, records[i]->name, records[i]);
        map_foreach (slot, &t->roles) {
                SchedulerRole *role = slot->value;

                if (r >= 0 && !streq(role->name, ROLE_DEFAULT) &&
                    !cluster_state_find_role(l->state, role->name))
                        r = role_drop(l, role);
        }
        if (r < 0)
                return r;
        t->role = role_find(t, ROLE_DEFAULT)->number;
        t->roles_revision = cluster_state_roles_revision(l->state);
        return 0;
}

int scheduler_on_roles(Leader *l) {
        if (!l->places || l->places->roles_revision == cluster_state_roles_revision(l->state))
                return 0;
        leader_set_due(l, DUE_PLACEMENT); // waiting units may have room now
        return scheduler_sync_roles(l);
}

void scheduler_roles_done(SchedulerTables *t) {
        map_done_with(&t->roles, free);
}

uint32_t scheduler_role_of(const SchedulerTables *t, const UnitOptions *options) {
        const SchedulerRole *role = options->role ? role_find(t, options->role) : NULL;

        return role ? role->number : t->role;
}

static const char *scheduler_role_name(const SchedulerTables *t, uint32_t number) {
        map_foreach (slot, &t->roles)
                if (((SchedulerRole *) slot->value)->number == number)
                        return ((SchedulerRole *) slot->value)->name;
        return ROLE_DEFAULT;
}

// --------------------------------------------------------------------------------------------- what is told

static uint64_t amount_of(Argosy__Amount *const *list, size_t n, const char *resource, bool *ret_is) {
        for (size_t i = 0; i < n; i++)
                if (streq(list[i]->resource, resource)) {
                        *ret_is = true;
                        return list[i]->amount;
                }
        *ret_is = false;
        return 0;
}

static int add_use(const Leader *l, Argosy__Response__RoleRow *row, const Argosy__RoleRecord *record,
                   const PlacementRoleUse *use, unsigned resource) {
        const Placement *p = l->places->placement;
        const char *name = placement_resource_name(p, resource);
        Argosy__Response__RoleUse *u = calloc(1, sizeof *u);
        bool limit = false, guarantee = false;

        if (!u)
                return -ENOMEM;
        argosy__response__role_use__init(u);
        if (FIELD_APPEND(row->uses, row->n_uses, u) < 0)
                return -ENOMEM;
        u->used = (uint64_t) MAX_OF(use->used[resource], (int64_t) 0);
        u->total = (uint64_t) MAX_OF(placement_capacity(p, resource), (int64_t) 0);
        if (record) {
                u->guarantee = amount_of(record->guarantee, record->n_guarantee, name, &guarantee);
                u->limit = amount_of(record->limit, record->n_limit, name, &limit);
        }
        u->has_guarantee = guarantee;
        u->has_limit = limit;
        if (u->total > 0)
                row->share_permille = MAX_OF(row->share_permille, (uint32_t) (u->used * 1000 / u->total));
        return field_set(&u->resource, name);
}

int scheduler_fill_role(const Leader *l, const Argosy__RoleRecord *record, Argosy__Response__RoleRow *row) {
        const SchedulerRole *role = l->places ? role_find(l->places, row->name) : NULL;
        PlacementRoleUse use;
        int r = 0;

        row->weight = record && record->weight ? record->weight : 1;
        if (!role)
                return 0;
        placement_role_use(l->places->placement, role->number, &use);
        row->units = use.placed;
        row->waiting = use.waiting;
        for (unsigned i = 0; r >= 0 && placement_resource_name(l->places->placement, i); i++)
                r = add_use(l, row, record, &use, i);
        return r;
}

size_t scheduler_role_units(const Leader *l, const char *name) {
        const SchedulerRole *role = l->places ? role_find(l->places, name) : NULL;
        PlacementRoleUse use;

        if (!role)
                return 0;
        placement_role_use(l->places->placement, role->number, &use);
        return use.units;
}

int64_t scheduler_role_placed(const Leader *l, const char *name) {
        const SchedulerRole *role = role_find(l->places, name);

        return role ? placement_role_placed(l->places->placement, role->number) : 0;
}

int scheduler_resource_known(Leader *l, const char *name) {
        int r = resource_of(l, name);

        return r < 0 ? r : 0;
}

static void format_amount(const char *resource, int64_t amount, char *ret, size_t size) {
        if (streq(resource, "cpu"))
                snprintf(ret, size, "%.15g", (double) amount / 1000);
        else if (streq(resource, "memory"))
                snprintf(ret, size, "%" PRId64 "M", amount);
        else
                snprintf(ret, size, "%" PRId64, amount);
}

static void phrase_of_limit(const Leader *l, uint32_t role, unsigned resource, char *ret, size_t size) {
        const Placement *p = l->places->placement;
        const char *name = scheduler_role_name(l->places, role),
                   *what = placement_resource_name(p, resource);
        const Argosy__RoleRecord *record = cluster_state_find_role(l->state, name);
        char used[32], limit[32];
        PlacementRoleUse use;
        bool is = false;
        uint64_t most = record ? amount_of(record->limit, record->n_limit, what, &is) : 0;

        placement_role_use(p, role, &use);
        format_amount(what, use.used[resource], used, sizeof used);
        format_amount(what, (int64_t) most, limit, sizeof limit);
        snprintf(ret, size, "role %s is at its limit of %s: its units have %s of %s", name, what, used,
                 limit);
}

bool scheduler_role_refuses(const Leader *l, uint32_t unit, char *ret, size_t size) {
        const Placement *p = l->places->placement;
        uint32_t role = placement_unit_role(p, unit);
        unsigned resource = 0;

        switch (placement_held_back(p, unit, &resource)) {
        case PLACEMENT_OVER_LIMIT:
                phrase_of_limit(l, role, resource, ret, size);
                return true;
        case PLACEMENT_PROMISED:
                snprintf(ret, size, "the %s that is left is guaranteed to other roles than %s",
                         placement_resource_name(p, resource), scheduler_role_name(l->places, role));
                return true;
        default:
                return false;
        }
}

bool scheduler_held_back(const Leader *l, const Unit *u, char *ret, size_t size) {
        return u->scheduling.place && scheduler_role_refuses(l, u->scheduling.place - 1, ret, size);
}
