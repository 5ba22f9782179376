// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What systemd says: the ends of the steps that agent-steps.c began, and what happens to units by itself.
// Nothing is decided here: the facts are noted and the unit is marked, to be planned in this turn of the
// loop.

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "agent-core.h"
#include "agent-goodbye.h"
#include "agent-reach.h"
#include "agent-report.h"
#include "agent-search.h"
#include "agent-steps.h"
#include "agent-systemd.h"
#include "agent-unit.h"
#include "clock.h"
#include "fileio.h"
#include "log.h"
#include "str.h"
#include "unit-state.h"

// NULL if the step was overtaken or the unit is gone.
AgentUnit *agent_step_find(AgentNode *node, const char *name, uint64_t number) {
        AgentUnit *u = agent_unit_find(node, name);

        return u && agent_unit_doing(u)->busy != PLAN_NOTHING && u->work->step_number == number ? u : NULL;
}

// ---- ends of steps

void agent_step_done(AgentUnit *u, const char *error) {
        AgentUnitWork *work = u->work;

        log_unit(LOG_DEBUG, u->name, "%s: %s: %s", u->name, plan_step_to_string(work->busy),
                 error ?: "done");
        work->busy = PLAN_NOTHING;
        if (error) {
                work->failures++;
                work->retry_us = clock_boot_us() + plan_backoff_us(work->failures);
                agent_unit_set_error(u, "%s", error);
        } else {
                work->failures = 0;
                work->retry_us = 0;
                agent_unit_clear_error(u);
        }
        agent_unit_mark(u);
}

// The step failed and is not tried again by itself: the next request may.
static void step_given_up(AgentUnit *u, const char *error) {
        AgentUnitWork *work = u->work;

        log_unit(LOG_DEBUG, u->name, "%s: %s: %s", u->name, plan_step_to_string(work->busy), error);
        work->busy = PLAN_NOTHING;
        work->failures = 0;
        work->retry_us = 0;
        agent_unit_set_error(u, "%s", error);
        agent_unit_mark(u);
}

// Nobody knows what came of it: look at the unit when the connection is back.
static void step_lost(AgentUnit *u) {
        u->work->busy = PLAN_NOTHING;
        u->unwatched = true;
        agent_unit_mark(u);
}

static const char *job_result_text(SystemdJobResult result) {
        static const char *const texts[] = {
                [SYSTEMD_JOB_DONE] = "done",
                [SYSTEMD_JOB_CANCELED] = "was cancelled by somebody else",
                [SYSTEMD_JOB_TIMEOUT] = "timed out",
                [SYSTEMD_JOB_FAILED] = "failed",
                [SYSTEMD_JOB_DEPENDENCY] = "failed because of a dependency",
                [SYSTEMD_JOB_SKIPPED] = "was skipped by systemd",
                [SYSTEMD_JOB_REFUSED] = "was refused by systemd",
                [SYSTEMD_JOB_NO_UNIT] = "was refused by systemd",
                [SYSTEMD_JOB_LOST] = "was lost",
        };

        return (size_t) result < ELEMENTSOF(texts) ? texts[result] : "ended in an unknown way";
}

static void describe_job(const AgentUnit *u, const char *what, SystemdJobResult result, const char *error,
                         char ret[static AGENT_ERROR_MAX]) {
        const UnitRuntime *rt = agent_unit_runtime(u);

        if (error && *error)
                str_fit(ret, AGENT_ERROR_MAX, "%s %s: %s", what, job_result_text(result), error);
        else if (result == SYSTEMD_JOB_FAILED && rt && *rt->result && !streq(rt->result, "success"))
                str_fit(ret, AGENT_ERROR_MAX, "%s failed (%s)", what, rt->result);
        else
                str_fit(ret, AGENT_ERROR_MAX, "%s %s", what, job_result_text(result));
}

// ---- does it run what we wrote?

static void on_outdated(int outdated, void *userdata) {
        _cleanup_free_ AgentStepCall *call = userdata;
        AgentUnit *u = agent_unit_find(call->node, call->name);

        if (!u || agent_unit_doing(u)->verify_number != call->number)
                return;
        u->work->verify_number = 0;
        if (outdated > 0 && u->work->step_number == call->number && u->file_present) {
                log_unit(LOG_NOTICE, u->name, "systemd kept the old file of %s in memory.", u->name);
                u->stale = true;
                u->work->stale_since_us = clock_boot_us();
        }
        agent_unit_mark(u);
}

