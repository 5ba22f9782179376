// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Requests on their way to where they are answered: this host's agent, the leader in this process, or the
// leader elsewhere.
//
// A route whose leader goes away before it answered goes back to waiting and is sent again to the next one:
// every request is safe to repeat (changes carry ids, waits are comparisons, the rest reads). Only a journal
// that has begun to flow ends with an error.
//
// Clients that follow events are told by this host itself who leads, or that nobody does (router-lead.h).
//
// Without a leader for ROUTER_READ_MS, reading requests are answered from what this host knows, with its
// age; others fail when their time is over.

#include "route-types.h"

int router_new(Daemon *d, Router **ret);
void router_close(Router *r); // asynchronous only in its timer; routes are dropped without a response
// Takes the request, also when it fails; NULL: out of memory. `author`, who asks, is borrowed; NULL: this
// daemon itself. How many there are is for the doors to say by which they come (accounts.h).
int router_submit(Router *r, Argosy__Request *request, const Argosy__Author *author, RouteRespond respond,
                  void *userdata, Route **ret);
void router_cancel(Route *route);
void router_on_leader_changed(Router *r);
// The list of rights has changed: streams of authors that may not read them any more end.
void router_on_access_changed(Router *r);
