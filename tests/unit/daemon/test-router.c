// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The router alone: leader, mesh, agent and clock are the small fakes below.
#include "test.h"

#include <sys/socket.h>
#include <unistd.h>

#include "access-token.h"
#include "access.h"
#include "agent.h"
#include "author.h"
#include "clock.h"
#include "cluster-state.h"
#include "counters.h"
#include "daemon.h"
#include "feature-level.h"
#include "flow-window.h"
#include "join.h"
#include "leader.h"
#include "managers.h"
#include "mesh.h"
#include "message.h"
#include "peers.h"
#include "request-rights.h"
#include "router.h"
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
        unsigned forwarded, forward_cancelled, asked_here, here_cancelled, local, local_cancelled, resets, others;
        uint64_t forward_id;
        Argosy__Request__WhatCase forwarded_what;
        uint64_t age_ms, forwarded_age_ms; // of the job that a change is: as the client says, and as a leader hears
        char removed_host[64], removed_reason[64], waiting_host[64];
        Argosy__Right checked_right;
        bool link_down, force;
        uint32_t leader_level, window, wanted_window;
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
        bool no_leader;
        uint64_t stale_ms;
} w;

static void note_author(const Argosy__Author *author) {
        w.attested = author != NULL;
        strcpy(w.user, author ? author->user : "");
        w.user_host = author ? author->host : 0;
}

