// SPDX-License-Identifier: LGPL-2.1-or-later
//
// See probation.h for the rule. How long a run was up is said by systemd's stamps, so it does not matter
// when its end was read; they are of the wall clock, and where they are not known it counts when it was
// seen. Of a run whose end was not told, since the next one had begun, the shorter time counts.

#include "probation.h"

#include "clock.h"
#include "macro.h"
#include "str.h"
#include "unit-state.h"

static bool has_lived(const ProbationStart *start, const UnitRuntime *now, uint64_t now_ms) {
        bool is_stamped = start->since_us != 0 && now->since_us != 0;
        uint64_t seen_ms = now_ms - start->at_ms,
                 stamped_ms = now->since_us > start->since_us
                                      ? (now->since_us - start->since_us) / USEC_PER_MSEC
                                      : 0;

        if (is_stamped && active_state_is_up(now->active))
                return MIN_OF(seen_ms, stamped_ms) >= PROBATION_MS;
        return (is_stamped ? stamped_ms : seen_ms) >= PROBATION_MS;
}

static bool ended_well(const UnitRuntime *now) {
        return now->active == ARGOSY__ACTIVE_STATE__ACTIVE_INACTIVE &&
               (!*now->result || streq(now->result, "success"));
}

// It is not up any more, or another run is.
static Argosy__Probation judge_end(const UnitRuntime *now, bool restarted) {
        if (restarted || (now->active == ARGOSY__ACTIVE_STATE__ACTIVE_ACTIVATING &&
                          str_has_prefix(now->sub, "auto-restart")))
                return ARGOSY__PROBATION__PROBATION_RESTARTED;
        return active_state_is_down(now->active) && !ended_well(now) ? ARGOSY__PROBATION__PROBATION_NONE
                                                                     : ARGOSY__PROBATION__PROBATION_ON;
}

static void note_exec(ProbationStart *start, const UnitRuntime *now, uint64_t now_ms) {
        if (!start->before_exec || now->before_exec)
                return;
        start->before_exec = false;
        start->at_ms = now_ms;
        start->since_us = MAX_OF(start->since_us, now->exec_us);
}

Argosy__Probation probation_on_change(ProbationStart *start, const UnitRuntime *now, bool restarted,
                                      uint64_t now_ms) {
        if (!start->left && !restarted && active_state_is_up(now->active)) {
                note_exec(start, now, now_ms);
                return streq(now->sub, "exited") ? ARGOSY__PROBATION__PROBATION_PASSED
                                                 : ARGOSY__PROBATION__PROBATION_ON;
        }
        if (!start->left && !start->before_exec && has_lived(start, now, now_ms))
                return ARGOSY__PROBATION__PROBATION_PASSED;
        start->left = true;
        start->waits = ended_well(now);
        if (start->waits)
                start->at_ms = now_ms;
        return judge_end(now, restarted);
}

Argosy__Probation probation_begin(const UnitRuntime *now, bool restarted, uint64_t now_ms,
                                  ProbationStart *ret) {
        bool is_its_run = active_state_is_up(now->active) && !restarted;

        *ret = (ProbationStart){.at_ms = now_ms,
                                .begin_ms = now_ms,
                                .waits = true,
                                .before_exec = is_its_run && now->before_exec};
        if (is_its_run && now->since_us != 0)
                ret->since_us = MAX_OF(now->since_us, now->exec_us);
        return probation_on_change(ret, now, restarted, now_ms);
}

bool probation_awaits_exec(const ProbationStart *start, uint64_t now_ms) {
        return start->before_exec && !start->left && now_ms - start->begin_ms < PROBATION_EXEC_MS;
}

Argosy__Probation probation_on_time(const ProbationStart *start) {
        return start->left ? ARGOSY__PROBATION__PROBATION_ENDED : ARGOSY__PROBATION__PROBATION_PASSED;
}

uint64_t probation_due_ms(const ProbationStart *first, uint64_t last_ms) {
        return MAX_OF(first->at_ms + PROBATION_MS, last_ms + PROBATION_TICK_MS);
}
