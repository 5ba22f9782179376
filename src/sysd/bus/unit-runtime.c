// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What one fact of systemd (a signal, a row of a list) changes in what is known of a unit, and whether a job
// that has ended was seen to do what it was asked for. Facts are applied in the order in which they were
// sent, so they never go backwards; each function says whether anything changed.
//
// Words of systemd that this version does not know become the nearest thing: an unknown job result is a
// failure, with a sentence that says so.

#include "unit-runtime.h"

#include <signal.h>

#include "clock.h"
#include "unit-state.h"

void unit_runtime_init(UnitRuntime *rt) {
        *rt = (UnitRuntime){.load = ARGOSY__LOAD_STATE__LOAD_UNKNOWN,
                            .active = ARGOSY__ACTIVE_STATE__ACTIVE_UNKNOWN,
                            .sub = "",
                            .result = ""};
}

// systemd's own stamp of the moment, if the message has it.
static uint64_t since(const UnitFacts *f, uint64_t wall_us) {
        uint64_t at = 0;

        if (active_state_is_up(f->active))
                at = f->times[UNIT_TIME_ACTIVE_ENTER];
        else if (active_state_is_down(f->active))
                at = f->times[UNIT_TIME_INACTIVE_ENTER];
        else if (f->active == ARGOSY__ACTIVE_STATE__ACTIVE_ACTIVATING)
                at = f->times[UNIT_TIME_INACTIVE_EXIT];
        else if (f->active == ARGOSY__ACTIVE_STATE__ACTIVE_DEACTIVATING)
                at = f->times[UNIT_TIME_ACTIVE_EXIT];
        return at ?: wall_us;
}

static uint8_t stop_s(const UnitFacts *f) {
        uint64_t from_us = f->times[UNIT_TIME_ACTIVE_EXIT], to_us = f->times[UNIT_TIME_INACTIVE_ENTER];

        return from_us > 0 && to_us > from_us ? (uint8_t) MIN_OF((to_us - from_us) / USEC_PER_SEC, 255) : 0;
}

static bool set_word(const char **field, const char *word) {
        bool changed = *field != word && !streq(*field, word);

        *field = word;
        return changed;
}

static bool set_load(UnitRuntime *rt, Argosy__LoadState load) {
        bool changed = rt->load != load;

        rt->load = load;
        return changed;
}

// Whether a start has begun, also if it failed before the unit was activating.
static bool has_begun(Argosy__ActiveState before, Argosy__ActiveState now) {
        return active_state_is_down(now) ? before == ARGOSY__ACTIVE_STATE__ACTIVE_INACTIVE &&
                                                   now == ARGOSY__ACTIVE_STATE__ACTIVE_FAILED
                                         : active_state_is_down(before) ||
                                                   before == ARGOSY__ACTIVE_STATE__ACTIVE_UNKNOWN;
}

static bool is_other_run(const UnitRuntime *rt, const UnitFacts *f) {
        return f->has & UNIT_FACT_INVOCATION &&
               memcmp(rt->invocation_id, f->invocation_id, sizeof(rt->invocation_id)) != 0;
}

// A run that begins and ends between two messages shows as another id of what is down.
static void set_end(UnitRuntime *rt, const UnitFacts *f) {
        bool was_up =
                rt->active != ARGOSY__ACTIVE_STATE__ACTIVE_UNKNOWN && !active_state_is_down(rt->active);

        if (!active_state_is_down(f->active))
                rt->end = UNIT_END_UNSEEN;
        else if (was_up || is_other_run(rt, f))
                rt->end = !(f->has & UNIT_FACT_JOB) ? UNIT_END_UNSEEN
                          : f->job                  ? UNIT_END_BY_JOB
                                                    : UNIT_END_BY_ITSELF;
}

static bool set_active(UnitRuntime *rt, const UnitFacts *f, uint64_t wall_us) {
        Argosy__ActiveState before = rt->active;

        set_end(rt, f);
        if (before == f->active)
                return false;
        rt->active = f->active;
        rt->stop_s = active_state_is_down(f->active) ? stop_s(f) : 0;
        rt->was_reset = before == ARGOSY__ACTIVE_STATE__ACTIVE_FAILED &&
                        f->active == ARGOSY__ACTIVE_STATE__ACTIVE_INACTIVE;
        rt->since_us = before == ARGOSY__ACTIVE_STATE__ACTIVE_UNKNOWN ? since(f, 0) : since(f, wall_us);
        // systemd says nothing when a unit's load state changes, but what can be started was loaded.
        if (!(f->has & UNIT_FACT_LOAD) && has_begun(before, f->active))
                set_load(rt, ARGOSY__LOAD_STATE__LOAD_LOADED);
        return true;
}