// Somebody may have made systemd load the unit between its stop and the write, with the old content, and of
// that we hear too late. So it is asked after a start that was to take up new content, once.
static void verify_content(AgentUnit *u) {
        AgentStepCall *call;

        if (!u->to_verify || !agent_unit_runtime(u))
                return;
        call = agent_step_call_new(u);
        if (!call || systemd_manager_outdated(u->node->systemd, u->name, on_outdated, call) < 0)
                free(call); // asked after the next start
        else {
                u->to_verify = false;
                u->work->verify_number = u->work->step_number;
        }
}

// ---- ends of jobs

// systemd finds no file of the unit. If somebody has removed ours, it is written again and the step
// repeated; once for each request, since it may be the file of another unit that is missing.
static bool looks_again(AgentUnit *u) {
        if (u->looked_again)
                return false;
        u->looked_again = true;
        u->file_present = false;
        u->work->busy = PLAN_NOTHING;
        agent_unit_mark(u);
        return true;
}

// A start that systemd gave up before the unit began, and that nobody repeats. NULL: it may have begun.
static const char *why_never_began(const AgentUnit *u, SystemdJobResult result) {
        static const char *const words[] = {
                [SYSTEMD_JOB_TIMEOUT] = "timeout",       [SYSTEMD_JOB_FAILED] = "",
                [SYSTEMD_JOB_DEPENDENCY] = "dependency", [SYSTEMD_JOB_REFUSED] = "refused",
                [SYSTEMD_JOB_NO_UNIT] = "refused",
        };
        const UnitRuntime *rt = agent_unit_runtime(u);
        bool is_down = !rt || rt->active == ARGOSY__ACTIVE_STATE__ACTIVE_INACTIVE;

        return is_down && (size_t) result < ELEMENTSOF(words) ? words[result] : NULL;
}

// It ends for good by what no later start of systemd's own would mend; not so while everything is stopped.
static void note_how_it_began(AgentUnit *u, SystemdJobResult result) {
        const AgentSpec *content = agent_unit_content(u);
        const char *never_began = why_never_began(u, result);

        u->work->never_began = never_began;
        u->held.interrupted = result == SYSTEMD_JOB_CANCELED || (never_began && u->node->stopping);
        u->held.failed = never_began && !u->node->stopping && content && content->oneshot;
}

static void start_ended(AgentUnit *u, const char *what, SystemdJobResult result, const char *error) {
        const UnitRuntime *rt = agent_unit_runtime(u);
        char text[AGENT_ERROR_MAX];

        if (result == SYSTEMD_JOB_LOST) {
                step_lost(u);
                return;
        }
        if (result == SYSTEMD_JOB_NO_UNIT && looks_again(u))
                return; // the run is still pending
        u->held.pending = false;
        note_how_it_began(u, result);
        if (rt)
                memcpy(u->held.invocation_id, rt->invocation_id, sizeof(rt->invocation_id));
        u->unwatched = false;
        u->parsed = true;
        agent_unit_record(u);
        verify_content(u);
        if (result == SYSTEMD_JOB_DONE) {
                agent_step_done(u, NULL);
                return;
        }
        describe_job(u, what, result, error, text);
        step_given_up(u, text);
}

// Should the same start be wanted again, it is to be carried out again.
static void undo_start(AgentUnit *u) {
        u->held.target = ARGOSY__TARGET__TARGET_LOADED;
        agent_unit_record(u);
}

static void stop_ended(AgentUnit *u, SystemdJobResult result, const char *error) {
        char text[AGENT_ERROR_MAX];

        if (result == SYSTEMD_JOB_LOST) {
                step_lost(u);
                return;
        }
        if (result == SYSTEMD_JOB_DONE) {
                if (u->has_held && !u->held.pending && u->held.target == ARGOSY__TARGET__TARGET_LAUNCHED)
                        undo_start(u); // it ended by our hand
                agent_step_done(u, NULL);
                return;
        }
        describe_job(u, "stop", result, error, text);
        agent_step_done(u, text);
}

static void reset_ended(AgentUnit *u, SystemdJobResult result, const char *error) {
        char text[AGENT_ERROR_MAX];

        if (result == SYSTEMD_JOB_LOST) {
                step_lost(u);
                return;
        }
        if (result == SYSTEMD_JOB_DONE) {
                agent_step_done(u, NULL);
                return;
        }
        describe_job(u, "reset-failed", result, error, text);
        agent_step_done(u, text);
}

