// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The rules of plan.h as tables. Every row is one situation and the step that it must lead to. The defaults
// are those of the quiet case: the order's numbers are revision 10, start 7, restart 5, stop 3, the record
// knows all of them, the content is the wanted one, the unit is active with a run that the record knows.
#include "test.h"

#include "clock.h"
#include "plan.h"

typedef enum Is {
        ACTIVE,
        GONE,
        DEAD,
        FAILED,
        STARTING,
        STOPPING,
        AUTO_RESTART
} Is; // GONE: not in systemd's memory; DEAD: inactive, but loaded

typedef struct Row {
        const char *story;
        // the order
        bool no_order, remove, loaded_only, new_content, over;
        unsigned start, restart, stop; // 0: the default
        // the record
        bool no_record, was_loaded_only, written_only, done, failed_before, pending, interrupted, owed,
                outcome_unknown, reload_due, reload_failed;
        // the world
        Is is;
        bool other_run; // the run in systemd's memory is not the recorded one
        bool links, enabled, links_stale;
        bool no_file, removed, stale, pinned_long, not_parsed, oneshot, unwatched, shutdown, failing;
        bool pinned, pin_failed, rerun, was_reset;
        bool cut_off, was_cut_off, drifted, goes_along, skipped, by_itself, unseen, stops_unneeded,
                conflicts, may_take, left_behind, taking, unfound, not_asked, would_refuse, lacks_files,
                unseen_places, other_secrets, was_superseded, may_reload, may_go_on;
        bool not_surveyed, brings_back, brings_back_anyway, comes_back, held_back;
        PlanStep busy;
        // what must come out
        PlanStep step;
        bool owe_run, turned_down, leaves_off, joined, superseded, fulfilled, failed, not_begun, unknown,
                in_place, owe_reload, reread, again, settled, answered, file_stale, refused, cut_short;
        Argosy__DownCause down;
        Argosy__Outcome__Kind outcome;
} Row;

#define STOPPED ARGOSY__DOWN_CAUSE__DOWN_STOPPED
#define BOUND ARGOSY__DOWN_CAUSE__DOWN_BOUND
#define SKIPPED ARGOSY__DOWN_CAUSE__DOWN_SKIPPED
#define UNNEEDED ARGOSY__DOWN_CAUSE__DOWN_UNNEEDED
#define ENDED ARGOSY__DOWN_CAUSE__DOWN_ENDED
#define UNSEEN ARGOSY__DOWN_CAUSE__DOWN_UNSEEN
#define RESET ARGOSY__DOWN_CAUSE__DOWN_RESET
#define CANCELLED ARGOSY__DOWN_CAUSE__DOWN_CANCELLED
#define DONE ARGOSY__OUTCOME__KIND__DONE
#define LOST ARGOSY__OUTCOME__KIND__FAILED
#define OUTCOME_UNKNOWN ARGOSY__OUTCOME__KIND__UNKNOWN

static const uint64_t now_us = 1000 * USEC_PER_SEC;

static UnitRuntime runtime_of(const Row *row) {
        static const struct {
                Argosy__ActiveState active;
                const char *sub;
        } states[] = {
                [ACTIVE] = {ARGOSY__ACTIVE_STATE__ACTIVE_ACTIVE, "running"},
                [GONE] = {ARGOSY__ACTIVE_STATE__ACTIVE_INACTIVE, "dead"},
                [DEAD] = {ARGOSY__ACTIVE_STATE__ACTIVE_INACTIVE, "dead"},
                [FAILED] = {ARGOSY__ACTIVE_STATE__ACTIVE_FAILED, "failed"},
                [STARTING] = {ARGOSY__ACTIVE_STATE__ACTIVE_ACTIVATING, "start"},
                [STOPPING] = {ARGOSY__ACTIVE_STATE__ACTIVE_DEACTIVATING, "stop-sigterm"},
                [AUTO_RESTART] = {ARGOSY__ACTIVE_STATE__ACTIVE_ACTIVATING, "auto-restart"},
        };
        UnitRuntime rt = {.load = row->unfound ? ARGOSY__LOAD_STATE__LOAD_NOT_FOUND
                                               : ARGOSY__LOAD_STATE__LOAD_LOADED,
                          .active = states[row->is].active,
                          .sub = states[row->is].sub,
                          .result = "",
                          .was_reset = row->was_reset,
                          .loaded = row->is != GONE};

        if (rt.loaded)
                memset(rt.invocation_id, row->other_run ? 2 : 1, 16);
        return rt;
}

