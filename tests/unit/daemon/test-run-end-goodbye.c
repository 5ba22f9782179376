// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What the daemon says when it gets SIGTERM: it comes back, or the machine goes down. The test brings
// everything that is ended, and an agent whose systemd says what it says when it is asked.
#include "loop.h"

#include "agent.h"
#include "daemon-log.h"
#include "daemon.h"
#include "full-name.h"
#include "join-server.h"
#include "join.h"
#include "leader.h"
#include "http-api.h"
#include "local-api.h"
#include "mesh.h"
#include "router.h"
#include "run-private.h"

typedef enum Said { NOTHING, COMES_BACK, GOES_DOWN } Said;

static struct World {
        Daemon daemon;
        Argosy__PeersFile peers;
        bool known_to_stop, stops; // without being asked, and when it is
        unsigned n_asked;
        void (*asked)(void *userdata);
        Said said;
        bool closed;
} w;

// ---- what is ended

bool agent_is_stopping(const Agent *a) {
        return w.known_to_stop;
}

void agent_ask_stopping(Agent *a, void (*done)(void *userdata), void *userdata) {
        assert_ptr_equal(userdata, &w.daemon);
        w.asked = done;
        w.n_asked++;
}

void agent_refresh_before_goodbye(Agent *a, void (*done)(void *userdata), void *userdata) {
        done(userdata);
}

void agent_goodbye(Agent *a, bool shutdown) {
        assert_int_equal(w.said, NOTHING);
        w.said = shutdown ? GOES_DOWN : COMES_BACK;
}

void agent_close(Agent *a, void (*closed)(void *userdata), void *userdata) {
        closed(userdata);
}

void daemon_log_close(Daemon *d, void (*closed)(Daemon *d)) {
        closed(d);
}

void mesh_close(Mesh *m, void (*closed)(void *userdata), void *userdata) {
        closed(userdata);
}

void run_close_handles(Daemon *d) {
        w.closed = true;
}

void join_close(Daemon *d) {
}

void address_close(Daemon *d) {
}

void full_name_close(Daemon *d) {
}

void join_server_close(JoinServer *s) {
        fail();
}

void router_close(Router *r) {
        fail();
}

void http_api_close(HttpApi *a, void (*closed)(void *userdata), void *userdata) {
        fail();
}

void local_api_close(LocalApi *a, void (*closed)(void *userdata), void *userdata) {
        fail();
}

void listener_close(Listener *l) {
        fail();
}

uint32_t leader_successor(const Leader *l) {
        return 0;
}

int store_transfer(Store *s, uint32_t to, void (*done)(int error, void *userdata), void *userdata) {
        fail();
        return 0;
}

// ---- the tests

FIXTURE(begin) {
        memset(&w, 0, sizeof(w));
        assert_int_equal(loop_setup(state), 0);
        argosy__peers_file__init(&w.peers);
        w.daemon.loop = &test_loop;
        w.daemon.peers = &w.peers;
        w.daemon.attached = true;
        w.daemon.known_leader = w.peers.host + 1;
        time_limit_init(&w.daemon.deadline, &test_loop, &w.daemon);
}

static int end(void **state) {
        time_limit_close(&w.daemon.deadline, NULL);
        uv_run(&test_loop, UV_RUN_NOWAIT); // the end has stopped the loop, which counts for the next run
        return loop_teardown(state);
}

static void answer(void) {
        w.known_to_stop = w.stops;
        w.asked(&w.daemon);
}

// As with a machine that is turned off while it still boots: PID 1 sends SIGTERM before its signals, and
// whoever said then that he comes back would have all his units wait for his lease.
static void a_shutdown_that_nobody_has_told_of_is_asked_for(void **state) {
        w.stops = true;
        run_end(&w.daemon, DAEMON_EXIT);
        assert_int_equal(w.said, NOTHING);
        answer();
        assert_int_equal(w.said, GOES_DOWN);
        assert_true(w.closed);
}

static void who_is_started_again_comes_back(void **state) {
        run_end(&w.daemon, DAEMON_EXIT);
        assert_int_equal(w.said, NOTHING);
        answer();
        assert_int_equal(w.said, COMES_BACK);
        assert_true(w.closed);
}

static void what_is_known_is_not_asked_for(void **state) {
        w.known_to_stop = true;
        run_end(&w.daemon, DAEMON_EXIT);
        assert_int_equal(w.said, GOES_DOWN);
        assert_int_equal(w.n_asked, 0);
}

// The machine may be going down, but this process comes back before.
static void a_new_identity_asks_nobody(void **state) {
        w.stops = true;
        run_end(&w.daemon, DAEMON_RESTART);
        assert_int_equal(w.said, COMES_BACK);
        assert_int_equal(w.n_asked, 0);
}

// systemd has sent its SIGTERM, and would wait for the end of a process that has forgotten that.
static void who_is_told_to_end_while_he_begins_anew_ends(void **state) {
        run_end(&w.daemon, DAEMON_RESTART);
        run_end(&w.daemon, DAEMON_EXIT);
        assert_int_equal(w.daemon.end, DAEMON_EXIT);
        run_end(&w.daemon, DAEMON_RESTART);
        assert_int_equal(w.daemon.end, DAEMON_EXIT);
        assert_int_equal(w.n_asked, 0);
}

// Its units may all run on for what anybody knows.
static void without_an_answer_the_lease_counts(void **state) {
        run_end(&w.daemon, DAEMON_EXIT);
        loop_until(w.said != NOTHING);
        assert_int_equal(w.said, COMES_BACK);
        assert_true(w.closed);
        w.stops = true;
        answer(); // too late: nothing is said twice
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, begin, end)

RUN_TESTS(
        CASE(a_shutdown_that_nobody_has_told_of_is_asked_for),
        CASE(who_is_started_again_comes_back),
        CASE(what_is_known_is_not_asked_for),
        CASE(a_new_identity_asks_nobody),
        CASE(who_is_told_to_end_while_he_begins_anew_ends),
        CASE(without_an_answer_the_lease_counts)
)
