// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What becomes of a removal that a host hears of while it joins another cluster. The test brings the
// resolver, the agent and the disk.
#include "test.h"

#include <errno.h>

#include "agent.h"
#include "daemon.h"
#include "host-lookup.h"
#include "join-token.h"
#include "join.h"
#include "paths.h"
#include "peers.h"
#include "state-dir.h"

static struct World {
        Daemon d;
        Paths paths;
        Argosy__PeersFile peers;
        char *token;
        HostLookupDone *found;
        void *join;
        void (*cleared)(void *userdata);
        void *reset;
        unsigned n_resets, n_replaced, n_forgotten, n_answers;
        int status; // of the join's answer
} w;

int host_lookup_new(uv_loop_t *loop, const char *name, unsigned timeout_ms, HostLookupDone *done,
                    void *userdata, HostLookup **ret) {
        w.found = done;
        w.join = userdata;
        *ret = (HostLookup *) &w;
        return 0;
}

void host_lookup_cancel(HostLookup *l) {
}

void agent_clear(Agent *a, void (*done)(void *userdata), void *userdata) {
        w.n_resets++;
        w.cleared = done;
        w.reset = userdata;
}

PeersVerdict peers_verdict(const Daemon *d) {
        return PEERS_REMOVED;
}

int state_dir_replace(const char *dir, const Identity *identity, const Argosy__PeersFile *peers) {
        assert_null(identity);
        w.n_replaced++;
        return 0;
}

OwnAddress address_find(const Daemon *d, const char *from) {
        return (OwnAddress){};
}

void daemon_fail(Daemon *d, const char *why) {
        fail_msg("%s", why);
}

static void on_identity_replaced(Daemon *d) {
        d->end = DAEMON_RESTART;
}

static void on_joined(const Argosy__Response *response, void *userdata) {
        w.n_answers++;
        w.status = response->status;
}

static void on_forgotten(const Argosy__Response *response, void *userdata) {
        assert_int_equal(response->status, 0);
        w.n_forgotten++;
}

FIXTURE(begin) {
        JoinToken token;

        memset(&w, 0, sizeof(w));
        argosy__peers_file__init(&w.peers);
        w.d.peers = &w.peers;
        w.d.paths = &w.paths;
        w.d.config.name = (char *) "n4";
        w.d.identity_replaced = on_identity_replaced;
        join_token_new("ca", 2, &token);
        w.token = join_token_format(&token);
        assert_non_null(w.token);
}

static int end(void **state) {
        free(w.token);
        identity_done(&w.d.join_key.identity);
        buf_done(&w.d.join_key.csr);
        return 0;
}

static void begin_to_join(void) {
        Argosy__Request__ClusterJoin join = ARGOSY__REQUEST__CLUSTER_JOIN__INIT;

        join.address = (char *) "n1.example";
        join.token = w.token;
        join_start(&w.d, &join, on_joined, &w);
        assert_non_null(w.found);
}

static void removed_meanwhile(void) {
        join_reset(&w.d, "removed while it was away", on_forgotten, &w.d);
        assert_int_equal(w.n_resets, 0);
}

static void it_is_forgotten(void) {
        assert_int_equal(w.n_resets, 1);
        w.cleared(w.reset);
        assert_int_equal(w.n_replaced, 1);
        assert_int_equal(w.n_forgotten, 1);
        assert_int_equal(w.d.end, DAEMON_RESTART);
        assert_null(w.d.joining);
}

static void who_was_removed_while_he_joined_in_vain_forgets_the_cluster(void **state) {
        begin_to_join();
        removed_meanwhile();
        removed_meanwhile(); // by another way
        w.found(-EADDRNOTAVAIL, "no such host", NULL, w.join);
        assert_int_equal(w.n_answers, 1);
        assert_int_equal(w.status, EADDRNOTAVAIL);
        it_is_forgotten();
}

static void likewise_when_nobody_waits_for_the_join_any_more(void **state) {
        begin_to_join();
        removed_meanwhile();
        join_abandon(&w.d, &w);
        assert_int_equal(w.n_answers, 0);
        it_is_forgotten();
}

static void a_join_in_vain_alone_forgets_nothing(void **state) {
        begin_to_join();
        w.found(-EADDRNOTAVAIL, "no such host", NULL, w.join);
        assert_int_equal(w.n_resets, 0);
        assert_null(w.d.joining);
}

// The agent is closed in that turn, and voters say so again when argosyd is back.
static void who_ends_meanwhile_begins_nothing(void **state) {
        begin_to_join();
        removed_meanwhile();
        w.d.end = DAEMON_EXIT;
        join_close(&w.d);
        assert_int_equal(w.n_resets, 0);
        assert_null(w.d.joining);
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, begin, end)

RUN_TESTS(
        CASE(who_was_removed_while_he_joined_in_vain_forgets_the_cluster),
        CASE(likewise_when_nobody_waits_for_the_join_any_more),
        CASE(a_join_in_vain_alone_forgets_nothing),
        CASE(who_ends_meanwhile_begins_nothing)
)
