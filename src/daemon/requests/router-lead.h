// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Clients that follow events are told by this host itself, once, that nobody leads, or that somebody leads
// again.

#include <stdbool.h>
#include <stdint.h>

#include "route-types.h"

void router_lead_init(Router *r);
void router_lead_on_changed(Router *r); // the leader has changed, or went away
void route_count_watching(Route *route); // a new one, if it is of events
// A route of events is told what this host knows of the leader, if that is not what it was told last. True:
// the route is answered.
bool route_answer_lead(Route *route);
// AgentOps.beat: `unanswered_us` is how long the oldest beat has had no answer; 0: all have.
void router_on_beat(Router *r, uint64_t unanswered_us);
// This host has had no sign of life of a leader for so long that it says so. The caller may ask again: the
// leader is watched for it for ROUTER_WATCH_MS.
bool router_leader_is_silent(Router *r);
// AgentOps.leader_is_watched: somebody follows events here, or asked that a short while ago.
bool router_leader_is_watched(const Router *r);
