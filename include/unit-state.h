// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// States, targets and verbs as words. Load and active states are systemd's words exactly. Pure.

#include <stdbool.h>

#include "argosy.pb-c.h"

// Never NULL; "unknown" for LOAD_UNKNOWN, ACTIVE_UNKNOWN and numbers that this version does not know.
const char *load_state_to_string(Argosy__LoadState state);
const char *active_state_to_string(Argosy__ActiveState state);
// The unknown state for words that this version does not know.
Argosy__LoadState load_state_from_string(const char *word);
Argosy__ActiveState active_state_from_string(const char *word);

// It runs; it has ended, or never began. Neither of a unit on its way up or down, and neither of the unknown
// state: what nobody has seen end may run.
bool active_state_is_up(Argosy__ActiveState state);
bool active_state_is_down(Argosy__ActiveState state);

// "inactive", "loaded", "launched"; "unknown" for other numbers.
const char *target_to_string(Argosy__Target target);
// What systemd's Result= of a unit means, for a sentence that says that it failed: "a process of it ended
// with an error (exit-code)". The word itself if this version does not know it; NULL and "" are no result.
const char *unit_result_phrase(const char *result);
// The word of lists for it: "drift", "skipped", ...; empty for DOWN_NOT and other numbers.
const char *down_cause_to_string(Argosy__DownCause cause);
enum { DOWN_PHRASE_SIZE = 256 };
// The same as a sentence; `by` (UnitReport.down_by) may be empty or NULL. Empty as above.
void down_cause_phrase(Argosy__DownCause cause, const char *by, char ret[static DOWN_PHRASE_SIZE]);
// "done", "failed", "unknown"; empty for NONE and other numbers.
const char *outcome_to_string(Argosy__Outcome__Kind kind);
// Outcome.result of a one-shot that is done since systemd skipped it.
#define OUTCOME_SKIPPED "skipped"
bool outcome_is_skipped(const Argosy__Outcome *o);
// Why a run did not end well, as a sentence; empty if it did. Of a run of which nobody can tell it is this
// one: Of one that is looping (agent/rules/restart-loop.h).
#define UNIT_LOOPING_TEXT \
        "it fails again and again, and systemd restarts it each time; `argosyctl journal` says why"
#define OUTCOME_UNKNOWN_TEXT \
        "its outcome is unknown: nobody can tell whether it ran to its end while argosyd was away"
const char *outcome_phrase(const Argosy__Outcome *o);
// False (and *ret untouched) if the word is none of the three.
bool target_from_string(const char *word, Argosy__Target *ret);

// In place of a revision, where an order to stay is told to somebody who has no field for it, and where an
// agent remembers one. No unit has it: the first change of a cluster is that of its own record.
enum { UNIT_REVISION_STAY = 1 };

// "submit" ... "destroy"; "unknown" for VERB_NONE and other numbers.
const char *verb_to_string(Argosy__Verb verb);

// What a unit can be waited for to be: "active", "inactive", "failed", "gone"; "unknown" for NONE and other
// numbers.
const char *unit_goal_to_string(Argosy__UnitGoal goal);
// False (and *ret untouched) if the word is none of the four.
bool unit_goal_from_string(const char *word, Argosy__UnitGoal *ret);
