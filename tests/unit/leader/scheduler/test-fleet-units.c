// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What a host runs from fleet's directory starts nowhere else.
#include <errno.h>

#include "batch.h"
#include "leader-asks.h"
#include "leader-private.h"
#include "leader-rig-private.h"
#include "messages.h"
#include "registry.h"
#include "scheduler.h"
#include "sessions.h"
#include "test.h"
#include "unit-work.h"

#define SERVICE "[Service]\nExecStart=/bin/sleep 1000\n"
#define START ARGOSY__VERB__VERB_START

RIG_OF(3)

static void says(uint32_t host, bool taken_over, bool fleet_runs, const char *a, const char *b) {
        char *names[] = {(char *) a, (char *) b};
        Argosy__FleetUnits m =
                MESSAGE_OF(fleet_units, .directory = (char *) "/run/fleet/units", .units = names,
                           .n_units = !a  ? 0
                                      : b ? 2
                                          : 1,
                           .taken_over = taken_over, .fleet_runs = fleet_runs);

        session_on_fleet_units(g.leader, host_find(g.leader, host), &m);
        rig_settle(&g);
}

static void a_start_goes_to_who_takes_it_over(void **state) {
        char name[] = "u0.service";

        for (uint32_t host = 3; host > 0; host--) {
                says(host, true, false, "u0.service", "u1.service");
                says(host % 3 + 1, true, false, NULL, NULL);
                assert_int_equal(rig_change(&g, START, name, SERVICE)->status, 0);
                assert_int_equal(rig_host_of(&g, name), host);
                rig_change(&g, ARGOSY__VERB__VERB_DESTROY, name, NULL);
        }
}

static void assert_refused(const Argosy__Response__UnitResult *r, const char *why) {
        assert_replies(r, EEXIST, "n2 runs it from /run/fleet/units");
        assert_non_null(strstr(r->message, why));
        assert_string_equal(rig_node_name(&g, r->name), "");
}

static void a_start_is_refused_as_long_as_nobody_takes_it_over(void **state) {
        says(2, false, false, "web.service", NULL);
        assert_refused(rig_change(&g, START, "web.service", SERVICE), "set TakeOver=");
        says(2, true, true, "web.service", NULL);
        assert_refused(rig_change(&g, START, "web.service", SERVICE), "fleetd still runs there");
        rig_host_off_for(&g, 2, 3 * RIG_LEASE_MS);
        assert_refused(rig_change(&g, START, "web.service", SERVICE), "is not heard");
        rig_host_on(&g, 2, false);
        rig_settle(&g); // and has none of them any more
        assert_int_equal(rig_change(&g, START, "web.service", SERVICE)->status, 0);
        assert_string_not_equal(rig_node_name(&g, "web.service"), "");
}

static void a_submitted_unit_is_barred_as_well(void **state) {
        rig_change(&g, ARGOSY__VERB__VERB_SUBMIT, "web.service", SERVICE);
        says(2, false, false, "web.service", NULL);
        assert_refused(rig_change(&g, START, "web.service", NULL), "set TakeOver=");
        says(2, true, false, "web.service", NULL);
        assert_int_equal(rig_change(&g, START, "web.service", NULL)->status, 0);
        assert_int_equal(rig_host_of(&g, "web.service"), 2);
}

// Else it would run there and elsewhere.
static void what_its_host_does_not_take_goes_nowhere(void **state) {
        says(2, true, false, "web.service", NULL);
        rig_host(&g, 2)->refuses = true;
        (void) rig_change(&g, START, "web.service", SERVICE);
        assert_int_equal(rig_count_running(&g, "web.service"), 0);
        rig_add_host(&g, true, 0); // nor to who comes later
        rig_settle(&g);
        assert_int_equal(rig_count_running(&g, "web.service"), 0);
        rig_host(&g, 2)->refuses = false;
        says(2, true, false, NULL, NULL); // somebody has stopped it there
        assert_int_equal(rig_change(&g, START, "web.service", NULL)->status, 0);
        assert_int_equal(rig_count_running(&g, "web.service"), 1);
}

static const Argosy__Response__UnitResult *plan_start(const char *name) {
        char *names[] = {(char *) name};
        uint8_t id[16] = "asks for a plan";
        Argosy__Request__Change change =
                MESSAGE_OF(request__change, .verb = START, .names = names, .n_names = 1, .preview = true,
                           .id = (ProtobufCBinaryData){.data = id, .len = sizeof(id)});
        RigAnswer *a = rig_ask_and_settle(&g, A_REQUEST(CHANGE, change, &change));

        assert_int_equal(a->n, 1);
        return a->responses[0]->change->units[0];
}

