// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The budget of a group, which drains and updates share.
#include "printed.h"
#include "rollout-words.h"

static void a_drain_keeps_to_the_budget_of_a_template(void **state) {
        unsigned most = 0;

        start_instances(N_UNITS, OLD ONE_DOWN);
        (void) rig_set_mode(&g, "n2", ARGOSY__NODE_MODE__MODE_DRAINING, 0, "");
        for (unsigned i = 0; i < 40; i++) {
                most = MAX_OF(most, N_UNITS - count_running(OLD ONE_DOWN));
                rig_pass_ms(&g, 250);
        }
        assert_int_equal(most, 1);
        assert_int_equal(rig_host(&g, 2)->virtual.units.count, 0);
        assert_int_equal(count_running(OLD ONE_DOWN), N_UNITS);
}

// Until the hosts have told it, a new leader does not know what is down and what is up.
static void a_new_leader_keeps_a_drain_to_the_budget(void **state) {
        unsigned most = 0;

        start_instances(N_UNITS, OLD ONE_DOWN);
        (void) rig_set_mode(&g, "n2", ARGOSY__NODE_MODE__MODE_DRAINING, 0, "");
        for (unsigned i = 0; i < 40; i++) {
                rig_depose(&g);
                rig_host(&g, 2)->deaf = i % 2; // the others are heard first: what it runs is not down
                rig_elect(&g);
                rig_host(&g, 2)->deaf = false;
                most = MAX_OF(most, N_UNITS - count_running(OLD ONE_DOWN));
                rig_pass_ms(&g, 250);
        }
        assert_int_equal(most, 1);
        assert_int_equal(rig_host(&g, 2)->virtual.units.count, 0);
        assert_int_equal(count_running(OLD ONE_DOWN), N_UNITS);
}

// It counted as down before its host was heard, and does so afterwards: but then it takes nothing more to
// leave.
static void what_has_failed_leaves_when_its_host_says_so(void **state) {
        start_instances(3, OLD ONE_DOWN);
        uint32_t failed = rig_record(&g, "web@2.service")->node;
        assert_int_equal(failed, rig_host(&g, 2)->virtual.node);
        rig_host_report_and_settle(&g, rig_host(&g, 2), rig_unit_on(&g, 2, "web@2.service"),
                                   ARGOSY__ACTIVE_STATE__ACTIVE_FAILED, ARGOSY__OUTCOME__KIND__NONE);
        rig_depose(&g);
        rig_host(&g, 2)->deaf = true;
        rig_elect(&g);
        (void) rig_set_mode(&g, "n2", ARGOSY__NODE_MODE__MODE_DRAINING, 0, "");
        assert_int_equal(rig_record(&g, "web@2.service")->node, failed);
        rig_host(&g, 2)->deaf = false;
        rig_pass_ms(&g, 1000);
        assert_int_not_equal(rig_record(&g, "web@2.service")->node, failed);
}

// They had nowhere to go, and now all of them have.
static void a_node_that_opens_for_a_drain_takes_them_one_by_one(void **state) {
        unsigned most = 0;

        rig_set_mode(&g, "n2", ARGOSY__NODE_MODE__MODE_CORDONED, 0, "");
        rig_set_mode(&g, "n3", ARGOSY__NODE_MODE__MODE_CORDONED, 0, "");
        start_instances(N_UNITS, OLD ONE_DOWN);
        (void) rig_set_mode(&g, "n1", ARGOSY__NODE_MODE__MODE_DRAINING, 0, "");
        rig_pass_ms(&g, 5000);
        assert_int_equal(rig_host(&g, 1)->virtual.units.count, N_UNITS);
        rig_set_mode(&g, "n3", ARGOSY__NODE_MODE__MODE_OPEN, 0, "");
        for (unsigned i = 0; i < 80; i++) {
                most = MAX_OF(most, N_UNITS - count_running(OLD ONE_DOWN));
                rig_pass_ms(&g, 250);
        }
        assert_int_equal(most, 1);
        assert_int_equal(rig_host(&g, 3)->virtual.units.count, N_UNITS);
}

