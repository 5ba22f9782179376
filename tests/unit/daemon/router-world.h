// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// What the router is surrounded by: leader, mesh, agent and clock are the small fakes below. For test
// programs that link these functions instead of the rooms that they belong to.

#include "test.h"

#include "access.h"
#include "agent.h"
#include "clock.h"
#include "cluster-state.h"
#include "counters.h"
#include "daemon.h"
#include "event-kind.h"
#include "feature-level.h"
#include "frame.h"
#include "join.h"
#include "leader.h"
#include "managers.h"
#include "mesh.h"
#include "message.h"
#include "http-tls.h"
#include "messages.h"
#include "peers.h"
#include "request-rights.h"
#include "router.h"
#include "router-pack.h"
#include "router-leave.h"
#include "router-lead.h"
#include "router-dispatch.h"
#include "socket-access.h"

static struct World {
        uv_loop_t loop;
        Daemon daemon;
        Argosy__PeersFile peers;
        const Argosy__Author *author; // of what is asked next
        bool attested;                // what was asked last, by somebody's name
        char user[64];
        uint32_t user_host;
        uint64_t now_us;
        // What reached the others, and how to answer.
        const Argosy__Request *lent;
        unsigned tried; // to tell a leader elsewhere
        unsigned forwarded, forward_cancelled, asked_here, here_cancelled, local, local_cancelled, resets,
                others;
        uint64_t forward_id;
        Argosy__Request__WhatCase forwarded_what;
        bool keyed;                        // that job's id is of a key
        uint64_t age_ms, forwarded_age_ms; // of the job that a change is: as the client says, and as a
                                           // leader hears
        char removed_host[64], removed_reason[64], waiting_host[64];
        Argosy__Right checked_right;
        bool link_down, link_full, force;
        unsigned frames; // that were packed elsewhere, of what was forwarded
        uint32_t window, wanted_window;
        uint64_t taken_away, taken_here, taken_local; // marks
        AgentReply reply_local; // of a journal, which does not end at once
        void *reply_data;
        char *top_node;
        LeaderRespond respond_here;
        void *respond_data;
        AccessList access;    // as this host knows it
        unsigned asked_stale; // the leader's tables, while nobody leads
        // What came back.
        unsigned answers;
        int status;
        char message[256];
        bool no_leader;
        uint64_t stale_ms;
        // Of one that follows events.
        Argosy__Request__Events__Lead lead; // what it was told before
        char here[64];                      // who leads, as this host says; "nobody"; "": it said nothing
        char behind[64];                    // the cursor of the answer
} w;

static inline void note_author(const Argosy__Author *author) {
        w.attested = author != NULL;
        strcpy(w.user, author ? author->user : "");
        w.user_host = author ? author->host : 0;
}

AccessList socket_access_list(const Daemon *d) {
        return w.access;
}

int http_tls_append_pem(Buf *out) {
        return 0;
}

PeersVerdict peers_verdict(const Daemon *d) {
        return PEERS_SILENT;
}

char *peers_notice(const Daemon *d) {
        return NULL;
}

void peers_answer_status(const Daemon *d, void (*respond)(const Argosy__Response *response, void *userdata),
                         void *userdata) {
}

int peers_try(Daemon *d, char *const *addresses, size_t n, char **ret_why) {
        return 0;
}

const char *daemon_host_name(Daemon *d, uint32_t host, char *buf, size_t size) {
        snprintf(buf, size, "n%u", host);
        return buf;
}

uint64_t clock_wall_us(void) {
        return 1;
}

uint64_t clock_boot_us(void) {
        return w.now_us;
}

