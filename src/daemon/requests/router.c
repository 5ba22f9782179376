// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The life of routes: submitted, dispatched, asked again when the leader changes, cancelled.
//
//      router_submit() -> `fresh` -> on_drain(), DISPATCHED_PER_TURN in each turn -> route_dispatch()
//      nobody leads -> `waiting` -> on_time() at the earliest deadline -> asked again, or
//      route_on_deadline()
//
// Failures: -ENOMEM before a route is there; afterwards its response.

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent.h"
#include "author.h"
#include "clock.h"
#include "daemon.h"
#include "leader.h"
#include "list.h"
#include "map.h"
#include "message.h"
#include "peers.h"
#include "request-kind.h"
#include "route.h"
#include "router-dispatch.h"
#include "router-lead.h"
#include "router-leave.h"
#include "router-pack.h"
#include "router-stale.h"
#include "router.h"
#include "time-limit.h"

enum { DISPATCHED_PER_TURN = 256 }; // at some 10 us each, and so many of those whose time is over

static void on_due(Route *route, uint64_t now) {
        if (route->deadline_us > now)
                (void) route_dispatch(route);
        else if (!router_has_leader(route->router) || !route_dispatch(route)) // the leader may be new
                route_on_deadline(route);
}

static void on_time(void *userdata) {
        uint64_t now = clock_boot_us();
        ListNode waited = LIST_INIT(waited);
        Router *r = userdata;

        r->armed_us = 0;
        list_splice(&waited, &r->waiting);
        for (unsigned n = 0; !list_is_empty(&waited);) {
                Route *route = CONTAINER_OF(waited.next, Route, queue);

                if (route_due_us(route) <= now && n++ < DISPATCHED_PER_TURN)
                        on_due(route, now);
                else
                        route_wait_for_leader(route);
        }
}

static void on_drain(void *userdata) {
        Router *r = userdata;

        for (unsigned n = 0; n < DISPATCHED_PER_TURN && !list_is_empty(&r->fresh); n++)
                (void) route_dispatch(CONTAINER_OF(r->fresh.next, Route, queue));
        if (!list_is_empty(&r->fresh))
                drain_mark(&r->drain);
}

static void end_makeshift(Route *route) {
        agent_cancel(route->router->daemon->agent, route->cancel);
        route->cancel = 0;
        route->makeshift = false;
        route->place = ROUTE_WAITING;
        route->deadline_us = clock_boot_us() + ROUTER_READ_MS * USEC_PER_MSEC;
}

void router_on_leader_changed(Router *r) {
        uint64_t now = clock_boot_us();

        router_lead_on_changed(r);
        list_foreach_safe (n, &r->routes) {
                Route *route = CONTAINER_OF(n, Route, link);

                if (route->makeshift && router_has_leader(r))
                        end_makeshift(route);
                if (route->place == ROUTE_WAITING)
                        route_wait_for_dispatch(route);
                if (route->place == ROUTE_PACKING && !route_pack_stop(route))
                        continue;
                if (route->place != ROUTE_AWAY && route->place != ROUTE_HERE &&
                    route->place != ROUTE_PACKING)
                        continue;
                if (route->answered && route->request->what_case == ARGOSY__REQUEST__WHAT_JOURNAL) {
                        route_fail(route, ECONNRESET, "the leader changed while the journal was being read");
                        continue;
                }
                if (route->place == ROUTE_HERE && route->cancel && r->daemon->leader)
                        leader_cancel(r->daemon->leader, route->cancel);
                route->cancel = 0;
                route->checking = false;
                route->place = ROUTE_WAITING;
                route->deadline_us = MAX_OF(route->deadline_us, now + ROUTER_READ_MS * USEC_PER_MSEC);
                route_wait_for_dispatch(route);
        }
}

void router_on_access_changed(Router *r) {
        list_foreach_safe (n, &r->routes) {
                Route *route = CONTAINER_OF(n, Route, link);

                if (route->place != ROUTE_LOCAL || !route->cancel || route_is_allowed_here(route))
                        continue;
                agent_cancel(r->daemon->agent, route->cancel);
                route->cancel = 0;
                (void) route_refuse_here(route);
        }
}

// ---- life

