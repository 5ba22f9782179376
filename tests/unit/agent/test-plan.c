// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Steps of units that start, stop, fail and go (plan-words.h).
#include "plan-words.h"

static void a_new_unit_is_written_parsed_and_started(void **state) {
        static const Row rows[] = {
                {"nothing of it is here yet", .no_record = true, .is = GONE, .step = PLAN_WRITE},
                {"written, to be launched: systemd parses it when it starts it", .written_only = true,
                 .not_parsed = true, .is = GONE, .step = PLAN_START},
                {"written, to be loaded only", .written_only = true, .not_parsed = true, .loaded_only = true,
                 .is = GONE, .step = PLAN_LOAD},
                {"parsed, to be loaded only", .written_only = true, .loaded_only = true, .is = GONE,
                 .settled = true},
                {"it runs, and its file is in place again: systemd did not find it", .not_parsed = true,
                 .unfound = true, .is = ACTIVE, .step = PLAN_RELOAD},
                {"that was read again, whatever came of it", .unfound = true, .is = ACTIVE, .settled = true},
                {"it is down: the next use finds it", .not_parsed = true, .unfound = true,
                 .loaded_only = true, .was_loaded_only = true, .is = DEAD, .step = PLAN_LOAD},
                {"its file was lost under us", .no_file = true, .is = GONE, .down = STOPPED,
                 .step = PLAN_WRITE},
                {"a lost file stops nothing", .no_file = true, .is = ACTIVE, .step = PLAN_WRITE},
                {"a name that is active here and not ours", .no_record = true, .is = ACTIVE, .refused = true,
                 .answered = true},
                {"a stub that failed once, without a file: the write looks for somebody else's file",
                 .no_record = true, .is = FAILED, .step = PLAN_WRITE},
                {"its run ended for good elsewhere", .no_record = true, .over = true, .is = GONE,
                 .step = PLAN_WRITE},
                {"its run ended for good elsewhere, file written", .written_only = true, .over = true,
                 .is = GONE, .settled = true},
        };

        CHECK_ROWS(rows);
}

static void what_was_left_behind_becomes_ours_as_it_runs(void **state) {
        static const Row rows[] = {
                {"it runs: whose it is, is looked at before anything is recorded", .no_record = true,
                 .may_take = true, .is = ACTIVE, .step = PLAN_LOOK},
                {"it is on its way up", .no_record = true, .may_take = true, .is = STARTING,
                 .step = PLAN_LOOK},
                {"it was left behind", .no_record = true, .may_take = true, .left_behind = true,
                 .is = ACTIVE, .step = PLAN_WRITE},
                {"it is down: the write sees whose it is", .no_record = true, .may_take = true, .is = DEAD,
                 .step = PLAN_WRITE},
                {"it was looked at, and is nobody's", .no_record = true, .may_take = true, .failing = true,
                 .is = ACTIVE, .step = PLAN_WAIT, .answered = true},
                {"nothing of it became ours, and it is not wanted any more", .no_record = true,
                 .may_take = true, .remove = true, .is = ACTIVE, .step = PLAN_FORGET},
                {"it is on its way down: whoever does that is not done with it", .no_record = true,
                 .may_take = true, .is = STOPPING, .refused = true, .answered = true},
                {"its file is ours now, but systemd has what was there before", .written_only = true,
                 .taking = true, .is = ACTIVE, .step = PLAN_RELOAD},
                {"also while it is on its way up", .written_only = true, .taking = true, .is = STARTING,
                 .step = PLAN_RELOAD},
                {"also between two runs", .written_only = true, .taking = true, .is = AUTO_RESTART,
                 .step = PLAN_RELOAD},
                {"also if it is to be loaded only", .written_only = true, .taking = true,
                 .loaded_only = true, .was_loaded_only = true, .stop = 0, .is = FAILED,
                 .step = PLAN_RESET_FAILED, .file_stale = true},
                {"on its way down: it will leave memory", .written_only = true, .taking = true,
                 .is = STOPPING, .file_stale = true},
                {"down, but still in memory: give it a moment", .written_only = true, .taking = true,
                 .is = DEAD, .step = PLAN_WAIT, .file_stale = true},
                {"and it stays there", .written_only = true, .taking = true, .stale = true,
                 .pinned_long = true, .is = DEAD, .step = PLAN_RELOAD, .file_stale = true},
                {"systemd has read ours: its start counts as carried out", .written_only = true,
                 .is = ACTIVE, .settled = true},
                {"and one that is on its way up is joined", .written_only = true, .is = STARTING,
                 .step = PLAN_START},
                {"it is ours, and was to be stopped: that needs no reload", .written_only = true,
                 .taking = true, .loaded_only = true, .is = ACTIVE, .step = PLAN_STOP},
                {"it is ours, and is not wanted any more", .written_only = true, .taking = true,
                 .remove = true, .is = ACTIVE, .step = PLAN_STOP},
                {"some of it is written, the rest is not", .written_only = true, .taking = true,
                 .no_file = true, .may_take = true, .is = ACTIVE, .step = PLAN_WRITE},
        };

        CHECK_ROWS(rows);
}

