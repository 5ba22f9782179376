// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Units that are to be on one node are placed together, as many as PLACEMENT_FOLLOWS_MAX. A start that would
// tie more is refused, with the number; what is there already goes on.
#include <errno.h>

#include "leader-asks.h"
#include "placement.h"
#include "scheduler.h"
#include "test.h"
#include "str.h"

#define SERVICE "[Service]\nExecStart=/bin/sleep 1000\n"
#define MATE SERVICE "[X-Argosy]\nMachineOf=hub.service\n"
#define START ARGOSY__VERB__VERB_START

RIG_OF(3)

static const Argosy__Response__UnitResult *start_mate(unsigned i) {
        _cleanup_free_ char *name = str_printf("mate%u.service", i);

        return rig_change(&g, START, name, MATE);
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

RUN_TESTS(
        cmocka_unit_test_setup_teardown(
                who_is_to_be_with_another_one_from_now_on_goes_there, setup, teardown),
        cmocka_unit_test_setup_teardown(
                one_more_than_can_be_held_together_is_refused_with_the_number, setup, teardown),
        cmocka_unit_test_setup_teardown(there_is_room_again_when_one_is_gone, setup, teardown)
)
