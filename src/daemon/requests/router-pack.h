// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Long requests to the leader elsewhere are packed by the pool.

#include <stdbool.h>

#include "route-types.h"

bool route_is_to_be_packed(const Route *route);
// For the leader elsewhere: it is PACKING until that has it, or not.
void route_pack(Route *route);
// One that is PACKING is to be asked again. False: the pool still reads it, and then it is asked again.
bool route_pack_stop(Route *route);
// It goes, and may leave what it asks for to the pool.
void route_pack_forget(Route *route);
void router_pack_close(Router *r); // without routes
// MeshOps.leader_drained: the link has room for the next frame.
void router_on_leader_drained(Router *r);