int mesh_to_leader(Mesh *m, const Argosy__ToVoter *message) {
        w.tried++;
        if (w.link_down)
                return -ENOTCONN;
        if (message->msg_case == ARGOSY__TO_VOTER__MSG_FORWARD) {
                w.forwarded++;
                w.forward_id = message->forward->id;
                note_author(message->forward->author);
                w.checked_right = message->forward->request->what_case == ARGOSY__REQUEST__WHAT_RIGHT_CHECK
                                          ? message->forward->request->right_check->right
                                          : NOTHING;
                w.forwarded_what = message->forward->request->what_case;
                if (message->forward->request->job)
                        w.forwarded_age_ms = message->forward->request->job->age_ms;
                if (w.forwarded_what == ARGOSY__REQUEST__WHAT_CLUSTER_REMOVE) {
                        strcpy(w.removed_host, message->forward->request->cluster_remove->host);
                        strcpy(w.removed_reason,
                               message->forward->request->job ? message->forward->request->job->reason : "");
                }
                if (w.forwarded_what == ARGOSY__REQUEST__WHAT_MANAGER_WAIT)
                        strcpy(w.waiting_host, message->forward->request->manager_wait->host);
                if (w.forwarded_what == ARGOSY__REQUEST__WHAT_JOURNAL)
                        w.window = message->forward->request->journal->window;
        } else if (message->msg_case == ARGOSY__TO_VOTER__MSG_FORWARD_TAKEN) {
                assert_int_equal(message->forward_taken->id, w.forward_id);
                w.taken_away = message->forward_taken->mark;
        } else
                w.forward_cancelled++;
        return 0;
}

int mesh_to_leader_frame(Mesh *m, Buf *frame) {
        Argosy__ToVoter *message = (Argosy__ToVoter *) frame_unpack(&argosy__to_voter__descriptor,
                                                                    frame->data + FRAME_HEADER_SIZE,
                                                                    frame->len - FRAME_HEADER_SIZE);

        assert_non_null(message);
        int r = mesh_to_leader(m, message);
        message_free(message);
        if (r < 0)
                return r;
        w.frames++;
        buf_done(frame);
        return 0;
}

bool mesh_leader_is_full(const Mesh *m) {
        return w.link_full;
}

int leader_request(Leader *l, const Argosy__Author *author, const Argosy__Request *request,
                   LeaderRespond respond, void *userdata, uint64_t *ret_cancel) {
        w.asked_here++;
        note_author(author);
        w.respond_here = respond;
        w.respond_data = userdata;
        *ret_cancel = 5;
        if (request->what_case == ARGOSY__REQUEST__WHAT_JOURNAL)
                w.window = request->journal->window;
        return 0;
}

int leader_request_lent(Leader *l, const Argosy__Author *author, const Argosy__Request *request,
                        LeaderRespond respond, void *userdata, uint64_t *ret_cancel) {
        w.lent = request;
        return leader_request(l, author, request, respond, userdata, ret_cancel);
}

void leader_taken(Leader *l, uint64_t cancel, uint64_t mark) {
        assert_int_equal(cancel, 5);
        w.taken_here = mark;
}

void leader_cancel(Leader *l, uint64_t cancel) {
        assert_int_equal(cancel, 5);
        w.here_cancelled++;
}

void leader_answer_stale(Leader *l, const Argosy__Author *author, const Argosy__Request *request,
                         LeaderRespond respond, void *userdata, uint64_t *ret_cancel) {
        *ret_cancel = 0;
        w.asked_stale++;
        note_author(author);
        if (request->what_case == ARGOSY__REQUEST__WHAT_LIST_UNITS) { // of thousands
                w.respond_here = respond;
                w.respond_data = userdata;
                *ret_cancel = 5;
                return;
        }
        Argosy__Response response = RESPONSE_WITH(.final = true);
        respond(&response, userdata);
}

int agent_call(Agent *a, uint64_t asker, uint32_t node, const Argosy__Request *request, AgentReply reply,
               void *userdata, uint64_t *ret_cancel) {
        Argosy__Response response = ARGOSY__RESPONSE__INIT;

        w.local++;
        if (request->what_case == ARGOSY__REQUEST__WHAT_JOURNAL) {
                w.window = request->journal->window;
                w.reply_local = reply;
                w.reply_data = userdata;
                *ret_cancel = 6;
                return 0;
        }
        if (request->what_case == ARGOSY__REQUEST__WHAT_TOP) { // readings, until nobody wants them any more
                *ret_cancel = 7;
                reply(&response, userdata);
                return 0;
        }
        response.final = true;
        *ret_cancel = 0;
        reply(&response, userdata); // at once, from inside
        return 0;
}

