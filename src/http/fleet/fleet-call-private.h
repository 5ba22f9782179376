// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// What the files of a FleetCall know of it together.

#include <string.h>

#include "fleet-call.h"
#include "macro.h"

void fleet_call_drop_rows(FleetCall *c, size_t first); // and those behind it
void fleet_call_drop_machines(FleetCall *c);
// Its answer is that, with or without words, if it has none yet.
void fleet_call_end(FleetCall *c, unsigned status, const char *why);
// The first row from there on of a unit that waits for a place; n_rows: there is none.
size_t fleet_call_find_waiting(const FleetCall *c, size_t from);

static inline bool fleet_call_reads(const FleetCall *c) {
        return c->target.method == FLEET_GET;
}

static inline bool fleet_call_is_of_machines(const FleetCall *c) {
        return c->target.resource == FLEET_MACHINES;
}

static inline bool fleet_call_is_of_states(const FleetCall *c) {
        return c->target.resource == FLEET_STATES || c->target.resource == FLEET_STATE;
}

static inline bool fleet_call_is_one(const FleetCall *c) {
        return c->target.resource == FLEET_UNIT || c->target.resource == FLEET_STATE;
}

// Whether the call lists all: then only this page is asked for, and one row more to see whether there is
// another.
static inline bool fleet_call_is_whole(const FleetCall *c) {
        return !fleet_call_is_one(c) && !fleet_call_is_of_machines(c) && !c->target.machine_id &&
               !c->target.unit_name;
}

static inline size_t fleet_call_wanted(const FleetCall *c) {
        return c->target.page * (size_t) FLEET_PAGE_ROWS + 1;
}
