// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Where a request goes, and what its receiver is told later: that it is taken, cancelled or called off.
//
//      route_dispatch() -> this daemon, this host's agent    what only this host can answer, if its author
//                                                            may (router-local.c)
//                       -> the leader in this process
//                       -> the leader elsewhere              short ones at once, long ones by way of
//                                                            router-pack.c
//                       -> nobody leads: it waits
//
// What this host answers alone under a token is judged by the leader first, if there is one. A leader that
// says EAGAIN leads no more: the route waits for the next one.

#include <errno.h>
#include <string.h>

#include "access-token.h"
#include "access.h"
#include "agent.h"
#include "author.h"
#include "clock.h"
#include "daemon.h"
#include "flow-window.h"
#include "join.h"
#include "leader.h"
#include "list.h"
#include "managers.h"
#include "map.h"
#include "mesh.h"
#include "message-of.h"
#include "request-kind.h"
#include "route.h"
#include "router-dispatch.h"
#include "router-lead.h"
#include "router-leave.h"
#include "router-local.h"
#include "router-pack.h"
#include "socket-access.h"

// ---- who may ask

bool route_is_allowed_here(const Route *route) {
        return route->checked || access_has(socket_access_list(route->router->daemon), route->author,
                                            request_right(route->request), NULL);
}

bool route_refuse_here(Route *route) {
        Argosy__Right right = request_right(route->request);
        char who[AUTHOR_TEXT_SIZE], why[ACCESS_TOKEN_WHY_SIZE];
        int error;

        if (route_is_allowed_here(route))
                return false;
        error = access_token_error(socket_access_list(route->router->daemon), route->author, why);
        if (error == EKEYREJECTED && !route->router->daemon->leading) {
                route_fail(route, EHOSTUNREACH,
                           "no leader can be reached, and this host alone does not know the token");
                return true;
        }
        if (error > 0) {
                route_fail(route, error, "%s", why);
                return true;
        }
        route_fail(route, EACCES,
                   "this host answers that alone, and it needs the right '%s' on all units, which %s does "
                   "not have",
                   right_to_string(right), author_text(route->author, who));
        return true;
}

// ---- where to

// How far the answers of a journal may be ahead of the client, which may want less than usual.
static uint32_t window_of(const Route *route) {
        if (route->window == 0)
                return FLOW_WINDOW_BYTES;
        return MIN_OF(MAX_OF(route->window, (uint32_t) FLOW_WINDOW_SHARE_MIN), (uint32_t) FLOW_WINDOW_BYTES);
}

static void offer_window(Route *route) {
        if (route->request->what_case != ARGOSY__REQUEST__WHAT_JOURNAL)
                return;
        route->mark = 0;
        route->request->journal->window = window_of(route);
}

void route_ask_agent(Route *route, AgentReply reply) {
        int r;

        offer_window(route);
        route->place = ROUTE_LOCAL;
        route->in_call = true;
        r = agent_call(route->router->daemon->agent, author_key(route->author), 0, route->request, reply,
                       route, &route->cancel);
        route->in_call = false;
        if (route->done)
                route_free(route);
        else if (r < 0)
                route_fail(route, -r, "%s", strerror(-r));
}

void route_dispatch_local(Route *route) {
        if (route_refuse_here(route))
                return;
        if (!route_answer_local(route))
                route_ask_agent(route, route_on_answer);
}

// From the leader in this process. It tells that it stopped leading in the middle by EAGAIN; then the next
// leader is asked.
static void on_leader_answer(const Argosy__Response *response, void *userdata) {
        Route *route = userdata;

        if (response->final && response->status == EAGAIN && route->place == ROUTE_HERE) {
                route_wait_again(route);
                return;
        }
        if (!route_leave_is_granted(route, response))
                route_respond(route, response);
}

// A long request is not copied, since it stays here until it is answered or cancelled. A request for the log
// may outlive that, so it is.
static int ask_leader(Route *route) {
        const RequestKind *kind = request_kind(route->request->what_case);
        Leader *l = route->router->daemon->leader;

        if (kind && kind->effect != REQUEST_CHANGES && request_is_long(route->request))
                return leader_request_lent(l, route->author, route->request, on_leader_answer, route,
                                           &route->cancel);
        return leader_request(l, route->author, route->request, on_leader_answer, route, &route->cancel);
}

static void dispatch_here(Route *route) {
        int r;

        offer_window(route);
        route_tell_age(route);
        route->place = ROUTE_HERE;
        route->in_call = true;
        r = ask_leader(route);
        route->in_call = false;
        if (route->done)
                route_free(route);
        else if (r == -EAGAIN)
                route->place = ROUTE_WAITING;
        else if (r < 0)
                route_fail(route, -r, "%s", strerror(-r));
        else
                route_note_asked(route);
}

// What a token may is the leader's to say while there is one: that it was made, or revoked, comes later to a
// copy of the log, and hosts without a log have none.
static bool needs_check(const Route *route) {
        const Daemon *d = route->router->daemon;

        if (!request_is_local(route->request) || route->author->token_proof.len == 0 || route->checked ||
            d->leading || request_right(route->request) == ARGOSY__RIGHT__RIGHT_NONE)
                return false;
        return d->known_leader != 0 || !access_token_of(socket_access_list(d), route->author);
}

