// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Whose units are; see event-stream-roles.h. A unit's file has to be looked at for it, so it is noted only
// since somebody has a right for some roles, whenever the unit is told of. One whose file cannot be read is
// of no role: it is for those who may see everything. Out of memory the process ends, as everywhere in the
// stream.
//
// A rollout is for those who may see all units of its group: it is of the set of their roles, which has a
// number as a role has, and is noted anew when one of them comes, goes, or gets another role.

#include "event-stream-roles.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "access.h"
#include "authorization.h"
#include "cluster-state.h"
#include "disruption-budget.h"
#include "event-core.h"
#include "event-stream-records.h"
#include "group-contents.h"
#include "message.h"
#include "oom.h"
#include "scheduler-roles.h"
#include "unit-file.h"
#include "unit-name.h"
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
        if (roles->needed)
                l->events->tables->compared = false; // whose each rollout is was not noted
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

static unsigned take_role(EventRoles *roles, UnitOptions *options) {
        unsigned number = number_of(roles, options->role ?: ROLE_DEFAULT);

        unit_options_unref(options);
        return number;
}

// 0: its file cannot be read.
static unsigned role_of(EventRoles *roles, const UnitEntry *e) {
        UnitOptions *options;

        return unit_options_of(e, &options) == 0 ? take_role(roles, options) : 0;
}

unsigned event_roles_note(Leader *l, Unit *u, unsigned *ret_before) {
        EventRoles *roles = l->events->roles;
        const UnitEntry *e = cluster_state_find_unit(l->state, u->name);
        unsigned before = u->event.role;

        *ret_before = before;
        if (!roles->needed || !e) // an author that could see it may see it go
                return before;
        u->event.role = role_of(roles, e);
        if (before != u->event.role)
                event_roles_mark_group(l, u->name);
        if (before != 0 && before != u->event.role)
                roles->changed_seq = l->events->last_seq + 1; // also for watchers that are up to date
        return u->event.role;
}

unsigned event_roles_see(Leader *l, Unit *u) {
        const UnitEntry *e = cluster_state_find_unit(l->state, u->name);
        unsigned before;

        if (u->event.role == 0)
                return event_roles_note(l, u, &before);
        return e ? role_of(l->events->roles, e) : u->event.role;
}

// ------------------------------------------------------------------------------------------------ groups

typedef struct RoleSet {
        unsigned numbers[EVENT_GROUP_ROLES_MAX]; // in order
        size_t n;
        size_t left;  // looks
        bool unknown; // the roles of some are not known, or are too many
} RoleSet;

static void add(RoleSet *set, unsigned number) {
        size_t i = 0;

        while (i < set->n && set->numbers[i] < number)
                i++;
        if (i < set->n && set->numbers[i] == number)
                return;
        set->unknown |= number == 0 || set->n == ELEMENTSOF(set->numbers);
        if (set->unknown)
                return;
        memmove(&set->numbers[i + 1], &set->numbers[i], (set->n - i) * sizeof(*set->numbers));
        set->numbers[i] = number;
        set->n++;
}

static void add_unit(EventRoles *roles, RoleSet *set, const UnitEntry *e) {
        if (e && set->left > 0)
                add(set, role_of(roles, e));
        set->unknown |= set->left == 0;
        set->left -= set->left > 0;
}

static void add_content(Leader *l, RoleSet *set, const DisruptionBudget *g, const GroupContent *c) {
        SpecEntry *spec = cluster_state_find_spec(l->state, &c->spec);
        UnitOptions *options;
        const UnitFile *file;

        set->unknown |= !spec || spec_entry_file(spec, &file) < 0 || c->n > set->left;
        if (set->unknown)
                return;
        if (unit_file_rank_varies(file)) {
                list_foreach (i, &g->units) {
                        const Unit *u = CONTAINER_OF(i, const Unit, of_budget);

                        if (u->content == c)
                                add_unit(l->events->roles, set, cluster_state_find_unit(l->state, u->name));
                }
                return;
        }
        set->left--;
        add(set, unit_file_expand(file, g->name, g->name, &options, NULL) == 0
                         ? take_role(l->events->roles, options)
                         : 0);
}

static unsigned number_of_set(EventRoles *roles, const RoleSet *set) {
        char name[EVENT_GROUP_ROLES_MAX * sizeof(" 1023") + 1] = "";
        size_t len = 0;

        if (set->unknown || set->n == 0)
                return 0;
        if (set->n == 1)
                return set->numbers[0];
        for (size_t i = 0; i < set->n; i++)
                len += (size_t) snprintf(name + len, sizeof(name) - len, " %u", set->numbers[i]);
        return number_of(roles, name);
}

unsigned event_roles_note_group(Leader *l, const char *name, EventObject *o, unsigned *ret_before) {
        EventRoles *roles = l->events->roles;
        const DisruptionBudget *g = disruption_budget_find(l, name);
        RoleSet set = {.left = EVENT_GROUP_LOOKS};

        *ret_before = o->role;
        if (!roles->needed)
                return o->role;
        add_unit(roles, &set, cluster_state_find_unit(l->state, name));
        if (g)
                map_foreach (slot, &g->contents)
                        add_content(l, &set, g, slot->value);
        o->role = number_of_set(roles, &set);
        if (o->seq != 0 && *ret_before != o->role)
                roles->changed_seq = l->events->last_seq + 1;
        return o->role;
}

void event_roles_mark_group(Leader *l, const char *unit) {
        _cleanup_free_ char *template = NULL;

        if (!l->events->roles->needed)
                return;
        event_tables_mark(l, ARGOSY__EVENT_KIND__EVENT_ROLLOUT, unit);
        if (unit_name_kind(unit, NULL) != UNIT_NAME_INSTANCE)
                return;
        template = oom_checked(unit_name_template(unit));
        event_tables_mark(l, ARGOSY__EVENT_KIND__EVENT_ROLLOUT, template);
}

void event_roles_note_job(Leader *l, uint64_t number, EventObject *o) {
        RoleSet set = {.left = EVENT_GROUP_LOOKS};
        Argosy__JobRecord *job;

        if (!l->events->roles->needed || oom_check(cluster_state_read_job(l->state, number, &job)) < 0)
                return;
        set.unknown = job->cut;
        for (size_t g = 0; g < job->n_units; g++)
                for (size_t i = 0; i < job->units[g]->n_names && !set.unknown; i++)
                        add_unit(l->events->roles, &set,
                                 cluster_state_find_unit(l->state, job->units[g]->names[i]));
        o->role = number_of_set(l->events->roles, &set);
        message_free(job);
}

bool event_roles_may_see(const Leader *l, const Argosy__Author *author, unsigned number) {
        const EventRoles *roles = l->events->roles;
        const char *name = number > 0 ? roles->names[number]->name : "";

        if (*name != ' ')
                return *name && authorization_may_view_role(l, author, name);
        while (*name) {
                char *end;

                if (!event_roles_may_see(l, author, (unsigned) strtoul(name, &end, 10)))
                        return false;
                name = end;
        }
        return true;
}
