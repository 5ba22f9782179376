// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Shared by placer.c and placer-roles.c.

#include "leader-private.h"
#include "placer-spec.h"

typedef struct PlacerRole {
        uint32_t number; // in the Placement
        char name[];
} PlacerRole;

struct PlacerTables {
        Placement *placement;
        PlacerPatterns patterns;
        Map roles;               // PlacerRole by name; always with ROLE_DEFAULT
        uint64_t roles_revision; // of the records as they are here
        uint32_t role, anything; // ROLE_DEFAULT's number; the class of units that nothing is known of
        uint64_t hosts_revision; // that the labels are of
        Node **nodes;            // by number in the Placement
        size_t n_nodes;
        Map guests; // Guest by name: units without a record, while a Placer lives
};

// The roles as the records have them. 0 or -ENOMEM; -ENOSPC: more roles than can be.
int placer_sync_roles(Leader *l);
void placer_roles_done(PlacerTables *t);
// That of the unit with these options; ROLE_DEFAULT's if there is none of that name.
uint32_t placer_role_of(const PlacerTables *t, const UnitOptions *options);
// placer_held_back() for a unit by its number.
bool placer_role_refuses(const Leader *l, uint32_t unit, char *ret, size_t size);
const char *placer_role_name(const PlacerTables *t, uint32_t number);