// What this host answers alone, if the leader says that the author may have it.
static void dispatch_check(Route *route) {
        Argosy__Request__RightCheck check = ARGOSY__REQUEST__RIGHT_CHECK__INIT;
        Argosy__ToVoter__Forward forward = ARGOSY__TO_VOTER__FORWARD__INIT;
        Argosy__ToVoter message = TO_VOTER_OF(FORWARD, forward, &forward);
        Argosy__Request request = REQUEST_OF(RIGHT_CHECK, right_check, &check);

        check.right = request_right(route->request);
        request.id = route->request->id;
        forward.id = route->id;
        forward.request = &request;
        forward.author = route->author;
        if (mesh_to_leader(route->router->daemon->mesh, &message) == 0) {
                route->place = ROUTE_AWAY;
                route->checking = true;
        }
}

static void on_checked(Route *route, const Argosy__Response *response) {
        route->checking = false;
        if (response->status != 0) {
                route_respond(route, response);
                return;
        }
        route->checked = true;
        route_dispatch_local(route);
}

static void dispatch_away(Route *route) {
        Argosy__ToVoter__Forward forward = ARGOSY__TO_VOTER__FORWARD__INIT;
        Argosy__ToVoter message = TO_VOTER_OF(FORWARD, forward, &forward);
        int r;

        if (route_is_to_be_packed(route)) {
                route_pack(route);
                return;
        }
        offer_window(route);
        route_tell_age(route);
        forward.id = route->id;
        forward.request = route->request;
        forward.author = route->author;
        r = mesh_to_leader(route->router->daemon->mesh, &message);
        if (r == 0)
                route_is_away(route);
}

bool route_dispatch(Route *route) {
        Router *r = route->router;
        Daemon *d = r->daemon;
        uint64_t id = route->id;

        list_unlink(&route->queue);
        route->again_us = 0;
        if (route_answer_lead(route))
                return true;
        if (needs_check(route)) {
                if (d->known_leader != 0)
                        dispatch_check(route);
        } else if (request_is_local(route->request))
                route_dispatch_local(route);
        else if (d->leading)
                dispatch_here(route);
        else if (d->known_leader != 0)
                dispatch_away(route);
        route = map_find(&r->by_id, &id, sizeof(id));
        if (!route || route->place != ROUTE_WAITING)
                return true;
        route_wait_for_leader(route);
        return false;
}

// ---- what the receiver is told

void router_on_forward_reply(Router *r, uint64_t id, const Argosy__Response *response) {
        Route *route = map_find(&r->by_id, &id, sizeof(id));

        if (!route || route->place != ROUTE_AWAY)
                return; // cancelled meanwhile
        if (response->final && response->status == EAGAIN) {
                route_wait_again(route);
                return;
        }
        if (route->checking)
                on_checked(route, response);
        else if (!route_leave_is_granted(route, response))
                route_respond(route, response);
}

void route_call_off(Route *route) {
        Daemon *d = route->router->daemon;
        Argosy__ToVoter message = ARGOSY__TO_VOTER__INIT;
        Argosy__ToVoter__ForwardCancel cancel = ARGOSY__TO_VOTER__FORWARD_CANCEL__INIT;

        switch (route->place) {
        case ROUTE_HERE:
                if (route->cancel && d->leader)
                        leader_cancel(d->leader, route->cancel);
                break;
        case ROUTE_AWAY:
                cancel.id = route->id;
                message.msg_case = ARGOSY__TO_VOTER__MSG_FORWARD_CANCEL;
                message.forward_cancel = &cancel;
                (void) mesh_to_leader(d->mesh, &message); // no link: nothing to cancel
                break;
        case ROUTE_LOCAL:
                if (!route->cancel) {
                        join_abandon(d, route);
                        managers_abandon(d, route);
                        break;
                }
                agent_cancel(d->agent, route->cancel);
                break;
        case ROUTE_WAITING:
        case ROUTE_PACKING: // route_free() does it
                break;
        }
}

void route_recall(Route *route) {
        route_call_off(route);
        route->cancel = 0;
        route->place = ROUTE_WAITING;
        route_wait_for_dispatch(route);
}

void router_taken(Route *route) {
        Daemon *d = route->router->daemon;
        Argosy__ToVoter message = ARGOSY__TO_VOTER__INIT;
        Argosy__ToVoter__ForwardTaken taken = ARGOSY__TO_VOTER__FORWARD_TAKEN__INIT;
        uint64_t mark = route->mark;

        route->mark = 0;
        if (!mark)
                return;
        switch (route->place) {
        case ROUTE_HERE:
                if (d->leader)
                        leader_taken(d->leader, route->cancel, mark);
                break;
        case ROUTE_AWAY:
                taken.id = route->id;
                taken.mark = mark;
                message.msg_case = ARGOSY__TO_VOTER__MSG_FORWARD_TAKEN;
                message.forward_taken = &taken;
                (void) mesh_to_leader(d->mesh, &message); // no link: the journal ends with it
                break;
        case ROUTE_LOCAL:
                agent_taken(d->agent, route->cancel, mark);
                break;
        case ROUTE_WAITING:
        case ROUTE_PACKING:
                break;
        }
}
