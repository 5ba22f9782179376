// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Steps of units that get another content, other files, secrets or links.
#include "plan-words.h"

static void new_content_needs_a_unit_that_left_memory(void **state) {
        static const Row rows[] = {
                {"active: stop it first", .new_content = true, .is = ACTIVE, .step = PLAN_STOP,
                 .owe_run = true, .file_stale = true},
                {"going down: wait", .new_content = true, .pending = true, .is = STOPPING,
                 .file_stale = true},
                {"down: write", .new_content = true, .pending = true, .is = GONE, .step = PLAN_WRITE},
                {"written and gone from memory: start", .pending = true, .is = GONE, .step = PLAN_START},
                {"a start of the old content is under way", .new_content = true, .oneshot = true,
                 .is = STARTING, .busy = PLAN_START, .file_stale = true},
                {"written, still in memory: give it a moment", .pending = true, .stale = true, .is = DEAD,
                 .step = PLAN_WAIT, .file_stale = true},
                {"pinned: reload", .pending = true, .stale = true, .pinned_long = true, .is = DEAD,
                 .step = PLAN_RELOAD, .file_stale = true},
                {"failed: forget the failure, then run the new content", .new_content = true, .is = FAILED,
                 .step = PLAN_RESET_FAILED, .owe_run = true, .file_stale = true},
                {"failed one-shot: new content, no new run", .new_content = true, .oneshot = true,
                 .is = FAILED, .step = PLAN_RESET_FAILED, .outcome = LOST, .file_stale = true},
                {"stopped by hand: new content, stays stopped", .new_content = true, .is = GONE,
                 .down = STOPPED, .step = PLAN_WRITE},
                {"and is parsed once to see errors", .not_parsed = true, .is = GONE, .down = STOPPED,
                 .step = PLAN_LOAD},
                {"a running one-shot finishes first", .new_content = true, .oneshot = true, .is = STARTING,
                 .file_stale = true},
                {"also when the new one is to run as well", .new_content = true, .oneshot = true, .start = 8,
                 .is = STARTING, .file_stale = true},
                {"unless a restart was asked for", .new_content = true, .oneshot = true, .restart = 6,
                 .is = STARTING, .step = PLAN_STOP, .owe_run = true, .file_stale = true},
                {"only loaded, but a timer runs it: replaced once it is down", .new_content = true,
                 .loaded_only = true, .was_loaded_only = true, .is = ACTIVE, .settled = true,
                 .file_stale = true},
                {"only loaded and down", .new_content = true, .loaded_only = true, .was_loaded_only = true,
                 .is = GONE, .step = PLAN_WRITE},
        };

        CHECK_ROWS(rows);
}

static void what_systemd_would_refuse_stops_nothing(void **state) {
        static const Row rows[] = {
                {"active: systemd is asked before it is stopped", .new_content = true, .not_asked = true,
                 .is = ACTIVE, .step = PLAN_VERIFY, .file_stale = true},
                {"the answer is awaited", .new_content = true, .not_asked = true, .is = ACTIVE,
                 .busy = PLAN_VERIFY},
                {"it would refuse: the unit runs on, and that is no older file which restart takes up",
                 .new_content = true, .would_refuse = true, .is = ACTIVE, .answered = true},
                {"also if a restart is asked for, which has failed then", .new_content = true,
                 .would_refuse = true, .restart = 6, .is = ACTIVE, .answered = true, .turned_down = true},
                {"nobody can tell: as ever", .new_content = true, .is = ACTIVE, .step = PLAN_STOP,
                 .owe_run = true, .file_stale = true},
                {"a stop overtakes the question", .new_content = true, .not_asked = true,
                 .loaded_only = true, .stop = 8, .is = ACTIVE, .busy = PLAN_VERIFY, .step = PLAN_STOP},
                {"and a removal", .remove = true, .not_asked = true, .is = ACTIVE, .busy = PLAN_VERIFY,
                 .step = PLAN_STOP},
                {"what is down or failed loses nothing, and is not asked about", .new_content = true,
                 .not_asked = true, .pending = true, .is = GONE, .step = PLAN_WRITE},
                {"failed", .new_content = true, .not_asked = true, .is = FAILED, .step = PLAN_RESET_FAILED,
                 .owe_run = true, .file_stale = true},
                {"a one-shot finishes before systemd is asked", .new_content = true, .not_asked = true,
                 .oneshot = true, .is = STARTING, .file_stale = true},
                {"with the same content there is nothing to ask", .not_asked = true, .restart = 6,
                 .is = ACTIVE, .step = PLAN_RESTART},
        };

        CHECK_ROWS(rows);
}

