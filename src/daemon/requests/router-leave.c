// SPDX-License-Identifier: LGPL-2.1-or-later
//
// `cluster leave` is `cluster remove` of this host, asked of the leader. It is over when this host has
// forgotten the cluster:
//
//      route_translate_leave() -> the leader -> its answer, or ToHost.Removed, whichever comes first ->
//      join_reset() -> answered
//
// A leave by force, or of a host that was removed already, is this daemon's own (router-local.c). What the
// leader refuses is answered with its words; what this host cannot forget, with those of join_reset().

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "daemon.h"
#include "join.h"
#include "list.h"
#include "message-of.h"
#include "message.h"
#include "peers.h"
#include "route.h"
#include "router-leave.h"

int route_translate_leave(Daemon *d, Route *route) {
        Argosy__Request__ClusterRemove *remove;
        Argosy__Request *q = route->request;

        if (q->what_case != ARGOSY__REQUEST__WHAT_CLUSTER_LEAVE || q->cluster_leave->force ||
            peers_verdict(d) == PEERS_REMOVED) // the leader has done its part
                return 0;
        remove = malloc(sizeof(*remove));
        if (!remove)
                return -ENOMEM;
        *remove = (Argosy__Request__ClusterRemove) MESSAGE_OF(request__cluster_remove,
                                                              .host = strdup(d->host_id_hex));
        protobuf_c_message_free_unpacked(&q->cluster_leave->base, NULL);
        q->what_case = ARGOSY__REQUEST__WHAT_CLUSTER_REMOVE;
        q->cluster_remove = remove;
        route->leaving = true;
        return remove->host ? 0 : -ENOMEM;
}

static void on_left(const Argosy__Response *response, void *userdata) {
        router_on_removed(userdata, response);
}

bool route_leave_is_granted(Route *route, const Argosy__Response *response) {
        if (!route->leaving || !response->final || response->status != 0 || response->held)
                // what the queue holds back is told when it has begun, as somebody else's removal would be
                return false;
        route->place = ROUTE_LOCAL;
        route->cancel = 0; // was the leader's, not the agent's
        join_reset(route->router->daemon, "it left", on_left, route->router);
        return true;
}

void router_on_removed(Router *r, const Argosy__Response *response) {
        list_foreach_safe (n, &r->routes) {
                Route *route = CONTAINER_OF(n, Route, link);

                if (!route->leaving)
                        continue;
                route->leaving = false;
                route_respond(route, response);
        }
}
