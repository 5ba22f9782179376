// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Long requests on their way to the leader elsewhere. Packing one of many megabytes holds the loop for
// milliseconds, and so does putting it behind what the link still has, so the pool packs, and the link gets
// the frame as it is:
//
//      dispatch() -> PACKING: in line -> [pool] -> whatever the link has is taken -> mesh_to_leader_frame()
//      -> AWAY
//
// One at a time for the whole daemon, so one frame is held beside what the links have, however many ask.
// Short requests overtake.
//
// While the pool reads it, a request is nobody else's: a route that is cancelled leaves it to the pool, and
// one whose leader goes away waits for the pool before it is asked again. A request that no frame has room
// for fails with E2BIG; out of memory fails the request.

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "daemon.h"
#include "frame.h"
#include "mesh.h"
#include "message.h"
#include "oom.h"
#include "pool.h"
#include "request-kind.h"
#include "route.h"
#include "router-pack.h"

enum { LONG_FRAME = 128 * 1024 }; // packed in the loop in some 0.1 ms

struct RouterPacking {
        PoolWork work;
        Router *router;         // NULL: it has gone
        Route *route;           // NULL: it has gone, and what it asked for is ours
        Argosy__Request *asked; // then
        Argosy__Author *author;
        Argosy__ToVoter message;
        Argosy__ToVoter__Forward forward;
        Buf frame;
        int error;
        bool packed;
        bool stale; // the leader that it was for has gone
};

static void begin_next(Router *r);

static void packing_free(RouterPacking *p) {
        message_retire(p->work.loop, p->asked);
        message_free(p->author);
        buf_done(&p->frame);
        free(p);
}

// Its route knows what becomes of it.
static void end(Router *r) {
        packing_free(TAKE_PTR(r->packing));
        begin_next(r);
}

static void send_on(Router *r) {
        RouterPacking *p = r->packing;
        Route *route = p->route;

        if (mesh_leader_is_full(r->daemon->mesh))
                return; // until router_on_leader_drained()
        if (mesh_to_leader_frame(r->daemon->mesh, &p->frame) == 0)
                route_is_away(route);
        else
                route_wait_for_leader(route);
        end(r);
}

static void on_packed(PoolWork *w) {
        RouterPacking *p = CONTAINER_OF(w, RouterPacking, work);
        Router *r = p->router;
        Route *route = p->route;
        int error = p->error;

        p->packed = true;
        if (!r)
                packing_free(p);
        else if (!route)
                end(r);
        else if (p->stale) {
                end(r);
                route_ask_again(route);
        } else if (error < 0) {
                end(r);
                if (error == -EMSGSIZE) // no other leader could be told either
                        route_fail(route, E2BIG,
                                   "the request is too long for one frame; split it into several");
                else
                        route_fail(route, -error, "%s", strerror(-error));
        } else
                send_on(r);
}

static void run_pack(PoolWork *w) {
        RouterPacking *p = CONTAINER_OF(w, RouterPacking, work);

        p->error = frame_pack(&p->message.base, FRAME_MAX, &p->frame);
        if (p->error == 0 && frame_cost(&argosy__to_voter__descriptor, p->frame.data + FRAME_HEADER_SIZE,
                                        p->frame.len - FRAME_HEADER_SIZE, MESH_MESSAGE_COST_MAX) == SIZE_MAX)
                p->error = -EMSGSIZE; // the leader would end the link
}

static void begin(Router *r, Route *route) {
        RouterPacking *p = oom_checked(calloc(1, sizeof(*p)));

        route_tell_age(route);
        p->router = r;
        p->route = route;
        argosy__to_voter__init(&p->message);
        argosy__to_voter__forward__init(&p->forward);
        p->message.msg_case = ARGOSY__TO_VOTER__MSG_FORWARD;
        p->message.forward = &p->forward;
        p->forward.id = route->id;
        p->forward.request = route->request;
        p->forward.author = route->author;
        r->packing = p;
        pool_add(r->daemon->loop, &p->work, POOL_GUESTS, run_pack, on_packed);
}

static void begin_next(Router *r) {
        while (!r->packing && !list_is_empty(&r->to_pack)) {
                Route *route = CONTAINER_OF(r->to_pack.next, Route, queue);

                list_unlink(&route->queue);
                begin(r, route);
        }
}

bool route_is_to_be_packed(const Route *route) {
        return request_is_long(route->request) ||
               argosy__request__get_packed_size(route->request) > LONG_FRAME;
}

void route_pack(Route *route) {
        Router *r = route->router;

        route->place = ROUTE_PACKING;
        list_append(&r->to_pack, &route->queue);
        begin_next(r);
}

bool route_pack_stop(Route *route) {
        Router *r = route->router;
        RouterPacking *p = r->packing;

        list_unlink(&route->queue);
        if (!p || p->route != route)
                return true;
        p->stale = true;
        if (!p->packed)
                return false;
        end(r);
        return true;
}

void route_pack_forget(Route *route) {
        Router *r = route->router;
        RouterPacking *p = r->packing;

        if (!p || p->route != route)
                return;
        p->route = NULL;
        p->asked = TAKE_PTR(route->request);
        p->author = TAKE_PTR(route->author);
        if (p->packed)
                end(r);
}

void router_on_leader_drained(Router *r) {
        if (r->packing && r->packing->packed)
                send_on(r);
}

void router_pack_close(Router *r) {
        if (!r->packing)
                return;
        r->packing->router = NULL;
        if (r->packing->packed)
                packing_free(r->packing);
        r->packing = NULL;
}
