// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// `cluster leave` as a removal that the leader is asked for.

#include <stdbool.h>

#include "route-types.h"

// A leave that the leader has to grant becomes ClusterRemove of this host. 0, or -ENOMEM.
int route_translate_leave(Daemon *d, Route *route);
// The leader's answer lets this host go: the route is LOCAL until the new identity is there. False: it is
// any other answer.
bool route_leave_is_granted(Route *route, const Argosy__Response *response);
// This host was removed and its new identity is in place (or could not be written): the answer to those who
// asked it to leave. The leader's own answer travels on a link that ends with the membership.
void router_on_removed(Router *r, const Argosy__Response *response);
