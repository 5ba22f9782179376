// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What is destroyed while its host is silent is remembered, by any leader, until the host has said that it
// is gone; and nobody is told that it is gone before.
#include "cluster-state-limits.h"
#include "leader-asks.h"
#include "leader-private.h"
#include "leader-rig.h"
#include "messages.h"
#include "wait-condition.h"
#include "test.h"

#define SERVICE "[Service]\nExecStart=/bin/sleep 1000\n"
#define FENCED SERVICE "TimeoutStopSec=10\n[X-Argosy]\nCutOff=stop\nCutOffSec=5\n"
#define KEPT SERVICE "[X-Argosy]\nNodeLost=keep\n"
#define GLOBAL SERVICE "[X-Argosy]\nGlobal=true\n"
#define LABELLED SERVICE "[X-Argosy]\nGlobal=true\nMachineMetadata=role=web\n"
#define BEHIND_Y SERVICE "[X-Argosy]\nAfter=y.service\n"
#define START ARGOSY__VERB__VERB_START
#define STOP ARGOSY__VERB__VERB_STOP
#define UNLOAD ARGOSY__VERB__VERB_UNLOAD
#define DESTROY ARGOSY__VERB__VERB_DESTROY
#define X "x.service"
#define FULL                                                                                                \
        "there are as many units that may still run on silent hosts (remove those that are gone for good) " \
        "as there may be (0)"
#define ON_2 "may still run on n2 until that host is heard"

enum { FENCE_MS = 17019 }; // see test-node-loss-policy.c

RIG_OF(3)

static void change_leader(void) {
        rig_elect_anew(&g);
}

// Host 2 runs what it runs, and nobody hears of it any more.
static void lose_2(void) {
        rig_host_off_for(&g, 2, RIG_LEASE_MS + RIG_BEAT_MS);
}

// x.service on host 2; host 3 is the only one that takes others.
static void start_on_2(const char *content) {
        (void) rig_set_mode(&g, "n1", ARGOSY__NODE_MODE__MODE_CORDONED, 0, "");
        (void) rig_set_mode(&g, "n3", ARGOSY__NODE_MODE__MODE_CORDONED, 0, "");
        assert_int_equal(rig_change(&g, START, X, content)->status, 0);
        assert_non_null(rig_unit_on(&g, 2, X));
        (void) rig_set_mode(&g, "n3", ARGOSY__NODE_MODE__MODE_OPEN, 0, "");
        (void) rig_set_mode(&g, "n2", ARGOSY__NODE_MODE__MODE_CORDONED, 0, "");
}

static size_t n_tombstones(void) {
        return cluster_state_n_tombstones(g.state);
}

static bool runs_on(uint32_t host) {
        const VirtualUnit *u = rig_unit_on(&g, host, X);

        return u && u->active == ARGOSY__ACTIVE_STATE__ACTIVE_ACTIVE;
}

// The result of a wait that has ended; NULL: it has not.
static const Argosy__Response__UnitResult *result_of(const RigAnswer *wait) {
        return wait->n && rig_last(wait)->progress->n_done ? rig_last(wait)->progress->done[0] : NULL;
}

static RigAnswer *wait_for(Argosy__Verb verb, const Argosy__Response__UnitResult *change) {
        return rig_wait(&g, verb, X, change->revision);
}

static void assert_may_run_on_2(const RigAnswer *wait) {
        const Argosy__Response__UnitResult *u = result_of(wait);

        assert_non_null(u);
        assert_int_equal(u->status, WAIT_MAY_RUN);
        assert_string_equal(u->message, ON_2);
        assert_int_equal(u->n_may_run_on, 1);
        assert_string_equal(u->may_run_on[0], "n2");
}

static void assert_gone(const RigAnswer *wait) {
        assert_non_null(result_of(wait));
        assert_int_equal(result_of(wait)->status, 0);
}

static const char *reason(void) {
        const Argosy__Response *r = rig_why(&g, X);

        return r->status ? r->message : r->status_reply->why;
}

// ----------------------------------------------------------------------------------------------- destroying

static void destroy(char **names, size_t n) {
        uint8_t id[16] = "many";
        Argosy__Request__Change change =
                MESSAGE_OF(request__change, .id = (ProtobufCBinaryData){.data = id, .len = sizeof(id)},
                           .verb = DESTROY, .names = names, .n_names = n);

        (void) rig_ask_and_settle(&g, A_REQUEST(CHANGE, change, &change));
}

