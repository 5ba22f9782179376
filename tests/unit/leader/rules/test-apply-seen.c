// SPDX-License-Identifier: LGPL-2.1-or-later
//
// How a unit of a set is, from what is known of it, and what an apply makes of that, as a table.
#include "test.h"

#include "apply-seen.h"
#include "macro.h"
#include "unit-state.h"

#define ACTIVE ARGOSY__ACTIVE_STATE__ACTIVE_ACTIVE
#define DOWN ARGOSY__ACTIVE_STATE__ACTIVE_INACTIVE
#define FAILED ARGOSY__ACTIVE_STATE__ACTIVE_FAILED
#define COMING ARGOSY__ACTIVE_STATE__ACTIVE_ACTIVATING
#define CAUSE(word) ARGOSY__DOWN_CAUSE__DOWN_##word
#define LAUNCHED .target = ARGOSY__TARGET__TARGET_LAUNCHED
#define LOADED .target = ARGOSY__TARGET__TARGET_LOADED

static const Argosy__Outcome done = {.kind = ARGOSY__OUTCOME__KIND__DONE, .result = (char *) ""},
                             failed = {.kind = ARGOSY__OUTCOME__KIND__FAILED},
                             skipped = {.kind = ARGOSY__OUTCOME__KIND__DONE,
                                        .result = (char *) OUTCOME_SKIPPED},
                             unknown = {.kind = ARGOSY__OUTCOME__KIND__UNKNOWN};

static const struct {
        const char *story;
        ApplyFacts facts;
        const char *word;
        bool starts, is_wrong;
} units[] = {
        {"it runs", {LAUNCHED, .answered = true, .active = ACTIVE}, "", false, false},
        {"it is not to be loaded", {.active = FAILED}, "", false, false},
        {"it is loaded", {LOADED, .answered = true, .active = DOWN}, "", false, false},
        {"its timer has run it, in vain", {LOADED, .answered = true, .active = FAILED}, "", false, false},
        {"it cannot be loaded",
         {LOADED, .answered = true, .active = DOWN, .error = true},
         "error",
         false,
         true},

        {"it failed", {LAUNCHED, .answered = true, .active = FAILED}, "failed", true, true},
        {"it could not be started",
         {LAUNCHED, .answered = true, .active = DOWN, .error = true},
         "failed",
         true,
         true},
        {"its only run failed",
         {LAUNCHED, .answered = true, .active = DOWN, .outcome = &failed},
         "failed",
         true,
         true},
        {"somebody stopped it",
         {LAUNCHED, .answered = true, .active = DOWN, .down = CAUSE(STOPPED)},
         "stopped",
         true,
         true},
        {"nobody saw why it is down",
         {LAUNCHED, .answered = true, .active = DOWN, .down = CAUSE(UNSEEN)},
         "down",
         true,
         true},

        {"its only run was well",
         {LAUNCHED, .answered = true, .active = DOWN, .outcome = &done},
         "finished",
         false,
         false},
        {"nobody saw its only run end",
         {LAUNCHED, .answered = true, .outcome = &unknown},
         "unknown",
         false,
         true},
        {"it ended well", {LAUNCHED, .answered = true, .active = DOWN}, "ended", false, false},
        {"it was skipped",
         {LAUNCHED, .answered = true, .active = DOWN, .down = CAUSE(SKIPPED)},
         "skipped",
         false,
         false},
        {"another one took it down",
         {LAUNCHED, .answered = true, .active = DOWN, .down = CAUSE(BOUND)},
         "bound",
         false,
         true},

        {"another one is there for it",
         {LAUNCHED, .answered = true, .active = DOWN, .down = CAUSE(CONFLICT)},
         "conflict",
         false,
         true},
        {"nothing needs it",
         {LAUNCHED, .answered = true, .active = DOWN, .down = CAUSE(UNNEEDED)},
         "unneeded",
         false,
         false},
        {"it failed, and was reset",
         {LAUNCHED, .answered = true, .active = DOWN, .down = CAUSE(RESET)},
         "failed",
         true,
         true},
        {"its start was cancelled",
         {LAUNCHED, .answered = true, .active = DOWN, .down = CAUSE(CANCELLED)},
         "failed",
         true,
         true},
        {"its start did not begin",
         {LAUNCHED, .answered = true, .active = DOWN, .down = CAUSE(UNBEGUN)},
         "failed",
         true,
         true},
        {"it ended well",
         {LAUNCHED, .answered = true, .active = DOWN, .down = CAUSE(ENDED)},
         "ended",
         false,
         false},
        {"its only run was skipped",
         {LAUNCHED, .answered = true, .active = DOWN, .outcome = &skipped},
         "skipped",
         false,
         false},

        {"it was told to start", {LAUNCHED, .active = FAILED}, "starting", false, true},
        {"it takes its time", {LAUNCHED, .answered = true, .active = COMING}, "starting", false, true},
        {"systemd tries again",
         {LAUNCHED, .answered = true, .active = COMING, .restarts = true},
         "restarting",
         false,
         true},
        {"again and again",
         {LAUNCHED, .answered = true, .active = ACTIVE, .loops = true},
         "looping",
         false,
         true},
        {"until systemd gave up",
         {LAUNCHED, .answered = true, .active = FAILED, .loops = true},
         "failed",
         true,
         true},
        {"it waits", {LAUNCHED, .active = DOWN, .waits = true, .lost = true}, "queued", false, true},
        {"nobody hears of it",
         {LAUNCHED, .answered = true, .active = FAILED, .lost = true},
         "lost",
         false,
         true},
        {"it runs, with an error",
         {LAUNCHED, .answered = true, .active = ACTIVE, .error = true},
         "error",
         false,
         true},
};

static void how_a_unit_is(void **state) {
        for (size_t i = 0; i < ELEMENTSOF(units); i++) {
                ApplySeen seen = apply_seen_of(&units[i].facts);

                if (!streq(apply_seen_word(seen), units[i].word) ||
                    apply_seen_starts(seen) != units[i].starts ||
                    apply_seen_is_wrong(seen) != units[i].is_wrong)
                        fail_msg("%s: '%s'", units[i].story, apply_seen_word(seen));
        }
}

RUN_TESTS(
        cmocka_unit_test(how_a_unit_is)
)
