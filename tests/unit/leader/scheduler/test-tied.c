// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Units that are to be on one node are placed together, as many as PLACEMENT_FOLLOWS_MAX. A start that would
// tie more is refused, with the number; what is there already goes on.
#include <errno.h>

#include "leader-asks.h"
#include "placement.h"
#include "printed.h"
#include "scheduler.h"
#include "test.h"
#include "str.h"

#define SERVICE "[Service]\nExecStart=/bin/sleep 1000\n"
#define MATE SERVICE "[X-Argosy]\nMachineOf=hub.service\n"
#define DATA "[Container]\nImage=localhost/db:1\nVolume=data:/data\n"
#define START ARGOSY__VERB__VERB_START

RIG_OF(3)

static const Argosy__Response__UnitResult *start_mate(unsigned i) {
        return rig_change(&g, START, printed("mate%u.service", i), MATE);
}

// The hub and as many as there may be with it.
static void fill(void) {
        assert_int_equal(rig_change(&g, START, "hub.service", SERVICE)->status, 0);
        for (unsigned i = 1; i < PLACEMENT_FOLLOWS_MAX; i++)
                assert_int_equal(start_mate(i)->status, 0);
}

static void one_more_than_can_be_held_together_is_refused_with_the_number(void **state) {
        fill();
        const Argosy__Response__UnitResult *r = start_mate(PLACEMENT_FOLLOWS_MAX);
        assert_int_equal(r->status, E2BIG);
        assert_string_equal(r->message,
                            "more than 64 units would have to be on one node together (MachineOf=)");
        assert_null(rig_record(&g, "mate64.service"));
        assert_int_equal(start_mate(1)->status, 0); // those that are there
}

static void there_is_room_again_when_one_is_gone(void **state) {
        fill();
        assert_int_equal(start_mate(PLACEMENT_FOLLOWS_MAX)->status, E2BIG);
        assert_int_equal(rig_change(&g, ARGOSY__VERB__VERB_DESTROY, "mate5.service", NULL)->status, 0);
        rig_settle(&g);
        assert_int_equal(start_mate(PLACEMENT_FOLLOWS_MAX)->status, 0);
        assert_int_equal(rig_record(&g, "mate64.service")->node, rig_record(&g, "hub.service")->node);
}

// Its new file says so, and the node where it runs admits it otherwise.
static void who_is_to_be_with_another_one_from_now_on_goes_there(void **state) {
        uint32_t hub;

        assert_int_equal(rig_change(&g, START, "hub.service", SERVICE)->status, 0);
        rig_settle(&g);
        hub = rig_record(&g, "hub.service")->node;
        assert_int_equal(rig_change(&g, START, "mate1.service", SERVICE)->status, 0);
        rig_settle(&g);
        assert_int_not_equal(rig_record(&g, "mate1.service")->node, hub);
        rig_change_with(&g, START, "mate1.service", MATE, true, NULL);
        rig_settle(&g);
        assert_int_equal(rig_record(&g, "mate1.service")->node, hub);
        assert_int_equal(rig_record(&g, "hub.service")->node, hub);
}

static void set_modes(Argosy__NodeMode second, Argosy__NodeMode others) {
        for (uint32_t i = 1; i <= 3; i++)
                (void) rig_set_host_mode(&g, i, i == 2 ? second : others, 0);
        rig_settle(&g);
}

// It was a container whose data was on the second node, and another unit says that it is to be where it is.
static void who_comes_again_is_not_kept_where_its_data_was(void **state) {
        for (uint32_t i = 1; i <= 3; i++)
                rig_host_set_labels(&g, i, "podman", "5.4");
        for (uint32_t i = 2; i <= 3; i++) {
                rig_host_off(&g, i);
                rig_host_on(&g, i, false);
        }
        set_modes(ARGOSY__NODE_MODE__MODE_OPEN, ARGOSY__NODE_MODE__MODE_CORDONED);
        assert_int_equal(rig_change(&g, START, "hub.service", DATA)->status, 0);
        assert_int_equal(rig_record(&g, "hub.service")->node, rig_host(&g, 2)->virtual.node);
        assert_int_equal(rig_change(&g, ARGOSY__VERB__VERB_SUBMIT, "mate1.service", MATE)->status, 0);
        set_modes(ARGOSY__NODE_MODE__MODE_CORDONED, ARGOSY__NODE_MODE__MODE_OPEN);
        assert_int_equal(rig_change(&g, ARGOSY__VERB__VERB_DESTROY, "hub.service", NULL)->status, 0);
        rig_settle(&g);
        assert_string_equal(rig_change(&g, START, "hub.service", SERVICE)->message, "");
        assert_int_not_equal(rig_record(&g, "hub.service")->node, 0);
}

// Whom it replaces would be followed, and driven out, from one node to the next without end.
static void who_replaces_what_it_is_to_be_with_waits(void **state) {
        bool is_said = false;

        assert_int_equal(rig_change(&g, START, "hub.service", SERVICE)->status, 0);
        assert_int_equal(start_mate(1)->status, 0);
        (void) rig_change(&g, START, "new.service",
                          SERVICE "[X-Argosy]\nReplaces=hub.service\nMachineOf=mate1.service\n");
        rig_settle(&g);
        assert_int_equal(rig_record(&g, "new.service")->node, 0);
        assert_int_not_equal(rig_record(&g, "hub.service")->node, 0);
        assert_int_equal(rig_record(&g, "mate1.service")->node, rig_record(&g, "hub.service")->node);
        const Argosy__Response__Status *why = rig_why(&g, "new.service")->status_reply;
        for (size_t i = 0; i < why->n_refusals; i++)
                is_said |= streq(why->refusals[i]->reason,
                                 "would replace hub.service, with which it is to be");
        assert_true(is_said);
}

// The base is free of them, and of how many they are, once the hub is gone that was to be with it.
static void who_is_gone_ties_nobody_any_more(void **state) {
        assert_int_equal(rig_change(&g, START, "base.service", SERVICE)->status, 0);
        assert_int_equal(rig_change(&g, START, "hub.service", SERVICE "[X-Argosy]\nMachineOf=base.service\n")
                                 ->status, 0);
        for (unsigned i = 1; i < PLACEMENT_FOLLOWS_MAX - 1; i++)
                assert_int_equal(start_mate(i)->status, 0);
        assert_int_equal(rig_change(&g, ARGOSY__VERB__VERB_DESTROY, "hub.service", NULL)->status, 0);
        rig_settle(&g);
        for (unsigned i = 1; i < PLACEMENT_FOLLOWS_MAX; i++) {
                assert_int_equal(rig_change(&g, START, printed("other%u.service", i),
                                            SERVICE "[X-Argosy]\nMachineOf=base.service\n")
                                         ->status,
                                 0);
        }
}

RUN_TESTS(
        cmocka_unit_test_setup_teardown(who_comes_again_is_not_kept_where_its_data_was, setup, teardown),
        cmocka_unit_test_setup_teardown(who_is_gone_ties_nobody_any_more, setup, teardown),
        cmocka_unit_test_setup_teardown(who_replaces_what_it_is_to_be_with_waits, setup, teardown),
        cmocka_unit_test_setup_teardown(
                who_is_to_be_with_another_one_from_now_on_goes_there, setup, teardown),
        cmocka_unit_test_setup_teardown(
                one_more_than_can_be_held_together_is_refused_with_the_number, setup, teardown),
        cmocka_unit_test_setup_teardown(there_is_room_again_when_one_is_gone, setup, teardown)
)
