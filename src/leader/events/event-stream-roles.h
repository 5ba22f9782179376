// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// The roles of units, as the stream knows them, also of units that are gone: for authors that may see units
// of some roles only; and those of rollouts, which are the roles of all their units. Names of roles, and
// several of them, are numbers, of one term.

#include "event-core.h"
#include "map.h"
#include "tables.h"

enum {
        EVENT_ROLES_MAX = 1023, // names; units of further ones are shown only to authors that may see
                                // everything
        EVENT_GROUP_ROLES_MAX = 16, // likewise: of one group
        EVENT_GROUP_LOOKS = 256,    // contents, and units whose role depends on their names, of one group
};

typedef struct RoleName {
        uint32_t number;
        char name[]; // of several: a space and a number for each, in order
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
// The same, for who is told of the unit now. That it is another one's by now is noted when all are told,
// who have to hear whose it was.
unsigned event_roles_see(Leader *l, Unit *u);
// The same of what is about a template with all its instances, or about one unit: the number of the roles of
// all of these. 0 also if there are none, or more than can be looked at.
unsigned event_roles_note_group(Leader *l, const char *name, EventObject *o, unsigned *ret_before);
// The unit has come, has gone, or is of another role: so may what is about its group be.
void event_roles_mark_group(Leader *l, const char *unit);
// Likewise of a job that has not ended, whose units are of these: who could see it is told that it is over.
void event_roles_note_job(Leader *l, uint64_t number, EventObject *o);
// Whether an author may see what is of these roles. False: the number is 0.
bool event_roles_may_see(const Leader *l, const Argosy__Author *author, unsigned number);
