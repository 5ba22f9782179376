// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A new leader does not know which hosts are up until they attach. What waits for a node is given to those
// that it has heard; for the others it waits until they are heard, or lost.
#include <errno.h>

#include "leader-asks.h"
#include "messages.h"
#include "printed.h"
#include "str.h"
#include "test.h"

#define SERVICE "[Service]\nExecStart=/bin/sleep 1000\n[X-Argosy]\nReserveResource=slot\n"
#define START ARGOSY__VERB__VERB_START
#define UNLOAD ARGOSY__VERB__VERB_UNLOAD

static Rig g;

// Room for one unit on each.
FIXTURE(setup) {
        rig_start(&g, 3);
        for (uint32_t h = 1; h <= 3; h++)
                rig_host_set_labels(&g, h, "offers/slot", "1");
}

RIG_TEARDOWN

static uint32_t at(const char *name) {
        return rig_record(&g, name)->node;
}

static uint64_t start(const char *name, const char *options) {
        const Argosy__Response__UnitResult *r = rig_change(&g, START, name, printed(SERVICE "%s", options));

        assert_int_equal(r->status, 0);
        return r->revision;
}

// The third host has its unit, and is silent when the next leader comes.
static void elect_without_the_third(void) {
        rig_depose(&g);
        rig_host_off(&g, 3);
        rig_elect(&g);
}

static void fill(void) {
        start("a.service", "");
        start("b.service", "");
        start("c.service", "");
        assert_int_equal(at("c.service"), rig_host(&g, 3)->virtual.node);
}

static const Argosy__Response__UnitResult *end_of(const RigAnswer *wait) {
        assert_true(wait->final);
        return rig_last(wait)->progress->done[0];
}

static void who_waits_gets_no_host_that_was_not_heard(void **state) {
        fill();
        uint64_t revision = start("d.service", "");
        assert_int_equal(at("d.service"), 0);
        elect_without_the_third();
        rig_change(&g, UNLOAD, "c.service", NULL); // there is room now
        assert_int_equal(at("d.service"), 0);
        assert_string_equal(rig_why(&g, "d.service")->status_reply->refusals[2]->reason,
                            "the leader has not heard the node yet");
        RigAnswer *wait = rig_wait(&g, START, "d.service", revision);
        assert_false(wait->final);
        rig_host_on(&g, 3, true);
        assert_int_equal(at("d.service"), rig_host(&g, 3)->virtual.node);
        assert_int_equal(end_of(wait)->status, 0);
}

// Nor does one that has lost its node.
static void a_unit_of_a_lost_node_gets_no_host_that_was_not_heard(void **state) {
        Argosy__ToVoter__Goodbye goodbye =
                MESSAGE_OF(to_voter__goodbye, .why = ARGOSY__TO_VOTER__GOODBYE__WHY__SHUTDOWN);

        fill();
        rig_change(&g, UNLOAD, "c.service", NULL);
        elect_without_the_third();
        rig_host_off(&g, 2);
        leader_on_message(g.leader, 2, A_TO_VOTER(GOODBYE, goodbye, &goodbye));
        rig_settle(&g);
        assert_int_equal(at("b.service"), rig_host(&g, 2)->virtual.node);
        rig_host_on(&g, 3, true);
        assert_int_equal(at("b.service"), rig_host(&g, 3)->virtual.node);
}

static void nobody_waits_longer_than_the_lease(void **state) {
        fill();
        uint64_t revision = start("d.service", "");
        elect_without_the_third();
        RigAnswer *wait = rig_wait(&g, START, "d.service", revision);
        assert_false(wait->final); // the third may take it
        rig_pass_ms(&g, RIG_LEASE_MS - RIG_BEAT_MS);
        assert_false(wait->final);
        rig_pass_ms(&g, 2 * RIG_BEAT_MS);
        assert_int_equal(end_of(wait)->status, EAGAIN);
        assert_string_equal(end_of(wait)->message, "no node takes it at present");
}

