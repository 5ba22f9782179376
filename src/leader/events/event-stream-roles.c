// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Whose units are; see event-stream-roles.h. A unit's file has to be looked at for it, so it is noted only
// since somebody has a right for some roles, whenever the unit is told of. One whose file cannot be read is
// of no role: it is for those who may see everything. Out of memory the process ends, as everywhere in the
// stream.

#include "event-stream-roles.h"

#include <stdlib.h>
#include <string.h>

#include "access.h"
#include "cluster-state.h"
#include "event-core.h"
#include "oom.h"
#include "scheduler-roles.h"
#include "unit-file.h"
#include "unit-options.h"
#include "unit-record.h"

void event_roles_done(EventRoles *roles) {
        map_done_with(&roles->by_name, free);
}

static bool is_needed(AccessList list) {
        for (size_t i = 0; i < list.n; i++)
                if (*list.grants[i]->role)
                        return true;
        for (size_t i = 0; i < list.n_tokens; i++)
                if (*list.tokens[i]->role)
                        return true;
        return false;
}

void event_roles_drain(Leader *l) {
        EventRoles *roles = l->events->roles;
        uint64_t revision = cluster_state_access_revision(l->state);

        if (roles->needed || roles->access_revision == revision)
                return;
        roles->access_revision = revision;
        roles->needed = is_needed(cluster_state_access(l->state));
}

static unsigned number_of(EventRoles *roles, const char *name) {
        RoleName *role = map_find_str(&roles->by_name, name);
        size_t size = strlen(name) + 1;

        if (role)
                return role->number;
        if (roles->n == EVENT_ROLES_MAX)
                return 0;
        role = oom_checked(malloc(sizeof(*role) + size));
        role->number = (uint32_t) ++roles->n;
        memcpy(role->name, name, size);
        roles->names[role->number] = role;
        (void) oom_check(map_add_str(&roles->by_name, role->name, role));
        return role->number;
}

unsigned event_roles_note(Leader *l, Unit *u, unsigned *ret_before) {
        EventRoles *roles = l->events->roles;
        const UnitEntry *e = cluster_state_find_unit(l->state, u->name);
        unsigned before = u->event.role;
        UnitOptions *options;

        *ret_before = before;
        if (!roles->needed || !e) // an author that could see it may see it go
                return before;
        u->event.role = 0;
        if (unit_options_of(e, &options) == 0) {
                u->event.role = number_of(roles, options->role ?: ROLE_DEFAULT);
                unit_options_unref(options);
        }
        if (before != 0 && before != u->event.role)
                roles->changed_seq = l->events->last_seq + 1; // also for watchers that are up to date
        return u->event.role;
}

const char *event_role_name(const EventRoles *roles, unsigned number) {
        return number > 0 ? roles->names[number]->name : NULL;
}