static void a_start_of_what_runs_with_other_secrets_is_a_restart(void **state) {
        static const Row rows[] = {
                {"the cluster took it for stopped", .other_secrets = true, .start = 8, .stop = 4,
                 .is = ACTIVE, .step = PLAN_RESTART},
                {"somebody else started it while it was loaded", .other_secrets = true,
                 .was_loaded_only = true, .is = ACTIVE, .step = PLAN_RESTART},
                {"it was loaded, and runs with them", .was_loaded_only = true, .is = ACTIVE, .settled = true,
                 .answered = true},
                {"an undo of what never came to run", .other_secrets = true, .start = 8, .is = ACTIVE,
                 .settled = true, .answered = true},
                {"it was asked for while the one before was under way", .other_secrets = true,
                 .was_superseded = true, .start = 8, .is = ACTIVE, .step = PLAN_RESTART},
                {"they are for its next start", .other_secrets = true, .is = ACTIVE, .settled = true,
                 .answered = true},
                {"it is not started for them", .other_secrets = true, .loaded_only = true,
                 .was_loaded_only = true, .is = ACTIVE, .settled = true, .answered = true},
                {"down", .other_secrets = true, .start = 8, .is = GONE, .step = PLAN_START},
                {"somebody else's start is under way", .other_secrets = true, .start = 8, .is = STARTING,
                 .step = PLAN_RESTART},
                {"ours is not joined", .other_secrets = true, .start = 8, .pending = true, .is = STARTING,
                 .busy = PLAN_START, .superseded = true},
                {"ours was carried out", .other_secrets = true, .pending = true, .other_run = true,
                 .is = ACTIVE, .fulfilled = true, .settled = true, .answered = true},
                {"a one-shot that runs ends first", .other_secrets = true, .oneshot = true, .start = 8,
                 .is = STARTING},
                {"files alone change, and it would run on", .other_secrets = true, .new_content = true,
                 .may_go_on = true, .start = 8, .stop = 4, .is = ACTIVE, .step = PLAN_STOP, .owe_run = true,
                 .file_stale = true},
        };

        CHECK_ROWS(rows);
}

static void a_start_comes_behind_a_look_at_what_files_are_bound_over(void **state) {
        static const Row rows[] = {
                {"a start", .unseen_places = true, .start = 8, .is = GONE, .step = PLAN_PLACES},
                {"a one-shot's", .unseen_places = true, .oneshot = true, .start = 8, .is = GONE,
                 .step = PLAN_PLACES},
                {"a restart: it goes on meanwhile", .unseen_places = true, .restart = 6, .is = ACTIVE,
                 .step = PLAN_PLACES},
                {"it runs", .unseen_places = true, .is = ACTIVE, .settled = true, .answered = true},
                {"it is loaded", .unseen_places = true, .loaded_only = true, .was_loaded_only = true,
                 .is = DEAD, .settled = true, .answered = true},
                {"a stop does not wait for it", .unseen_places = true, .loaded_only = true, .stop = 8,
                 .is = ACTIVE, .busy = PLAN_PLACES, .step = PLAN_STOP},
                {"nor does a removal", .unseen_places = true, .remove = true, .is = ACTIVE,
                 .busy = PLAN_PLACES, .step = PLAN_STOP},
                {"another start does", .unseen_places = true, .start = 9, .is = GONE, .busy = PLAN_PLACES},
        };

        CHECK_ROWS(rows);
}