static PlanResult outcome_of(const Row *row) {
        UnitRuntime rt = runtime_of(row);
        PlanWanted wanted = {
                .remove = row->remove,
                .target = row->loaded_only ? ARGOSY__TARGET__TARGET_LOADED : ARGOSY__TARGET__TARGET_LAUNCHED,
                .spec.bytes = {row->new_content ? 2 : 1},
                .revision = 10,
                .start_rev = row->start ?: 7,
                .restart_rev = row->restart ?: 5,
                .stop_rev = row->stop ?: 3,
                .outcome = row->over ? DONE : ARGOSY__OUTCOME__KIND__NONE,
        };
        LedgerRecord held = {
                .name = "web.service",
                .spec.bytes = {1},
                .revision = 9,
                .start_rev = 7,
                .restart_rev = 5,
                .stop_rev = 3,
                .target = row->was_loaded_only ? ARGOSY__TARGET__TARGET_LOADED
                                               : ARGOSY__TARGET__TARGET_LAUNCHED,
                .done = row->done,
                .failed = row->failed_before,
                .pending = row->pending,
                .interrupted = row->interrupted,
                .owed = row->owed,
                .unknown = row->outcome_unknown,
        };
        PlanInput in = {
                .wanted = row->no_order ? NULL : &wanted,
                .held = row->no_record ? NULL : &held,
                .runtime = row->is == GONE ? NULL : &rt,
                .file_present = !row->no_file && !row->no_record,
                .files_removed = row->removed,
                .stale = row->stale,
                .stale_since_us = row->pinned_long ? now_us - PLAN_UNLOAD_GRACE_US : now_us - 1000,
                .links = row->links,
                .enabled = row->enabled,
                .links_stale = row->links_stale,
                .links_stale_since_us = row->pinned_long ? now_us - PLAN_UNLOAD_GRACE_US : now_us - 1000,
                .parsed = !row->not_parsed && !row->no_record,
                .oneshot = row->oneshot,
                .rerun_unknown = row->rerun,
                .pinned = row->pinned,
                .pin_failed = row->pin_failed,
                .unwatched = row->unwatched,
                .may_take = row->may_take,
                .left_behind = row->left_behind,
                .lacks_files = row->lacks_files,
                .places_unseen = row->unseen_places,
                .secrets_differ = row->other_secrets,
                .superseded = row->was_superseded,
                .file_change = row->may_reload ? ARGOSY__FILE_CHANGE__FILE_CHANGE_RELOAD
                               : row->may_go_on ? ARGOSY__FILE_CHANGE__FILE_CHANGE_NONE
                                                : ARGOSY__FILE_CHANGE__FILE_CHANGE_RESTART,
                .verdict = row->not_asked      ? PLAN_VERDICT_NONE
                           : row->would_refuse ? PLAN_VERDICT_REFUSED
                                               : PLAN_VERDICT_TAKEN,
                .stopping = row->shutdown,
                .surveyed = !row->not_surveyed,
                .brings_back = row->brings_back,
                .brings_back_anyway = row->brings_back_anyway,
                .comes_back = row->comes_back,
                .held_back = row->held_back,
                .busy = row->busy,
                .cut_off = row->cut_off,
                .was_cut_off = row->was_cut_off,
                .down = row->drifted ? STOPPED : ARGOSY__DOWN_CAUSE__DOWN_NOT,
                .skipped = row->skipped,
                .stops_unneeded = row->stops_unneeded,
                .conflicts = row->conflicts,
                .was_reset = row->was_reset,
                .end = row->unseen ? UNIT_END_UNSEEN : row->by_itself ? UNIT_END_BY_ITSELF : UNIT_END_BY_JOB,
                .goes_along = row->goes_along,
                .retry_us = row->failing ? now_us + 5 : 0,
                .now_us = now_us,
        };

        memset(held.invocation_id, 1, 16);
        if (row->written_only)
                held = (LedgerRecord){.name = "web.service", .spec.bytes = {1}};
        held.taking = row->taking;
        held.reload = row->reload_due      ? LEDGER_RELOAD_DUE
                      : row->reload_failed ? LEDGER_RELOAD_FAILED
                                           : LEDGER_RELOAD_NONE;
        return plan_unit(&in);
}

