// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What a unit is on one node: what follows after each event.
#include "test.h"
#include "unit-on-node-life.h"

#define foreach_life(life) for (UnitOnNodeLife life = 0; life < ON_NODE_STATES; life++)
#define foreach_event(event) for (OnNodeEvent event = 0; event < ON_NODE_EVENTS; event++)

static void assert_row(UnitOnNodeLife life, const char *row) {
        static const char letters[] = "AEFSRCL-";

        foreach_event (event)
                if (letters[unit_on_node_life_after(life, event)] != row[event])
                        fail_msg("state %d after event %d is %c, not %c", life, event,
                                 letters[unit_on_node_life_after(life, event)], row[event]);
}

// Columns: named; told to have, to go; reported, missing, gone.
static void the_table(void **state) {
        assert_row(ON_NODE_ABSENT, "E-----");
        assert_row(ON_NODE_EXPECTED, "ESCFEA");
        assert_row(ON_NODE_FOUND, "FRLFEA");
        assert_row(ON_NODE_SENT, "SSCRSA");
        assert_row(ON_NODE_RESIDENT, "RRLRSA");
        assert_row(ON_NODE_RECALLED, "CSCLCA");
        assert_row(ON_NODE_LEAVING, "LRLLCA");
}

static UnitOnNodeLife after(const OnNodeEvent *events, size_t n) {
        UnitOnNodeLife life = ON_NODE_ABSENT;

        for (size_t i = 0; i < n; i++)
                life = unit_on_node_life_after(life, events[i]);
        return life;
}

#define AFTER(...)                                \
        after((const OnNodeEvent[]){__VA_ARGS__}, \
              sizeof((const OnNodeEvent[]){__VA_ARGS__}) / sizeof(OnNodeEvent))

static void a_unit_comes_and_goes(void **state) {
        assert_int_equal(AFTER(ON_NODE_NAMED, ON_NODE_ORDERED_TO_HAVE), ON_NODE_SENT);
        assert_int_equal(AFTER(ON_NODE_NAMED, ON_NODE_ORDERED_TO_HAVE, ON_NODE_REPORTED), ON_NODE_RESIDENT);
        assert_int_equal(
                AFTER(ON_NODE_NAMED, ON_NODE_ORDERED_TO_HAVE, ON_NODE_REPORTED, ON_NODE_ORDERED_TO_GO),
                ON_NODE_LEAVING);
        assert_int_equal(AFTER(ON_NODE_NAMED, ON_NODE_ORDERED_TO_HAVE, ON_NODE_REPORTED,
                               ON_NODE_ORDERED_TO_GO, ON_NODE_GONE),
                         ON_NODE_ABSENT);
}

static void what_a_host_brings_along_is_found_and_stays_or_goes(void **state) {
        assert_int_equal(AFTER(ON_NODE_NAMED, ON_NODE_REPORTED), ON_NODE_FOUND);
        assert_int_equal(AFTER(ON_NODE_NAMED, ON_NODE_REPORTED, ON_NODE_ORDERED_TO_HAVE), ON_NODE_RESIDENT);
        assert_int_equal(AFTER(ON_NODE_NAMED, ON_NODE_REPORTED, ON_NODE_ORDERED_TO_GO), ON_NODE_LEAVING);
}

// The order and the report cross each other on the way.
static void what_is_recalled_may_be_there_for_a_moment(void **state) {
        UnitOnNodeLife recalled = AFTER(ON_NODE_NAMED, ON_NODE_ORDERED_TO_HAVE, ON_NODE_ORDERED_TO_GO);

        assert_int_equal(recalled, ON_NODE_RECALLED);
        assert_true(unit_on_node_life_is_known(recalled));
        assert_int_equal(unit_on_node_life_after(recalled, ON_NODE_REPORTED), ON_NODE_LEAVING);
        assert_int_equal(unit_on_node_life_after(recalled, ON_NODE_ORDERED_TO_HAVE), ON_NODE_SENT);
}

static void each_event_says_one_thing_and_leaves_the_other(void **state) {
        foreach_life (life) {
                if (life == ON_NODE_ABSENT)
                        continue;
                foreach_event (event) {
                        UnitOnNodeLife next = unit_on_node_life_after(life, event);

                        assert_int_not_equal(next, ON_NODE_NEVER);
                        if (event == ON_NODE_GONE)
                                assert_false(unit_on_node_life_is_known(next));
                        else if (event == ON_NODE_ORDERED_TO_HAVE || event == ON_NODE_ORDERED_TO_GO) {
                                assert_int_equal(unit_on_node_life_is_to_have(next),
                                                 event == ON_NODE_ORDERED_TO_HAVE);
                                assert_int_equal(unit_on_node_life_is_to_go(next),
                                                 event == ON_NODE_ORDERED_TO_GO);
                                assert_int_equal(unit_on_node_life_is_reported(next),
                                                 unit_on_node_life_is_reported(life));
                        } else {
                                assert_int_equal(unit_on_node_life_is_to_have(next),
                                                 unit_on_node_life_is_to_have(life));
                                assert_int_equal(unit_on_node_life_is_to_go(next),
                                                 unit_on_node_life_is_to_go(life));
                                assert_int_equal(unit_on_node_life_is_reported(next),
                                                 event == ON_NODE_NAMED ? unit_on_node_life_is_reported(life)
                                                                        : event == ON_NODE_REPORTED);
                        }
                }
        }
}

static void what_is_nowhere_is_not_known(void **state) {
        foreach_life (life) {
                bool known = unit_on_node_life_is_to_have(life) || unit_on_node_life_is_to_go(life) ||
                             unit_on_node_life_is_reported(life);

                assert_int_equal(unit_on_node_life_is_known(life), known);
        }
}

// What is reached from `first`, in any number of events.
static unsigned reach(UnitOnNodeLife first) {
        unsigned reached = 1U << first, before = 0;

        while (reached != before) {
                before = reached;
                foreach_life (life)
                        if (before & 1U << life)
                                foreach_event (event)
                                        reached |= 1U << unit_on_node_life_after(life, event);
        }
        return reached & ~(1U << ON_NODE_NEVER);
}

static void there_is_a_way_from_each_state_to_each(void **state) {
        foreach_life (life)
                assert_int_equal(reach(life), (1U << ON_NODE_STATES) - 1);
}

RUN_TESTS(
        cmocka_unit_test(the_table),
        cmocka_unit_test(a_unit_comes_and_goes),
        cmocka_unit_test(what_a_host_brings_along_is_found_and_stays_or_goes),
        cmocka_unit_test(what_is_recalled_may_be_there_for_a_moment),
        cmocka_unit_test(each_event_says_one_thing_and_leaves_the_other),
        cmocka_unit_test(what_is_nowhere_is_not_known),
        cmocka_unit_test(there_is_a_way_from_each_state_to_each)
)
