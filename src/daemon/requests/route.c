// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Where a route can be:
//
//   WAITING   in `fresh`: just submitted, or asked
//             by a leader that is none any more   -> route_dispatch() in the next turns (router.c)
//             in `waiting`: for a leader          -> `fresh` when one appears, until its deadline
//   HERE      at the leader in this process       (cancel token); or, while nobody leads, of what that
//                                                 leader knows
//   PACKING   a long one on its way there         (router-pack.c)
//   AWAY      at the leader elsewhere             (forward id)
//   LOCAL     at this host's agent, or joining    (cancel token)
//
// A request costs the same however many others wait or are asked for: each is in at most one list, and one
// timer runs for the earliest deadline of all that wait. Failures are responses; the last response ends the
// route.

#include <errno.h>
#include <stdarg.h>

#include "author.h"
#include "clock.h"
#include "daemon.h"
#include "error-response.h"
#include "map.h"
#include "message.h"
#include "route.h"
#include "router-pack.h"
#include "str.h"
#include "time-limit.h"

#define OVERDUE UINT64_C(1) // Router.armed_us

void route_free(Route *route) {
        Router *r = route->router;

        route_pack_forget(route);
        list_unlink(&route->link);
        list_unlink(&route->queue);
        r->n_routes--;
        r->n_watching -= route->follows;
        (void) map_take(&r->by_id, &route->id, sizeof(route->id));
        message_retire(r->daemon->loop, route->request);
        message_free(route->author);
        free(route);
}

void route_respond(Route *route, const Argosy__Response *response) {
        RouteRespond respond = route->respond;
        void *userdata = route->userdata;

        route->answered = true;
        if (response->what_case == ARGOSY__RESPONSE__WHAT_JOURNAL && response->journal->mark)
                route->mark = response->journal->mark;
        if (response->final) {
                route->done = true;
                route->respond = NULL;
                if (!route->in_call)
                        route_free(route);
        }
        if (respond)
                respond(response, userdata);
}

void route_fail(Route *route, int status, const char *format, ...) {
        Argosy__Response response;
        char message[512];
        va_list ap;

        va_start(ap, format);
        str_vfit(message, sizeof(message), format, ap);
        va_end(ap);
        response = error_response(status, message);
        response.no_leader = status == ETIMEDOUT || status == EHOSTUNREACH || status == EINPROGRESS;
        route_respond(route, &response);
}

void route_on_answer(const Argosy__Response *response, void *userdata) {
        route_respond(userdata, response);
}

bool router_has_leader(const Router *r) {
        return r->daemon->leading || r->daemon->known_leader != 0;
}

// One limit for the earliest deadline of all that wait, or of one that waits no more. One that is over
// already is not begun anew by whatever comes in between.
static void arm_limit(Router *r, uint64_t due_us) {
        uint64_t now = clock_boot_us(), until = due_us <= now ? OVERDUE : due_us;

        if (due_us == UINT64_MAX || (r->armed_us > 0 && r->armed_us <= until))
                return;
        r->armed_us = until;
        time_limit_start(&r->limit, until == OVERDUE ? 0 : (until - now) / USEC_PER_MSEC + 1, r->on_due);
}

uint64_t route_due_us(const Route *route) {
        return route->again_us ? MIN_OF(route->again_us, route->deadline_us) : route->deadline_us;
}

static void put_into(ListNode *list, Route *route) {
        list_unlink(&route->queue);
        list_append(list, &route->queue);
}

void route_wait_for_leader(Route *route) {
        route->place = ROUTE_WAITING;
        put_into(&route->router->waiting, route);
        arm_limit(route->router, route_due_us(route));
}

void route_wait_for_dispatch(Route *route) {
        put_into(&route->router->fresh, route);
        drain_mark(&route->router->drain);
}

void route_wait_again(Route *route) {
        route->place = ROUTE_WAITING;
        route->checking = false;
        route->cancel = 0;
        route->again_us = clock_boot_us() + ROUTER_AGAIN_MS * USEC_PER_MSEC;
        route_wait_for_leader(route);
}

void route_ask_again(Route *route) {
        route->place = ROUTE_WAITING;
        route->deadline_us = MAX_OF(route->deadline_us, clock_boot_us() + ROUTER_READ_MS * USEC_PER_MSEC);
        route_wait_for_dispatch(route);
}

void route_tell_age(Route *route) {
        Argosy__Request__Job *job = route->request->job;

        if (job && route->asked)
                job->age_ms = route->age_ms +
                              MAX_OF((clock_boot_us() - route->asked_us) / USEC_PER_MSEC, UINT64_C(1));
}

void route_note_asked(Route *route) {
        if (!route->asked)
                route->asked_us = clock_boot_us();
        route->asked = true;
}

void route_is_away(Route *route) {
        route->place = ROUTE_AWAY;
        route_note_asked(route);
}

RouterStats router_stats(const Router *r) {
        return (RouterStats){.host_requests_open = r->n_routes};
}