// Takes the times of a unit that was found inactive. reset-failed makes a failed unit inactive, which is a
// change of its state, but the time at which it went down stays (src/core/unit.c of systemd, unit_notify()).
static bool set_times(UnitRuntime *rt, const UnitFacts *f) {
        uint64_t since_us = rt->since_us;
        bool was_reset = rt->was_reset;

        if (rt->active != ARGOSY__ACTIVE_STATE__ACTIVE_INACTIVE)
                return false;
        if (f->has & UNIT_FACT_ENTERED)
                rt->since_us = f->times[UNIT_TIME_INACTIVE_ENTER];
        if (f->has & UNIT_FACT_CHANGED)
                rt->was_reset = rt->since_us != 0 && f->times[UNIT_TIME_STATE_CHANGE] != rt->since_us;
        return rt->since_us != since_us || rt->was_reset != was_reset;
}

static bool is_failure(const UnitRuntime *rt) {
        return *rt->result && !streq(rt->result, "success");
}

// Called after the result was set: if that is the next run's already, the former one counts.
static bool set_restarts(UnitRuntime *rt, uint32_t n_restarts) {
        bool changed = rt->n_restarts != n_restarts;

        if (rt->restarts_known && n_restarts > rt->n_restarts && rt->run_failed)
                rt->n_failed_restarts += (uint16_t) (n_restarts - rt->n_restarts);
        if (changed)
                rt->run_failed = is_failure(rt);
        rt->n_restarts = n_restarts;
        rt->restarts_known = true;
        return changed;
}

static bool is_known(const uint8_t id[16]) {
        static const uint8_t none[16];

        return memcmp(id, none, sizeof(none)) != 0;
}

// A run that begins while the one before is still thought to be up is told by its id alone: systemd tells of
// a unit what it is when the message leaves. An id that was asked for says nothing of how often it was
// restarted.
static bool set_run(UnitRuntime *rt, const UnitFacts *f, bool is_reported, uint64_t wall_us) {
        bool changed = memcmp(rt->invocation_id, f->invocation_id, sizeof(rt->invocation_id)) != 0;

        if (!changed)
                return false;
        if (is_known(rt->invocation_id) && !is_reported && active_state_is_up(rt->active))
                rt->since_us = since(f, wall_us);
        if (!(f->has & UNIT_FACT_ACTIVE))
                rt->restarts_known = false;
        memcpy(rt->invocation_id, f->invocation_id, sizeof(rt->invocation_id));
        return true;
}

static bool set_skipped(UnitRuntime *rt, bool skipped) {
        bool changed = rt->skipped != skipped;

        rt->skipped = skipped;
        return changed;
}

static bool set_exec(UnitRuntime *rt, uint64_t exec_us) {
        bool changed = rt->exec_us != exec_us || rt->before_exec != (exec_us == 0);

        rt->exec_us = exec_us;
        rt->before_exec = exec_us == 0;
        return changed;
}

// Unless it has become up since it was asked.
static bool set_since(UnitRuntime *rt, const UnitFacts *f) {
        if (rt->since_us != 0 || !active_state_is_up(rt->active))
                return false;
        rt->since_us = f->times[UNIT_TIME_ACTIVE_ENTER];
        return rt->since_us != 0;
}

bool unit_runtime_load(UnitRuntime *rt) {
        if (rt->loaded)
                return false;
        rt->loaded = true;
        rt->load = ARGOSY__LOAD_STATE__LOAD_UNKNOWN; // it was read anew
        return true;
}

bool unit_runtime_apply(UnitRuntime *rt, const UnitFacts *f, uint64_t wall_us) {
        bool changed = unit_runtime_load(rt), has_turned = false;

        if (f->has & UNIT_FACT_LOAD)
                changed |= set_load(rt, f->load);
        if (f->has & UNIT_FACT_ACTIVE)
                changed |= has_turned = set_active(rt, f, wall_us);
        if (f->has & UNIT_FACT_SUB)
                changed |= set_word(&rt->sub, f->sub);
        if (f->has & UNIT_FACT_RESULT)
                changed |= set_word(&rt->result, f->result);
        rt->run_failed |= is_failure(rt);
        if (f->has & UNIT_FACT_CONDITION)
                changed |= set_skipped(rt, !f->condition && f->times[UNIT_TIME_CONDITION] != 0);
        if (f->has & UNIT_FACT_EXEC)
                changed |= set_exec(rt, f->times[UNIT_TIME_EXEC]);
        if (f->has & UNIT_FACT_EXIT)
                rt->signalled = f->exit_code == CLD_KILLED || f->exit_code == CLD_DUMPED;
        if (f->has & (UNIT_FACT_ENTERED | UNIT_FACT_CHANGED))
                changed |= set_times(rt, f);
        if (f->has & UNIT_FACT_SINCE)
                changed |= set_since(rt, f);
        if (f->has & UNIT_FACT_RESTARTS)
                changed |= set_restarts(rt, f->n_restarts);
        if (f->has & UNIT_FACT_INVOCATION)
                changed |= set_run(rt, f, has_turned, wall_us);
        return changed;
}