static void a_start_is_a_number(void **state) {
        static const Row rows[] = {
                {"runs as it should", .is = ACTIVE, .settled = true},
                {"explicit start of a running unit has nothing to do", .start = 8, .is = ACTIVE,
                 .settled = true},
                {"explicit start while something else starts it: wait for the same job", .start = 8,
                 .is = STARTING, .step = PLAN_START},
                {"explicit start of a unit that was stopped by hand", .start = 8, .is = GONE,
                 .step = PLAN_START},
                {"the same start delivered again after a stop by hand", .is = GONE, .settled = true,
                 .down = STOPPED},
                {"explicit start while it goes down: first let it", .start = 8, .is = STOPPING},
                {"explicit start of a failed unit forgets the failure", .start = 8, .is = FAILED,
                 .step = PLAN_RESET_FAILED},
                {"a failed unit is reported, not started again", .is = FAILED, .settled = true},
                {"systemd restarts it by its own rules", .is = AUTO_RESTART, .settled = true},
                {"a start that we found under way is answered at its end", .is = STARTING},
                {"an older start number asks for nothing", .start = 6, .is = GONE, .settled = true,
                 .down = STOPPED},
                {"a start while it is being started is the same start", .start = 8, .is = STARTING,
                 .busy = PLAN_START, .joined = true},
                {"but not if new content came with it", .start = 8, .new_content = true, .is = STARTING,
                 .busy = PLAN_START, .superseded = true, .file_stale = true},
                {"launched again after it was only loaded", .was_loaded_only = true, .is = GONE,
                 .step = PLAN_START},
        };

        CHECK_ROWS(rows);
}

static void a_restart_is_a_number(void **state) {
        static const Row rows[] = {
                {"running", .restart = 6, .is = ACTIVE, .step = PLAN_RESTART},
                {"stopped by hand", .restart = 6, .is = GONE, .step = PLAN_START},
                {"failed", .restart = 6, .is = FAILED, .step = PLAN_RESET_FAILED},
                {"the same restart again", .restart = 5, .is = ACTIVE, .settled = true},
                {"placed here for the first time: old restarts are not repeated", .written_only = true,
                 .restart = 6, .is = GONE, .step = PLAN_START},
                {"a finished one-shot", .restart = 6, .oneshot = true, .done = true, .is = DEAD,
                 .pinned = true, .step = PLAN_START},
                {"a running one-shot", .restart = 6, .oneshot = true, .is = STARTING, .pinned = true,
                 .step = PLAN_RESTART},
        };

        CHECK_ROWS(rows);
}

static void stopping_happens_once(void **state) {
        static const Row rows[] = {
                {"it was launched", .loaded_only = true, .is = ACTIVE, .step = PLAN_STOP},
                {"it is going down already: wait for the same job", .loaded_only = true, .is = STOPPING,
                 .step = PLAN_STOP},
                {"it is down", .loaded_only = true, .is = GONE, .settled = true},
                {"it failed", .loaded_only = true, .is = FAILED, .settled = true},
                {"started by a timer while only loaded: left alone", .loaded_only = true,
                 .was_loaded_only = true, .is = ACTIVE, .settled = true},
                {"explicit stop of that", .loaded_only = true, .was_loaded_only = true, .stop = 4,
                 .is = ACTIVE, .step = PLAN_STOP},
                {"a stop overtakes a start", .loaded_only = true, .is = STARTING, .busy = PLAN_START,
                 .step = PLAN_STOP},
                {"a removal overtakes a restart", .remove = true, .is = STARTING, .busy = PLAN_RESTART,
                 .step = PLAN_STOP},
                {"a stop under way is waited for", .loaded_only = true, .is = STOPPING, .busy = PLAN_STOP},
                {"a stop comes before new content", .loaded_only = true, .new_content = true, .is = ACTIVE,
                 .step = PLAN_STOP},
        };

        CHECK_ROWS(rows);
}

static void a_unit_that_was_stopped_when_cut_off_starts_again(void **state) {
        static const Row rows[] = {
                {"the guard is stopping it", .cut_off = true, .is = STOPPING, .cut_short = true},
                {"the guard has stopped it", .cut_off = true, .is = GONE, .cut_short = true},
                {"it had to be killed", .cut_off = true, .is = FAILED, .cut_short = true},
                {"nobody leads yet", .no_order = true, .cut_off = true, .is = GONE, .cut_short = true},
                {"a one-shot was cut short, and is not done", .cut_off = true, .oneshot = true, .is = GONE,
                 .cut_short = true},
                {"the news come when the node is back", .was_cut_off = true, .is = GONE, .cut_short = true},
                {"it runs: the guard was not needed", .was_cut_off = true, .is = ACTIVE, .settled = true},
                {"somebody had stopped it before", .cut_off = true, .drifted = true, .is = GONE,
                 .settled = true, .down = STOPPED},
                {"a one-shot that was done before", .cut_off = true, .oneshot = true, .done = true,
                 .is = GONE, .settled = true, .outcome = DONE},
                {"it is told to stop anyway", .cut_off = true, .loaded_only = true, .is = STOPPING,
                 .step = PLAN_STOP},
                {"recorded, and still cut off: no start", .cut_off = true, .was_loaded_only = true,
                 .is = GONE},
                {"also not after it had to be killed", .cut_off = true, .was_loaded_only = true,
                 .is = FAILED},
                {"and back: it starts", .was_loaded_only = true, .is = GONE, .step = PLAN_START},
                {"and back: after it had to be killed", .was_loaded_only = true, .is = FAILED,
                 .step = PLAN_RESET_FAILED},
        };

        CHECK_ROWS(rows);
}

