// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Where a unit lives: what follows after each event.
#include "test.h"
#include "unit-life.h"

#define foreach_life(life) for (UnitLife life = 0; life < LIFE_STATES; life++)
#define foreach_event(event) for (LifeEvent event = 0; event < LIFE_EVENTS; event++)

static void assert_row(UnitLife life, const char *row) {
        static const char letters[] = "AERMFHDSP-";

        foreach_event (event)
                if (letters[unit_life_after(life, event)] != row[event])
                        fail_msg("state %d after event %d is %c, not %c", life, event,
                                 letters[unit_life_after(life, event)], row[event]);
}

// Columns: unwanted, global, placed, unplaced; node gone, look, look anyway, landed; stays, goes, held,
// waits, untaken.
static void the_table(void **state) {
        assert_row(LIFE_ABSENT, "AERP-AA------");
        assert_row(LIFE_GLOBAL, "AERP-EE------");
        assert_row(LIFE_RESIDENT, "AERPPMM--F---");
        assert_row(LIFE_MOVING, "AEMPPMM-RFHDS");
        assert_row(LIFE_COMMITTING, "AEFPPFFM-----");
        assert_row(LIFE_HELD, "AEMPPHM------");
        assert_row(LIFE_DELAYED, "AERPPMM------");
        assert_row(LIFE_STRANDED, "AERPPMM-RFHD-");
        assert_row(LIFE_PENDING, "AERP-PP--F---");
}

static void what_the_log_says_is_never_out_of_place(void **state) {
        foreach_life (life)
                for (LifeEvent event = LIFE_IS_UNWANTED; event <= LIFE_IS_UNPLACED; event++)
                        assert_int_not_equal(unit_life_after(life, event), LIFE_NEVER);
}

static void nothing_is_decided_about_what_is_in_flight(void **state) {
        for (LifeEvent event = LIFE_STAYS; event < LIFE_EVENTS; event++)
                assert_int_equal(unit_life_after(LIFE_COMMITTING, event), LIFE_NEVER);
        assert_int_equal(unit_life_after(LIFE_COMMITTING, LIFE_RECONSIDER_ANYWAY), LIFE_COMMITTING);
}

static void what_was_in_flight_is_looked_at_once_more(void **state) {
        UnitLife applied = unit_life_after(LIFE_COMMITTING, LIFE_IS_PLACED);

        assert_int_equal(unit_life_after(applied, LIFE_LANDED), LIFE_MOVING);
}

static void only_room_in_its_group_frees_one_that_is_held(void **state) {
        assert_int_equal(unit_life_after(LIFE_HELD, LIFE_RECONSIDER), LIFE_HELD);
        assert_int_equal(unit_life_after(LIFE_HELD, LIFE_RECONSIDER_ANYWAY), LIFE_MOVING);
}

static void what_has_no_node_does_not_move(void **state) {
        foreach_life (life) {
                UnitLife after = unit_life_after(life, LIFE_NODE_GONE);

                assert_true(after == LIFE_PENDING || after == LIFE_NEVER);
        }
        assert_int_equal(unit_life_after(LIFE_PENDING, LIFE_RECONSIDER_ANYWAY), LIFE_PENDING);
        assert_int_equal(unit_life_after(LIFE_PENDING, LIFE_UNSCHEDULABLE), LIFE_NEVER);
}

// What is reached from `first`, in any number of events.
static unsigned reach(UnitLife first) {
        unsigned reached = 1U << first, before = 0;

        while (reached != before) {
                before = reached;
                foreach_life (life)
                        if (before & 1U << life)
                                foreach_event (event)
                                        reached |= 1U << unit_life_after(life, event);
        }
        return reached & ~(1U << LIFE_NEVER);
}

static void there_is_a_way_from_each_state_to_each(void **state) {
        foreach_life (life)
                assert_int_equal(reach(life), (1U << LIFE_STATES) - 1);
}

static void nobody_waits_for_a_turn_while_it_moves(void **state) {
        foreach_life (life)
                assert_false(unit_life_is_queued(life) && unit_life_is_moving(life));
        assert_true(unit_life_is_queued(LIFE_PENDING) && unit_life_is_queued(LIFE_STRANDED));
        assert_true(unit_life_is_moving(LIFE_COMMITTING) && !unit_life_is_moving(LIFE_DELAYED));
}

RUN_TESTS(
        cmocka_unit_test(the_table),
        cmocka_unit_test(what_the_log_says_is_never_out_of_place),
        cmocka_unit_test(nothing_is_decided_about_what_is_in_flight),
        cmocka_unit_test(what_was_in_flight_is_looked_at_once_more),
        cmocka_unit_test(only_room_in_its_group_frees_one_that_is_held),
        cmocka_unit_test(what_has_no_node_does_not_move),
        cmocka_unit_test(there_is_a_way_from_each_state_to_each),
        cmocka_unit_test(nobody_waits_for_a_turn_while_it_moves)
)
