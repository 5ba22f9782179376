// SPDX-License-Identifier: LGPL-2.1-or-later
//
// States, targets and verbs as words and back, in systemd's words where it has them, and results of units as
// sentences. A number or word that this version does not know is `unknown`; only target_from_string() says
// that it is none.

#include "unit-state.h"

#include "macro.h"
#include "str.h"

// Indexed by the numbers of the messages.
static const char *const load_states[] = {
        [ARGOSY__LOAD_STATE__LOAD_UNKNOWN] = "unknown",
        [ARGOSY__LOAD_STATE__LOAD_STUB] = "stub",
        [ARGOSY__LOAD_STATE__LOAD_LOADED] = "loaded",
        [ARGOSY__LOAD_STATE__LOAD_NOT_FOUND] = "not-found",
        [ARGOSY__LOAD_STATE__LOAD_BAD_SETTING] = "bad-setting",
        [ARGOSY__LOAD_STATE__LOAD_ERROR] = "error",
        [ARGOSY__LOAD_STATE__LOAD_MERGED] = "merged",
        [ARGOSY__LOAD_STATE__LOAD_MASKED] = "masked",
};

static const char *const active_states[] = {
        [ARGOSY__ACTIVE_STATE__ACTIVE_UNKNOWN] = "unknown",
        [ARGOSY__ACTIVE_STATE__ACTIVE_ACTIVE] = "active",
        [ARGOSY__ACTIVE_STATE__ACTIVE_RELOADING] = "reloading",
        [ARGOSY__ACTIVE_STATE__ACTIVE_INACTIVE] = "inactive",
        [ARGOSY__ACTIVE_STATE__ACTIVE_FAILED] = "failed",
        [ARGOSY__ACTIVE_STATE__ACTIVE_ACTIVATING] = "activating",
        [ARGOSY__ACTIVE_STATE__ACTIVE_DEACTIVATING] = "deactivating",
        [ARGOSY__ACTIVE_STATE__ACTIVE_MAINTENANCE] = "maintenance",
        [ARGOSY__ACTIVE_STATE__ACTIVE_REFRESHING] = "refreshing",
};

static const char *const targets[] = {
        [ARGOSY__TARGET__TARGET_INACTIVE] = "inactive",
        [ARGOSY__TARGET__TARGET_LOADED] = "loaded",
        [ARGOSY__TARGET__TARGET_LAUNCHED] = "launched",
};

// `by_phrase` has a place for whom it was, `phrase` says it of nobody.
static const struct {
        const char *word, *phrase, *by_phrase;
} down_causes[] = {
        [ARGOSY__DOWN_CAUSE__DOWN_NOT] = {"", "", NULL},
        [ARGOSY__DOWN_CAUSE__DOWN_STOPPED] = {"drift",
                                              "somebody stopped it there without argosy (systemctl stop, "
                                              "kill or isolate); `start` starts it again",
                                              NULL},
        [ARGOSY__DOWN_CAUSE__DOWN_SKIPPED] = {"skipped",
                                              "systemd skipped its start: a condition of it is not met",
                                              "systemd skipped its start: %s is not met"},
        [ARGOSY__DOWN_CAUSE__DOWN_ENDED] = {"ended", "it ended by itself; `start` starts it again", NULL},
        [ARGOSY__DOWN_CAUSE__DOWN_BOUND] =
                {"bound", "it was stopped with a unit that it is bound to; `start` starts it again",
                 "systemd stopped it with %s, which it is bound to; `start` starts it again"},
        [ARGOSY__DOWN_CAUSE__DOWN_CONFLICT] =
                {"conflict", "systemd stopped it for a unit that conflicts with it; `start` starts it again",
                 "systemd stopped it when %s was started, which conflicts with it; `start` starts it again"},
        [ARGOSY__DOWN_CAUSE__DOWN_UNNEEDED] = {"unneeded",
                                               "it was stopped, as systemd does when no unit needs it "
                                               "(StopWhenUnneeded=); `start` starts it again",
                                               NULL},
        [ARGOSY__DOWN_CAUSE__DOWN_RESET] =
                {"reset", "it failed, and somebody has reset that (reset-failed); `start` starts it again",
                 NULL},
        [ARGOSY__DOWN_CAUSE__DOWN_CANCELLED] =
                {"cancelled", "the job of its start was cancelled on its node; `start` starts it", NULL},
        [ARGOSY__DOWN_CAUSE__DOWN_UNSEEN] =
                {"unseen", "it is down, and argosyd was not there to see why; `start` starts it again",
                 NULL},
        [ARGOSY__DOWN_CAUSE__DOWN_UNBEGUN] = {"unbegun",
                                              "its start failed before it began; `start` tries again", NULL},
};

