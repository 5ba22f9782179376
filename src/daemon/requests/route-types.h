// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// What everybody who has to do with a request on its way knows of it, and how long one waits.

#include "argosy.pb-c.h"
#include "counter.h"

typedef struct Daemon Daemon;
typedef struct Route Route;
typedef struct Router Router;

enum {
        ROUTER_READ_MS = 2000,    // a read waits until there was no leader for so long
        ROUTER_WATCH_MS = 60000,  // how long the leader is watched for a route
        ROUTER_AGAIN_MS = 100,    // after "I do not lead any more" without news of another leader
        ROUTER_CHANGE_MS = 10000, // and a change so long, unless the client says otherwise
};

#define ROUTER_COUNTERS(COUNTER, GAUGE) \
        GAUGE(host_requests_open, "requests on this host whose last answer has not come, over HTTP or not")

typedef struct RouterStats {
        ROUTER_COUNTERS(COUNTER_FIELD, COUNTER_FIELD)
} RouterStats;
RouterStats router_stats(const Router *r);

// The last response has `final`; the route is gone when the callback returns from it. Never called from
// inside router_submit().
typedef void (*RouteRespond)(const Argosy__Response *response, void *userdata);