void agent_on_job_done(const char *name, SystemdJobKind kind, SystemdJobResult result, const char *error,
                       void *userdata) {
        _cleanup_free_ AgentStepCall *call = userdata;
        AgentUnit *u = agent_step_find(call->node, call->name, call->number);

        call->node->n_jobs--;
        if (!list_is_empty(&call->node->writes))
                drain_mark(&call->node->agent->drain); // they may be due sooner now
        if (!u)
                return;
        switch (kind) {
        case SYSTEMD_START:
                start_ended(u, "start", result, error);
                return;
        case SYSTEMD_RESTART:
                start_ended(u, "restart", result, error);
                return;
        case SYSTEMD_STOP:
                stop_ended(u, result, error);
                return;
        case SYSTEMD_RESET_FAILED:
                reset_ended(u, result, error);
                return;
        }
}

// Pins are not the unit's own steps: neither its error nor its back-off is touched.
static void pin_ended(AgentUnit *u) {
        u->work->busy = PLAN_NOTHING;
        agent_unit_mark(u);
}

void agent_pin_failed(AgentUnit *u) {
        u->pin_failed = true;
        pin_ended(u);
}

void agent_on_pin_done(const char *pin, SystemdJobKind kind, SystemdJobResult result, const char *error,
                       void *userdata) {
        _cleanup_free_ AgentStepCall *call = userdata;
        AgentUnit *u = agent_step_find(call->node, call->name, call->number);
        bool bad = result != SYSTEMD_JOB_DONE && result != SYSTEMD_JOB_LOST;

        call->node->n_jobs--;
        if (!u)
                return;
        if (bad && kind == SYSTEMD_START && result == SYSTEMD_JOB_NO_UNIT && looks_again(u))
                return;
        if (bad)
                log_unit(LOG_NOTICE, u->name, "%s: %s: %s %s", pin, kind == SYSTEMD_START ? "start" : "stop",
                         job_result_text(result), error);
        if (bad && kind == SYSTEMD_START)
                agent_pin_failed(u);
        else
                pin_ended(u);
}

static void on_reloaded(int error, void *userdata) {
        _cleanup_free_ AgentStepCall *call = userdata;
        AgentUnit *u = agent_step_find(call->node, call->name, call->number);
        char text[AGENT_ERROR_MAX];

        if (!u)
                return;
        if (error < 0) {
                str_fit(text, sizeof(text), "daemon-reload failed: %s", strerror(-error));
                agent_step_done(u, text);
                return;
        }
        u->stale = u->links_stale = false;
        agent_step_done(u, NULL);
}

// systemd has answered whether the unit needs the reload.
static void on_reload_needed(int outdated, void *userdata) {
        AgentStepCall *call = userdata;
        AgentUnit *u = agent_step_find(call->node, call->name, call->number);
        int r;

        if (!u || outdated == 0) {
                free(call);
                if (u) {
                        u->stale = u->read_again = false;
                        agent_step_done(u, NULL);
                }
                return;
        }
        r = systemd_manager_reload(u->node->systemd, on_reloaded, call);
        if (r < 0) {
                free(call);
                agent_step_done(u, strerror(-r));
        }
}

// Of links systemd does not say that it has not seen them.
int agent_reload(AgentUnit *u, AgentStepCall *call) {
        SystemdManager *m = u->node->systemd;

        return u->read_again && !u->links_stale
                       ? systemd_manager_outdated(m, u->name, on_reload_needed, call)
                       : systemd_manager_reload(m, on_reloaded, call);
}

void agent_on_loaded(const char *name, Argosy__LoadState load, const char *error, void *userdata) {
        AgentUnit *u = agent_unit_find(userdata, name);
        char text[AGENT_ERROR_MAX];

        if (!u || agent_unit_doing(u)->busy != PLAN_LOAD)
                return;
        if (load == ARGOSY__LOAD_STATE__LOAD_UNKNOWN) {
                str_fit(text, sizeof(text), "systemd did not load it: %s",
                        error && *error ? error : "no answer");
                agent_step_done(u, text);
                return;
        }
        if (load == ARGOSY__LOAD_STATE__LOAD_NOT_FOUND && looks_again(u))
                return;
        u->parsed = true;
        u->load = (uint8_t) load;
        if (load == ARGOSY__LOAD_STATE__LOAD_LOADED) {
                agent_step_done(u, NULL);
                return;
        }
        str_fit(text, sizeof(text), "systemd cannot use it (%s)%s%s", load_state_to_string(load),
                error && *error ? ": " : "", error ?: "");
        step_given_up(u, text);
}

// ---- what systemd says

static void on_unit_changed(const char *name, const UnitRuntime *now, void *userdata) {
        AgentNode *node = userdata;
        AgentUnit *u = agent_unit_find(node, name);

        if (node == node->agent->system)
                agent_reach_on_unit(node->agent, name);
        if (!u)
                return;
        if (now->active == ARGOSY__ACTIVE_STATE__ACTIVE_ACTIVE &&
            agent_unit_doing(u)->busy == PLAN_NOTHING && agent_unit_doing(u)->retry_us == 0 && !u->refused)
                agent_unit_clear_error(u); // somebody helped
        agent_unit_report_state(u);
        agent_unit_mark(u);
}