// It asks what would be if the node had not refused it; that another host runs it stays so.
static void a_plan_lets_it_go_nowhere_else(void **state) {
        says(2, true, false, "web.service", NULL);
        rig_host(&g, 2)->refuses = true;
        (void) rig_change(&g, START, "web.service", SERVICE);
        assert_non_null(unit_work_seen(unit_find(g.leader, "web.service"))->exclusions);
        assert_string_equal(plan_start("web.service")->node, "");
        rig_pass_ms(&g, 10000);
        assert_int_equal(rig_count_running(&g, "web.service"), 0);
        rig_add_host(&g, true, 0); // there is a round of placements
        rig_pass_ms(&g, 10000);
        assert_int_equal(rig_count_running(&g, "web.service"), 0);
        assert_string_equal(rig_node_name(&g, "web.service"), "");
}

static void does_not_know(uint32_t host) {
        Argosy__FleetUnits m = ARGOSY__FLEET_UNITS__INIT;

        session_on_fleet_units(g.leader, host_find(g.leader, host), &m);
        rig_settle(&g);
}

static void nothing_new_starts_while_a_host_does_not_know_what_it_runs(void **state) {
        says(2, false, false, "kept.service", NULL);
        does_not_know(2);
        const Argosy__Response__UnitResult *r = rig_change(&g, START, "web.service", SERVICE);
        assert_replies(r, EEXIST, "n2 has not found out yet");
        assert_null(rig_record(&g, "web.service"));
        assert_int_equal(rig_change(&g, START, "kept.service", SERVICE)->status, EEXIST);
        says(2, false, false, NULL, NULL);
        assert_int_equal(rig_change(&g, START, "web.service", SERVICE)->status, 0);
        assert_int_equal(rig_change(&g, START, "kept.service", SERVICE)->status, 0);
}

static void what_runs_is_not_touched_by_that(void **state) {
        assert_int_equal(rig_change(&g, START, "web.service", SERVICE)->status, 0);
        does_not_know(2);
        assert_int_equal(rig_change(&g, START, "web.service", NULL)->status, 0);
        assert_int_equal(rig_change(&g, ARGOSY__VERB__VERB_STOP, "web.service", NULL)->status, 0);
        assert_int_equal(rig_change(&g, START, "web.service", NULL)->status, 0);
}

static void a_host_that_is_lost_keeps_nobody_waiting(void **state) {
        does_not_know(2);
        rig_host_off(&g, 2);
        assert_int_equal(rig_change(&g, START, "web.service", SERVICE)->status, EEXIST);
        rig_pass_ms(&g, 3 * RIG_LEASE_MS);
        assert_int_equal(rig_change(&g, START, "web.service", SERVICE)->status, 0);
}

static void a_healthy_unit_stays_where_it_is(void **state) {
        rig_change(&g, START, "web.service", SERVICE);
        uint32_t host = rig_host_of(&g, "web.service");
        says(host % 3 + 1, false, false, "web.service", NULL);
        rig_pass_ms(&g, 10000);
        assert_int_equal(rig_host_of(&g, "web.service"), host);
        assert_int_equal(rig_count_running(&g, "web.service"), 1);
}

static void a_new_leader_hears_of_them_anew(void **state) {
        says(3, false, false, "web.service", NULL);
        rig_elect_anew(&g);
        assert_int_equal(rig_change(&g, START, "web.service", SERVICE)->status, 0); // its Attach said none
}

// It may run there all the time.
static void a_new_leader_knows_what_a_host_runs_that_it_does_not_hear(void **state) {
        says(2, false, false, "web.service", "db.service");
        says(2, false, false, "web.service", NULL);
        rig_host_off(&g, 2);
        rig_elect_anew(&g);
        assert_refused(rig_change(&g, START, "web.service", SERVICE), "is not heard");
        assert_int_equal(rig_change(&g, START, "db.service", SERVICE)->status, 0);
        rig_pass_ms(&g, 3 * RIG_LEASE_MS);
        assert_refused(rig_change(&g, START, "web.service", SERVICE), "is not heard");
        rig_host_on(&g, 2, false);
        rig_settle(&g); // and has none of them any more
        assert_int_equal(rig_change(&g, START, "web.service", SERVICE)->status, 0);
        assert_null(cluster_state_find_host(g.state, 2)->fleet);
}