static void nothing_is_stopped_before_the_files_of_the_new_content_are_here(void **state) {
        static const Row rows[] = {
                {"a new unit", .no_record = true, .lacks_files = true, .is = GONE, .step = PLAN_FETCH},
                {"active: it goes on", .new_content = true, .lacks_files = true, .is = ACTIVE,
                 .step = PLAN_FETCH, .file_stale = true},
                {"down", .new_content = true, .lacks_files = true, .pending = true, .is = GONE,
                 .step = PLAN_FETCH},
                {"they are awaited", .new_content = true, .lacks_files = true, .is = ACTIVE,
                 .busy = PLAN_FETCH},
                {"a stop waits for no file", .new_content = true, .lacks_files = true, .loaded_only = true,
                 .stop = 8, .is = ACTIVE, .step = PLAN_STOP},
                {"nor does a removal", .remove = true, .lacks_files = true, .is = ACTIVE, .step = PLAN_STOP},
        };

        CHECK_ROWS(rows);
}

static void what_gets_nothing_new_but_files_goes_on(void **state) {
        static const Row rows[] = {
                {"its files come first", .new_content = true, .may_reload = true, .lacks_files = true,
                 .is = ACTIVE, .step = PLAN_FETCH},
                {"they are put in place as it runs, and a reload is due then", .new_content = true,
                 .may_reload = true, .is = ACTIVE, .step = PLAN_WRITE, .in_place = true, .owe_reload = true},
                {"without a reload that is all", .new_content = true, .may_go_on = true, .is = ACTIVE,
                 .step = PLAN_WRITE, .in_place = true},
                {"an update bumps the start, and asks for no restart", .new_content = true,
                 .may_reload = true, .start = 10, .is = ACTIVE, .step = PLAN_WRITE, .in_place = true,
                 .owe_reload = true},
                {"a restart makes up for the reload", .new_content = true, .may_reload = true, .start = 10,
                 .restart = 10, .is = ACTIVE, .step = PLAN_WRITE, .in_place = true},
                {"what is starting can be reloaded when it is up", .new_content = true, .may_reload = true,
                 .is = STARTING},
                {"a restart does not wait for a start that hangs", .new_content = true, .may_reload = true,
                 .start = 10, .restart = 10, .is = STARTING, .step = PLAN_WRITE, .in_place = true},
                {"what somebody else has started goes on, too", .new_content = true, .may_reload = true,
                 .loaded_only = true, .was_loaded_only = true, .is = ACTIVE, .step = PLAN_WRITE,
                 .in_place = true, .owe_reload = true},
                {"a stop comes first", .new_content = true, .may_reload = true, .loaded_only = true,
                 .stop = 10, .is = ACTIVE, .step = PLAN_STOP},
                {"what is down is written as ever", .new_content = true, .may_reload = true, .is = DEAD,
                 .step = PLAN_WRITE, .down = STOPPED, .file_stale = true},
                {"what failed as well", .new_content = true, .may_reload = true, .is = FAILED,
                 .owe_run = true, .step = PLAN_RESET_FAILED, .file_stale = true},
                {"what systemd has older content of is stopped for it", .new_content = true,
                 .may_reload = true, .stale = true, .is = ACTIVE, .owe_run = true, .step = PLAN_STOP,
                 .file_stale = true},
        };

        CHECK_ROWS(rows);
}

