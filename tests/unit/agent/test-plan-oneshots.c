// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Steps of units that run to their end, and after crashes in between.
#include "plan-words.h"

#define SKIPPED ARGOSY__DOWN_CAUSE__DOWN_SKIPPED
#define UNNEEDED ARGOSY__DOWN_CAUSE__DOWN_UNNEEDED
#define ENDED ARGOSY__DOWN_CAUSE__DOWN_ENDED
#define UNSEEN ARGOSY__DOWN_CAUSE__DOWN_UNSEEN
#define RESET ARGOSY__DOWN_CAUSE__DOWN_RESET
#define CANCELLED ARGOSY__DOWN_CAUSE__DOWN_CANCELLED
#define OUTCOME_UNKNOWN ARGOSY__OUTCOME__KIND__UNKNOWN

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

RUN_TESTS(cmocka_unit_test(only_oneshots_end_for_good),
          cmocka_unit_test(a_crash_between_any_two_steps_starts_once),
          cmocka_unit_test(a_one_shot_is_pinned_until_its_outcome_is_known),
          cmocka_unit_test(after_a_crash_systemd_knows_whether_a_one_shot_ran))