static const char *const outcomes[] = {
        [ARGOSY__OUTCOME__KIND__NONE] = "",
        [ARGOSY__OUTCOME__KIND__DONE] = "done",
        [ARGOSY__OUTCOME__KIND__FAILED] = "failed",
        [ARGOSY__OUTCOME__KIND__UNKNOWN] = "unknown",
};

static const char *const goals[] = {
        [ARGOSY__UNIT_GOAL__GOAL_NONE] = "unknown",   [ARGOSY__UNIT_GOAL__GOAL_ACTIVE] = "active",
        [ARGOSY__UNIT_GOAL__GOAL_INACTIVE] = "inactive", [ARGOSY__UNIT_GOAL__GOAL_FAILED] = "failed",
        [ARGOSY__UNIT_GOAL__GOAL_GONE] = "gone",
};

static const char *const verbs[] = {
        [ARGOSY__VERB__VERB_NONE] = "unknown",  [ARGOSY__VERB__VERB_SUBMIT] = "submit",
        [ARGOSY__VERB__VERB_LOAD] = "load",     [ARGOSY__VERB__VERB_START] = "start",
        [ARGOSY__VERB__VERB_STOP] = "stop",     [ARGOSY__VERB__VERB_RESTART] = "restart",
        [ARGOSY__VERB__VERB_UNLOAD] = "unload", [ARGOSY__VERB__VERB_DESTROY] = "destroy",
};

// Peers of a newer version may send numbers that are not in the table.
static const char *word_of(const char *const *words, size_t n, unsigned number) {
        return number < n ? words[number] : "unknown";
}

static unsigned number_of(const char *const *words, size_t n, const char *word) {
        for (unsigned i = 0; i < n; i++)
                if (streq(words[i], word))
                        return i;
        return (unsigned) n;
}

const char *load_state_to_string(Argosy__LoadState state) {
        return word_of(load_states, ELEMENTSOF(load_states), (unsigned) state);
}

const char *active_state_to_string(Argosy__ActiveState state) {
        return word_of(active_states, ELEMENTSOF(active_states), (unsigned) state);
}

Argosy__LoadState load_state_from_string(const char *word) {
        unsigned i = number_of(load_states, ELEMENTSOF(load_states), word);

        return i < ELEMENTSOF(load_states) ? (Argosy__LoadState) i : ARGOSY__LOAD_STATE__LOAD_UNKNOWN;
}

Argosy__ActiveState active_state_from_string(const char *word) {
        unsigned i = number_of(active_states, ELEMENTSOF(active_states), word);

        return i < ELEMENTSOF(active_states) ? (Argosy__ActiveState) i
                                             : ARGOSY__ACTIVE_STATE__ACTIVE_UNKNOWN;
}

bool active_state_is_up(Argosy__ActiveState state) {
        return state == ARGOSY__ACTIVE_STATE__ACTIVE_ACTIVE ||
               state == ARGOSY__ACTIVE_STATE__ACTIVE_RELOADING ||
               state == ARGOSY__ACTIVE_STATE__ACTIVE_REFRESHING;
}

bool active_state_is_down(Argosy__ActiveState state) {
        return state == ARGOSY__ACTIVE_STATE__ACTIVE_INACTIVE ||
               state == ARGOSY__ACTIVE_STATE__ACTIVE_FAILED;
}

