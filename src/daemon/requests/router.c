// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Where a route can be:
//
//   WAITING   in `fresh`: just submitted, or asked
//             by a leader that is none any more   -> dispatch() in the next turns, DISPATCHED_PER_TURN in each
//             in `waiting`: for a leader          -> `fresh` when one appears, until its deadline
//   HERE      at the leader in this process       (cancel token); or of what that knows while nobody leads
//   PACKING   a long one on its way there         (router-pack.c)
//   AWAY      at the leader elsewhere             (forward id)
//   LOCAL     at this host's agent, or joining    (cancel token)
//
// So a request costs the same however many others wait, or are with somebody.

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

#include "access-token.h"
#include "access.h"
#include "agent.h"
#include "author.h"
#include "clock.h"
#include "cluster-state.h"
#include "daemon.h"
#include "error-response.h"
#include "flow-window.h"
#include "join.h"
#include "leader.h"
#include "list.h"
#include "managers.h"
#include "map.h"
#include "mesh.h"
#include "message.h"
#include "peers.h"
#include "request-kind.h"
#include "router-private.h"
#include "socket-access.h"
#include "str.h"
#include "time-limit.h"

#define OVERDUE UINT64_C(1) // Router.armed_us

enum { DISPATCHED_PER_TURN = 256 }; // at some 10 us each, and so many of those whose time is over

static void on_checked(Route *route, const Argosy__Response *response);

static void route_free(Route *route) {
        Router *r = route->router;

        route_pack_forget(route);
        list_unlink(&route->link);
        list_unlink(&route->queue);
        r->n_routes--;
        r->n_followers -= route->follows;
        (void) map_take(&r->by_id, &route->id, sizeof(route->id));
        message_retire(r->daemon->loop, route->request);
        message_free(route->author);
        free(route);
}

static void on_left(const Argosy__Response *response, void *userdata) {
        router_on_removed(userdata, response);
}