static void what_got_new_files_is_reloaded_once(void **state) {
        static const Row rows[] = {
                {"also by the next argosyd", .reload_due = true, .is = ACTIVE, .step = PLAN_RELOAD_UNIT},
                {"what is not written yet is written first", .reload_due = true, .no_file = true,
                 .is = ACTIVE, .step = PLAN_WRITE},
                {"under way: it is awaited", .reload_due = true, .busy = PLAN_RELOAD_UNIT, .is = ACTIVE},
                {"a stop overtakes it", .reload_due = true, .busy = PLAN_RELOAD_UNIT, .loaded_only = true,
                 .stop = 10, .is = ACTIVE, .step = PLAN_STOP},
                {"a restart reads them as well", .reload_due = true, .restart = 10, .is = ACTIVE,
                 .step = PLAN_RESTART},
                {"between two runs nothing has to be reloaded", .reload_due = true, .is = AUTO_RESTART,
                 .reread = true, .again = true},
                {"and nothing of what is down", .reload_due = true, .is = DEAD, .settled = true,
                 .answered = true, .down = STOPPED},
                {"one that failed is not repeated", .reload_failed = true, .is = ACTIVE, .settled = true,
                 .answered = true},
                {"before there is another start", .reload_failed = true, .start = 10, .is = ACTIVE,
                 .step = PLAN_RELOAD_UNIT},
                {"a start of systemd's own has read them", .reload_failed = true, .other_run = true,
                 .is = ACTIVE, .reread = true, .again = true},
                {"and needs no reload for the next order", .reload_failed = true, .other_run = true,
                 .start = 10, .is = ACTIVE, .reread = true, .again = true},
                {"an attempt that is to come reads them, too", .reload_failed = true, .other_run = true,
                 .is = AUTO_RESTART, .reread = true, .again = true},
                {"a restart that was asked for reads them anyway", .reload_failed = true, .other_run = true,
                 .restart = 10, .is = ACTIVE, .step = PLAN_RESTART},
        };

        CHECK_ROWS(rows);
}

static void what_is_stopped_for_a_new_file_brings_back_what_went_with_it(void **state) {
        static const Row rows[] = {
                {"first it is asked what goes with it", .new_content = true, .not_surveyed = true,
                 .is = ACTIVE, .step = PLAN_SURVEY, .file_stale = true},
                {"a stop takes down what it takes", .loaded_only = true, .not_surveyed = true, .is = ACTIVE,
                 .step = PLAN_STOP},
                {"it is not up yet", .brings_back = true, .is = STARTING},
                {"nor between two attempts", .brings_back = true, .is = AUTO_RESTART, .settled = true},
                {"it is up", .brings_back = true, .is = ACTIVE, .step = PLAN_BRING_BACK},
                {"it was found up", .brings_back = true, .pending = true, .other_run = true, .is = ACTIVE,
                 .fulfilled = true, .again = true},
                {"it did not start: what needs it waits", .brings_back = true, .is = FAILED,
                 .settled = true},
                {"and the rest comes back", .brings_back = true, .brings_back_anyway = true, .is = FAILED,
                 .step = PLAN_BRING_BACK},
                {"all is back", .is = ACTIVE, .settled = true},
                {"a stop does not wait for that", .loaded_only = true, .brings_back = true,
                 .busy = PLAN_BRING_BACK, .is = ACTIVE, .step = PLAN_STOP},
                {"nor does a newer file", .new_content = true, .brings_back = true, .busy = PLAN_BRING_BACK,
                 .is = ACTIVE, .leaves_off = true},
                {"nor a restart", .restart = 6, .brings_back = true, .busy = PLAN_BRING_BACK, .is = ACTIVE,
                 .leaves_off = true},
                {"nor another start", .start = 8, .brings_back = true, .busy = PLAN_BRING_BACK, .is = ACTIVE,
                 .leaves_off = true},
                {"which is carried out first", .start = 8, .brings_back = true, .is = ACTIVE,
                 .settled = true},
                {"with nothing more to do it goes on", .brings_back = true, .busy = PLAN_BRING_BACK,
                 .is = ACTIVE},
                {"what was stopped is no drift", .comes_back = true, .is = GONE, .settled = true,
                 .down = BOUND},
                {"nor failed", .comes_back = true, .oneshot = true, .is = FAILED, .settled = true,
                 .down = BOUND},
                {"unless it had come to its end before", .comes_back = true, .oneshot = true, .done = true,
                 .is = GONE, .settled = true, .outcome = DONE},
                {"its start waits", .comes_back = true, .held_back = true, .pending = true, .is = GONE},
                {"its file does not", .comes_back = true, .held_back = true, .pending = true,
                 .new_content = true, .is = GONE, .step = PLAN_WRITE},
                {"until the other one is up", .comes_back = true, .pending = true, .is = GONE,
                 .step = PLAN_START},
        };

        CHECK_ROWS(rows);
}

