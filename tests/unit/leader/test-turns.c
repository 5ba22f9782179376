// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What a turn looks at: with many hosts, one that is about a few of them walks over no table of hosts or
// nodes, and over no list of their records. What is counted are the entries of these tables and the records
// that anybody comes by, and the lists.
#include "leader-asks.h"
#include "leader-private.h"
#include "leader-rig.h"
#include "macro.h"
#include "messages.h"
#include "printed.h"
#include "str.h"
#include "test.h"

enum { HOSTS = 1000 };

#define START ARGOSY__VERB__VERB_START
#define STOP ARGOSY__VERB__VERB_STOP
#define DESTROY ARGOSY__VERB__VERB_DESTROY
#define SERVICE "[Service]\nExecStart=/bin/sleep 1000\n"
#define ZONED SERVICE "[X-Argosy]\nMachineMetadata=zone=a\n"

static Rig g;
static _Thread_local unsigned n_visited, n_lists; // by the loop: the pool walks through tables that it frees

MapSlot *__real_map_next(const Map *m, size_t *iter);
MapSlot *__wrap_map_next(const Map *m, size_t *iter);
const HostEntry *__real_cluster_state_hosts(const ClusterState *s, size_t *ret_n);
const HostEntry *__wrap_cluster_state_hosts(const ClusterState *s, size_t *ret_n);
const Argosy__HostRecord *__real_cluster_state_next_host(const ClusterState *s, uint32_t after);
const Argosy__HostRecord *__wrap_cluster_state_next_host(const ClusterState *s, uint32_t after);

MapSlot *__wrap_map_next(const Map *m, size_t *iter) {
        MapSlot *slot = __real_map_next(m, iter);

        n_visited += slot && g.leader && !g.inspects && (m == &g.leader->hosts || m == &g.leader->nodes);
        return slot;
}

const HostEntry *__wrap_cluster_state_hosts(const ClusterState *s, size_t *ret_n) {
        n_lists += !g.inspects;
        return __real_cluster_state_hosts(s, ret_n);
}

const Argosy__HostRecord *__wrap_cluster_state_next_host(const ClusterState *s, uint32_t after) {
        n_visited += !g.inspects;
        return __real_cluster_state_next_host(s, after);
}

FIXTURE(setup) {
        rig_start(&g, HOSTS);
        for (unsigned i = 0; i < 2; i++) {
                assert_int_equal(rig_change(&g, START, printed("u%u.service", i), SERVICE)->status, 0);
        }
}

RIG_TEARDOWN

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

static uint32_t host_of(const char *name) {
        return cluster_state_find_host_by_node(g.state, rig_record(&g, name)->node)->host;
}

// One that does not run on the leader's own host.
static const char *some_unit(void) {
        return host_of("u0.service") == 1 ? "u1.service" : "u0.service";
}

// ---- stories

static void who_starts_and_stops_a_unit_looks_at_its_host(void **state) {
        n_visited = n_lists = 0;
        assert_int_equal(rig_change(&g, START, "web.service", SERVICE)->status, 0);
        assert_int_equal(rig_count_running(&g, "web.service"), 1);
        assert_int_equal(rig_change(&g, STOP, "web.service", NULL)->status, 0);
        assert_int_equal(rig_change(&g, DESTROY, "web.service", NULL)->status, 0);
        assert_null(rig_unit_on(&g, 1, "web.service"));
        assert_int_equal(n_visited, 0);
        assert_int_equal(n_lists, 0);
}

static void a_report_concerns_the_host_that_makes_it(void **state) {
        uint32_t host = host_of(some_unit());
        VirtualUnit *u = rig_unit_on(&g, host, some_unit());

        n_visited = n_lists = 0;
        rig_host_report_and_settle(&g, rig_host(&g, host), u, ARGOSY__ACTIVE_STATE__ACTIVE_FAILED, 0);
        rig_pass_ms(&g, RIG_BEAT_MS); // all beat
        assert_int_equal(n_visited, 0);
        assert_int_equal(n_lists, 0);
}

static void a_host_that_attaches_anew_is_welcomed_alone(void **state) {
        unsigned welcomes = rig_host(&g, 7)->virtual.welcomes;

        n_visited = n_lists = 0;
        rig_host(&g, 7)->attached = false;
        rig_settle(&g);
        assert_int_equal(rig_host(&g, 7)->virtual.welcomes, welcomes + 1);
        assert_int_equal(n_visited, 0);
        assert_int_equal(n_lists, 0);
}

static void a_host_that_is_lost_and_comes_back_concerns_nobody_else(void **state) {
        const char *name = some_unit();
        uint32_t host = host_of(name);

        n_visited = n_lists = 0;
        rig_host_off_for(&g, host, 2 * RIG_LEASE_MS);
        assert_int_not_equal(host_of(name), host);
        rig_host_on(&g, host, false);
        assert_int_equal(rig_count_running(&g, name), 1);
        assert_int_equal(n_visited, 0);
}