// The leader has let us go: `cluster leave` is over when this host has forgotten the cluster, whichever
// comes first, the leader's answer or ToHost.Removed.
static bool is_leave_granted(Route *route, const Argosy__Response *response) {
        if (!route->leaving || !response->final || response->status != 0 || response->held)
                return false; // what the queue holds back is told when it has begun, as somebody else's removal would be
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

// ---- answers

void route_on_answer(const Argosy__Response *response, void *userdata) {
        route_respond(userdata, response);
}

// Who was asked does not lead any more. The news of that may come later, or have come before the question:
// so it is asked again a little later also if there is no news.
static void wait_again(Route *route) {
        route->place = ROUTE_WAITING;
        route->checking = false;
        route->cancel = 0;
        route->again_us = clock_boot_us() + ROUTER_AGAIN_MS * USEC_PER_MSEC;
        route_wait_for_leader(route);
}

// From the leader in this process. It tells that it stopped leading in the middle by EAGAIN; then the next
// leader is asked.
static void on_leader_answer(const Argosy__Response *response, void *userdata) {
        Route *route = userdata;

        if (response->final && response->status == EAGAIN && route->place == ROUTE_HERE) {
                wait_again(route);
                return;
        }
        if (!is_leave_granted(route, response))
                route_respond(route, response);
}

void router_on_forward_reply(Router *r, uint64_t id, const Argosy__Response *response) {
        Route *route = map_find(&r->by_id, &id, sizeof(id));

        if (!route || route->place != ROUTE_AWAY)
                return; // cancelled meanwhile
        if (response->final && response->status == EAGAIN) {
                wait_again(route);
                return;
        }
        if (route->checking)
                on_checked(route, response);
        else if (!is_leave_granted(route, response))
                route_respond(route, response);
}

// ---- who may ask

static bool may_here(const Route *route) {
        return route->checked ||
               access_has(socket_access_list(route->router->daemon), route->author, request_right(route->request),
                          NULL);
}

// What this host answers alone it judges by what it knows. Roles of units it does not know, so who has a right for some of
// them has to ask a leader. True: refused, and the route may be gone.
static bool refuse_here(Route *route) {
        Argosy__Right right = request_right(route->request);
        char who[AUTHOR_TEXT_SIZE], why[ACCESS_TOKEN_WHY_SIZE];
        int error;

        if (may_here(route))
                return false;
        error = access_token_error(socket_access_list(route->router->daemon), route->author, why);
        if (error == EKEYREJECTED && !route->router->daemon->leading) {
                route_fail(route, EHOSTUNREACH, "no leader can be reached, and this host alone does not know the token");
                return true;
        }
        if (error > 0) {
                route_fail(route, error, "%s", why);
                return true;
        }
        route_fail(route, EACCES,
                   "this host answers that alone, and it needs the right '%s' on all units, which %s does not have",
                   right_to_string(right), author_text(route->author, who));
        return true;
}

// ---- where to

// Whoever answers a journal may be so far ahead of the client, who may want less than usual.
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

static void ask_agent(Route *route, AgentReply reply) {
        int r;

        offer_window(route);
        route->place = ROUTE_LOCAL;
        route->in_call = true;
        r = agent_call(route->router->daemon->agent, author_key(route->author), 0, route->request, reply, route, &route->cancel);
        route->in_call = false;
        if (route->done)
                route_free(route);
        else if (r < 0)
                route_fail(route, -r, "%s", strerror(-r));
}

static void dispatch_local(Route *route) {
        if (refuse_here(route))
                return;
        if (!route_answer_local(route))
                ask_agent(route, route_on_answer);
}

// Whoever leads next may find it carried out, or has to know whether it may have been, and been forgotten.
void route_tell_age(Route *route) {
        Argosy__Request__Job *job = route->request->job;

        if (job && route->asked)
                job->age_ms = route->age_ms + MAX_OF((clock_boot_us() - route->asked_us) / USEC_PER_MSEC, UINT64_C(1));
}

static void note_asked(Route *route) {
        if (!route->asked)
                route->asked_us = clock_boot_us();
        route->asked = true;
}

// Of a long one there is no copy, since it stays here until it is answered or cancelled. One for the log may outlive that.
static int ask_leader(Route *route) {
        const RequestKind *kind = request_kind(route->request->what_case);
        Leader *l = route->router->daemon->leader;

        if (kind && kind->effect != REQUEST_CHANGES && request_is_long(route->request))
                return leader_request_lent(l, route->author, route->request, on_leader_answer, route, &route->cancel);
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
                note_asked(route);
}

// What a token may is the leader's to say while there is one: that it was made, or revoked, comes later to a copy of the log, and
// hosts without a log have none.
static bool needs_check(const Route *route) {
        const Daemon *d = route->router->daemon;

        if (!request_is_local(route->request) || route->author->token_proof.len == 0 || route->checked || d->leading ||
            request_right(route->request) == ARGOSY__RIGHT__RIGHT_NONE)
                return false;
        return d->known_leader != 0 || !access_token_of(socket_access_list(d), route->author);
}

// What this host answers alone, if the leader says that he may have it.
static void dispatch_check(Route *route) {
        Argosy__Request__RightCheck check = ARGOSY__REQUEST__RIGHT_CHECK__INIT;
        Argosy__ToVoter__Forward forward = ARGOSY__TO_VOTER__FORWARD__INIT;
        Argosy__ToVoter message = ARGOSY__TO_VOTER__INIT;
        Argosy__Request request = ARGOSY__REQUEST__INIT;

        check.right = request_right(route->request);
        request.id = route->request->id;
        request.what_case = ARGOSY__REQUEST__WHAT_RIGHT_CHECK;
        request.right_check = &check;
        forward.id = route->id;
        forward.request = &request;
        forward.author = route->author;
        message.msg_case = ARGOSY__TO_VOTER__MSG_FORWARD;
        message.forward = &forward;
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
        dispatch_local(route);
}

void route_is_away(Route *route) {
        route->place = ROUTE_AWAY;
        note_asked(route);
}

static void dispatch_away(Route *route) {
        Argosy__ToVoter message = ARGOSY__TO_VOTER__INIT;
        Argosy__ToVoter__Forward forward = ARGOSY__TO_VOTER__FORWARD__INIT;
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
        message.msg_case = ARGOSY__TO_VOTER__MSG_FORWARD;
        message.forward = &forward;
        r = mesh_to_leader(route->router->daemon->mesh, &message);
        if (r == 0)
                route_is_away(route);
}

// Whether it has gone somewhere; it may be answered and gone for good. False: it waits.
static bool dispatch(Route *route) {
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
                dispatch_local(route);
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

// ---- without a leader

// A reading request is answered from what is known here, with its age.
static void on_stale_answer(const Argosy__Response *response, void *userdata) {
        Route *route = userdata;
        Daemon *d = route->router->daemon;
        Argosy__Response aged = *response;
        Argosy__Response__ClusterStatus status;
        _cleanup_free_ char *notice = NULL;

        if (response->final && response->status == EAGAIN && route->place == ROUTE_HERE && !route->in_call) {
                wait_again(route); // somebody leads again
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

        if ((!d->leader || request_is_read_of_units(route->request)) && refuse_here(route))
                return;
        if (request_is_read_of_units(route->request)) {
                route->makeshift = route->request->what_case == ARGOSY__REQUEST__WHAT_TOP; // has no end of its own
                ask_agent(route, on_stale_answer);
                return;
        }
        if (d->leader) {
                route->place = ROUTE_HERE; // of a long list the rest comes later
                route->in_call = true;
                leader_answer_stale(d->leader, route->author, route->request, on_stale_answer, route, &route->cancel);
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

// By a leader that had it from here, or by one that had it from another host: a client that asks again says so by its age.
static bool may_be_done(const Route *route) {
        return route->asked || route->age_ms > 0;
}

// Of a key this host does not know who else asks another host under it. An id without one nobody has but this client.
static const char *what_became_of_it(const Route *route) {
        const Argosy__Request__Job *job = route->request->job;

        if (route->asked)
                return "a leader had the request before, so look later whether it was carried out";
        if (may_be_done(route))
                return "it was asked for before, so look later whether it was carried out";
        if (job && job->keyed)
                return "nothing was changed by this request, unless another host had it under the same key, too";
        return "nothing was changed";
}

static void on_deadline(Route *route) {
        Daemon *d = route->router->daemon;
        const RequestKind *kind = request_kind(route->request->what_case);

        list_unlink(&route->queue);
        if (request_is_local(route->request)) { // nobody could be asked whether he may
                dispatch_local(route);
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
        route_fail(route, may_be_done(route) ? EINPROGRESS : ETIMEDOUT, // nobody knows what became of it, or it has not begun
                   "no leader can be reached for %.1f s; %s",
                   (double) (clock_boot_us() - d->leader_seen_us) / (double) USEC_PER_SEC, what_became_of_it(route));
}

static bool somebody_leads(const Daemon *d) {
        return d->leading || d->known_leader != 0;
}

bool router_has_leader(const Router *r) {
        return somebody_leads(r->daemon);
}

static void on_time(void *userdata);

// One limit for the earliest deadline of all that wait, or of one that waits no more. One that is over already is not begun
// anew by whatever comes in between.
static void arm_limit(Router *r, uint64_t due_us) {
        uint64_t now = clock_boot_us(), until = due_us <= now ? OVERDUE : due_us;

        if (due_us == UINT64_MAX || (r->armed_us > 0 && r->armed_us <= until))
                return;
        r->armed_us = until;
        time_limit_start(&r->limit, until == OVERDUE ? 0 : (until - now) / USEC_PER_MSEC + 1, on_time);
}

static uint64_t due_of(const Route *route) {
        return route->again_us ? MIN_OF(route->again_us, route->deadline_us) : route->deadline_us;
}

static void put_into(ListNode *list, Route *route) {
        list_unlink(&route->queue);
        list_append(list, &route->queue);
}

void route_wait_for_leader(Route *route) {
        route->place = ROUTE_WAITING;
        put_into(&route->router->waiting, route);
        arm_limit(route->router, due_of(route));
}

static void on_due(Route *route, uint64_t now) {
        if (route->deadline_us > now)
                (void) dispatch(route);
        else if (!somebody_leads(route->router->daemon) || !dispatch(route)) // who leads may be known since just now
                on_deadline(route);
}

static void on_time(void *userdata) {
        uint64_t now = clock_boot_us(), next = UINT64_MAX;
        ListNode waited = LIST_INIT(waited);
        Router *r = userdata;

        r->armed_us = 0;
        list_splice(&waited, &r->waiting);
        for (unsigned n = 0; !list_is_empty(&waited);) {
                Route *route = CONTAINER_OF(waited.next, Route, queue);

                if (due_of(route) <= now && n++ < DISPATCHED_PER_TURN)
                        on_due(route, now);
                else {
                        next = MIN_OF(next, due_of(route));
                        put_into(&r->waiting, route);
                }
        }
        if (next < UINT64_MAX)
                arm_limit(r, next);
}

static void on_drain(void *userdata) {
        Router *r = userdata;

        for (unsigned n = 0; n < DISPATCHED_PER_TURN && !list_is_empty(&r->fresh); n++)
                (void) dispatch(CONTAINER_OF(r->fresh.next, Route, queue));
        if (!list_is_empty(&r->fresh))
                drain_mark(&r->drain);
}

// Behind all that do.
static void wait_for_dispatch(Route *route) {
        put_into(&route->router->fresh, route);
        drain_mark(&route->router->drain);
}

void route_ask_again(Route *route) {
        route->place = ROUTE_WAITING;
        route->deadline_us = MAX_OF(route->deadline_us, clock_boot_us() + ROUTER_READ_MS * USEC_PER_MSEC);
        wait_for_dispatch(route);
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

                if (route->makeshift && somebody_leads(r->daemon))
                        end_makeshift(route);
                if (route->place == ROUTE_WAITING)
                        wait_for_dispatch(route);
                if (route->place == ROUTE_PACKING && !route_pack_stop(route))
                        continue;
                if (route->place != ROUTE_AWAY && route->place != ROUTE_HERE && route->place != ROUTE_PACKING)
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
                wait_for_dispatch(route);
        }
}

void router_on_access_changed(Router *r) {
        list_foreach_safe (n, &r->routes) {
                Route *route = CONTAINER_OF(n, Route, link);

                if (route->place != ROUTE_LOCAL || !route->cancel || may_here(route))
                        continue;
                agent_cancel(r->daemon->agent, route->cancel);
                route->cancel = 0;
                (void) refuse_here(route);
        }
}

// ---- life

// A read waits for an election, but not each time anew while there is nobody to elect a leader.
static uint64_t plan_deadline(const Daemon *d, const Argosy__Request *q, uint64_t now) {
        if (q->what_case == ARGOSY__REQUEST__WHAT_EVENTS && q->events->lead != ARGOSY__REQUEST__EVENTS__LEAD__UNSAID)
                return UINT64_MAX; // told that nobody leads it waits for whoever does
        if (q->timeout_ms > 0)
                return now + q->timeout_ms * USEC_PER_MSEC;
        if (!request_is_read(q))
                return now + ROUTER_CHANGE_MS * USEC_PER_MSEC;
        if (somebody_leads(d))
                return now + ROUTER_READ_MS * USEC_PER_MSEC;
        return MAX_OF(now, d->leader_seen_us + ROUTER_READ_MS * USEC_PER_MSEC);
}

// `cluster leave` is `cluster remove` of ourselves, asked of the leader; the answer comes from there, and
// ToHost.Removed does the rest.
static int translate_leave(Daemon *d, Route *route) {
        Argosy__Request__ClusterRemove *remove;
        Argosy__Request *q = route->request;

        if (q->what_case != ARGOSY__REQUEST__WHAT_CLUSTER_LEAVE || q->cluster_leave->force ||
            peers_verdict(d) == PEERS_REMOVED) // the leader has done its part
                return 0;
        remove = malloc(sizeof(*remove));
        if (!remove)
                return -ENOMEM;
        argosy__request__cluster_remove__init(remove);
        remove->host = strdup(d->host_id_hex);
        protobuf_c_message_free_unpacked(&q->cluster_leave->base, NULL);
        q->what_case = ARGOSY__REQUEST__WHAT_CLUSTER_REMOVE;
        q->cluster_remove = remove;
        route->leaving = true;
        return remove->host ? 0 : -ENOMEM;
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

RouterStats router_stats(const Router *r) {
        return (RouterStats){.host_requests_open = r->n_routes};
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
        route->window = request && request->what_case == ARGOSY__REQUEST__WHAT_JOURNAL ? request->journal->window : 0;
        if (request)
                route_count_follower(route);
        route->author = copy_author(r->daemon, author);
        k = route->request && route->author ? translate_leave(r->daemon, route) : -ENOMEM;
        if (k >= 0)
                k = name_host(r->daemon, route->request);
        if (k >= 0)
                k = map_add(&r->by_id, &route->id, sizeof(route->id), route);
        if (k < 0) {
                route_free(route);
                return k;
        }
        route->deadline_us = plan_deadline(r->daemon, route->request, clock_boot_us());
        wait_for_dispatch(route);
        *ret = route;
        return 0;
}

// Whoever has it is told that nobody waits for his answer any more.
static void call_off(Route *route) {
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
        call_off(route);
        route->cancel = 0;
        route->place = ROUTE_WAITING;
        wait_for_dispatch(route);
}

void router_cancel(Route *route) {
        route->respond = NULL;
        call_off(route);
        route_free(route);
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
