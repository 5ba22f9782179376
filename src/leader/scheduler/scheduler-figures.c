// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What units reserve of the hosts' capacity, per resource and role, for /metrics. scheduler_figures():
// changed hosts into the Placement -> capacity and reserved per resource -> units per role. The first
// ROLES_SHOWN roles by name have rows, the others one row together. Without memory the process ends (oom.h).

#include "scheduler-tables.h"
#include "scheduler.h"
#include "scheduler-roles.h"
#include "str.h"

enum { ROLES_SHOWN = 64 };
#define ROLES_ALL_OTHERS "(others)" // not a valid name of a role

static void add(CounterList *to, LeaderFamily family, int64_t value, const char *key, const char *word) {
        counter_list_add(
                to,
                (Counter){leader_families[family], (uint64_t) MAX_OF(value, (int64_t) 0), {{key, word}}});
}

static void add_resources(const Placement *p, CounterList *to) {
        const char *name;

        for (unsigned i = 0; (name = placement_resource_name(p, i)); i++)
                add(to, LEADER_FAMILY_capacity, placement_capacity(p, i), "resource", name);
        for (unsigned i = 0; (name = placement_resource_name(p, i)); i++) {
                int64_t reserved = placement_capacity(p, i) - placement_room(p, i);

                add(to, LEADER_FAMILY_reserved, reserved, "resource", name);
        }
}

static void add_roles(const Leader *l, CounterList *to) {
        size_t n, shown = 1;
        uint64_t others = 0;
        Argosy__RoleRecord *const *records = cluster_state_roles(l->state, &n);

        add(to, LEADER_FAMILY_role_units, scheduler_role_placed(l, ROLE_DEFAULT), "role", ROLE_DEFAULT);
        for (size_t i = 0; i < n; i++) {
                if (streq(records[i]->name, ROLE_DEFAULT))
                        continue;
                if (shown++ < ROLES_SHOWN)
                        add(to, LEADER_FAMILY_role_units, scheduler_role_placed(l, records[i]->name), "role",
                            records[i]->name);
                else
                        others += scheduler_role_placed(l, records[i]->name);
        }
        if (shown > ROLES_SHOWN)
                add(to, LEADER_FAMILY_role_units, (int64_t) others, "role", ROLES_ALL_OTHERS);
}

size_t scheduler_placement_bytes(const Leader *l) {
        return l->places ? placement_bytes(l->places->placement) : 0;
}

// The Placement learns of changed hosts only when it is used, so they are synchronised first.
void scheduler_figures(Leader *l, CounterList *to) {
        if (!l->places)
                return;
        scheduler_sync_nodes(l, 0);
        add_resources(l->places->placement, to);
        add_roles(l, to);
}