// A read waits for an election, but not each time anew while there is nobody to elect a leader.
static uint64_t plan_deadline(const Router *r, const Argosy__Request *q, uint64_t now) {
        if (q->what_case == ARGOSY__REQUEST__WHAT_EVENTS &&
            q->events->lead != ARGOSY__REQUEST__EVENTS__LEAD__UNSAID)
                return UINT64_MAX; // told that nobody leads, it waits for the next leader
        if (q->timeout_ms > 0)
                return now + q->timeout_ms * USEC_PER_MSEC;
        if (!request_is_read(q))
                return now + ROUTER_CHANGE_MS * USEC_PER_MSEC;
        if (router_has_leader(r))
                return now + ROUTER_READ_MS * USEC_PER_MSEC;
        return MAX_OF(now, r->daemon->leader_seen_us + ROUTER_READ_MS * USEC_PER_MSEC);
}

// The client knows its host only as the one that it talks to.
static int name_host(const Daemon *d, Argosy__Request *q) {
        char *host;

        if (q->what_case != ARGOSY__REQUEST__WHAT_MANAGER_WAIT)
                return 0;
        host = strdup(d->host_id_hex);
        if (!host)
                return -ENOMEM;
        if (q->manager_wait->host != protobuf_c_empty_string)
                free(q->manager_wait->host);
        q->manager_wait->host = host;
        return 0;
}

// `author` NULL: ourselves.
static Argosy__Author *copy_author(const Daemon *d, const Argosy__Author *author) {
        Argosy__Author own, *copy;

        if (!author) {
                own = author_of_daemon(d->peers->host, geteuid(), d->user_name);
                author = &own;
        }
        copy = message_copy(author);
        if (copy)
                copy->host = d->peers->host;
        return copy;
}

int router_submit(Router *r, Argosy__Request *request, const Argosy__Author *author, RouteRespond respond,
                  void *userdata, Route **ret) {
        Route *route = calloc(1, sizeof(*route));
        int k;

        if (!route) {
                message_free(request);
                return -ENOMEM;
        }
        route->router = r;
        route->respond = respond;
        route->userdata = userdata;
        route->id = ++r->last_id;
        list_append(&r->routes, &route->link);
        r->n_routes++;
        route->request = request;
        route->age_ms = request && request->job ? request->job->age_ms : 0;
        route->window = request && request->what_case == ARGOSY__REQUEST__WHAT_JOURNAL
                                ? request->journal->window
                                : 0;
        if (request)
                route_count_watching(route);
        route->author = copy_author(r->daemon, author);
        k = route->request && route->author ? route_translate_leave(r->daemon, route) : -ENOMEM;
        if (k >= 0)
                k = name_host(r->daemon, route->request);
        if (k >= 0)
                k = map_add(&r->by_id, &route->id, sizeof(route->id), route);
        if (k < 0) {
                route_free(route);
                return k;
        }
        route->deadline_us = plan_deadline(r, route->request, clock_boot_us());
        route_wait_for_dispatch(route);
        *ret = route;
        return 0;
}

void router_cancel(Route *route) {
        route->respond = NULL;
        route_call_off(route);
        route_free(route);
}

int router_new(Daemon *d, Router **ret) {
        Router *r = calloc(1, sizeof(*r));
        int k;

        if (!r)
                return -ENOMEM;
        r->daemon = d;
        list_init(&r->routes);
        list_init(&r->fresh);
        list_init(&r->waiting);
        list_init(&r->to_pack);
        r->on_due = on_time;
        k = drain_init(&r->drain, d->loop, on_drain, r);
        if (k < 0) {
                free(r);
                return k;
        }
        time_limit_init(&r->limit, d->loop, r);
        router_lead_init(r);
        *ret = r;
        return 0;
}

static void on_silence_closed(uv_handle_t *handle) {
        Router *r = CONTAINER_OF((uv_timer_t *) handle, Router, silence.timer);

        map_done(&r->by_id);
        free(r);
}

static void on_limit_closed(uv_handle_t *handle) {
        Router *r = CONTAINER_OF((uv_timer_t *) handle, Router, limit.timer);

        time_limit_close(&r->silence, on_silence_closed);
}

static void on_drain_closed(uv_handle_t *handle) {
        Router *r = CONTAINER_OF((uv_idle_t *) handle, Router, drain.idle);

        time_limit_close(&r->limit, on_limit_closed);
}

void router_close(Router *r) {
        list_foreach_safe (n, &r->routes) // and nobody calls back for them: leader and agent end later
                router_cancel(CONTAINER_OF(n, Route, link));
        router_pack_close(r);
        drain_close(&r->drain, on_drain_closed);
}