void agent_cancel(Agent *a, uint64_t cancel) {
        assert_true(cancel == 6 || cancel == 7);
        w.local_cancelled += cancel == 7;
}

void agent_taken(Agent *a, uint64_t cancel, uint64_t mark) {
        assert_int_equal(cancel, 6);
        w.taken_local = mark;
}

void agent_local_units(Agent *a, Argosy__Response *ret) {
        w.local++;
}

void daemon_counters(const Daemon *d, CounterList *to) {
        w.others++;
}

void daemon_counted_times(const Daemon *d, CountedTimes ret[static COUNTED_TIMES]) {
        memset(ret, 0, COUNTED_TIMES * sizeof(*ret));
}

void join_start(Daemon *d, const Argosy__Request__ClusterJoin *request, JoinDone done, void *userdata) {
        w.others++;
}

void managers_request(Daemon *d, const Argosy__Request *request,
                      void (*done)(const Argosy__Response *response, void *userdata), void *userdata) {
        w.others++;
}

void managers_abandon(Daemon *d, void *userdata) {
}

void join_abandon(Daemon *d, void *userdata) {
}

void join_reset(Daemon *d, const char *why, JoinDone done, void *userdata) {
        w.resets++;
}

static inline int begin(void **state) {
        memset(&w, 0, sizeof(w));
        w.now_us = 100 * USEC_PER_SEC;
        assert_int_equal(uv_loop_init(&w.loop), 0);
        w.daemon.loop = &w.loop;
        w.daemon.config.name = (char *) "n3";
        w.daemon.leader_seen_us = w.now_us;
        w.access = access_of_new_cluster();
        w.peers = (Argosy__PeersFile) MESSAGE_OF(peers_file, .host = 3);
        w.daemon.peers = &w.peers;
        strcpy(w.daemon.host_id_hex, "0123456789abcdef0123456789abcdef");
        return router_new(&w.daemon, &w.daemon.router);
}

static inline int end(void **state) {
        if (w.daemon.router)
                router_close(w.daemon.router);
        assert_int_equal(uv_run(&w.loop, UV_RUN_DEFAULT), 0);
        return uv_loop_close(&w.loop); // fails on a leaked handle
}

static inline void turn(void) {
        uv_run(&w.loop, UV_RUN_NOWAIT);
        uv_run(&w.loop, UV_RUN_NOWAIT);
}

static inline void note_here(const Argosy__Response__Events *events) {
        Argosy__Event *e;

        strcpy(w.behind, events->cursor);
        if (events->here.len == 0)
                return;
        assert_int_equal(message_unpack(&argosy__event__descriptor, events->here.data, events->here.len,
                                        (void **) &e),
                         0);
        assert_int_equal(e->mark, ARGOSY__EVENT_MARK__EVENT_HERE);
        snprintf(w.here, sizeof(w.here), "%s",
                 *e->values[EVENT_LEADER_NAME] ? e->values[EVENT_LEADER_NAME] : "nobody");
        message_free(e);
}

static inline void on_answer(const Argosy__Response *response, void *userdata) {
        if (response->what_case == ARGOSY__RESPONSE__WHAT_EVENTS)
                note_here(response->events);
        w.answers++;
        w.status = response->status;
        snprintf(w.message, sizeof(w.message), "%s", response->message);
        w.no_leader = response->no_leader;
        w.stale_ms = response->stale_ms;
}

