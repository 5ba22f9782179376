// SPDX-License-Identifier: LGPL-2.1-or-later
#include "test.h"

#include "stop-cause.h"

#define NOT ARGOSY__DOWN_CAUSE__DOWN_NOT
#define CONFLICT ARGOSY__DOWN_CAUSE__DOWN_CONFLICT
#define BOUND ARGOSY__DOWN_CAUSE__DOWN_BOUND
#define UP ARGOSY__ACTIVE_STATE__ACTIVE_ACTIVE
#define COMING ARGOSY__ACTIVE_STATE__ACTIVE_ACTIVATING
#define GOING ARGOSY__ACTIVE_STATE__ACTIVE_DEACTIVATING
#define DEAD ARGOSY__ACTIVE_STATE__ACTIVE_INACTIVE
#define FAILED ARGOSY__ACTIVE_STATE__ACTIVE_FAILED

enum { FROM = 1000 };

static void assert_cause(StopTie tie, Argosy__ActiveState active, bool has_job, uint64_t down_at,
                         Argosy__DownCause cause) {
        const StopOther other = {.tie = tie, .active = active, .has_job = has_job, .down_at_us = down_at};

        assert_int_equal(stop_cause(&other, FROM), cause);
}

static void what_conflicts_stops_it_by_coming_up(void **state) {
        assert_cause(STOP_TIE_CONFLICT, UP, false, 0, CONFLICT);
        assert_cause(STOP_TIE_CONFLICT, COMING, false, 0, CONFLICT);
        assert_cause(STOP_TIE_CONFLICT, DEAD, true, 0, CONFLICT); // its start waits for the end of this one
        assert_cause(STOP_TIE_CONFLICT, DEAD, false, FROM + 1, NOT);
        assert_cause(STOP_TIE_CONFLICT, GOING, true, 0, NOT);
        assert_cause(STOP_TIE_CONFLICT, FAILED, false, 0, NOT);
}

static void what_it_is_bound_to_stops_it_by_being_down(void **state) {
        assert_cause(STOP_TIE_BINDING, DEAD, false, 1, BOUND);
        assert_cause(STOP_TIE_BINDING, FAILED, false, 0, BOUND);
        assert_cause(STOP_TIE_BINDING, UP, false, FROM, BOUND); // it is up again
        assert_cause(STOP_TIE_BINDING, UP, true, 0, BOUND);     // it goes down next
        assert_cause(STOP_TIE_BINDING, UP, false, FROM - 1, NOT);
        assert_cause(STOP_TIE_BINDING, COMING, true, 0, NOT);
}

static void what_takes_it_along_must_have_gone_with_it(void **state) {
        assert_cause(STOP_TIE_STOP, DEAD, false, FROM, BOUND);
        assert_cause(STOP_TIE_STOP, GOING, true, 0, BOUND);
        assert_cause(STOP_TIE_STOP, UP, true, 0, BOUND);
        assert_cause(STOP_TIE_STOP, DEAD, false, FROM - 1, NOT); // a one-shot that ended long ago
        assert_cause(STOP_TIE_STOP, DEAD, false, 0, NOT);
        assert_cause(STOP_TIE_STOP, UP, false, 0, NOT);
        assert_cause(STOP_TIE_NONE, DEAD, true, FROM, NOT);
}

static void what_systemd_has_forgotten_had_a_job(void **state) {
        StopOther other = {.tie = STOP_TIE_STOP, .active = DEAD, .had_job = true};

        assert_int_equal(stop_cause(&other, FROM), BOUND);
        other.down_at_us = FROM - 1; // it is remembered, and went down before
        assert_int_equal(stop_cause(&other, FROM), NOT);
        other = (StopOther){.tie = STOP_TIE_STOP, .active = UP, .had_job = true};
        assert_int_equal(stop_cause(&other, FROM), NOT);
        other = (StopOther){.tie = STOP_TIE_CONFLICT, .active = DEAD, .had_job = true};
        assert_int_equal(stop_cause(&other, FROM), CONFLICT);
}

static void ties_that_all_units_have_tell_nothing(void **state) {
        assert_int_equal(stop_tie("Conflicts", "b.service"), STOP_TIE_CONFLICT);
        assert_int_equal(stop_tie("ConflictedBy", "b.service"), STOP_TIE_CONFLICT);
        assert_int_equal(stop_tie("BindsTo", "dev-sda.device"), STOP_TIE_BINDING);
        assert_int_equal(stop_tie("PartOf", "b.target"), STOP_TIE_STOP);
        assert_int_equal(stop_tie("Requires", "b.service"), STOP_TIE_STOP);
        assert_int_equal(stop_tie("StopPropagatedFrom", "b.service"), STOP_TIE_STOP);
        assert_int_equal(stop_tie("Wants", "b.service"), STOP_TIE_NONE);
        assert_int_equal(stop_tie("RequiredBy", "b.service"), STOP_TIE_NONE);
        assert_int_equal(stop_tie("Conflicts", "shutdown.target"), STOP_TIE_NONE);
        assert_int_equal(stop_tie("Requires", "system.slice"), STOP_TIE_NONE);
        assert_int_equal(stop_tie("Requires", "sysinit.target"), STOP_TIE_NONE);
}

RUN_TESTS(
        cmocka_unit_test(what_conflicts_stops_it_by_coming_up),
        cmocka_unit_test(what_it_is_bound_to_stops_it_by_being_down),
        cmocka_unit_test(what_takes_it_along_must_have_gone_with_it),
        cmocka_unit_test(what_systemd_has_forgotten_had_a_job),
        cmocka_unit_test(ties_that_all_units_have_tell_nothing)
)