static void what_is_not_wanted_leaves_no_trace(void **state) {
        static const Row rows[] = {
                {"active", .remove = true, .is = ACTIVE, .step = PLAN_STOP},
                {"going down", .remove = true, .is = STOPPING, .step = PLAN_STOP},
                {"failed", .remove = true, .is = FAILED, .step = PLAN_RESET_FAILED},
                {"down", .remove = true, .is = GONE, .step = PLAN_REMOVE},
                {"the wanted content could not be written over the old", .remove = true, .no_file = true,
                 .is = GONE, .step = PLAN_REMOVE},
                {"files removed", .remove = true, .no_file = true, .removed = true, .is = GONE,
                 .step = PLAN_FORGET},
                {"still in memory: give it a moment", .remove = true, .no_file = true, .removed = true,
                 .stale = true, .is = DEAD, .step = PLAN_WAIT},
                {"pinned: reload", .remove = true, .no_file = true, .removed = true, .stale = true,
                 .pinned_long = true, .is = DEAD, .step = PLAN_RELOAD},
                {"pinned, and somebody started it", .remove = true, .no_file = true, .removed = true,
                 .stale = true, .pinned_long = true, .is = ACTIVE, .step = PLAN_STOP},
                {"pinned, without content", .remove = true, .no_file = true, .removed = true, .is = DEAD,
                 .step = PLAN_FORGET},
                {"never ours: nothing is touched", .remove = true, .no_record = true, .is = ACTIVE,
                 .step = PLAN_FORGET},
                {"no leader has spoken yet: everything stays", .no_order = true, .is = ACTIVE},
        };

        CHECK_ROWS(rows);
}

static void a_failing_step_waits_and_is_reported(void **state) {
        static const Row rows[] = {
                {"no room for the file", .no_record = true, .failing = true, .is = GONE, .step = PLAN_WAIT,
                 .answered = true},
                {"a stop that systemd refuses", .loaded_only = true, .failing = true, .is = ACTIVE,
                 .step = PLAN_WAIT, .answered = true},
                {"a step is under way", .start = 8, .busy = PLAN_WRITE, .is = GONE},
        };

        CHECK_ROWS(rows);
        assert_int_equal(plan_backoff_us(1), USEC_PER_SEC);
        assert_int_equal(plan_backoff_us(2), 2 * USEC_PER_SEC);
        assert_int_equal(plan_backoff_us(7), 60 * USEC_PER_SEC);
        assert_int_equal(plan_backoff_us(4000000000U), 60 * USEC_PER_SEC);
}

// Whatever the input, a unit that is up is stopped only if the order says so: removal, not launched any
// more, or new content.
static void a_healthy_unit_is_never_stopped_for_other_reasons(void **state) {
        static const Is up[] = {ACTIVE, STARTING, AUTO_RESTART};
        unsigned n = 0;

        for (unsigned bits = 0; bits < 1U << 12; bits++)
                for (size_t i = 0; i < ELEMENTSOF(up); i++) {
                        Row row = {
                                .is = up[i],
                                .no_order = bits & 1,
                                .over = bits & 2,
                                .start = bits & 4 ? 8 : 6,
                                .no_record = bits & 8,
                                .was_loaded_only = bits & 16,
                                .pending = bits & 32,
                                .oneshot = bits & 64,
                                .unwatched = bits & 128,
                                .not_parsed = bits & 256,
                                .shutdown = bits & 512,
                                .failing = bits & 1024,
                                .other_run = bits & 2048,
                        };
                        PlanStep step = outcome_of(&row).step;

                        assert_true(step != PLAN_STOP && step != PLAN_REMOVE && step != PLAN_FORGET &&
                                    step != PLAN_RELOAD);
                        n++;
                }
        assert_int_equal(n, 3 << 12);
}

RUN_TESTS(cmocka_unit_test(a_new_unit_is_written_parsed_and_started),
          cmocka_unit_test(what_was_left_behind_becomes_ours_as_it_runs),
          cmocka_unit_test(a_start_is_a_number), cmocka_unit_test(a_restart_is_a_number),
          cmocka_unit_test(stopping_happens_once),
          cmocka_unit_test(a_unit_that_was_stopped_when_cut_off_starts_again),
          cmocka_unit_test(what_is_not_wanted_leaves_no_trace),
          cmocka_unit_test(a_failing_step_waits_and_is_reported),
          cmocka_unit_test(a_healthy_unit_is_never_stopped_for_other_reasons))
