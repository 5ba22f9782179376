// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// The roles of units, as the stream knows them, also of units that are gone: for authors that may see units
// of some roles only. Names of roles are numbers, of one term.

#include "event-core.h"
#include "map.h"
#include "tables.h"

enum {
        EVENT_ROLES_MAX = 1023
}; // names; units of further ones are shown only to authors that may see everything

typedef struct RoleName {
        uint32_t number;
        char name[];
} RoleName;

struct EventRoles {
        bool needed; // there is a right for some roles, or was in this term; else all are 0
        uint64_t access_revision;             // as it was judged by last
        Map by_name;                          // RoleName
        RoleName *names[EVENT_ROLES_MAX + 1]; // from 1 on
        size_t n;
        // last sequence when a unit came to be of another role: who may see some may have to forget it
        uint64_t changed_seq;
};

void event_roles_done(EventRoles *roles);
// Whether they are needed is judged anew, if rights have changed.
void event_roles_drain(Leader *l);
// Looks whose the unit is now; its object keeps the number. 0: that is not known. *ret_before: whose it was.
unsigned event_roles_note(Leader *l, Unit *u, unsigned *ret_before);
// NULL: it is 0.
const char *event_role_name(const EventRoles *roles, unsigned number);
