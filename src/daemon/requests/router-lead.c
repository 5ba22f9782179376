// SPDX-License-Identifier: LGPL-2.1-or-later
//
// This host tells clients that follow events that there is no leader: events come from the leader, which
// cannot say it.
//
//      leader lost, or its answers fail to come -> LEADER_CONTACT_MS -> routes of events are recalled ->
//      dispatch() -> route_answer_lead()
//
// The answer is no event of the stream: it has no place there, the cursor stays. The client asks again, with
// what it knows now, and is answered when that has changed. A new stream is refused at once instead. Out of
// memory a route waits, as it would without this.

#include <errno.h>

#include "clock.h"
#include "daemon.h"
#include "event-kind.h"
#include "macro.h"
#include "mesh.h"
#include "message-of.h"
#include "message.h"
#include "route.h"
#include "router-dispatch.h"
#include "router-lead.h"
#include "str.h"

#define UNSAID ARGOSY__REQUEST__EVENTS__LEAD__UNSAID
#define NOBODY ARGOSY__REQUEST__EVENTS__LEAD__NOBODY

enum { REASON_SIZE = 256 };

static bool is_of_events(const Route *route) {
        return route->request->what_case == ARGOSY__REQUEST__WHAT_EVENTS;
}

// What it was told is not so, or it is not to wait.
static bool is_to_be_reported(const Route *route) {
        const Router *r = route->router;

        if (!is_of_events(route))
                return false;
        return r->silent ? route->request->events->lead != NOBODY
                         : route->request->events->lead == NOBODY && router_has_leader(r);
}

// ---- when

static void judge(Router *r);

static void on_silence(void *userdata) {
        judge(userdata);
}

static void judge(Router *r) {
        uint64_t now = clock_boot_us(), due_us = leader_contact_due_us(&r->contact);
        bool silent = leader_contact_is_lost(&r->contact, now);

        if (silent || due_us == 0)
                time_limit_stop(&r->silence);
        else
                time_limit_start(&r->silence, (due_us - now) / USEC_PER_MSEC + 1, on_silence);
        if (silent == r->silent)
                return;
        r->silent = silent;
        list_foreach_safe (n, &r->routes) {
                Route *route = CONTAINER_OF(n, Route, link);

                if (is_to_be_reported(route))
                        route_recall(route);
        }
}

void router_on_beat(Router *r, uint64_t unanswered_us) {
        leader_contact_on_beat(&r->contact, unanswered_us);
        judge(r);
}

void router_lead_on_changed(Router *r) {
        leader_contact_on_leader(&r->contact, router_has_leader(r), clock_boot_us());
        judge(r);
}

bool router_leader_is_silent(Router *r) {
        r->silence_asked_us = clock_boot_us();
        return r->silent;
}

bool router_leader_is_watched(const Router *r) {
        return r->n_watching > 0 || (r->silence_asked_us > 0 && clock_boot_us() - r->silence_asked_us <
                                                                         ROUTER_WATCH_MS * USEC_PER_MSEC);
}

void route_count_watching(Route *route) {
        route->follows = is_of_events(route);
        route->router->n_watching += route->follows;
}

void router_lead_init(Router *r) {
        time_limit_init(&r->silence, r->daemon->loop, r);
        leader_contact_on_leader(&r->contact, false, clock_boot_us());
        judge(r);
}

// ---- what

static const char *why_nobody(const Router *r, char buf[REASON_SIZE]) {
        Daemon *d = r->daemon;
        char name[64];

        if (d->known_leader != 0)
                str_fit(buf, REASON_SIZE, "%s leads, and does not answer %s",
                        daemon_host_name(d, d->known_leader, name, sizeof(name)), d->config.name);
        else
                str_fit(buf, REASON_SIZE, "%s reaches no host that leads", d->config.name);
        return buf;
}

static void respond_lead(Route *route, const Argosy__Event *e) {
        Argosy__Response__Events events = ARGOSY__RESPONSE__EVENTS__INIT;
        Argosy__Response response = RESPONSE_OF(EVENTS, events, &events);
        _cleanup_free_ uint8_t *packed = malloc(argosy__event__get_packed_size(e));
        // the route's request goes with it
        _cleanup_free_ char *cursor = strdup(route->request->events->cursor);

        if (!packed || !cursor) {
                route_fail(route, EBUSY, "this host has no memory for the event");
                return;
        }
        events.cursor = cursor;
        events.here = (ProtobufCBinaryData){argosy__event__pack(e, packed), packed};
        response.final = true;
        route_respond(route, &response);
}

static void tell(Route *route) {
        static uint32_t changed[] = {EVENT_LEADER_NAME, EVENT_LEADER_REASON};
        Daemon *d = route->router->daemon;
        char name[64] = "", reason[REASON_SIZE] = "", term[24], *values[] = {name, term, reason};

        if (route->router->silent)
                (void) why_nobody(route->router, reason);
        else
                (void) daemon_host_name(d, d->known_leader ?: d->peers->host, name, sizeof(name));
        str_fit(term, sizeof(term), "%llu", (unsigned long long) d->leader_term);
        Argosy__Event e = MESSAGE_OF(event, .kind = ARGOSY__EVENT_KIND__EVENT_LEADER,
                                     .mark = ARGOSY__EVENT_MARK__EVENT_HERE, .at_us = clock_wall_us(),
                                     .values = values, .n_values = ELEMENTSOF(values), .changed = changed,
                                     .n_changed = ELEMENTSOF(changed));
        respond_lead(route, &e);
}

bool route_answer_lead(Route *route) {
        char reason[REASON_SIZE];

        if (!is_to_be_reported(route))
                return false;
        if (route->request->events->lead == UNSAID)
                route_fail(route, EHOSTUNREACH, "nobody leads the cluster: %s",
                           why_nobody(route->router, reason));
        else
                tell(route);
        return true;
}