// One entry for what is destroyed, and at most one for each host that has let go.
static void the_usual_way_costs_an_entry_for_each_host(void **state) {
        char names[60][32], *pointers[60];
        unsigned batches;

        for (unsigned i = 0; i < ELEMENTSOF(names); i++) {
                snprintf(names[i], sizeof(names[i]), "u%u.service", i);
                pointers[i] = names[i];
                assert_int_equal(rig_change(&g, START, names[i], SERVICE)->status, 0);
        }
        batches = g.batches;
        destroy(pointers, ELEMENTSOF(names));
        assert_int_equal(n_tombstones(), 0);
        assert_in_range(g.batches - batches, 2, 4);
}

static void what_one_host_has_not_let_go_keeps_no_other_from_it(void **state) {
        start_on_2(SERVICE);
        assert_int_equal(rig_change(&g, START, "y.service", SERVICE)->status, 0);
        assert_non_null(rig_unit_on(&g, 3, "y.service"));
        rig_host(&g, 2)->deaf = true;
        (void) rig_change(&g, DESTROY, "y.service", NULL);
        (void) rig_change(&g, DESTROY, X, NULL);
        assert_int_equal(n_tombstones(), 1);
        rig_host(&g, 2)->deaf = false;
        rig_settle(&g);
        assert_int_equal(n_tombstones(), 0);
}

static void nobody_says_that_it_is_gone_before_its_host_has_said_so(void **state) {
        start_on_2(KEPT);
        lose_2();
        const Argosy__Response__UnitResult *change = rig_change(&g, DESTROY, X, NULL);
        assert_int_equal(change->status, 0);
        assert_int_equal(change->n_may_run_on, 1);
        assert_string_equal(change->may_run_on[0], "n2");
        assert_may_run_on_2(wait_for(DESTROY, change));
        assert_string_equal(reason(), "destroyed; it may still run until the host is heard");
        assert_string_equal(rig_list_units(&g), X " n2 unknown unknown unknown\n");

        change_leader();
        RigAnswer *wait = wait_for(DESTROY, change);
        assert_null(result_of(wait)); // this leader gives the host its lease
        rig_pass_ms(&g, RIG_LEASE_MS + RIG_BEAT_MS);
        assert_may_run_on_2(wait);
        assert_string_equal(reason(), "destroyed; it may still run until the host is heard");
        assert_string_equal(rig_list_units(&g), X " n2 unknown unknown unknown\n");
        assert_int_equal(n_tombstones(), 1);

        rig_host_on(&g, 2, false);
        assert_null(rig_unit_on(&g, 2, X));
        assert_int_equal(n_tombstones(), 0);
        assert_gone(wait_for(DESTROY, change));
        assert_string_equal(reason(), X ": no such unit");
        assert_string_equal(rig_list_units(&g), "");
}

static void a_host_that_is_silent_for_a_moment_is_waited_for(void **state) {
        start_on_2(SERVICE);
        rig_host(&g, 2)->deaf = true;
        RigAnswer *wait = wait_for(DESTROY, rig_change(&g, DESTROY, X, NULL));
        rig_pass_ms(&g, RIG_LEASE_MS / 4);
        assert_null(result_of(wait));
        rig_host(&g, 2)->deaf = false;
        rig_settle(&g);
        assert_gone(wait);
        assert_int_equal(n_tombstones(), 0);
}

static void a_unit_that_has_moved_may_run_where_it_was(void **state) {
        start_on_2(SERVICE);
        lose_2();
        rig_pass_ms(&g, RIG_BEAT_MS);
        assert_true(runs_on(3));
        assert_may_run_on_2(wait_for(DESTROY, rig_change(&g, DESTROY, X, NULL)));
        assert_int_equal(n_tombstones(), 1);
        change_leader();
        rig_pass_ms(&g, RIG_LEASE_MS + RIG_BEAT_MS);
        assert_string_equal(reason(), "destroyed; it may still run until the host is heard");
}

static void a_host_that_is_removed_ends_them(void **state) {
        Argosy__Request__ClusterRemove remove =
                MESSAGE_OF(request__cluster_remove, .host = "n2", .force = true);

        start_on_2(KEPT);
        lose_2();
        (void) rig_change(&g, DESTROY, X, NULL);
        (void) rig_ask_and_settle(&g, A_REQUEST(CLUSTER_REMOVE, cluster_remove, &remove));
        assert_int_equal(n_tombstones(), 0);
        assert_string_equal(reason(), X ": no such unit");
}

