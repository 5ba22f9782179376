// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A request whose time is over while nobody leads.
//
//      a read    -> answered from what this host knows, with its age: the leader's tables on a voter, else
//                this host's agent or peers
//      a change  -> fails, and says whether it may have been carried out
//
// What this host answers that way is judged by the rights that it knows itself.

#include <errno.h>
#include <stdlib.h>

#include "agent.h"
#include "clock.h"
#include "daemon.h"
#include "leader.h"
#include "list.h"
#include "peers.h"
#include "request-kind.h"
#include "route.h"
#include "router-dispatch.h"
#include "router-stale.h"

// A reading request is answered from what is known here, with its age.
static void on_stale_answer(const Argosy__Response *response, void *userdata) {
        Route *route = userdata;
        Daemon *d = route->router->daemon;
        Argosy__Response aged = *response;
        Argosy__Response__ClusterStatus status;
        _cleanup_free_ char *notice = NULL;

        if (response->final && response->status == EAGAIN && route->place == ROUTE_HERE && !route->in_call) {
                route_wait_again(route); // there is a leader again
                return;
        }
        if (response->what_case == ARGOSY__RESPONSE__WHAT_CLUSTER_STATUS && (notice = peers_notice(d))) {
                status = *response->cluster_status;
                status.notice = notice;
                aged.cluster_status = &status;
        }
        aged.no_leader = true;
        aged.stale_ms = (clock_boot_us() - d->leader_seen_us) / USEC_PER_MSEC;
        route_respond(route, &aged);
}

static void answer_stale(Route *route) {
        Daemon *d = route->router->daemon;

        if ((!d->leader || request_is_read_of_units(route->request)) && route_refuse_here(route))
                return;
        if (request_is_read_of_units(route->request)) {
                // has no end of its own
                route->makeshift = route->request->what_case == ARGOSY__REQUEST__WHAT_TOP;
                route_ask_agent(route, on_stale_answer);
                return;
        }
        if (d->leader) {
                route->place = ROUTE_HERE; // of a long list the rest comes later
                route->in_call = true;
                leader_answer_stale(d->leader, route->author, route->request, on_stale_answer, route,
                                    &route->cancel);
                route->in_call = false;
                if (route->done)
                        route_free(route);
                return;
        }
        if (route->request->what_case == ARGOSY__REQUEST__WHAT_LIST_UNITS) {
                Argosy__Response response = ARGOSY__RESPONSE__INIT;

                agent_local_units(d->agent, &response);
                response.final = true;
                response.message = (char *) "no leader can be reached: only this host's units are shown";
                on_stale_answer(&response, route);
                return;
        }
        if (route->request->what_case == ARGOSY__REQUEST__WHAT_CLUSTER_STATUS) {
                peers_answer_status(d, on_stale_answer, route);
                return;
        }
        route_fail(route, EHOSTUNREACH,
                   "no leader can be reached for %u s, and this host keeps no copy of the cluster's state",
                   (unsigned) ((clock_boot_us() - d->leader_seen_us) / USEC_PER_SEC));
}

// Whether a leader may have carried it out that had it from here, or from another host: the age of a
// repeated request says when it was first sent.
static bool may_be_done(const Route *route) {
        return route->asked || route->age_ms > 0;
}

// Another client may use the same key at another host, which this host does not know. An id without a key is
// this client's alone.
static const char *what_became_of_it(const Route *route) {
        const Argosy__Request__Job *job = route->request->job;

        if (route->asked)
                return "a leader had the request before, so look later whether it was carried out";
        if (may_be_done(route))
                return "it was asked for before, so look later whether it was carried out";
        if (job && job->keyed)
                return "nothing was changed by this request, unless another host had it under the same key, "
                       "too";
        return "nothing was changed";
}

void route_on_deadline(Route *route) {
        Daemon *d = route->router->daemon;
        const RequestKind *kind = request_kind(route->request->what_case);

        list_unlink(&route->queue);
        if (request_is_local(route->request)) { // without a leader the author's right is not known
                route_dispatch_local(route);
                return;
        }
        if (request_is_read(route->request)) {
                answer_stale(route);
                return;
        }
        if (kind && kind->effect != REQUEST_CHANGES) {
                route_fail(route, ETIMEDOUT, "no leader can be reached for %.1f s",
                           (double) (clock_boot_us() - d->leader_seen_us) / (double) USEC_PER_SEC);
                return;
        }
        route_fail(route, may_be_done(route) ? EINPROGRESS : ETIMEDOUT, // unknown outcome, or not begun
                   "no leader can be reached for %.1f s; %s",
                   (double) (clock_boot_us() - d->leader_seen_us) / (double) USEC_PER_SEC,
                   what_became_of_it(route));
}