static void on_unit_unloaded(const char *name, void *userdata) {
        AgentUnit *u = agent_unit_find(userdata, name);

        if (!u)
                return;
        u->stale = u->links_stale = false;
        agent_unit_report_state(u);
        agent_unit_mark(u);
}

// Somebody else's reload spares us our own.
static void on_read_again(uint64_t since_us, void *userdata) {
        AgentNode *node = userdata;

        node->read_again_us = clock_boot_us(); // for what the pool is writing now
        agent_foreach_unit(u, node) {
                if (u->stale && agent_unit_doing(u)->stale_since_us < since_us)
                        u->stale = false;
                u->read_again = u->stale;
                if (u->links_stale && agent_unit_doing(u)->links_stale_since_us < since_us)
                        u->links_stale = false;
        }
}

static void on_synced(void *userdata) {
        AgentNode *node = userdata;

        node->synced = true;
        agent_reach_synced(node);
        agent_goodbye_on_looked(node);
        agent_foreach_unit(u, node) agent_unit_mark(u);
        drain_mark(&node->agent->drain);
}

static void on_files_changed(void *userdata) {
        agent_search_all(userdata);
}

static void on_disconnected(const char *why, void *userdata) {
        AgentNode *node = userdata;

        log_warning("The connection to systemd (%s) is lost: %s. Units go on running.", node->manager, why);
        agent_goodbye_on_looked(node);
        if (node != node->agent->system)
                agent_reach_lost(node, why);
}

static void on_stopping(void *userdata) {
        AgentNode *node = userdata;
        Agent *a = node->agent;

        if (node->stopping)
                return;
        node->stopping = true;
        node->stopping_since_us = clock_wall_us() - AGENT_SHUTDOWN_NEWS_US;
        if (node != a->system) { // a user logs out, or a container ends: nobody else is concerned
                log_info("Manager %s is ending.", node->manager);
                return;
        }
        (void) file_replace(AT_FDCWD, node->shutdown_mark, "", 0, 0600,
                            0); // matters after a soft-reboot only
        agent_say_stopping(a);
        if (a->ops.stopping)
                a->ops.stopping(a->userdata);
}

static bool is_down_or_goes_there(const UnitRuntime *rt) {
        return rt->active == ARGOSY__ACTIVE_STATE__ACTIVE_INACTIVE ||
               rt->active == ARGOSY__ACTIVE_STATE__ACTIVE_FAILED ||
               rt->active == ARGOSY__ACTIVE_STATE__ACTIVE_DEACTIVATING;
}

// Of a one-shot only what was cut short: one that came to its end meanwhile has an outcome.
static bool was_stopped_by_the_shutdown(const AgentUnit *u) {
        const AgentSpec *content = agent_unit_content(u);
        const AgentHeld *h = &u->held;

        return u->has_held && h->target == ARGOSY__TARGET__TARGET_LAUNCHED && !h->done && !h->failed &&
               !h->unknown &&
               !(content && content->oneshot && !h->interrupted) &&
               agent_unit_doing(u)->busy == PLAN_NOTHING && is_down_or_goes_there(&u->watch.runtime) &&
               u->watch.runtime.since_us >= u->node->stopping_since_us;
}

// It ended by nobody's wish.
static void start_again(AgentUnit *u) {
        agent_unit_keep_order(u);
        undo_start(u);
        agent_unit_clear_error(u);
}

static void on_resumed(void *userdata) {
        AgentNode *node = userdata;
        Agent *a = node->agent;

        if (!node->stopping)
                return;
        node->stopping = false;
        agent_foreach_unit(u, node) {
                if (was_stopped_by_the_shutdown(u))
                        start_again(u);
                agent_unit_mark(u);
        }
        if (node != a->system) {
                log_info("Manager %s goes on after all.", node->manager);
                return;
        }
        (void) unlink(node->shutdown_mark);
        a->attach_wanted = true; // what the leader took from our Goodbye is not so
        drain_mark(&a->drain);
        if (a->ops.resumed)
                a->ops.resumed(a->userdata);
}

const SystemdOps agent_systemd_ops = {
        .unit_changed = on_unit_changed,
        .unit_unloaded = on_unit_unloaded,
        .reloaded = on_read_again,
        .synced = on_synced,
        .files_changed = on_files_changed,
        .disconnected = on_disconnected,
        .stopping = on_stopping,
        .resumed = on_resumed,
};