static void a_unit_that_is_unloaded_may_run_as_well(void **state) {
        start_on_2(KEPT);
        lose_2();
        const Argosy__Response__UnitResult *change = rig_change(&g, UNLOAD, X, NULL);
        assert_may_run_on_2(wait_for(UNLOAD, change));
        change_leader();
        RigAnswer *wait = wait_for(UNLOAD, change);
        rig_pass_ms(&g, RIG_LEASE_MS + RIG_BEAT_MS);
        assert_may_run_on_2(wait);
        (void) rig_change(&g, DESTROY, X, NULL);
        assert_int_equal(n_tombstones(), 1);
        rig_host_on(&g, 2, false);
        assert_int_equal(n_tombstones(), 0);
}

// ------------------------------------------------------------------------------------------- starting again

static void a_new_start_waits_for_the_guard_under_any_leader(void **state) {
        start_on_2(FENCED);
        lose_2();
        (void) rig_change(&g, DESTROY, X, NULL);
        assert_int_equal(rig_change(&g, START, X, SERVICE)->status, 0);
        assert_int_equal(rig_record(&g, X)->node, rig_host(&g, 3)->virtual.node);
        assert_false(runs_on(3));
        change_leader();
        rig_pass_ms(&g, RIG_LEASE_MS / 2);
        assert_false(runs_on(3));
        rig_pass_ms(&g, FENCE_MS - 1000); // it counts anew from when it calls the host lost
        assert_false(runs_on(3));
        assert_true(runs_on(2));
        rig_unit_on(&g, 2, X)->active = ARGOSY__ACTIVE_STATE__ACTIVE_INACTIVE;
        rig_pass_ms(&g, RIG_LEASE_MS + 1000);
        assert_true(runs_on(3));
        assert_int_equal(n_tombstones(), 0);
}

static void without_a_guard_it_waits_only_until_the_host_is_lost(void **state) {
        start_on_2(SERVICE);
        rig_host_off(&g, 2);
        (void) rig_change(&g, DESTROY, X, NULL);
        assert_int_equal(rig_change(&g, START, X, FENCED)->status, 0);
        change_leader();
        assert_false(runs_on(3));
        rig_pass_ms(&g, RIG_LEASE_MS + RIG_BEAT_MS);
        assert_true(runs_on(3));
        assert_int_equal(n_tombstones(), 1);
        assert_string_equal(reason(),
                            "it is not wanted here any more; it may still run until the host is heard");
        (void) rig_change(&g, DESTROY, X, NULL); // it is not forgotten for having been started elsewhere
        assert_non_null(cluster_state_find_tombstone(g.state, X, rig_host(&g, 2)->virtual.node));
}

static void a_guard_ends_them(void **state) {
        start_on_2(FENCED);
        lose_2();
        const Argosy__Response__UnitResult *change = rig_change(&g, DESTROY, X, NULL);
        RigAnswer *wait = wait_for(DESTROY, change);
        assert_null(result_of(wait));
        rig_pass_ms(&g, FENCE_MS - 3000);
        assert_null(result_of(wait));
        assert_int_equal(n_tombstones(), 1);
        rig_pass_ms(&g, 4000);
        assert_gone(wait);
        assert_int_equal(n_tombstones(), 0);
        assert_string_equal(reason(), X ": no such unit");
}

// A host that is switched off and said that the unit may run on: as if it were lost when its lease ends.
static void a_guard_that_was_alive_at_the_shutdown_ends_them_a_lease_later(void **state) {
        char *name = X;

        start_on_2(FENCED);
        Argosy__ToVoter__Goodbye__Running running = MESSAGE_OF(to_voter__goodbye__running,
                                                               .node = rig_host(&g, 2)->virtual.node,
                                                               .units = &name, .n_units = 1),
                                          *list = &running;
        Argosy__ToVoter__Goodbye goodbye =
                MESSAGE_OF(to_voter__goodbye, .why = ARGOSY__TO_VOTER__GOODBYE__WHY__SHUTDOWN,
                           .running = &list, .n_running = 1);
        rig_host(&g, 2)->up = false;
        leader_on_message(g.leader, 2, A_TO_VOTER(GOODBYE, goodbye, &goodbye));
        rig_settle(&g);
        RigAnswer *wait = wait_for(DESTROY, rig_change(&g, DESTROY, X, NULL));
        rig_pass_ms(&g, FENCE_MS + RIG_LEASE_MS / 2);
        assert_null(result_of(wait));
        assert_int_equal(n_tombstones(), 1);
        rig_pass_ms(&g, RIG_LEASE_MS);
        assert_gone(wait);
        assert_int_equal(n_tombstones(), 0);
}