// They are too many for its record, so of each name it may be one.
static void of_more_than_a_record_takes_only_that_is_known(void **state) {
        enum { MANY = 1000 };
        static char names[MANY][128];
        char *pointers[MANY];

        for (unsigned i = 0; i < MANY; i++) {
                snprintf(names[i], sizeof(names[i]), "%0100u.service", i);
                pointers[i] = names[i];
        }
        Argosy__FleetUnits m = MESSAGE_OF(fleet_units, .directory = (char *) "/run/fleet/units",
                                          .units = pointers, .n_units = MANY);
        session_on_fleet_units(g.leader, host_find(g.leader, 2), &m);
        rig_settle(&g);
        assert_int_equal(rig_change(&g, START, "web.service", SERVICE)->status, 0);
        assert_int_equal(cluster_state_find_host(g.state, 2)->fleet->n_units, 0);
        rig_host_off(&g, 2);
        rig_elect_anew(&g);
        assert_int_equal(rig_change(&g, START, "db.service", SERVICE)->status, EEXIST);
        rig_pass_ms(&g, 3 * RIG_LEASE_MS);
        assert_int_equal(rig_change(&g, START, "db.service", SERVICE)->status, 0);
}

// Only its own names are looked at, and none that others have named, however many these are.
static void a_new_host_costs_nobody_a_look(void **state) {
        _cleanup_(batch_done) Batch b = {};

        rig_change(&g, ARGOSY__VERB__VERB_SUBMIT, "web.service", SERVICE);
        says(2, true, false, "web.service", NULL);
        assert_int_equal(rig_change(&g, START, "web.service", NULL)->status, 0);
        uint64_t looks = g.leader->n_refusals_reported;
        batch_host(&b, 0, "newcomer", 1)->port = 7070;
        rig_add_host(&g, true, 1);
        rig_propose(&g, &b);
        rig_settle(&g);
        assert_int_equal(rig_change(&g, START, "other.service", SERVICE)->status, 0);
        assert_int_not_equal(node_find(g.leader, 4)->scheduling.place, 0);
        assert_int_equal(g.leader->n_refusals_reported, looks);
        assert_false(scheduler_node_admits(g.leader, node_find(g.leader, 4), "web.service"));
        assert_true(scheduler_node_admits(g.leader, node_find(g.leader, 2), "web.service"));
}

// It says all of them whenever one has changed; only those are looked at again that have.
static void only_what_has_changed_is_looked_at(void **state) {
        char *names[] = {(char *) "a.service", (char *) "b.service"};

        rig_change(&g, ARGOSY__VERB__VERB_SUBMIT, "a.service", SERVICE);
        rig_change(&g, ARGOSY__VERB__VERB_SUBMIT, "b.service", SERVICE);
        says(2, false, false, "a.service", "c.service");
        assert_refused(rig_change(&g, START, "a.service", NULL), "set TakeOver="); // looks at it
        Argosy__FleetUnits m = MESSAGE_OF(fleet_units, .directory = (char *) "/run/fleet/units",
                                          .units = names, .n_units = 2);
        session_on_fleet_units(g.leader, host_find(g.leader, 2), &m);
        assert_false(list_is_linked(&unit_work_seen(unit_find(g.leader, "a.service"))->refusals_due));
        assert_true(list_is_linked(&unit_work_seen(unit_find(g.leader, "b.service"))->refusals_due));
        rig_settle(&g);
        assert_refused(rig_change(&g, START, "a.service", NULL), "set TakeOver=");
        assert_refused(rig_change(&g, START, "b.service", NULL), "set TakeOver=");
        says(2, false, false, "b.service", NULL);
        assert_int_equal(rig_change(&g, START, "a.service", NULL)->status, 0);
        assert_int_equal(rig_change(&g, START, "c.service", SERVICE)->status, 0);
}

RUN_TESTS(
        cmocka_unit_test_setup_teardown(a_start_goes_to_who_takes_it_over, setup, teardown),
        cmocka_unit_test_setup_teardown(a_start_is_refused_as_long_as_nobody_takes_it_over, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_submitted_unit_is_barred_as_well, setup, teardown),
        cmocka_unit_test_setup_teardown(what_its_host_does_not_take_goes_nowhere, setup, teardown),
        cmocka_unit_test_setup_teardown(a_plan_lets_it_go_nowhere_else, setup, teardown),
        cmocka_unit_test_setup_teardown(nothing_new_starts_while_a_host_does_not_know_what_it_runs,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(what_runs_is_not_touched_by_that, setup, teardown),
        cmocka_unit_test_setup_teardown(a_host_that_is_lost_keeps_nobody_waiting, setup, teardown),
        cmocka_unit_test_setup_teardown(a_healthy_unit_stays_where_it_is, setup, teardown),
        cmocka_unit_test_setup_teardown(a_new_host_costs_nobody_a_look, setup, teardown),
        cmocka_unit_test_setup_teardown(only_what_has_changed_is_looked_at, setup, teardown),
        cmocka_unit_test_setup_teardown(a_new_leader_hears_of_them_anew, setup, teardown),
        cmocka_unit_test_setup_teardown(a_new_leader_knows_what_a_host_runs_that_it_does_not_hear,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(of_more_than_a_record_takes_only_that_is_known, setup,
                                        teardown)
)