static void check_row(const Row *row) {
        PlanResult res = outcome_of(row);

        if (res.step != row->step)
                fail_msg("%s: %s instead of %s", row->story, plan_step_to_string(res.step),
                         plan_step_to_string(row->step));
#define CHECK(field)                 \
        if (res.field != row->field) \
        fail_msg("%s: " #field " is %i", row->story, (int) res.field)
        CHECK(owe_run);
        CHECK(turned_down);
        CHECK(leaves_off);
        CHECK(not_begun);
        CHECK(unknown);
        CHECK(in_place);
        CHECK(owe_reload);
        CHECK(reread);
        CHECK(again);
        CHECK(cut_short);
        CHECK(joined);
        CHECK(superseded);
        CHECK(fulfilled);
        CHECK(failed);
        CHECK(settled);
        CHECK(down);
        CHECK(file_stale);
        CHECK(refused);
        CHECK(outcome);
#undef CHECK
        if (res.answered != (row->settled || row->answered))
                fail_msg("%s: answered is %i", row->story, res.answered);
}

#define CHECK_ROWS(rows)                              \
        for (size_t i = 0; i < ELEMENTSOF(rows); i++) \
        check_row(&(rows)[i])

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

static void only_oneshots_end_for_good(void **state) {
        static const Row rows[] = {
                {"a one-shot ended well", .oneshot = true, .is = GONE, .settled = true, .outcome = DONE},
                {"and is still in memory", .oneshot = true, .is = DEAD, .settled = true, .outcome = DONE},
                {"a one-shot failed", .oneshot = true, .is = FAILED, .settled = true, .outcome = LOST},
                {"it stays failed when somebody resets it", .oneshot = true, .failed_before = true,
                 .is = GONE, .settled = true, .outcome = LOST},
                {"it stays done when somebody runs it again by hand", .oneshot = true, .done = true,
                 .is = STARTING, .settled = true, .outcome = DONE},
                {"told again to a leader that has not noted it", .oneshot = true, .done = true, .is = GONE,
                 .settled = true, .outcome = DONE},
                {"judged also when nobody leads", .no_order = true, .oneshot = true, .is = GONE,
                 .outcome = DONE},
                {"a one-shot that somebody cancelled", .oneshot = true, .interrupted = true, .is = GONE,
                 .settled = true, .down = CANCELLED},
                {"a one-shot runs", .oneshot = true, .is = STARTING, .settled = true},
                {"asked for again", .oneshot = true, .done = true, .start = 8, .is = DEAD, .pinned = true,
                 .step = PLAN_START},
                {"a service that somebody stopped is drift", .is = GONE, .settled = true, .down = STOPPED},
                {"unless systemd does so itself when no unit needs it", .stops_unneeded = true, .is = GONE,
                 .settled = true, .down = UNNEEDED},
                {"or for one that conflicts with it", .conflicts = true, .is = GONE, .settled = true,
                 .down = ARGOSY__DOWN_CAUSE__DOWN_CONFLICT},
                {"one that ended by itself is neither that nor done, whatever conflicts with it",
                 .conflicts = true, .by_itself = true, .is = GONE, .settled = true, .down = ENDED},
                {"one that ended by itself is neither that nor done", .by_itself = true, .is = GONE,
                 .settled = true, .down = ENDED},
                {"of one that nobody saw go down nothing is claimed", .unseen = true, .is = GONE,
                 .settled = true, .down = UNSEEN},
                {"one whose condition is not met was skipped", .skipped = true, .by_itself = true,
                 .is = GONE, .settled = true, .down = SKIPPED},
                {"so was a one-shot, which is done", .skipped = true, .oneshot = true, .is = GONE,
                 .settled = true, .outcome = DONE, .down = SKIPPED},
                {"also when the cluster knows", .skipped = true, .oneshot = true, .over = true, .done = true,
                 .is = GONE, .settled = true, .outcome = DONE, .down = SKIPPED},
                {"a service that failed, and was reset", .was_reset = true, .by_itself = true, .is = GONE,
                 .settled = true, .down = RESET},
                {"what was found stays, whatever is seen later", .drifted = true, .by_itself = true,
                 .is = GONE, .settled = true, .down = STOPPED},
                {"until it is up again", .drifted = true, .settled = true},
                {"one that we stopped by what it is bound to is no drift", .is = GONE, .settled = true,
                 .goes_along = true, .down = BOUND},
                {"also while it is on its way down", .is = STOPPING, .goes_along = true, .down = BOUND},
                {"it runs although that one does not", .settled = true, .goes_along = true},
                {"a service that failed is not over", .is = FAILED, .settled = true},
                {"a clean end during shutdown is no outcome", .oneshot = true, .shutdown = true, .is = GONE},
                {"a stop during shutdown is no drift", .shutdown = true, .is = GONE},
                {"nothing is started during shutdown", .shutdown = true, .start = 8, .is = GONE},
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

static void a_crash_between_any_two_steps_starts_once(void **state) {
        static const Row rows[] = {
                {"start recorded, systemd never heard of it", .pending = true, .unwatched = true, .is = GONE,
                 .step = PLAN_START},
                {"start recorded and carried out", .pending = true, .unwatched = true, .is = ACTIVE,
                 .other_run = true, .fulfilled = true, .settled = true},
                {"it is still starting", .pending = true, .unwatched = true, .is = STARTING,
                 .other_run = true, .fulfilled = true},
                {"it started and failed", .pending = true, .unwatched = true, .is = FAILED,
                 .other_run = true, .fulfilled = true, .settled = true},
                {"it failed before, the start was never heard", .pending = true, .unwatched = true,
                 .is = FAILED, .step = PLAN_RESET_FAILED},
                {"restart recorded, the old run is still up", .pending = true, .unwatched = true,
                 .is = ACTIVE, .step = PLAN_RESTART},
                {"a one-shot that ended while nobody watched", .unwatched = true, .oneshot = true,
                 .is = GONE, .settled = true, .outcome = DONE},
                {"nobody leads: nothing is done", .no_order = true, .pending = true, .unwatched = true,
                 .is = GONE},
                {"stopped for new content, not written yet", .pending = true, .unwatched = true,
                 .new_content = true, .is = GONE, .step = PLAN_WRITE},
                {"stopped for new content, written, not started", .pending = true, .unwatched = true,
                 .is = GONE, .step = PLAN_START},
        };

        CHECK_ROWS(rows);
}

static void a_one_shot_is_pinned_until_its_outcome_is_known(void **state) {
        static const Row rows[] = {
                {"to be started: pinned first", .oneshot = true, .is = GONE, .start = 8, .step = PLAN_PIN},
                {"pinned: started", .oneshot = true, .is = DEAD, .start = 8, .pinned = true,
                 .step = PLAN_START},
                {"systemd does not take the pin: started all the same", .oneshot = true, .is = GONE,
                 .start = 8, .pin_failed = true, .step = PLAN_START},
                {"a restart while it runs", .oneshot = true, .is = STARTING, .restart = 6, .step = PLAN_PIN},
                {"nothing else is pinned", .is = GONE, .start = 8, .step = PLAN_START},
                {"it runs", .oneshot = true, .is = STARTING, .pinned = true, .settled = true},
                {"it has ended, and the cluster does not know yet", .oneshot = true, .is = DEAD,
                 .pinned = true, .settled = true, .outcome = DONE},
                {"the cluster knows: let go", .oneshot = true, .is = DEAD, .pinned = true, .over = true,
                 .done = true, .settled = true, .outcome = DONE, .step = PLAN_UNPIN},
                {"somebody cancelled it: nothing is to be learned", .oneshot = true, .is = DEAD,
                 .pinned = true, .interrupted = true, .settled = true, .down = CANCELLED,
                 .step = PLAN_UNPIN},
                {"stopped: let go", .oneshot = true, .is = DEAD, .pinned = true, .loaded_only = true,
                 .was_loaded_only = true, .settled = true, .step = PLAN_UNPIN},
                {"new content: let go before it is written", .oneshot = true, .is = DEAD, .pinned = true,
                 .new_content = true, .file_stale = true, .step = PLAN_UNPIN, .outcome = DONE},
                {"to be removed: let go before the files go", .oneshot = true, .is = DEAD, .pinned = true,
                 .remove = true, .step = PLAN_UNPIN},
                {"links are to be read again: let go instead of a reload", .oneshot = true, .is = DEAD,
                 .pinned = true, .start = 8, .links_stale = true, .pinned_long = true, .step = PLAN_UNPIN},
        };

        CHECK_ROWS(rows);
}

static void after_a_crash_systemd_knows_whether_a_one_shot_ran(void **state) {
        static const Row rows[] = {
                {"it ran and ended", .pending = true, .unwatched = true, .oneshot = true, .pinned = true,
                 .is = DEAD, .other_run = true, .fulfilled = true, .again = true},
                {"it ran and failed", .pending = true, .unwatched = true, .oneshot = true, .pinned = true,
                 .is = FAILED, .other_run = true, .fulfilled = true, .again = true},
                {"also if new content has come meanwhile", .pending = true, .unwatched = true,
                 .oneshot = true, .pinned = true, .is = DEAD, .other_run = true, .new_content = true,
                 .fulfilled = true, .again = true},
                {"and while nobody has said yet that it is one", .pending = true, .unwatched = true,
                 .pinned = true, .is = DEAD, .other_run = true, .fulfilled = true, .again = true},
                {"it did not begin", .pending = true, .unwatched = true, .oneshot = true, .pinned = true,
                 .is = DEAD, .not_begun = true, .again = true},
                {"which was recorded before its pin went for new content", .pending = true, .owed = true,
                 .unwatched = true, .oneshot = true, .is = GONE, .step = PLAN_PIN},
                {"the pin is gone: nobody knows", .pending = true, .unwatched = true, .oneshot = true,
                 .is = GONE, .unknown = true, .again = true},
                {"the pin is gone, but something else has kept it", .pending = true, .unwatched = true,
                 .oneshot = true, .is = DEAD, .other_run = true, .fulfilled = true, .again = true},
                {"which is its outcome from then on", .interrupted = true, .outcome_unknown = true,
                 .oneshot = true, .is = GONE, .settled = true, .outcome = OUTCOME_UNKNOWN},
                {"until it is started again", .interrupted = true, .outcome_unknown = true, .oneshot = true,
                 .is = GONE, .start = 8, .step = PLAN_PIN},
                {"it failed, and somebody has reset that", .pending = true, .unwatched = true,
                 .oneshot = true, .pinned = true, .is = DEAD, .other_run = true, .was_reset = true,
                 .fulfilled = true, .failed = true, .again = true},
                {"so did a run that we had seen begin", .unwatched = true, .oneshot = true, .pinned = true,
                 .is = DEAD, .was_reset = true, .settled = true, .outcome = LOST},
                {"our own reset for a start says nothing about that", .oneshot = true, .pinned = true,
                 .is = DEAD, .was_reset = true, .settled = true, .outcome = DONE},
                {"nor about one that was cancelled", .unwatched = true, .oneshot = true, .interrupted = true,
                 .is = DEAD, .was_reset = true, .settled = true, .down = CANCELLED},
                {"nobody knows, and it may run again", .pending = true, .unwatched = true, .oneshot = true,
                 .rerun = true, .is = GONE, .step = PLAN_PIN},
                {"what we watched all the time is no question", .pending = true, .oneshot = true, .is = GONE,
                 .step = PLAN_PIN},
                {"nor is a service", .pending = true, .unwatched = true, .is = GONE, .step = PLAN_START},
        };

        CHECK_ROWS(rows);
}

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

RUN_TESTS(
        cmocka_unit_test(a_new_unit_is_written_parsed_and_started),
        cmocka_unit_test(what_was_left_behind_becomes_ours_as_it_runs),
        cmocka_unit_test(a_start_is_a_number),
        cmocka_unit_test(a_restart_is_a_number),
        cmocka_unit_test(stopping_happens_once),
        cmocka_unit_test(only_oneshots_end_for_good),
        cmocka_unit_test(a_unit_that_was_stopped_when_cut_off_starts_again),
        cmocka_unit_test(a_crash_between_any_two_steps_starts_once),
        cmocka_unit_test(a_one_shot_is_pinned_until_its_outcome_is_known),
        cmocka_unit_test(after_a_crash_systemd_knows_whether_a_one_shot_ran),
        cmocka_unit_test(new_content_needs_a_unit_that_left_memory),
        cmocka_unit_test(what_systemd_would_refuse_stops_nothing),
        cmocka_unit_test(a_start_of_what_runs_with_other_secrets_is_a_restart),
        cmocka_unit_test(a_start_comes_behind_a_look_at_what_files_are_bound_over),
        cmocka_unit_test(nothing_is_stopped_before_the_files_of_the_new_content_are_here),
        cmocka_unit_test(what_gets_nothing_new_but_files_goes_on),
        cmocka_unit_test(what_got_new_files_is_reloaded_once),
        cmocka_unit_test(what_is_stopped_for_a_new_file_brings_back_what_went_with_it),
        cmocka_unit_test(units_of_the_system_have_links_to_what_is_to_run),
        cmocka_unit_test(a_target_sees_its_new_links_when_it_starts),
        cmocka_unit_test(what_is_not_wanted_leaves_no_trace),
        cmocka_unit_test(a_failing_step_waits_and_is_reported),
        cmocka_unit_test(a_healthy_unit_is_never_stopped_for_other_reasons)
)