// ------------------------------------------------------------------------------------------------ all nodes

static void a_global_unit_is_remembered_on_silent_nodes_only(void **state) {
        assert_int_equal(rig_change(&g, START, X, GLOBAL)->status, 0);
        assert_int_equal(rig_count_running(&g, X), 3);
        lose_2();
        change_leader(); // it does not know what host 2 holds, only what it should
        const Argosy__Response__UnitResult *change = rig_change(&g, DESTROY, X, NULL);
        RigAnswer *wait = wait_for(DESTROY, change);
        rig_pass_ms(&g, RIG_LEASE_MS + RIG_BEAT_MS);
        assert_may_run_on_2(wait);
        assert_int_equal(n_tombstones(), 1);
        assert_int_equal(rig_count_running(&g, X), 0);
        rig_host_on(&g, 2, false);
        assert_int_equal(n_tombstones(), 0);
}

// It has to leave its node, and no other one takes it, but nobody knows yet whether it runs there: that is
// not asked again and again.
static void what_must_not_run_twice_waits_quietly_for_a_host_to_attach(void **state) {
        assert_int_equal(rig_last(rig_label(&g, "n2", "on", "two"))->status, 0);
        assert_int_equal(rig_change(&g, START, X, FENCED "MachineMetadata=on=two\n")->status, 0);
        (void) rig_set_mode(&g, "n2", ARGOSY__NODE_MODE__MODE_DRAINING, 1, "");
        assert_true(runs_on(2));
        rig_host_off(&g, 2);
        rig_depose(&g);
        rig_pass_ms(&g, 1500);
        rig_elect(&g);
        rig_settle(&g); // it comes to rest
        assert_int_equal(rig_host_of(&g, X), 2);
        rig_host_on(&g, 2, false);
        rig_pass_ms(&g, RIG_LEASE_MS);
        assert_int_equal(rig_host_of(&g, X), 0);
}

// y.service ends behind z.service, which its host is not told of yet, and is to be on its node again by
// then: nothing is left to wait for there.
static void what_is_started_again_before_it_has_gone_is_remembered_no_more(void **state) {
        char *all[] = {(char *) "y.service", (char *) "z.service", (char *) X};

        start_on_2(SERVICE);
        assert_int_equal(rig_change(&g, START, "z.service", BEHIND_Y)->status, 0);
        (void) rig_set_mode(&g, "n2", ARGOSY__NODE_MODE__MODE_OPEN, 0, "");
        (void) rig_set_mode(&g, "n3", ARGOSY__NODE_MODE__MODE_CORDONED, 0, "");
        assert_int_equal(rig_change(&g, START, "y.service", SERVICE)->status, 0);
        assert_non_null(rig_unit_on(&g, 3, "z.service"));
        rig_host(&g, 3)->full = true;
        destroy(all, ELEMENTSOF(all));
        assert_int_equal(n_tombstones(), 3);
        assert_null(rig_unit_on(&g, 2, X));
        assert_int_equal(rig_change(&g, START, "y.service", SERVICE)->status, 0);
        assert_int_equal(n_tombstones(), 1);
        rig_host_drain(&g, 3);
        assert_int_equal(n_tombstones(), 0);
}

static void what_is_left_again_is_looked_at_anew(void **state) {
        assert_int_equal(rig_change(&g, START, X, GLOBAL)->status, 0);
        const Node *n = node_find(g.leader, cluster_state_find_host(g.state, 2)->nodes[0]->node);
        lose_2();
        rig_change(&g, DESTROY, X, NULL);
        rig_pass_ms(&g, RIG_LEASE_MS);
        assert_non_null(n->fencing.open);
        assert_ptr_equal(n->fencing.open, cluster_state_find_tombstone(g.state, X, n->number));
        for (int i = 0; i < 2; i++) { // another one is in its place, and it is freed
                assert_int_equal(rig_change(&g, START, X, GLOBAL)->status, 0);
                rig_change(&g, DESTROY, X, NULL);
                assert_int_equal(n_tombstones(), 1);
                assert_true(!n->fencing.open ||
                            n->fencing.open == cluster_state_find_tombstone(g.state, X, n->number));
        }
}

