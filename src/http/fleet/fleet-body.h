// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// What bodies of fleet's API ask for. Pure; they are a client's, and JSON that was looked at before
// (http-json.h).
//
//      PUT /units/NAME     {"name":"web.service","desiredState":"launched",
//                           "options":[{"section":...,"name":...,"value":...},...]}
//      PATCH /machines     [{"op":"add","path":"/MACHINE/metadata/KEY","value":"VALUE"},...]

#include <cjson/cJSON.h>

#include "fleet-options.h"
#include "unit-state.h"

enum {
        FLEET_OPTIONS_MAX = 4096, // of one unit
        FLEET_PATCHES_MAX = 1000, // in one body
};

// Zeroed is empty.
typedef struct FleetUnit {
        FleetOptions options;
        bool has_desired;
        Argosy__Target desired;
} FleetUnit;

typedef struct FleetPatch {
        char *machine, *key;
        char *value; // NULL: it is removed
} FleetPatch;

typedef struct FleetPatches {
        FleetPatch *list;
        size_t n;
} FleetPatches;

// `name` is that of the target. 0; -EINVAL, and *ret_why, to be freed (NULL: out of memory), says more;
// -ENOMEM. What is in *ret is to be freed in any case.
int fleet_body_read_unit(const cJSON *body, const char *name, FleetUnit *ret, char **ret_why);
void fleet_unit_done(FleetUnit *u);
// `body` is an array. As above.
int fleet_body_read_patches(const cJSON *body, FleetPatches *ret, char **ret_why);
void fleet_patches_done(FleetPatches *p);