static void units_of_the_system_have_links_to_what_is_to_run(void **state) {
        static const Row rows[] = {
                {"running, not linked yet", .links = true, .is = ACTIVE, .step = PLAN_LINK},
                {"running and linked", .links = true, .enabled = true, .is = ACTIVE, .settled = true},
                {"a start does not wait for links", .links = true, .start = 8, .is = GONE,
                 .step = PLAN_START},
                {"started by its socket, now to be launched", .links = true, .start = 8,
                 .was_loaded_only = true, .is = ACTIVE, .step = PLAN_LINK},
                {"found running after a crash", .links = true, .pending = true, .unwatched = true,
                 .is = ACTIVE, .other_run = true, .fulfilled = true, .step = PLAN_LINK},
                {"only loaded", .links = true, .loaded_only = true, .was_loaded_only = true, .is = GONE,
                 .settled = true},
                {"a stop comes before its links", .links = true, .enabled = true, .loaded_only = true,
                 .is = ACTIVE, .step = PLAN_STOP},
                {"stopped", .links = true, .enabled = true, .loaded_only = true, .is = GONE,
                 .step = PLAN_LINK},
                {"stopped by hand: it is still to run", .links = true, .enabled = true, .is = GONE,
                 .down = STOPPED, .settled = true},
                {"a one-shot that is done is not run again by a target", .links = true, .enabled = true,
                 .oneshot = true, .is = GONE, .outcome = DONE, .step = PLAN_LINK},
                {"and stays so", .links = true, .oneshot = true, .done = true, .is = GONE, .outcome = DONE,
                 .settled = true},
                {"done elsewhere", .links = true, .written_only = true, .over = true, .is = GONE,
                 .settled = true},
        };

        CHECK_ROWS(rows);
}

static void a_target_sees_its_new_links_when_it_starts(void **state) {
        static const Row rows[] = {
                {"up: nothing is done for the links", .links_stale = true, .pinned_long = true, .is = ACTIVE,
                 .settled = true},
                {"started: perhaps it leaves memory by itself", .links_stale = true, .start = 8, .is = DEAD,
                 .step = PLAN_WAIT},
                {"it does not: reload", .links_stale = true, .pinned_long = true, .start = 8, .is = DEAD,
                 .step = PLAN_RELOAD},
                {"a restart keeps it in memory: reload first", .links_stale = true, .restart = 6,
                 .is = ACTIVE, .step = PLAN_RELOAD},
        };

        CHECK_ROWS(rows);
}

RUN_TESTS(cmocka_unit_test(new_content_needs_a_unit_that_left_memory),
          cmocka_unit_test(what_systemd_would_refuse_stops_nothing),
          cmocka_unit_test(a_start_of_what_runs_with_other_secrets_is_a_restart),
          cmocka_unit_test(a_start_comes_behind_a_look_at_what_files_are_bound_over),
          cmocka_unit_test(nothing_is_stopped_before_the_files_of_the_new_content_are_here),
          cmocka_unit_test(what_gets_nothing_new_but_files_goes_on),
          cmocka_unit_test(what_got_new_files_is_reloaded_once),
          cmocka_unit_test(what_is_stopped_for_a_new_file_brings_back_what_went_with_it),
          cmocka_unit_test(units_of_the_system_have_links_to_what_is_to_run),
          cmocka_unit_test(a_target_sees_its_new_links_when_it_starts))