static void a_stop_of_a_global_unit_waits_for_all_nodes(void **state) {
        assert_int_equal(rig_change(&g, START, X, GLOBAL)->status, 0);
        lose_2();
        const Argosy__Response__UnitResult *change = rig_change(&g, STOP, X, NULL);
        assert_int_equal(change->n_may_run_on, 1);
        assert_may_run_on_2(wait_for(STOP, change));
        change_leader();
        RigAnswer *wait = wait_for(STOP, change);
        rig_pass_ms(&g, RIG_LEASE_MS + RIG_BEAT_MS);
        assert_may_run_on_2(wait);
        rig_host_on(&g, 2, false);
        assert_gone(wait_for(STOP, change));
}

static void a_global_unit_that_is_unloaded_is_remembered(void **state) {
        assert_int_equal(rig_change(&g, START, X, GLOBAL)->status, 0);
        lose_2();
        const Argosy__Response__UnitResult *change = rig_change(&g, UNLOAD, X, NULL);
        change_leader();
        RigAnswer *wait = wait_for(UNLOAD, change);
        rig_pass_ms(&g, RIG_LEASE_MS + RIG_BEAT_MS);
        assert_may_run_on_2(wait);
}

static void start_instances(unsigned first, unsigned n) {
        Argosy__Request__Change change = ARGOSY__REQUEST__CHANGE__INIT;
        Argosy__Request request = REQUEST_OF(CHANGE, change, &change);
        char **names = calloc(n, sizeof(*names));
        uint8_t id[16] = {(uint8_t) (first >> 8), (uint8_t) first, 1};

        assert_non_null(names);
        for (unsigned i = 0; i < n; i++)
                assert_true(asprintf(&names[i], "many@%0200u.service", first + i) > 0);
        change.id = (ProtobufCBinaryData){.data = id, .len = sizeof(id)};
        change.verb = START;
        change.names = names;
        change.n_names = n;
        (void) rig_ask(&g, &request);
        rig_settle(&g);
        for (unsigned i = 0; i < n; i++)
                free(names[i]);
        free(names);
}

// More than one entry of the log can hold.
static void a_node_that_thousands_of_global_units_leave_is_remembered_by_all(void **state) {
        enum { UNITS = 5400, AT_A_TIME = 1800 };

        for (unsigned i = 1; i <= 3; i++)
                (void) rig_label(&g, (const char *[]){"n1", "n2", "n3"}[i - 1], "role", "web");
        assert_int_equal(rig_change(&g, ARGOSY__VERB__VERB_SUBMIT, "many@.service", LABELLED)->status, 0);
        for (unsigned i = 0; i < UNITS; i += AT_A_TIME)
                start_instances(i, AT_A_TIME);
        lose_2();
        (void) rig_label(&g, "n2", "role", "db");
        assert_int_equal(n_tombstones(), UNITS);
}

static void a_node_that_a_global_unit_has_left_is_remembered(void **state) {
        for (unsigned i = 1; i <= 3; i++)
                (void) rig_label(&g, (const char *[]){"n1", "n2", "n3"}[i - 1], "role", "web");
        assert_int_equal(rig_change(&g, START, X, LABELLED)->status, 0);
        lose_2();
        (void) rig_label(&g, "n2", "role", "db");
        (void) rig_label(&g, "n3", "role", "db");
        assert_null(rig_unit_on(&g, 3, X));
        assert_int_equal(n_tombstones(), 1);
        change_leader();
        const Argosy__Response__UnitResult *change = rig_change(&g, DESTROY, X, NULL);
        RigAnswer *wait = wait_for(DESTROY, change);
        rig_pass_ms(&g, RIG_LEASE_MS + RIG_BEAT_MS);
        assert_may_run_on_2(wait);
        rig_host_on(&g, 2, false);
        assert_null(rig_unit_on(&g, 2, X));
        assert_int_equal(n_tombstones(), 0);
}

