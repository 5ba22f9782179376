// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// A request on its way, and what all of them share: for the files of the router alone (router.h is for
// everybody else).
//
// A Route belongs to its Router. It is gone when its last response has been handed on (route_respond() with
// `final`), or when its owner has cancelled it (router_cancel()); inside leader_request() and agent_call()
// it lives until that returns (`in_call`).

#include <stdbool.h>
#include <stdint.h>

#include "argosy.pb-c.h"
#include "leader-contact.h"
#include "list.h"
#include "map.h"
#include "route-types.h"
#include "time-limit.h"
#include "uvx.h"

typedef struct RouterPacking RouterPacking;

typedef enum RoutePlace { ROUTE_WAITING, ROUTE_HERE, ROUTE_PACKING, ROUTE_AWAY, ROUTE_LOCAL } RoutePlace;

struct Route {
        Router *router;
        ListNode link;
        ListNode queue; // in Router.fresh or .waiting while WAITING, in .to_pack while PACKING
        RoutePlace place;
        Argosy__Request *request;
        Argosy__Author *author;
        RouteRespond respond; // NULL: cancelled by its owner, only waiting for a callback
        void *userdata;
        uint64_t id; // key in `by_id`
        uint64_t cancel;
        uint64_t deadline_us; // while WAITING
        uint64_t again_us;    // while WAITING, 0: only when the leader changes
        uint64_t mark;        // newest of a journal's lines that were not taken yet; 0: none
        uint32_t window;      // of a journal: that was asked for; 0: the usual one
        bool leaving;         // `cluster leave`
        bool asked;           // a leader was given it
        uint64_t asked_us;    // the first one, then
        uint64_t age_ms;      // of its job, as it came
        bool answered;        // at least one response has gone out
        bool makeshift;       // this host's agent answers until somebody leads
        bool checking;        // while AWAY: the leader is asked whether its author may have this host answer
                              // it
        bool checked;         // it has said so
        bool in_call;         // inside leader_request() or agent_call(): free after it returns
        bool done;
        bool follows; // counted in n_watching
};

struct Router {
        Daemon *daemon;
        ListNode routes;
        ListNode fresh, waiting;
        ListNode to_pack;
        RouterPacking *packing; // what the pool packs, or the link has no room for yet; NULL: nothing
        size_t n_routes;
        Map by_id;
        uint64_t last_id;
        Drain drain;
        TimeLimit limit;
        // of `limit`, with the router: something that waits is due (router.c)
        void (*on_due)(void *userdata);
        uint64_t armed_us; // that it runs until; OVERDUE; 0: it does not run
        LeaderContact contact;
        TimeLimit silence; // until the leader is called silent
        size_t n_watching; // routes of events
        uint64_t silence_asked_us; // boot time at which somebody asked whether it is; 0: nobody has
        bool silent;               // as it was said last
};

// Hands one response on. The route may be gone afterwards if it is final.
void route_respond(Route *route, const Argosy__Response *response);
// a final one; the message is cut at 511 bytes
void route_fail(Route *route, int status, const char *format, ...) _printf_(3, 4);
// route_respond(), of a Route
void route_on_answer(const Argosy__Response *response, void *userdata);
// Without a response; in_call must be false.
void route_free(Route *route);

bool router_has_leader(const Router *r); // a voter says that it leads

// ---- places

void route_wait_for_dispatch(Route *route); // last in line; route_dispatch() is called in a later turn
void route_wait_for_leader(Route *route);   // until one appears, or route_due_us()
// The leader that was asked leads no more. The news of that may come later, or have come before the
// question: so the route is asked again ROUTER_AGAIN_MS later, too, if there is no news.
void route_wait_again(Route *route);
void route_ask_again(Route *route);           // of the leader of then, soon
uint64_t route_due_us(const Route *route);    // boot time at which one that waits is looked at again
void route_note_asked(Route *route);          // a leader has been given it
void route_is_away(Route *route);             // the leader elsewhere has it
// The next leader may find it carried out, or has to know whether it may have been, and been forgotten:
// writes its age into its job.
void route_tell_age(Route *route);
