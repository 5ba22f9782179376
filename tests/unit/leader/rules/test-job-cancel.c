// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What of a job has begun, and what becomes of the rest when it is called off.
#include "job-cancel.h"
#include "macro.h"
#include "test.h"

#define NONE ARGOSY__VERB__VERB_NONE
#define LOAD ARGOSY__VERB__VERB_LOAD
#define START ARGOSY__VERB__VERB_START
#define STOP ARGOSY__VERB__VERB_STOP
#define RESTART ARGOSY__VERB__VERB_RESTART
#define UNLOAD ARGOSY__VERB__VERB_UNLOAD
#define DESTROY ARGOSY__VERB__VERB_DESTROY

static void a_start_has_begun_once_somebody_was_told(void **state) {
        const struct {
                CancelUnit unit;
                bool begun;
        } rows[] = {
                {{START, .heard = true}, false},                 // nobody takes it yet
                {{START}, false},                                // whoever is not heard
                {{START, .placed = true, .heard = true}, false}, // its order is not made yet
                {{START, .placed = true, .heard = true, .n_nodes = 1, .n_waiting = 1}, false},
                {{START, .placed = true, .heard = true, .n_nodes = 1}, true},
                {{START, .placed = true, .n_nodes = 1, .n_waiting = 1},
                 true}, // another leader may have told it
                {{START, .placed = true, .heard = true, .n_nodes = 3, .n_waiting = 3}, false},
                {{START, .placed = true, .heard = true, .n_nodes = 3, .n_waiting = 2}, true},
                {{RESTART, .placed = true, .heard = true, .n_nodes = 1, .n_waiting = 1}, false},
                {{RESTART, .placed = true, .heard = true, .n_nodes = 1}, true},
                {{LOAD, .heard = true}, false},
                {{LOAD, .placed = true, .heard = true, .n_nodes = 1, .n_waiting = 1}, true},
        };

        for (size_t i = 0; i < ELEMENTSOF(rows); i++)
                assert_int_equal(job_cancel_has_begun(&rows[i].unit), rows[i].begun);
}

static void a_stop_has_begun_unless_it_waits_wherever_the_unit_runs(void **state) {
        const struct {
                CancelUnit unit;
                bool begun;
        } rows[] = {
                {{STOP, .placed = true, .heard = true, .n_nodes = 1, .n_stop_waiting = 1}, false},
                {{UNLOAD, .placed = true, .heard = true, .n_nodes = 1, .n_stop_waiting = 1}, false},
                {{STOP, .placed = true, .heard = true, .n_nodes = 1}, true},
                {{STOP, .placed = true, .heard = true, .n_nodes = 1, .n_down = 1}, true},
                {{STOP, .placed = true, .n_nodes = 1, .n_stop_waiting = 1}, true},
                {{STOP, .placed = true, .heard = true, .n_nodes = 3, .n_stop_waiting = 2, .n_down = 1},
                 false},
                {{STOP, .placed = true, .heard = true, .n_nodes = 3, .n_stop_waiting = 1, .n_down = 1},
                 true},
                {{DESTROY, .placed = true, .heard = true, .n_nodes = 1, .n_stop_waiting = 1}, true},
        };

        for (size_t i = 0; i < ELEMENTSOF(rows); i++)
                assert_int_equal(job_cancel_has_begun(&rows[i].unit), rows[i].begun);
}

static void only_what_has_not_begun_is_put_back(void **state) {
        const CancelUnit pending = {START, .heard = true},
                         begun = {START, .placed = true, .heard = true, .n_nodes = 1}, ended = {NONE};

        assert_int_equal(job_cancel_judge(&pending, UNDO_PUT), CANCEL_CALLED_OFF);
        assert_int_equal(job_cancel_judge(&pending, UNDO_REMOVE), CANCEL_CALLED_OFF);
        assert_int_equal(job_cancel_judge(&pending, UNDO_TOUCHED), CANCEL_TOUCHED);
        assert_int_equal(job_cancel_judge(&pending, UNDO_RAN), CANCEL_AS_BEFORE);
        assert_int_equal(job_cancel_judge(&pending, UNDO_DONE), CANCEL_AS_BEFORE);
        assert_int_equal(job_cancel_judge(&begun, UNDO_PUT), CANCEL_BEGUN);
        assert_int_equal(job_cancel_judge(&ended, UNDO_PUT), CANCEL_ENDED);
}

RUN_TESTS(
        cmocka_unit_test(a_start_has_begun_once_somebody_was_told),
        cmocka_unit_test(a_stop_has_begun_unless_it_waits_wherever_the_unit_runs),
        cmocka_unit_test(only_what_has_not_begun_is_put_back)
)