static void a_start_that_comes_first_waits_for_its_host(void **state) {
        rig_host_set_labels(&g, 3, "offers/slot", "2");
        elect_without_the_third();
        uint64_t revision = start("x.service", "MachineMetadata=offers/slot=2\n");
        RigAnswer *wait = rig_wait(&g, START, "x.service", revision);
        assert_int_equal(at("x.service"), 0);
        assert_false(wait->final);
        rig_host_on(&g, 3, false);
        assert_int_equal(at("x.service"), rig_host(&g, 3)->virtual.node);
        assert_int_equal(end_of(wait)->status, 0);
}

// A host that is heard may have room: then nobody has to make any.
static void nobody_is_preempted_before_all_were_heard(void **state) {
        start("a.service", "Priority=-1\n");
        start("b.service", "Priority=-1\n");
        elect_without_the_third();
        start("high.service", "Priority=10\n");
        assert_int_equal(at("high.service"), 0);
        assert_int_equal(rig_count_running(&g, "a.service") + rig_count_running(&g, "b.service"), 2);
        rig_host_on(&g, 3, false);
        assert_int_equal(at("high.service"), rig_host(&g, 3)->virtual.node);
        assert_int_equal(rig_count_running(&g, "a.service") + rig_count_running(&g, "b.service"), 2);
}

static void one_that_is_lost_has_no_room(void **state) {
        start("a.service", "Priority=-1\n");
        start("b.service", "Priority=-1\n");
        elect_without_the_third();
        start("high.service", "Priority=10\n");
        rig_pass_ms(&g, RIG_LEASE_MS + RIG_BEAT_MS);
        assert_int_equal(rig_count_running(&g, "high.service"), 1);
        assert_int_equal(rig_count_running(&g, "a.service") + rig_count_running(&g, "b.service"), 1);
}

static void a_drain_is_not_given_up_before_all_were_heard(void **state) {
        Argosy__Request__DrainWait drain = MESSAGE_OF(request__drain_wait, .node = "n2");

        start("a.service", "");
        start("b.service", "");
        elect_without_the_third();
        (void) rig_set_host_mode(&g, 2, ARGOSY__NODE_MODE__MODE_DRAINING, 0);
        RigAnswer *wait = rig_ask_and_settle(&g, A_REQUEST(DRAIN_WAIT, drain_wait, &drain));
        assert_false(wait->final);
        assert_int_equal(at("b.service"), rig_host(&g, 2)->virtual.node);
        rig_host_on(&g, 3, false);
        assert_final(wait, 0);
        assert_int_equal(at("b.service"), rig_host(&g, 3)->virtual.node);
}

// Its records name others, but it may still run what has left it.
static void a_drain_does_not_end_before_its_host_was_heard(void **state) {
        Argosy__Request__DrainWait drain = MESSAGE_OF(request__drain_wait, .node = "n2");

        start("a.service", "");
        start("b.service", "");
        assert_int_equal(at("b.service"), rig_host(&g, 2)->virtual.node);
        rig_host_off(&g, 2);
        (void) rig_set_host_mode(&g, 2, ARGOSY__NODE_MODE__MODE_DRAINING, 0);
        assert_int_equal(at("b.service"), rig_host(&g, 3)->virtual.node);
        rig_elect_anew(&g);
        RigAnswer *wait = rig_ask_and_settle(&g, A_REQUEST(DRAIN_WAIT, drain_wait, &drain));
        assert_false(wait->final);
        rig_host_on(&g, 2, false);
        assert_final(wait, 0);
        assert_int_equal(rig_count_running(&g, "b.service"), 1);
}

RUN_TESTS(
        cmocka_unit_test_setup_teardown(who_waits_gets_no_host_that_was_not_heard, setup, teardown),
        cmocka_unit_test_setup_teardown(a_unit_of_a_lost_node_gets_no_host_that_was_not_heard, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(nobody_waits_longer_than_the_lease, setup, teardown),
        cmocka_unit_test_setup_teardown(a_start_that_comes_first_waits_for_its_host, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(nobody_is_preempted_before_all_were_heard, setup, teardown),
        cmocka_unit_test_setup_teardown(one_that_is_lost_has_no_room, setup, teardown),
        cmocka_unit_test_setup_teardown(a_drain_is_not_given_up_before_all_were_heard, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_drain_does_not_end_before_its_host_was_heard, setup,
                                        teardown)
)
