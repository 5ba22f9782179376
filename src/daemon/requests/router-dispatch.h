// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Where a request goes.

#include <stdbool.h>

#include "agent.h"
#include "route-types.h"

// Whether a WAITING one has gone somewhere; it may be answered and gone for good. False: it waits for a
// leader.
bool route_dispatch(Route *route);
void route_dispatch_local(Route *route); // to this daemon or its agent, if its author may
void route_ask_agent(Route *route, AgentReply reply);
// Tells the receiver of the request that no client waits for the answer any more.
void route_call_off(Route *route);
void route_recall(Route *route); // it is called off, and dispatched again in one of the next turns

// Whether the author may ask this, by the rights that this host knows itself.
bool route_is_allowed_here(const Route *route);
// What this host answers alone it judges by what it knows. It knows no roles of units, so an author who has
// a right for some of them has to ask a leader. True: refused, and the route may be gone.
bool route_refuse_here(Route *route);

void router_on_forward_reply(Router *r, uint64_t id, const Argosy__Response *response);
// All that the route's callback was given so far has reached the client. Of a journal this is what its
// reader waits for (flow-window.h); also from inside the callback, unless it was the last one.
void router_taken(Route *route);