const char *unit_result_phrase(const char *result) {
        static const struct {
                const char *result, *phrase;
        } phrases[] = {
                {"exit-code", "a process of it ended with an error (exit-code)"},
                {"signal", "a process of it was killed by a signal (signal)"},
                {"core-dump", "a process of it crashed (core-dump)"},
                {"timeout", "it took longer than its timeout allows (timeout)"},
                {"watchdog", "it did not feed its watchdog (watchdog)"},
                {"oom-kill", "it ran out of memory (oom-kill)"},
                {"start-limit-hit", "it was started too often in a short time (start-limit-hit)"},
                {"resources", "systemd could not get what it needs for it (resources)"},
                {"protocol", "it did not do what its Type= promises (protocol)"},
                {"exec-condition", "its ExecCondition= says that it is not to run (exec-condition)"},
                {"dependency", "a unit that it needs on its node did not start (dependency)"},
                {"refused", "systemd refused to start it (refused)"},
                {"reset", "it failed, and somebody has reset that (reset-failed)"},
        };

        if (!result || !*result)
                return "systemd does not say why";
        for (size_t i = 0; i < ELEMENTSOF(phrases); i++)
                if (streq(result, phrases[i].result))
                        return phrases[i].phrase;
        return result;
}

const char *down_cause_to_string(Argosy__DownCause cause) {
        return (unsigned) cause < ELEMENTSOF(down_causes) ? down_causes[cause].word : "";
}

void down_cause_phrase(Argosy__DownCause cause, const char *by, char ret[static DOWN_PHRASE_SIZE]) {
        bool known = (unsigned) cause < ELEMENTSOF(down_causes);
        const char *named = known && by && *by ? down_causes[cause].by_phrase : NULL,
                   *place = named ? strstr(named, "%s") : NULL;

        // with several conditions systemd tells only its log which one was not met
        if (place)
                str_fit(ret, DOWN_PHRASE_SIZE, "%.*s%s%s%s", (int) (place - named), named, by, place + 2,
                        cause == ARGOSY__DOWN_CAUSE__DOWN_SKIPPED && str_has_prefix(by, "one of ")
                                ? "; `argosyctl journal` says which"
                                : "");
        else
                str_fit(ret, DOWN_PHRASE_SIZE, "%s", known ? down_causes[cause].phrase : "");
}

const char *outcome_to_string(Argosy__Outcome__Kind kind) {
        return (unsigned) kind < ELEMENTSOF(outcomes) ? outcomes[kind] : "";
}

bool outcome_is_skipped(const Argosy__Outcome *o) {
        return o->kind == ARGOSY__OUTCOME__KIND__DONE && streq(o->result, OUTCOME_SKIPPED);
}

const char *outcome_phrase(const Argosy__Outcome *o) {
        if (o->kind == ARGOSY__OUTCOME__KIND__UNKNOWN)
                return OUTCOME_UNKNOWN_TEXT;
        if (o->kind != ARGOSY__OUTCOME__KIND__FAILED)
                return "";
        return *o->result ? unit_result_phrase(o->result) : "it failed";
}

const char *target_to_string(Argosy__Target target) {
        return word_of(targets, ELEMENTSOF(targets), (unsigned) target);
}

bool target_from_string(const char *word, Argosy__Target *ret) {
        unsigned i = number_of(targets, ELEMENTSOF(targets), word);

        if (i >= ELEMENTSOF(targets))
                return false;
        *ret = (Argosy__Target) i;
        return true;
}

const char *verb_to_string(Argosy__Verb verb) {
        return word_of(verbs, ELEMENTSOF(verbs), (unsigned) verb);
}

const char *unit_goal_to_string(Argosy__UnitGoal goal) {
        return word_of(goals, ELEMENTSOF(goals), (unsigned) goal);
}

bool unit_goal_from_string(const char *word, Argosy__UnitGoal *ret) {
        unsigned i = number_of(goals, ELEMENTSOF(goals), word);

        if (i == ARGOSY__UNIT_GOAL__GOAL_NONE || i >= ELEMENTSOF(goals))
                return false;
        *ret = (Argosy__UnitGoal) i;
        return true;
}
