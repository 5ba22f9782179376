// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Shared by router.c, router-lead.c, router-local.c and router-pack.c.

#include "leader-contact.h"
#include "list.h"
#include "map.h"
#include "router.h"
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
        bool checking;        // while AWAY: the leader is asked whether its author may have this host answer it
        bool checked;         // it has said so
        bool in_call;         // inside leader_request() or agent_call(): free after it returns
        bool done;
        bool follows; // counted in n_followers
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
        uint64_t armed_us; // that it runs until; OVERDUE; 0: it does not run
        LeaderContact contact;
        TimeLimit silence; // until the leader is called silent
        size_t n_followers;        // routes of events
        uint64_t silence_asked_us; // boot time at which somebody asked whether it is; 0: nobody has
        bool silent;       // as it was said last
};

// Hands one response on. The route may be gone afterwards if it is final.
void route_respond(Route *route, const Argosy__Response *response);
void route_fail(Route *route, int status, const char *format, ...) _printf_(3, 4);
void route_on_answer(const Argosy__Response *response, void *userdata); // route_respond(), of a Route

// router.c. It is asked again, by way of dispatch(), and whoever has it now is told that nobody waits for his answer.
void route_recall(Route *route);
bool router_has_leader(const Router *r); // somebody says that he leads
void route_tell_age(Route *route);        // to whoever is asked next
void route_is_away(Route *route);         // the leader elsewhere has it
void route_wait_for_leader(Route *route);
void route_ask_again(Route *route);       // whoever leads, soon

// router-pack.c
bool route_is_to_be_packed(const Route *route);
// For the leader elsewhere: it is PACKING until that has it, or not.
void route_pack(Route *route);
// One that is PACKING is to be asked again. False: the pool still reads it, and then it is asked again.
bool route_pack_stop(Route *route);
// It goes, and may leave what it asks for to the pool.
void route_pack_forget(Route *route);
void router_pack_close(Router *r); // without routes

// router-lead.c
void router_lead_init(Router *r);
void router_lead_on_changed(Router *r);
void route_count_follower(Route *route); // a new one, if it is of events
// What follows events is told what this host knows of the leader, if that is not what it was told last. True: the route is answered.
bool route_answer_lead(Route *route);

// router-local.c. Of one that this daemon answers: does, or lets somebody do it later. False: it is none.
bool route_answer_local(Route *route);