bool unit_runtime_unload(UnitRuntime *rt, uint64_t wall_us) {
        const UnitFacts dead = {
                .has = UNIT_FACT_ACTIVE | UNIT_FACT_SUB,
                .active = ARGOSY__ACTIVE_STATE__ACTIVE_INACTIVE,
                .sub = "dead",
        };
        bool changed = rt->loaded;

        changed |= set_active(rt, &dead, wall_us);
        changed |= set_word(&rt->sub, dead.sub);
        rt->load = ARGOSY__LOAD_STATE__LOAD_UNKNOWN; // the next use reads its files
        changed |= set_restarts(rt, 0);
        rt->exec_us = 0;
        rt->before_exec = false;
        rt->loaded = false;
        return changed;
}

// ---- jobs

// man 5 org.freedesktop.systemd1, JobRemoved
static const struct {
        const char *word;
        SystemdJobResult result;
        const char *reason;
} job_results[] = {
        {"done", SYSTEMD_JOB_DONE, ""},
        {"canceled", SYSTEMD_JOB_CANCELED, ""},
        {"collected", SYSTEMD_JOB_CANCELED, "nothing needed it any more"},
        {"timeout", SYSTEMD_JOB_TIMEOUT, ""},
        {"failed", SYSTEMD_JOB_FAILED, ""},
        {"assert", SYSTEMD_JOB_FAILED, SYSTEMD_JOB_ASSERT_TEXT},
        {"unsupported", SYSTEMD_JOB_FAILED, "this system does not support units of that type"},
        {"dependency", SYSTEMD_JOB_DEPENDENCY, ""},
        {"skipped", SYSTEMD_JOB_SKIPPED, ""},
        {"once", SYSTEMD_JOB_SKIPPED, "it may start only once per boot and already did"},
};

SystemdJobResult job_result_from_string(const char *word) {
        for (size_t i = 0; i < ELEMENTSOF(job_results); i++)
                if (streq(word, job_results[i].word))
                        return job_results[i].result;
        return SYSTEMD_JOB_FAILED;
}

const char *job_result_reason(const char *word) {
        for (size_t i = 0; i < ELEMENTSOF(job_results); i++)
                if (streq(word, job_results[i].word))
                        return job_results[i].reason;
        return "it ended in a way that this version does not know";
}

// A start has been carried out if the unit is up, or if it was up meanwhile (a new run) and has come to rest
// or waits to be restarted. Of a unit that is in memory or not and never ran one cannot tell: its
// Condition...= or Assert...= does not hold, or its signals are late or lost.
static bool start_is_settled(SystemdJobKind kind, const uint8_t before[16], const UnitRuntime *now) {
        bool new_run = memcmp(before, now->invocation_id, 16) != 0;

        if (active_state_is_up(now->active))
                return new_run || kind == SYSTEMD_START; // which does nothing to a unit that is up
        if (now->active == ARGOSY__ACTIVE_STATE__ACTIVE_ACTIVATING)
                return new_run && streq(now->sub, "auto-restart");
        return new_run;
}

bool job_is_settled(SystemdJobKind kind, SystemdJobResult result, const uint8_t before[16],
                    const UnitRuntime *now) {
        if (kind == SYSTEMD_RESET_FAILED)
                return true;
        if (kind == SYSTEMD_RELOAD)
                return now->active != ARGOSY__ACTIVE_STATE__ACTIVE_RELOADING;
        switch (result) {
        case SYSTEMD_JOB_DONE:
                return kind == SYSTEMD_STOP ? active_state_is_down(now->active)
                                            : start_is_settled(kind, before, now);
        case SYSTEMD_JOB_FAILED:
                if (kind == SYSTEMD_STOP)
                        return active_state_is_down(now->active);
                return now->active == ARGOSY__ACTIVE_STATE__ACTIVE_FAILED ||
                       (!active_state_is_up(now->active) && start_is_settled(kind, before, now));
        default:
                return true; // the job ended for reasons outside of the unit, which may be in any state
        }
}