AccessList socket_access_list(const Daemon *d) {
        return w.access;
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
                        strcpy(w.removed_reason, message->forward->request->job ? message->forward->request->job->reason : "");
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

uint32_t mesh_leader_level(const Mesh *m) {
        return w.leader_level;
}

int leader_request(Leader *l, const Argosy__Author *author, const Argosy__Request *request, LeaderRespond respond,
                   void *userdata, uint64_t *ret_cancel) {
        w.asked_here++;
        note_author(author);
        w.respond_here = respond;
        w.respond_data = userdata;
        *ret_cancel = 5;
        if (request->what_case == ARGOSY__REQUEST__WHAT_JOURNAL)
                w.window = request->journal->window;
        return 0;
}

int leader_request_lent(Leader *l, const Argosy__Author *author, const Argosy__Request *request, LeaderRespond respond,
                        void *userdata, uint64_t *ret_cancel) {
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

void leader_answer_stale(Leader *l, const Argosy__Author *author, const Argosy__Request *request, LeaderRespond respond,
                         void *userdata, uint64_t *ret_cancel) {
        Argosy__Response response = ARGOSY__RESPONSE__INIT;

        *ret_cancel = 0;
        w.asked_stale++;
        note_author(author);
        if (request->what_case == ARGOSY__REQUEST__WHAT_LIST_UNITS) { // of thousands
                w.respond_here = respond;
                w.respond_data = userdata;
                *ret_cancel = 5;
                return;
        }
        response.final = true;
        respond(&response, userdata);
}

int agent_call(Agent *a, uint32_t node, const Argosy__Request *request, AgentReply reply, void *userdata,
               uint64_t *ret_cancel) {
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

static int begin(void **state) {
        memset(&w, 0, sizeof(w));
        w.now_us = 100 * USEC_PER_SEC;
        assert_int_equal(uv_loop_init(&w.loop), 0);
        w.daemon.loop = &w.loop;
        w.daemon.leader_seen_us = w.now_us;
        w.access = access_of_new_cluster();
        argosy__peers_file__init(&w.peers);
        w.peers.host = 3;
        w.daemon.peers = &w.peers;
        strcpy(w.daemon.host_id_hex, "0123456789abcdef0123456789abcdef");
        return router_new(&w.daemon, &w.daemon.router);
}

static int end(void **state) {
        if (w.daemon.router)
                router_close(w.daemon.router);
        assert_int_equal(uv_run(&w.loop, UV_RUN_DEFAULT), 0);
        return uv_loop_close(&w.loop); // fails on a leaked handle
}

static void turn(void) {
        uv_run(&w.loop, UV_RUN_NOWAIT);
        uv_run(&w.loop, UV_RUN_NOWAIT);
}

static void on_answer(const Argosy__Response *response, void *userdata) {
        w.answers++;
        w.status = response->status;
        w.no_leader = response->no_leader;
        w.stale_ms = response->stale_ms;
}

static Route *submit(Argosy__Request__WhatCase what) {
        static Argosy__Request__ListNodes list_nodes = ARGOSY__REQUEST__LIST_NODES__INIT;
        static Argosy__Request__Change change = ARGOSY__REQUEST__CHANGE__INIT;
        static Argosy__Request__Job job = ARGOSY__REQUEST__JOB__INIT;
        static Argosy__Request__Job reasoned = ARGOSY__REQUEST__JOB__INIT;
        static Argosy__Request__Journal journal = {PROTOBUF_C_MESSAGE_INIT(&argosy__request__journal__descriptor),
                                                   .name = "a.service",
                                                   .node = ""};
        static Argosy__Request__ClusterLeave leave = ARGOSY__REQUEST__CLUSTER_LEAVE__INIT;
        static Argosy__Request__LocalStop local_stop = ARGOSY__REQUEST__LOCAL_STOP__INIT;
        static Argosy__Request__ManagerWait manager_wait = ARGOSY__REQUEST__MANAGER_WAIT__INIT;
        static Argosy__Request__Version version = ARGOSY__REQUEST__VERSION__INIT;
        static Argosy__Request__Top top = ARGOSY__REQUEST__TOP__INIT;
        Argosy__Request q = ARGOSY__REQUEST__INIT;
        Route *route;

        leave.force = w.force;
        journal.window = w.wanted_window;
        q.what_case = what;
        if (what == ARGOSY__REQUEST__WHAT_LIST_NODES)
                q.list_nodes = &list_nodes;
        else if (what == ARGOSY__REQUEST__WHAT_CHANGE) {
                q.change = &change;
                q.job = &job;
                job.age_ms = w.age_ms;
        } else if (what == ARGOSY__REQUEST__WHAT_JOURNAL)
                q.journal = &journal;
        else if (what == ARGOSY__REQUEST__WHAT_LOCAL_STOP)
                q.local_stop = &local_stop;
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
        assert_int_equal(router_submit(w.daemon.router, message_copy(&q), w.author, on_answer, NULL, &route), 0);
        return route;
}

static void leader_is(uint32_t host) {
        w.daemon.known_leader = host;
        router_on_leader_changed(w.daemon.router);
        turn();
}

static void reply(bool final, int status) {
        Argosy__Response response = ARGOSY__RESPONSE__INIT;

        response.final = final;
        response.status = status;
        router_on_forward_reply(w.daemon.router, w.forward_id, &response);
        turn();
}

// Nobody waits for real: the timer looks again at the fake clock.
static void advance(uint64_t ms) {
        w.now_us += ms * USEC_PER_MSEC;
        router_on_leader_changed(w.daemon.router);
}

static void pass(uint64_t ms) {
        advance(ms);
        uv_update_time(&w.loop);
        for (int i = 0; i < 3; i++)
                uv_run(&w.loop, UV_RUN_NOWAIT);
}

// Nobody has come to lead, for so long as a change waits.
static void until_late(void) {
        unsigned before = w.answers;

        w.now_us += 2 * ROUTER_CHANGE_MS * USEC_PER_MSEC;
        pass(0);
        while (w.answers == before)
                uv_run(&w.loop, UV_RUN_ONCE);
}

static void a_request_waits_for_a_leader_and_goes_there(void **state) {
        submit(ARGOSY__REQUEST__WHAT_CHANGE);
        turn();
        assert_int_equal(w.forwarded, 0);
        leader_is(2);
        assert_int_equal(w.forwarded, 1);
        reply(true, 0);
        assert_int_equal(w.answers, 1);
}

static void on_word(uv_poll_t *poll, int status, int events) {
        uv_poll_stop(poll);
        w.daemon.known_leader = 2;
        router_on_leader_changed(w.daemon.router);
}

// The process stood still: its timers come before what it reads.
static void nobody_is_turned_away_before_what_has_come_is_read(void **state) {
        uv_poll_t link;
        int fds[2];

        assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
        assert_int_equal(uv_poll_init(&w.loop, &link, fds[0]), 0);
        submit(ARGOSY__REQUEST__WHAT_CHANGE);
        turn();
        advance(ROUTER_CHANGE_MS);
        uv_run(&w.loop, UV_RUN_NOWAIT);
        assert_int_equal(uv_poll_start(&link, UV_READABLE, on_word), 0);
        assert_int_equal(write(fds[1], "x", 1), 1);
        uv_run(&w.loop, UV_RUN_NOWAIT); // the time is over, and the word is read
        uv_sleep(5);
        turn();
        assert_int_equal(w.answers, 0);
        assert_int_equal(w.forwarded, 1);
        uv_close((uv_handle_t *) &link, NULL);
        turn();
        close(fds[0]);
        close(fds[1]);
}

// The news of a leader may be on its way to the router when the time is over.
static void nobody_is_turned_away_while_somebody_leads(void **state) {
        submit(ARGOSY__REQUEST__WHAT_CHANGE);
        turn();
        advance(ROUTER_CHANGE_MS);
        uv_run(&w.loop, UV_RUN_NOWAIT);
        w.daemon.known_leader = 2;
        while (w.forwarded + w.answers == 0)
                uv_run(&w.loop, UV_RUN_ONCE);
        assert_int_equal(w.forwarded, 1);
        assert_int_equal(w.answers, 0);
}

static void what_was_not_answered_is_sent_again_to_the_next_leader(void **state) {
        submit(ARGOSY__REQUEST__WHAT_CHANGE);
        leader_is(2);
        leader_is(0);
        assert_int_equal(w.forwarded, 1);
        leader_is(3);
        assert_int_equal(w.forwarded, 2);
        reply(true, EAGAIN); // it has stepped down itself
        assert_int_equal(w.answers, 0);
        leader_is(1);
        assert_int_equal(w.forwarded, 3);
        reply(true, 0);
        assert_int_equal(w.answers, 1);
        reply(true, 0); // a late second answer finds nobody
        assert_int_equal(w.answers, 1);
}

static void the_next_leader_hears_how_old_it_is(void **state) {
        w.age_ms = 100;
        submit(ARGOSY__REQUEST__WHAT_CHANGE);
        pass(2000); // nobody has had it yet
        leader_is(2);
        assert_int_equal(w.forwarded_age_ms, 100);
        w.now_us += 3000 * USEC_PER_MSEC;
        leader_is(3);
        assert_int_equal(w.forwarded_age_ms, 3100);
        w.now_us += 1000 * USEC_PER_MSEC;
        leader_is(1);
        assert_int_equal(w.forwarded_age_ms, 4100);
        reply(true, 0);
}

// Who asks again could have it done twice.
static void of_what_a_leader_had_nobody_says_that_it_did_not_begin(void **state) {
        submit(ARGOSY__REQUEST__WHAT_CHANGE);
        turn();
        until_late();
        assert_int_equal(w.status, ETIMEDOUT);
        assert_true(w.no_leader);
        submit(ARGOSY__REQUEST__WHAT_CHANGE);
        turn();
        leader_is(2);
        assert_int_equal(w.forwarded, 1);
        leader_is(0);
        until_late();
        assert_int_equal(w.status, EINPROGRESS);
        assert_true(w.no_leader);
}

static void a_journal_that_flowed_ends_with_the_leader(void **state) {
        submit(ARGOSY__REQUEST__WHAT_JOURNAL);
        leader_is(2);
        reply(false, 0);
        leader_is(3);
        assert_int_equal(w.forwarded, 1);
        assert_int_equal(w.answers, 2);
        assert_int_equal(w.status, ECONNRESET);
}

static Argosy__Response *lines_with_mark(uint64_t mark) {
        static Argosy__Response__Journal journal;
        static Argosy__Response response;

        argosy__response__init(&response);
        argosy__response__journal__init(&journal);
        journal.mark = mark;
        response.what_case = ARGOSY__RESPONSE__WHAT_JOURNAL;
        response.journal = &journal;
        return &response;
}

static void what_the_client_took_of_a_journal_is_said_where_it_comes_from(void **state) {
        Route *route;

        w.leader_level = FEATURE_JOURNAL_WINDOW;
        route = submit(ARGOSY__REQUEST__WHAT_JOURNAL);
        leader_is(2);
        assert_int_equal(w.window, FLOW_WINDOW_BYTES);
        router_on_forward_reply(w.daemon.router, w.forward_id, lines_with_mark(0));
        router_taken(route);
        assert_int_equal(w.taken_away, 0); // nobody asked
        router_on_forward_reply(w.daemon.router, w.forward_id, lines_with_mark(100));
        router_on_forward_reply(w.daemon.router, w.forward_id, lines_with_mark(200));
        router_on_forward_reply(w.daemon.router, w.forward_id, lines_with_mark(0));
        assert_int_equal(w.taken_away, 0);
        router_taken(route);
        assert_int_equal(w.taken_away, 200);
        w.taken_away = 0;
        router_taken(route);
        assert_int_equal(w.taken_away, 0); // once is enough
        router_cancel(route);

        w.daemon.leading = true;
        w.daemon.leader = (Leader *) &w;
        w.window = 0;
        route = submit(ARGOSY__REQUEST__WHAT_JOURNAL);
        turn();
        assert_int_equal(w.window, FLOW_WINDOW_BYTES);
        w.respond_here(lines_with_mark(7), w.respond_data);
        router_taken(route);
        assert_int_equal(w.taken_here, 7);
        router_cancel(route);
        w.daemon.leader = NULL;
}

static void who_wants_a_small_window_has_one_that_is_not_too_small(void **state) {
        static const uint32_t cases[][2] = {{1, FLOW_WINDOW_SHARE_MIN},
                                            {FLOW_WINDOW_BYTES / 2, FLOW_WINDOW_BYTES / 2},
                                            {UINT32_MAX, FLOW_WINDOW_BYTES}};

        w.leader_level = FEATURE_JOURNAL_WINDOW;
        leader_is(2);
        for (size_t i = 0; i < ELEMENTSOF(cases); i++) {
                w.wanted_window = cases[i][0];
                submit(ARGOSY__REQUEST__WHAT_JOURNAL);
                turn();
                assert_int_equal(w.window, cases[i][1]);
        }
}

static void a_leader_that_knows_no_window_is_offered_none(void **state) {
        w.leader_level = FEATURE_BASE;
        submit(ARGOSY__REQUEST__WHAT_JOURNAL);
        leader_is(2);
        assert_int_equal(w.forwarded, 1);
        assert_int_equal(w.window, 0);
}

static void without_a_leader_this_hosts_own_reader_hears_what_was_taken(void **state) {
        Route *route = submit(ARGOSY__REQUEST__WHAT_JOURNAL);

        turn();
        advance(3000);
        while (w.local == 0)
                uv_run(&w.loop, UV_RUN_ONCE);
        assert_int_equal(w.window, FLOW_WINDOW_BYTES);
        w.reply_local(lines_with_mark(9), w.reply_data);
        router_taken(route);
        assert_int_equal(w.taken_local, 9);
        router_cancel(route);
}

static void who_asks_is_said_to_a_leader_that_takes_it(void **state) {
        Argosy__Author alice = ARGOSY__AUTHOR__INIT;

        alice.uid = 1000;
        alice.user = (char *) "alice";
        alice.host = 9; // whatever came with it
        w.author = &alice;
        w.leader_level = FEATURE_AUTHOR;
        leader_is(2);
        submit(ARGOSY__REQUEST__WHAT_LIST_UNITS);
        turn();
        assert_int_equal(w.attested, FEATURE_LEVEL >= FEATURE_AUTHOR);
        assert_string_equal(w.user, FEATURE_LEVEL >= FEATURE_AUTHOR ? "alice" : "");
        assert_int_equal(w.user_host, FEATURE_LEVEL >= FEATURE_AUTHOR ? 3 : 0);
        reply(true, 0);
        w.leader_level = FEATURE_BASE;
        submit(ARGOSY__REQUEST__WHAT_LIST_UNITS);
        turn();
        assert_false(w.attested);
        reply(true, 0);
        w.daemon.leading = true;
        submit(ARGOSY__REQUEST__WHAT_LIST_UNITS);
        turn();
        assert_string_equal(w.user, "alice");
        w.author = NULL; // the daemon itself, which is a user's
        w.daemon.user_name = "bob";
        submit(ARGOSY__REQUEST__WHAT_LIST_UNITS);
        turn();
        assert_string_equal(w.user, "bob");
}

static int status_of(Argosy__Request__WhatCase what) {
        unsigned before = w.answers;

        submit(what);
        for (int i = 0; i < 8 && w.answers == before; i++)
                turn();
        assert_int_equal(w.answers, before + 1);
        return w.status;
}

static void what_this_host_answers_alone_needs_a_right(void **state) {
        Argosy__Author alice = ARGOSY__AUTHOR__INIT, member = author_unattested(0);

        alice.user = (char *) "alice";
        w.author = &alice;
        assert_int_equal(status_of(ARGOSY__REQUEST__WHAT_LOCAL_STOP), EACCES);
        w.force = true;
        assert_int_equal(status_of(ARGOSY__REQUEST__WHAT_CLUSTER_LEAVE), EACCES);
        assert_int_equal(w.local, 0);
        assert_int_equal(w.resets, 0);
        assert_int_equal(status_of(ARGOSY__REQUEST__WHAT_VERSION), 0);
        w.author = &member; // as long as nobody has changed it
        assert_int_equal(status_of(ARGOSY__REQUEST__WHAT_LOCAL_STOP), 0);
        w.author = NULL;
        assert_int_equal(status_of(ARGOSY__REQUEST__WHAT_LOCAL_STOP), 0);
}

static bool refused_here(const ProtobufCFieldDescriptor *field) {
        EmptyRequest q;
        Route *route;

        empty_request(&q, field);
        if (q.request.what_case == ARGOSY__REQUEST__WHAT_CLUSTER_LEAVE)
                q.request.cluster_leave->force = true; // otherwise the leader is asked
        w.status = 0;
        assert_int_equal(
                router_submit(w.daemon.router, message_copy(&q.request), w.author, on_answer, NULL, &route), 0);
        empty_request_done(&q);
        for (int i = 0; i < 8; i++)
                turn();
        return w.status == EACCES;
}

static void whatever_this_host_answers_alone_needs_its_right(void **state) {
        Argosy__GrantRecord grant = ARGOSY__GRANT_RECORD__INIT, *grants = &grant;
        Argosy__Author alice = ARGOSY__AUTHOR__INIT;

        alice.user = grant.user = (char *) "alice";
        w.author = &alice;
        for (Argosy__Right given = NOTHING; given <= ADMIN; given++) {
                grant.right = given;
                w.access = (AccessList){.grants = &grants, .n = given > NOTHING};
                request_kinds_foreach (field, kind)
                        if ((kind->by == REQUEST_BY_DAEMON || kind->by == REQUEST_BY_AGENT) &&
                            refused_here(field) != (given < right_needed_for((Argosy__Request__WhatCase) field->id)))
                                fail_msg("who has right %d and asks for %s is judged otherwise", (int) given,
                                         field->name);
        }
        assert_int_equal(w.forwarded, 0);
        assert_int_equal(w.resets, 1); // what is refused reaches nobody
        assert_int_equal(w.local, 3 + 4); // a stop from OPERATE on, the list of units from VIEW on
        assert_int_equal(w.others, 4 + 1 + 2 + 4); // counters, a join, two about managers, their list
}

static void this_host_judges_by_what_it_knows(void **state) {
        Argosy__GrantRecord grant = ARGOSY__GRANT_RECORD__INIT, *grants = &grant;
        Argosy__Author alice = ARGOSY__AUTHOR__INIT, member = author_unattested(0);

        alice.user = grant.user = (char *) "alice";
        grant.right = ARGOSY__RIGHT__RIGHT_OPERATE;
        w.access = (AccessList){};
        w.author = &member;
        assert_int_equal(status_of(ARGOSY__REQUEST__WHAT_LOCAL_STOP), EACCES); // it was taken back
        w.access = (AccessList){.grants = &grants, .n = 1};
        w.author = &alice;
        assert_int_equal(status_of(ARGOSY__REQUEST__WHAT_LOCAL_STOP), 0);
        grant.role = (char *) "web"; // of which units are, this host does not know
        assert_int_equal(status_of(ARGOSY__REQUEST__WHAT_LOCAL_STOP), EACCES);
}

static void without_a_leader_only_who_may_see_all_is_answered_from_here(void **state) {
        Argosy__Author alice = ARGOSY__AUTHOR__INIT;

        alice.user = (char *) "alice";
        w.author = &alice;
        w.now_us += 3 * USEC_PER_SEC;
        submit(ARGOSY__REQUEST__WHAT_JOURNAL);
        while (w.answers == 0)
                uv_run(&w.loop, UV_RUN_ONCE);
        assert_int_equal(w.status, EACCES);
        assert_int_equal(w.local, 0);
        w.daemon.leader = (Leader *) &w; // whose tables know more
        submit(ARGOSY__REQUEST__WHAT_LIST_NODES);
        while (w.answers == 1)
                uv_run(&w.loop, UV_RUN_ONCE);
        assert_int_equal(w.asked_stale, 1);
        assert_string_equal(w.user, "alice");
        w.daemon.leader = NULL;
}

static void who_loses_his_right_follows_nothing_here_any_more(void **state) {
        Argosy__GrantRecord grant = ARGOSY__GRANT_RECORD__INIT, *grants = &grant;
        Argosy__Author alice = ARGOSY__AUTHOR__INIT;

        alice.user = grant.user = (char *) "alice";
        grant.right = ARGOSY__RIGHT__RIGHT_VIEW;
        w.access = (AccessList){.grants = &grants, .n = 1};
        w.author = &alice;
        w.now_us += 3 * USEC_PER_SEC;
        submit(ARGOSY__REQUEST__WHAT_JOURNAL);
        while (w.local == 0)
                uv_run(&w.loop, UV_RUN_ONCE);
        router_on_access_changed(w.daemon.router);
        assert_int_equal(w.answers, 0); // he has it still
        grant.role = (char *) "web";
        router_on_access_changed(w.daemon.router);
        assert_int_equal(w.answers, 1);
        assert_int_equal(w.status, EACCES);
}

// ---- tokens

static const Hash proof = {{7}};

// As this host knows them.
static void know_token(uint64_t expires_us) {
        static Argosy__AccessTokenRecord token = ARGOSY__ACCESS_TOKEN_RECORD__INIT, *const tokens[] = {&token};
        static char id[ACCESS_TOKEN_ID_LEN + 1];
        static Hash hash;

        hash = access_token_hash(&proof);
        access_token_id(&hash, id);
        token.id = id;
        token.name = (char *) "ci";
        token.hash = (ProtobufCBinaryData){HASH_SIZE, hash.bytes};
        token.right = ARGOSY__RIGHT__RIGHT_OPERATE;
        token.expires_us = expires_us;
        w.access = (AccessList){.tokens = tokens, .n_tokens = 1, .now_us = 100};
}

static void a_host_that_knows_no_tokens_asks_the_leader(void **state) {
        Argosy__Author bearer = author_of_token(&proof);

        w.author = &bearer;
        w.leader_level = FEATURE_NEWEST;
        submit(ARGOSY__REQUEST__WHAT_LOCAL_STOP);
        turn();
        assert_int_equal(w.answers + w.forwarded, 0); // nobody leads
        leader_is(2);
        assert_int_equal(w.forwarded_what, ARGOSY__REQUEST__WHAT_RIGHT_CHECK);
        assert_int_equal(w.checked_right, ARGOSY__RIGHT__RIGHT_OPERATE);
        assert_true(w.attested);
        assert_int_equal(w.local, 0);
        leader_is(1); // before the first has answered
        assert_int_equal(w.forwarded, 2);
        reply(true, 0);
        assert_int_equal(w.local, 1);
        assert_int_equal(w.forwarded, 2);
        submit(ARGOSY__REQUEST__WHAT_LOCAL_STOP); // each is asked about
        turn();
        reply(true, EKEYREVOKED);
        assert_int_equal(w.local, 1);
        assert_int_equal(w.status, EKEYREVOKED);
}

static void a_host_that_no_leader_tells_judges_a_token_that_it_knows(void **state) {
        Argosy__Author bearer = author_of_token(&proof);

        w.author = &bearer;
        know_token(101);
        assert_int_equal(status_of(ARGOSY__REQUEST__WHAT_LOCAL_STOP), 0);
        know_token(100);
        assert_int_equal(status_of(ARGOSY__REQUEST__WHAT_LOCAL_STOP), EKEYEXPIRED);
        assert_int_equal(w.forwarded, 0);
        w.access = (AccessList){};
        w.daemon.leading = true; // there is nobody who knows more
        assert_int_equal(status_of(ARGOSY__REQUEST__WHAT_LOCAL_STOP), EKEYREJECTED);
}

// That it was revoked comes to a copy of the log a little after the leader has said so.
static void a_token_that_a_host_still_knows_is_what_the_leader_says(void **state) {
        Argosy__Author bearer = author_of_token(&proof);

        w.author = &bearer;
        w.leader_level = FEATURE_NEWEST;
        know_token(101);
        leader_is(2);
        submit(ARGOSY__REQUEST__WHAT_LOCAL_STOP);
        turn();
        assert_int_equal(w.forwarded_what, ARGOSY__REQUEST__WHAT_RIGHT_CHECK);
        reply(true, EKEYREVOKED);
        assert_int_equal(w.status, EKEYREVOKED);
        assert_int_equal(w.local, 0);
        submit(ARGOSY__REQUEST__WHAT_LOCAL_STOP);
        turn();
        leader_is(0); // he did not come to answer, so it is what this host knows
        assert_int_equal(w.local, 1);
        w.link_down = true;
        leader_is(2); // who is not known to be gone, and is told nothing
        submit(ARGOSY__REQUEST__WHAT_LOCAL_STOP);
        turn();
        assert_int_equal(w.local, 1);
        advance(ROUTER_CHANGE_MS);
        while (w.local == 1)
                uv_run(&w.loop, UV_RUN_ONCE);
        assert_int_equal(w.status, 0);
}

// It would take him for a member of the group of the socket.
static void a_leader_that_knows_no_tokens_is_shown_none(void **state) {
        Argosy__Author bearer = author_of_token(&proof);

        w.author = &bearer;
        w.leader_level = FEATURE_BASE;
        leader_is(2);
        assert_int_equal(status_of(ARGOSY__REQUEST__WHAT_LIST_NODES), EOPNOTSUPP);
        assert_int_equal(status_of(ARGOSY__REQUEST__WHAT_LOCAL_STOP), EOPNOTSUPP);
        assert_int_equal(w.forwarded, 0);
}

static void in_the_leaders_process_it_is_asked_directly(void **state) {
        Argosy__Response response = ARGOSY__RESPONSE__INIT;

        w.daemon.leading = true;
        w.daemon.leader = (Leader *) &w;
        submit(ARGOSY__REQUEST__WHAT_CHANGE);
        turn();
        assert_int_equal(w.asked_here, 1);
        response.final = true;
        response.status = EAGAIN; // loses leadership with the request in its hands
        w.respond_here(&response, w.respond_data);
        assert_int_equal(w.answers, 0);
        w.daemon.leading = false;
        leader_is(2);
        assert_int_equal(w.forwarded, 1);
        reply(true, 0);
        assert_int_equal(w.answers, 1);
        w.daemon.leader = NULL;
}

static void submit_wait(size_t n) {
        Argosy__Request__Wait__Item item = ARGOSY__REQUEST__WAIT__ITEM__INIT, **items = calloc(n, sizeof(*items));
        Argosy__Request__Wait wait = ARGOSY__REQUEST__WAIT__INIT;
        Argosy__Request q = ARGOSY__REQUEST__INIT;
        Route *route;

        assert_non_null(items);
        for (size_t i = 0; i < n; i++)
                items[i] = &item;
        item.name = (char *) "a.service";
        wait.items = items;
        wait.n_items = n;
        q.what_case = ARGOSY__REQUEST__WHAT_WAIT;
        q.wait = &wait;
        assert_int_equal(router_submit(w.daemon.router, message_copy(&q), w.author, on_answer, NULL, &route), 0);
        free(items);
        turn();
}

// Nor is it gone when another leader has to be asked.
static void of_a_long_wait_no_copy_is_made(void **state) {
        Argosy__Response response = ARGOSY__RESPONSE__INIT;

        w.daemon.leading = true;
        w.daemon.leader = (Leader *) &w;
        submit_wait(10);
        assert_int_equal(w.asked_here, 1);
        assert_null(w.lent);
        response.final = true;
        w.respond_here(&response, w.respond_data);
        submit_wait(10000);
        assert_int_equal(w.asked_here, 2);
        assert_non_null(w.lent);
        assert_int_equal(w.lent->wait->n_items, 10000);
        response.status = EAGAIN;
        w.respond_here(&response, w.respond_data);
        w.daemon.leading = false;
        leader_is(2);
        assert_int_equal(w.forwarded, 1);
        assert_int_equal(w.forwarded_what, ARGOSY__REQUEST__WHAT_WAIT);
        reply(true, 0);
        assert_int_equal(w.answers, 2);
        w.daemon.leader = NULL;
}

static void a_read_without_a_leader_is_answered_with_its_age(void **state) {
        w.daemon.leader = (Leader *) &w;
        submit(ARGOSY__REQUEST__WHAT_LIST_NODES);
        turn();
        assert_int_equal(w.answers, 0);
        advance(3000);
        while (w.answers == 0)
                uv_run(&w.loop, UV_RUN_ONCE);
        assert_int_equal(w.status, 0);
        assert_true(w.no_leader);
        assert_int_equal(w.stale_ms, 3000);
        w.daemon.leader = NULL;
}

static Route *ask_for_a_long_list(void) {
        Route *route;

        w.daemon.leader = (Leader *) &w;
        route = submit(ARGOSY__REQUEST__WHAT_LIST_UNITS);
        turn();
        advance(3000);
        while (w.asked_stale == 0)
                uv_run(&w.loop, UV_RUN_ONCE);
        assert_int_equal(w.answers, 0);
        return route;
}

static void a_long_list_without_a_leader_comes_later(void **state) {
        Argosy__Response response = ARGOSY__RESPONSE__INIT;

        (void) ask_for_a_long_list();
        response.final = true;
        w.respond_here(&response, w.respond_data);
        assert_int_equal(w.answers, 1);
        assert_true(w.no_leader);
        assert_int_equal(w.stale_ms, 3000);
        w.daemon.leader = NULL;
}

static void a_long_list_that_is_overtaken_by_a_leader_is_asked_of_that_one(void **state) {
        Argosy__Response response = ARGOSY__RESPONSE__INIT;

        (void) ask_for_a_long_list();
        response.final = true;
        response.status = EAGAIN;
        w.respond_here(&response, w.respond_data);
        assert_int_equal(w.answers, 0);
        leader_is(2);
        assert_int_equal(w.forwarded, 1);
        reply(true, 0);
        assert_int_equal(w.answers, 1);
        w.daemon.leader = NULL;
}

static void a_long_list_without_a_leader_can_be_cancelled(void **state) {
        router_cancel(ask_for_a_long_list());
        assert_int_equal(w.here_cancelled, 1);
        w.daemon.leader = NULL;
}

static void without_a_leader_the_agent_answers_for_its_own_units(void **state) {
        submit(ARGOSY__REQUEST__WHAT_STATUS);
        turn();
        assert_int_equal(w.local, 0); // a leader may come yet
        advance(3000);
        while (w.answers == 0)
                uv_run(&w.loop, UV_RUN_ONCE);
        assert_int_equal(w.local, 1);
        assert_int_equal(w.status, 0);
        assert_true(w.no_leader);
        submit(ARGOSY__REQUEST__WHAT_STATUS); // and nobody waits again for an election that does not come
        turn();
        while (w.answers == 1)
                uv_run(&w.loop, UV_RUN_ONCE);
        assert_int_equal(w.local, 2);
}

static void until_answered(void) {
        advance(3000);
        for (unsigned before = w.answers; w.answers == before;)
                uv_run(&w.loop, UV_RUN_ONCE);
}

static void what_units_use_is_watched_here_until_somebody_leads(void **state) {
        Route *route = submit(ARGOSY__REQUEST__WHAT_TOP);

        turn();
        assert_int_equal(w.local, 0); // a leader may come yet
        until_answered();
        assert_int_equal(w.local, 1);
        assert_int_equal(w.status, 0);
        assert_true(w.no_leader);
        leader_is(0);
        assert_int_equal(w.local_cancelled, 0);
        leader_is(2);
        assert_int_equal(w.local_cancelled, 1);
        assert_int_equal(w.forwarded, 1);
        reply(false, 0);
        assert_false(w.no_leader);
        leader_is(0); // it is lost while somebody watches
        until_answered();
        assert_int_equal(w.local, 2);
        router_cancel(route);
        assert_int_equal(w.local_cancelled, 2);
}

static void what_units_use_elsewhere_needs_a_leader(void **state) {
        w.top_node = (char *) "n2";
        submit(ARGOSY__REQUEST__WHAT_TOP);
        turn();
        w.now_us += ROUTER_CHANGE_MS * USEC_PER_MSEC;
        pass(0);
        while (w.answers == 0) // what is over is looked at once more
                uv_run(&w.loop, UV_RUN_ONCE);
        assert_int_equal(w.answers, 1);
        assert_int_equal(w.status, ETIMEDOUT);
        assert_int_equal(w.local, 0);
}

static void a_cancelled_request_is_cancelled_where_it_is(void **state) {
        Route *route = submit(ARGOSY__REQUEST__WHAT_CHANGE);

        router_cancel(route);
        leader_is(2);
        assert_int_equal(w.forwarded, 0);
        route = submit(ARGOSY__REQUEST__WHAT_CHANGE);
        turn();
        router_cancel(route);
        assert_int_equal(w.forward_cancelled, 1);
        w.daemon.leading = true;
        w.daemon.leader = (Leader *) &w;
        route = submit(ARGOSY__REQUEST__WHAT_CHANGE);
        turn();
        router_cancel(route);
        assert_int_equal(w.here_cancelled, 1);
        assert_int_equal(w.answers, 0);
        w.daemon.leader = NULL;
}

static void local_requests_need_no_leader(void **state) {
        submit(ARGOSY__REQUEST__WHAT_LOCAL_STOP);
        submit(ARGOSY__REQUEST__WHAT_VERSION);
        turn();
        assert_int_equal(w.local, 1);
        assert_int_equal(w.answers, 2);
}

static void being_removed_answers_a_leave_whose_answer_was_lost(void **state) {
        Argosy__Response response = ARGOSY__RESPONSE__INIT;

        submit(ARGOSY__REQUEST__WHAT_CLUSTER_LEAVE);
        submit(ARGOSY__REQUEST__WHAT_CHANGE);
        leader_is(2);
        leader_is(0);
        response.final = true;
        router_on_removed(w.daemon.router, &response);
        assert_int_equal(w.answers, 1);
}

static void leaving_asks_the_leader_to_remove_this_host(void **state) {
        Argosy__Response response = ARGOSY__RESPONSE__INIT;

        submit(ARGOSY__REQUEST__WHAT_CLUSTER_LEAVE);
        leader_is(2);
        assert_int_equal(w.forwarded_what, ARGOSY__REQUEST__WHAT_CLUSTER_REMOVE);
        assert_string_equal(w.removed_host, w.daemon.host_id_hex);
        assert_string_equal(w.removed_reason, "new hall");
        assert_int_equal(w.resets, 0);
        reply(true, 0);
        assert_int_equal(w.resets, 1);
        assert_int_equal(w.answers, 0); // over when the cluster is forgotten here
        response.final = true;
        router_on_removed(w.daemon.router, &response);
        assert_int_equal(w.answers, 1);
}

static void who_waits_for_a_manager_means_the_host_that_is_asked(void **state) {
        leader_is(7);
        submit(ARGOSY__REQUEST__WHAT_MANAGER_WAIT);
        turn();
        assert_int_equal(w.forwarded, 1);
        assert_string_equal(w.waiting_host, w.daemon.host_id_hex);
        leader_is(8); // it can be asked of any leader
        assert_int_equal(w.forwarded, 2);
        reply(true, 0);
        assert_int_equal(w.answers, 1);
}

static void without_a_link_it_stays_until_there_is_one(void **state) {
        w.link_down = true;
        submit(ARGOSY__REQUEST__WHAT_CHANGE);
        leader_is(2);
        assert_int_equal(w.forwarded, 0);
        w.link_down = false;
        pass(0);
        assert_int_equal(w.forwarded, 1);
}

static void who_comes_costs_nothing_for_those_that_wait(void **state) {
        w.link_down = true;
        w.daemon.known_leader = 2;
        for (unsigned i = 0; i < 100; i++)
                submit(ARGOSY__REQUEST__WHAT_CHANGE);
        turn();
        assert_int_equal(w.tried, 100);
        submit(ARGOSY__REQUEST__WHAT_CHANGE);
        turn();
        assert_int_equal(w.tried, 101);
        leader_is(2); // and this is for all of them
        assert_int_equal(w.tried, 202);
}

static void a_turn_sends_so_many_and_the_next_one_more(void **state) {
        enum { ALL = 1000, PER_TURN = 256 };
        unsigned before = 0;

        for (unsigned i = 0; i < ALL; i++)
                submit(ARGOSY__REQUEST__WHAT_CHANGE);
        w.daemon.known_leader = 2;
        router_on_leader_changed(w.daemon.router);
        for (unsigned turns = 0; w.forwarded < ALL; turns++) {
                assert_true(turns < 10);
                uv_run(&w.loop, UV_RUN_NOWAIT);
                assert_true(w.forwarded - before <= PER_TURN);
                before = w.forwarded;
        }
        assert_int_equal(w.forwarded, ALL);
}

// So are those whose time is over, and each is told.
static void those_whose_time_is_over_are_told_a_few_at_a_time(void **state) {
        enum { ALL = 600, PER_TURN = 256 };
        unsigned before = 0;

        for (unsigned i = 0; i < ALL; i++)
                submit(ARGOSY__REQUEST__WHAT_CHANGE);
        for (unsigned turns = 0; turns < 5; turns++)
                turn();
        advance(2 * ROUTER_CHANGE_MS);
        for (unsigned turns = 0; w.answers < ALL; turns++) {
                assert_true(turns < 100);
                uv_run(&w.loop, UV_RUN_ONCE);
                assert_true(w.answers - before <= PER_TURN);
                before = w.answers;
        }
        assert_int_equal(w.status, ETIMEDOUT);
}

// The leader ends after the router, and fails what it was asked for: to nobody.
static void at_the_end_nothing_is_left_with_the_leader(void **state) {
        w.daemon.leading = true;
        w.daemon.leader = (Leader *) &w;
        submit(ARGOSY__REQUEST__WHAT_CHANGE);
        turn();
        router_close(TAKE_PTR(w.daemon.router));
        assert_int_equal(w.here_cancelled, 1);
        assert_int_equal(w.answers, 0);
}

static void a_second_leave_is_refused(void **state) {
        w.daemon.joining = (Join *) &w;
        w.force = true;
        submit(ARGOSY__REQUEST__WHAT_CLUSTER_LEAVE);
        turn();
        assert_int_equal(w.resets, 0);
        assert_int_equal(w.answers, 1);
        assert_int_equal(w.status, EBUSY);
}

int main(void) {
#define CASE(f) cmocka_unit_test_setup_teardown(f, begin, end)
        const struct CMUnitTest tests[] = {
                CASE(a_request_waits_for_a_leader_and_goes_there),
                CASE(nobody_is_turned_away_before_what_has_come_is_read),
                CASE(nobody_is_turned_away_while_somebody_leads),
                CASE(what_was_not_answered_is_sent_again_to_the_next_leader),
                CASE(the_next_leader_hears_how_old_it_is),
                CASE(of_what_a_leader_had_nobody_says_that_it_did_not_begin),
                CASE(a_journal_that_flowed_ends_with_the_leader),
                CASE(what_the_client_took_of_a_journal_is_said_where_it_comes_from),
                CASE(who_wants_a_small_window_has_one_that_is_not_too_small),
                CASE(a_leader_that_knows_no_window_is_offered_none),
                CASE(without_a_leader_this_hosts_own_reader_hears_what_was_taken),
                CASE(who_asks_is_said_to_a_leader_that_takes_it),
                CASE(what_this_host_answers_alone_needs_a_right),
                CASE(whatever_this_host_answers_alone_needs_its_right),
                CASE(this_host_judges_by_what_it_knows),
                CASE(without_a_leader_only_who_may_see_all_is_answered_from_here),
                CASE(who_loses_his_right_follows_nothing_here_any_more),
                CASE(a_host_that_knows_no_tokens_asks_the_leader),
                CASE(a_host_that_no_leader_tells_judges_a_token_that_it_knows),
                CASE(a_token_that_a_host_still_knows_is_what_the_leader_says),
                CASE(a_leader_that_knows_no_tokens_is_shown_none),
                CASE(in_the_leaders_process_it_is_asked_directly),
                CASE(of_a_long_wait_no_copy_is_made),
                CASE(a_read_without_a_leader_is_answered_with_its_age),
                CASE(a_long_list_without_a_leader_comes_later),
                CASE(a_long_list_that_is_overtaken_by_a_leader_is_asked_of_that_one),
                CASE(a_long_list_without_a_leader_can_be_cancelled),
                CASE(what_units_use_is_watched_here_until_somebody_leads),
                CASE(what_units_use_elsewhere_needs_a_leader),
                CASE(a_cancelled_request_is_cancelled_where_it_is),
                CASE(without_a_leader_the_agent_answers_for_its_own_units),
                CASE(local_requests_need_no_leader),
                CASE(being_removed_answers_a_leave_whose_answer_was_lost),
                CASE(leaving_asks_the_leader_to_remove_this_host),
                CASE(who_waits_for_a_manager_means_the_host_that_is_asked),
                CASE(without_a_link_it_stays_until_there_is_one),
                CASE(who_comes_costs_nothing_for_those_that_wait),
                CASE(a_turn_sends_so_many_and_the_next_one_more),
                CASE(those_whose_time_is_over_are_told_a_few_at_a_time),
                CASE(at_the_end_nothing_is_left_with_the_leader),
                CASE(a_second_leave_is_refused),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