static inline Route *submit(Argosy__Request__WhatCase what) {
        static Argosy__Request__ListNodes list_nodes = ARGOSY__REQUEST__LIST_NODES__INIT;
        static Argosy__Request__ListUnits list_units = ARGOSY__REQUEST__LIST_UNITS__INIT;
        static Argosy__Request__Change change = ARGOSY__REQUEST__CHANGE__INIT;
        static Argosy__Request__Job job = ARGOSY__REQUEST__JOB__INIT;
        static Argosy__Request__Job reasoned = ARGOSY__REQUEST__JOB__INIT;
        static Argosy__Request__Journal journal = {
                PROTOBUF_C_MESSAGE_INIT(&argosy__request__journal__descriptor), .name = "a.service",
                .node = ""};
        static Argosy__Request__ClusterLeave leave = ARGOSY__REQUEST__CLUSTER_LEAVE__INIT;
        static Argosy__Request__LocalStop local_stop = ARGOSY__REQUEST__LOCAL_STOP__INIT;
        static Argosy__Request__ManagerWait manager_wait = ARGOSY__REQUEST__MANAGER_WAIT__INIT;
        static Argosy__Request__Version version = ARGOSY__REQUEST__VERSION__INIT;
        static Argosy__Request__Top top = ARGOSY__REQUEST__TOP__INIT;
        Argosy__Request__Events events =
                MESSAGE_OF(request__events, .lead = w.lead, .cursor = (char *) "place");
        Argosy__Request q = MESSAGE_OF(request, .what_case = what);
        Route *route;

        leave.force = w.force;
        journal.window = w.wanted_window;
        if (what == ARGOSY__REQUEST__WHAT_LIST_NODES)
                q.list_nodes = &list_nodes;
        else if (what == ARGOSY__REQUEST__WHAT_LIST_UNITS)
                q.list_units = &list_units;
        else if (what == ARGOSY__REQUEST__WHAT_CHANGE) {
                q.change = &change;
                q.job = &job;
                job.age_ms = w.age_ms;
                job.keyed = w.keyed;
        } else if (what == ARGOSY__REQUEST__WHAT_JOURNAL)
                q.journal = &journal;
        else if (what == ARGOSY__REQUEST__WHAT_LOCAL_STOP)
                q.local_stop = &local_stop;
        else if (what == ARGOSY__REQUEST__WHAT_EVENTS)
                q.events = &events;
        else if (what == ARGOSY__REQUEST__WHAT_VERSION)
                q.version = &version;
        else if (what == ARGOSY__REQUEST__WHAT_TOP) {
                top.node = w.top_node ?: (char *) "";
                q.top = &top;
        } else if (what == ARGOSY__REQUEST__WHAT_MANAGER_WAIT)
                q.manager_wait = &manager_wait;
        else {
                q.cluster_leave = &leave;
                q.job = &reasoned;
                reasoned.reason = (char *) "new hall";
        }
        assert_int_equal(router_submit(w.daemon.router, message_copy(&q), w.author, on_answer, NULL, &route),
                         0);
        return route;
}

static inline void leader_is(uint32_t host) {
        w.daemon.known_leader = host;
        router_on_leader_changed(w.daemon.router);
        turn();
}

static inline void reply(bool final, int status) {
        router_on_forward_reply(w.daemon.router, w.forward_id,
                                A_RESPONSE_WITH(.final = final, .status = status));
        turn();
}

// Nobody waits for real: the timer looks again at the fake clock.
static inline void advance(uint64_t ms) {
        w.now_us += ms * USEC_PER_MSEC;
        router_on_leader_changed(w.daemon.router);
}

static inline void pass(uint64_t ms) {
        advance(ms);
        uv_update_time(&w.loop);
        for (int i = 0; i < 3; i++)
                uv_run(&w.loop, UV_RUN_NOWAIT);
}

// Nobody has come to lead, for so long as a change waits.
static inline void until_late(void) {
        unsigned before = w.answers;

        w.now_us += 2 * ROUTER_CHANGE_MS * USEC_PER_MSEC;
        pass(0);
        while (w.answers == before)
                uv_run(&w.loop, UV_RUN_ONCE);
}

#define ROUTER_TEST(f) cmocka_unit_test_setup_teardown(f, begin, end)