static void a_host_that_is_lost_while_it_is_drained_holds_nothing_back(void **state) {
        start_instances(N_UNITS, OLD ONE_DOWN);
        rig_host_off(&g, 2);
        rig_host(&g, 2)->linked = false;
        rig_settle(&g);
        (void) rig_set_mode(&g, "n2", ARGOSY__NODE_MODE__MODE_DRAINING, 0, "");
        rig_pass_ms(&g, 3 * RIG_LEASE_MS);
        for (unsigned i = 1; i <= N_UNITS; i++) {
                assert_int_not_equal(rig_record(&g, printed("web@%u.service", i))->node, 2);
        }
}

static void what_failed_uses_up_a_drains_budget_until_its_deadline(void **state) {
        start_instances(N_UNITS, OLD ONE_DOWN);
        VirtualUnit *u = rig_unit_on(&g, 1, "web@1.service");
        rig_host_report_and_settle(&g, rig_host(&g, 1), u, ARGOSY__ACTIVE_STATE__ACTIVE_FAILED,
                                   ARGOSY__OUTCOME__KIND__NONE);
        (void) rig_set_mode(&g, "n2", ARGOSY__NODE_MODE__MODE_DRAINING, 60, "");
        rig_pass_ms(&g, 10000);
        assert_int_equal(rig_host(&g, 2)->virtual.units.count, 2);
        assert_string_equal(why_of("web@2.service"),
                            "it is to leave its node and waits: 1 of its group are down already, "
                            "MaxUnavailable=1");
        rig_age(&g, 60 * UINT64_C(1000000));
        rig_pass_ms(&g, 60000);
        assert_int_equal(rig_host(&g, 2)->virtual.units.count, 0);
}

// The leader looks for the next deadline when this one is over by the wall clock, and its timer a little
// late.
static void a_deadline_is_not_missed_because_another_one_is_set(void **state) {
        start_instances(N_UNITS, OLD ONE_DOWN);
        rig_host_report_and_settle(&g, rig_host(&g, 1), rig_unit_on(&g, 1, "web@1.service"),
                                   ARGOSY__ACTIVE_STATE__ACTIVE_FAILED, ARGOSY__OUTCOME__KIND__NONE);
        (void) rig_set_mode(&g, "n2", ARGOSY__NODE_MODE__MODE_DRAINING, 60, "");
        assert_int_equal(rig_host(&g, 2)->virtual.units.count, 2);
        rig_age(&g, 61 * UINT64_C(1000000));
        (void) rig_set_mode(&g, "n3", ARGOSY__NODE_MODE__MODE_DRAINING, 3600, "");
        rig_pass_ms(&g, 1000);
        assert_int_equal(rig_host(&g, 2)->virtual.units.count, 0);
}

static void a_drain_and_an_update_together_keep_to_one_budget(void **state) {
        unsigned most = 0;

        start_instances(N_UNITS, OLD ONE_DOWN);
        RigAnswer *a = begin((RigRollout){UPDATE, "web@.service", NEW ONE_DOWN});
        (void) rig_set_mode(&g, "n2", ARGOSY__NODE_MODE__MODE_DRAINING, 0, "");
        for (unsigned i = 0; i < 400 && !(a->final && !rig_host(&g, 2)->virtual.units.count); i++) {
                most = MAX_OF(most, N_UNITS - count_running(OLD ONE_DOWN) - count_running(NEW ONE_DOWN));
                rig_pass_ms(&g, 250);
        }
        assert_int_equal(most, 1);
        assert_int_equal(rig_host(&g, 2)->virtual.units.count, 0);
        assert_int_equal(count_running(NEW ONE_DOWN), N_UNITS);
}

RUN_TESTS(
        RIG_TEST(a_drain_keeps_to_the_budget_of_a_template),
        RIG_TEST(a_new_leader_keeps_a_drain_to_the_budget),
        RIG_TEST(what_has_failed_leaves_when_its_host_says_so),
        RIG_TEST(a_node_that_opens_for_a_drain_takes_them_one_by_one),
        RIG_TEST(a_host_that_is_lost_while_it_is_drained_holds_nothing_back),
        RIG_TEST(what_failed_uses_up_a_drains_budget_until_its_deadline),
        RIG_TEST(a_deadline_is_not_missed_because_another_one_is_set),
        RIG_TEST(a_drain_and_an_update_together_keep_to_one_budget)
)