static void who_asks_about_a_unit_looks_at_its_node(void **state) {
        char *name = (char *) some_unit();
        Argosy__Request__Status status = MESSAGE_OF(request__status, .names = &name, .n_names = 1);

        n_visited = n_lists = 0;
        RigAnswer *a = rig_ask_and_settle(&g, A_REQUEST(STATUS, status, &status));
        assert_true(a->final);
        assert_int_equal(a->responses[0]->what_case, ARGOSY__RESPONSE__WHAT_STATUS_REPLY);
        assert_string_equal(a->responses[0]->status_reply->row->unit, name);
        assert_int_equal(n_visited, 0);
        assert_int_equal(n_lists, 0);
}

static bool votes(uint32_t host) {
        return cluster_state_find_host(g.state, host)->role == ARGOSY__HOST_ROLE__ROLE_VOTER;
}

// Who is to vote is asked when a voter changes, or while voters are wanting.
static void the_voters_are_planned_when_a_voter_changes(void **state) {
        assert_true(votes(2) && votes(3) && !votes(7));
        n_visited = n_lists = 0;
        rig_host_off_for(&g, 7, 2 * RIG_LEASE_MS);
        rig_host_on(&g, 7, false);
        assert_int_equal(n_lists, 0);
        rig_host_off_for(&g, 3, 2 * RIG_LEASE_MS);
        assert_true(n_lists > 0 && n_lists < 10);

        n_lists = 0;
        rig_pass_ms(&g, RIG_LEASE_MS); // it stays a voter, and nothing is to be done about that
        assert_int_equal(n_lists, 0);
        assert_true(votes(3));
}

static void who_says_something_else_of_itself_concerns_nobody_else(void **state) {
        n_visited = n_lists = 0;
        rig_host_set_labels(&g, 7, "zone", "a");
        assert_int_equal(rig_change(&g, START, "zoned.service", ZONED)->status, 0);
        assert_int_equal(host_of("zoned.service"), 7);
        assert_int_equal(n_visited, 0);
        assert_int_equal(n_lists, 0);
}

// Global units are judged where something has changed: everywhere if they have, and on one host if only that
// has.
static void a_session_judges_global_units_on_its_host(void **state) {
        enum { GLOBALS = 3 };
        uint64_t judged = g.leader->n_globals_judged;

        for (unsigned i = 0; i < GLOBALS; i++) {
                assert_int_equal(
                        rig_change(&g, START, printed("g%u.service", i), SERVICE "[X-Argosy]\nGlobal=yes\n")
                                ->status,
                        0);
        }
        assert_true(g.leader->n_globals_judged - judged >= GLOBALS * HOSTS);
        assert_int_equal(rig_count_running(&g, "g0.service"), HOSTS);

        judged = g.leader->n_globals_judged;
        rig_host(&g, 7)->attached = false;
        rig_settle(&g);
        assert_int_equal(g.leader->n_globals_judged - judged, GLOBALS);

        rig_host(&g, 7)->refuses = true; // and says so of each of them
        rig_host(&g, 7)->attached = false;
        rig_settle(&g);
        assert_true(g.leader->n_globals_judged - judged <= 10 * GLOBALS);
}

// Who conflicts with some of them may drive one out where it is, and nowhere else.
static void who_conflicts_has_global_units_judged_on_its_host(void **state) {
        assert_int_equal(rig_change(&g, START, "g0.service", SERVICE "[X-Argosy]\nGlobal=yes\n")->status, 0);
        uint64_t judged = g.leader->n_globals_judged;
        assert_int_equal(
                rig_change(&g, START, "web.service", SERVICE "[X-Argosy]\nConflicts=other*.service\n")
                        ->status,
                0);
        assert_int_equal(rig_change(&g, DESTROY, "web.service", NULL)->status, 0);
        assert_in_range(g.leader->n_globals_judged - judged, 1, 10);
}

RUN_TESTS(
        TEST(who_starts_and_stops_a_unit_looks_at_its_host),
        TEST(a_report_concerns_the_host_that_makes_it),
        TEST(a_host_that_attaches_anew_is_welcomed_alone),
        TEST(a_host_that_is_lost_and_comes_back_concerns_nobody_else),
        TEST(who_asks_about_a_unit_looks_at_its_node),
        TEST(the_voters_are_planned_when_a_voter_changes),
        TEST(who_says_something_else_of_itself_concerns_nobody_else),
        TEST(a_session_judges_global_units_on_its_host),
        TEST(who_conflicts_has_global_units_judged_on_its_host)
)