// A leader that dies behind the first of two entries would have forgotten it.
static void what_drives_a_global_unit_out_brings_its_tombstone(void **state) {
        unsigned batches;

        for (unsigned i = 1; i <= 3; i++)
                (void) rig_label(&g, (const char *[]){"n1", "n2", "n3"}[i - 1], "role", "web");
        assert_int_equal(rig_change(&g, START, X, LABELLED)->status, 0);
        lose_2();
        batches = g.batches;
        (void) rig_label(&g, "n2", "role", "db");
        assert_int_equal(n_tombstones(), 1);
        assert_int_equal(g.batches, batches + 1);
        rig_host_on(&g, 2, false);
        (void) rig_label(&g, "n2", "role", "web");
        assert_int_equal(n_tombstones(), 0);
        assert_non_null(rig_unit_on(&g, 2, X));
        lose_2();
        batches = g.batches;
        (void) rig_set_mode(&g, "n2", ARGOSY__NODE_MODE__MODE_MAINTENANCE, 0, "");
        assert_int_equal(n_tombstones(), 1);
        assert_int_equal(g.batches, batches + 1);
}

// ------------------------------------------------------------------------------------------ the log is full

static void run_where_role_is_web(void) {
        for (unsigned i = 1; i <= 3; i++)
                (void) rig_label(&g, (const char *[]){"n1", "n2", "n3"}[i - 1], "role", "web");
        assert_int_equal(rig_change(&g, START, X, LABELLED)->status, 0);
        assert_non_null(rig_unit_on(&g, 2, X));
}

static void what_the_log_has_no_room_to_remember_is_refused(void **state) {
        run_where_role_is_web();
        cluster_state_set_limit(g.state, REFUSAL_TOMBSTONES, 0);
        lose_2();
        RigAnswer *a = rig_label(&g, "n2", "role", "db");
        assert_int_equal(rig_last(a)->status, ENOSPC);
        assert_string_equal(rig_last(a)->message, FULL ": nothing was changed");
        const Argosy__Response__UnitResult *r = rig_change(&g, DESTROY, X, NULL);
        assert_int_equal(r->status, ENOSPC);
        assert_string_equal(r->message, FULL);
        assert_non_null(rig_record(&g, X));
        rig_host_on(&g, 2, false);
        assert_non_null(rig_unit_on(&g, 2, X)); // it is to run there, as before
        assert_int_equal(leader_stats(g.leader).nodes_not_remembered, 0);
        assert_int_equal(cluster_state_figures(g.state).state_operations_refused, 0);
}

static void what_the_cluster_does_by_itself_without_room_is_counted(void **state) {
        run_where_role_is_web();
        lose_2();
        cluster_state_set_limit(g.state, REFUSAL_TOMBSTONES, 0);
        (void) rig_change_as_job(&g, START, "before-x.service", GLOBAL "Conflicts=" X "\n");
        rig_settle(&g);
        assert_int_equal(n_tombstones(), 0);
        assert_int_equal(leader_stats(g.leader).nodes_not_remembered, 1);
        assert_int_equal(cluster_state_figures(g.state).state_operations_refused, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

RUN_TESTS(
        TEST(the_usual_way_costs_an_entry_for_each_host),
        TEST(what_one_host_has_not_let_go_keeps_no_other_from_it),
        TEST(nobody_says_that_it_is_gone_before_its_host_has_said_so),
        TEST(a_host_that_is_silent_for_a_moment_is_waited_for),
        TEST(a_unit_that_has_moved_may_run_where_it_was),
        TEST(a_host_that_is_removed_ends_them),
        TEST(a_unit_that_is_unloaded_may_run_as_well),
        TEST(a_new_start_waits_for_the_guard_under_any_leader),
        TEST(without_a_guard_it_waits_only_until_the_host_is_lost),
        TEST(a_guard_ends_them),
        TEST(a_guard_that_was_alive_at_the_shutdown_ends_them_a_lease_later),
        TEST(a_global_unit_is_remembered_on_silent_nodes_only),
        TEST(what_must_not_run_twice_waits_quietly_for_a_host_to_attach),
        TEST(what_is_started_again_before_it_has_gone_is_remembered_no_more),
        TEST(what_is_left_again_is_looked_at_anew),
        TEST(a_stop_of_a_global_unit_waits_for_all_nodes),
        TEST(a_global_unit_that_is_unloaded_is_remembered),
        TEST(a_node_that_a_global_unit_has_left_is_remembered),
        TEST(what_drives_a_global_unit_out_brings_its_tombstone),
        TEST(what_the_log_has_no_room_to_remember_is_refused),
        TEST(what_the_cluster_does_by_itself_without_room_is_counted),
        TEST(a_node_that_thousands_of_global_units_leave_is_remembered_by_all)
)
