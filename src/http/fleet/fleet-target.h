// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// What a request of fleet's API is about, by its first line. Pure; it reads a client's bytes.

#include <stdbool.h>
#include <stdint.h>

typedef enum FleetResource {
        FLEET_DISCOVERY,
        FLEET_UNITS,
        FLEET_UNIT, // one of them, by name
        FLEET_STATES,
        FLEET_STATE, // of one of them, by name
        FLEET_MACHINES,
} FleetResource;

typedef enum FleetMethod { FLEET_GET, FLEET_PUT, FLEET_DELETE, FLEET_PATCH } FleetMethod;

// Zeroed is empty.
typedef struct FleetTarget {
        FleetResource resource;
        FleetMethod method;
        char *name;       // of FLEET_UNIT, FLEET_STATE
        uint16_t page;    // of a list, from 1
        char *machine_id; // of FLEET_STATES: only what is there; NULL: all
        char *unit_name;  // and only this one; NULL: all
} FleetTarget;

// 0; or the status with which it is refused, and *ret_why (borrowed; "": nothing is said). Nothing is in
// *ret then.
unsigned fleet_target_parse(const char *text, const char *method, FleetTarget *ret, const char **ret_why);
void fleet_target_done(FleetTarget *t);
// It comes with a body.
bool fleet_target_has_body(const FleetTarget *t);
