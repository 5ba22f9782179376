// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Requests on their way to whoever can answer them: this host's agent, the leader in this process, or the
// leader elsewhere.
//
// A route whose leader goes away before it answered goes back to waiting and is sent again to the next one:
// every request is safe to repeat (changes carry ids, waits are comparisons, the rest reads). Only a journal
// that has begun to flow ends with an error.
//
// Who follows events is told by this host itself, once, that nobody leads, or that somebody leads again (leader-contact.h).
//
// Without a leader for ROUTER_READ_MS, reading requests are answered from what this host knows, with its
// age; others fail when their time is over.

#include "argosy.pb-c.h"
#include "counter.h"

typedef struct Daemon Daemon;
typedef struct Route Route;
typedef struct Router Router;

enum {
        ROUTER_READ_MS = 2000,    // a read waits until there was no leader for so long
        ROUTER_WATCH_MS = 60000,  // the leader is watched for whoever asked whether it is silent; he may ask again
        ROUTER_AGAIN_MS = 100,    // after "I do not lead any more" without news of another leader
        ROUTER_CHANGE_MS = 10000, // and a change so long, unless the client says otherwise
};

#define ROUTER_COUNTERS(COUNTER, GAUGE) GAUGE(host_requests_open, "requests on this host whose last answer has not come, over HTTP or not")

typedef struct RouterStats {
        ROUTER_COUNTERS(COUNTER_FIELD, COUNTER_FIELD)
} RouterStats;
RouterStats router_stats(const Router *r);

// The last response has `final`; the route is gone when the callback returns from it. Never called from
// inside router_submit().
typedef void (*RouteRespond)(const Argosy__Response *response, void *userdata);

int router_new(Daemon *d, Router **ret);
void router_close(Router *r); // asynchronous only in its timer; routes are dropped without a response
// Takes the request, also when it fails; NULL: out of memory. `author`, who asks, is borrowed; NULL: this daemon itself.
// How many there are is for the doors to say by which they come (accounts.h).
int router_submit(Router *r, Argosy__Request *request, const Argosy__Author *author, RouteRespond respond,
                  void *userdata, Route **ret);
void router_cancel(Route *route);
// All that the route's callback was given so far has reached the client. Of a journal this is what its reader
// waits for (flow-window.h); also from inside the callback, unless it was the last one.
void router_taken(Route *route);
void router_on_leader_changed(Router *r);
// MeshOps.leader_drained.
void router_on_leader_drained(Router *r);
// AgentOps.beat.
void router_on_beat(Router *r, uint64_t unanswered_us);
// This host has had no sign of life of a leader for so long that it says so. Whoever asks may ask again: the leader is watched for him.
bool router_leader_is_silent(Router *r);
// AgentOps.leader_is_watched: somebody follows events here, or asked that a short while ago.
bool router_leader_is_watched(const Router *r);
// Who may do what is known anew: who follows something on this host, and may not any more, hears no more.
void router_on_access_changed(Router *r);
// This host was removed and its new identity is in place (or could not be written): the answer to those who
// asked it to leave. The leader's own answer travels on a link that ends with the membership.
void router_on_removed(Router *r, const Argosy__Response *response);
void router_on_forward_reply(Router *r, uint64_t id, const Argosy__Response *response);
