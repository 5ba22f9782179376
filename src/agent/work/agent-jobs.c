// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The ends of the jobs, pins, loads and reloads that agent-steps.c began.
//
//      systemd's answer -> the unit, by the step's number -> facts into the ledger -> the step ends
//          -> planned again
//
// Nothing is decided here. Failures: a failed job is retried later (agent_step_done()) or given up until the
// next order (agent_step_given_up()); a lost one is found out again from systemd's state. Answers to former
// steps are ignored.

#include <errno.h>

#include "agent-core.h"
#include "agent-jobs.h"
#include "agent-load.h"
#include "agent-probation.h"
#include "agent-returns.h"
#include "agent-step.h"
#include "agent-unit.h"
#include "clock.h"
#include "log.h"
#include "str.h"
#include "unit-state.h"

static const char *job_result_text(SystemdJobResult result) {
        static const char *const texts[] = {
                [SYSTEMD_JOB_DONE] = "done",
                [SYSTEMD_JOB_CANCELED] = "was cancelled: systemd had another job for it",
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
        const AgentSpec *content = agent_unit_content(u);

        if (error && streq(error, SYSTEMD_JOB_ASSERT_TEXT) && content && content->assertion)
                str_fit(ret, AGENT_ERROR_MAX, "%s failed: %s does not hold", what, content->assertion);
        else if (error && *error)
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
        if (outdated == 0 && u->work->step_number == call->number && agent_unit_note_read(u))
                agent_unit_record(u);
        agent_unit_mark(u);
}

// systemd may have loaded the unit between its stop and the write, with the old content, and the signal
// comes too late. So it is asked once after a start that was to use new content.
static void verify_content(AgentUnit *u) {
        AgentStepCall *call;

        if (!u->to_verify || !agent_unit_runtime(u))
                return;
        call = agent_step_call_new(u);
        if (!call || systemd_manager_outdated(u->node->systemd, u->name, on_outdated, call) < 0)
                free(call); // the next start asks
        else {
                u->to_verify = false;
                u->work->verify_number = u->work->step_number;
        }
}

// An earlier run of argosyd may not have lived to see that systemd has read what it has written. What is
// down is not started before that is known, and what is up is asked about. (A name that is being taken is
// read anyhow.)
void agent_unread_suspect(AgentUnit *u) {
        if (!u->held.unread || u->held.taking || !u->file_present || u->stale ||
            agent_unit_doing(u)->busy != PLAN_NOTHING || !agent_unit_runtime(u) || !agent_unit_work(u))
                return;
        if (agent_unit_is_down(u)) {
                u->stale = u->read_again = true;
                return;
        }
        u->to_verify = true;
        u->work->step_number = ++u->node->last_step; // that the answer is for
        verify_content(u);
}

// ---- ends of jobs

// systemd found no file. If ours was removed, it is written again and the step repeated; once per request,
// since the missing file may be that of another unit.
static bool retries_load(AgentUnit *u) {
        if (u->load_retried)
                return false;
        u->load_retried = true;
        agent_unit_doubt_file(u);
        u->work->busy = PLAN_NOTHING;
        agent_unit_mark(u);
        return true;
}

// Why systemd gave a start up before the unit began, in one word. NULL: the unit may have begun.
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

// A one-shot that never began has failed for good, as systemd will not start it again; not so during a
// shutdown.
static void note_how_it_began(AgentUnit *u, SystemdJobResult result) {
        const AgentSpec *content = agent_unit_content(u);
        const char *never_began = why_never_began(u, result);

        u->work->never_began = never_began;
        u->held.interrupted = result == SYSTEMD_JOB_CANCELED || (never_began && u->node->stopping);
        u->held.failed = never_began && !u->node->stopping && content && content->oneshot;
        if (never_began)
                u->held.down = ARGOSY__DOWN_CAUSE__DOWN_UNBEGUN;
}

// We stopped a unit on which this one depends, for new content, and systemd stopped this one with it: a run
// is owed.
static void start_again_later(AgentUnit *u) {
        u->held.owed = true;
        agent_unit_record(u);
        u->work->busy = PLAN_NOTHING;
        agent_unit_mark(u);
}

static void start_ended(AgentUnit *u, const char *what, SystemdJobResult result, const char *error) {
        const UnitRuntime *rt = agent_unit_runtime(u);
        char text[AGENT_ERROR_MAX];

        if (result == SYSTEMD_JOB_LOST) {
                agent_step_lost(u);
                return;
        }
        if (result == SYSTEMD_JOB_NO_UNIT && retries_load(u))
                return; // the run is still pending
        if (result == SYSTEMD_JOB_CANCELED && u->comes_back && agent_returns_held_back(u)) {
                start_again_later(u);
                return;
        }
        u->held.pending = false;
        note_how_it_began(u, result);
        if (rt)
                memcpy(u->held.invocation_id, rt->invocation_id, sizeof(rt->invocation_id));
        u->unwatched = false;
        u->parsed = true;
        agent_unit_record(u);
        verify_content(u);
        if (result == SYSTEMD_JOB_REFUSED) // its file, or another unit's, may be the reason
                agent_load_look(u);
        if (result == SYSTEMD_JOB_DONE) {
                agent_probation_begin(u);
                agent_step_done(u, NULL);
                return;
        }
        if (u->work->never_began)
                agent_unit_displace(u, false);
        describe_job(u, what, result, error, text);
        agent_returns_given_up(u, text);
        agent_step_given_up(u, text);
}

// A reload that a stop or a foreign restart has overtaken is planned anew.
static void reload_ended(AgentUnit *u, SystemdJobResult result, const char *error) {
        const UnitRuntime *rt = agent_unit_runtime(u);
        char text[AGENT_ERROR_MAX], all[AGENT_ERROR_MAX];

        if (result == SYSTEMD_JOB_LOST) {
                agent_step_lost(u);
                return;
        }
        if (result == SYSTEMD_JOB_CANCELED ||
            (result != SYSTEMD_JOB_DONE && (!rt || active_state_is_down(rt->active)))) {
                u->work->busy = PLAN_NOTHING;
                agent_unit_mark(u);
                return;
        }
        u->held.reload = result == SYSTEMD_JOB_DONE ? LEDGER_RELOAD_NONE : LEDGER_RELOAD_FAILED;
        if (result != SYSTEMD_JOB_DONE && rt && !u->held.pending) // a pending run will read the new files
                memcpy(u->held.invocation_id, rt->invocation_id, sizeof(rt->invocation_id));
        agent_unit_record(u);
        if (result == SYSTEMD_JOB_DONE) {
                agent_step_done(u, NULL);
                return;
        }
        describe_job(u, "reload", result, error, text);
        str_fit(all, sizeof(all), "%s: %s", AGENT_RELOAD_FAILED_TEXT, text);
        agent_step_given_up(u, all);
}

static void stop_ended(AgentUnit *u, SystemdJobResult result, const char *error) {
        char text[AGENT_ERROR_MAX];

        if (result == SYSTEMD_JOB_LOST) {
                agent_step_lost(u);
                return;
        }
        if (result == SYSTEMD_JOB_DONE) {
                if (u->has_held && !u->held.pending && u->held.target == ARGOSY__TARGET__TARGET_LAUNCHED)
                        agent_step_undo_start(u); // we stopped it
                agent_step_done(u, NULL);
                return;
        }
        describe_job(u, "stop", result, error, text);
        agent_step_done(u, text);
}

static void reset_ended(AgentUnit *u, SystemdJobResult result, const char *error) {
        char text[AGENT_ERROR_MAX];

        if (result == SYSTEMD_JOB_LOST) {
                agent_step_lost(u);
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
        case SYSTEMD_RELOAD:
                reload_ended(u, result, error);
                return;
        case SYSTEMD_STOP:
                stop_ended(u, result, error);
                return;
        case SYSTEMD_RESET_FAILED:
                reset_ended(u, result, error);
                return;
        }
}

void agent_pin_failed(AgentUnit *u) {
        u->pin_failed = true;
        agent_step_prepared(u);
}

void agent_on_pin_done(const char *pin, SystemdJobKind kind, SystemdJobResult result, const char *error,
                       void *userdata) {
        _cleanup_free_ AgentStepCall *call = userdata;
        AgentUnit *u = agent_step_find(call->node, call->name, call->number);
        bool bad = result != SYSTEMD_JOB_DONE && result != SYSTEMD_JOB_LOST;

        call->node->n_jobs--;
        if (!u)
                return;
        if (bad && kind == SYSTEMD_START && result == SYSTEMD_JOB_NO_UNIT && retries_load(u))
                return;
        if (bad)
                log_unit(LOG_NOTICE, u->name, "%s: %s: %s %s", pin, kind == SYSTEMD_START ? "start" : "stop",
                         job_result_text(result), error);
        if (bad && kind == SYSTEMD_START)
                agent_pin_failed(u);
        else
                agent_step_prepared(u);
}

// systemd has read the file of this unit again.
static void note_reread(AgentUnit *u) {
        const UnitRuntime *rt = agent_unit_runtime(u);

        if (!rt || !u->file_present)
                return;
        agent_unit_note_load(u, rt->load);
        u->parsed |= rt->load == ARGOSY__LOAD_STATE__LOAD_LOADED || !active_state_is_down(rt->active);
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
        if (agent_unit_note_read(u))
                agent_unit_record(u);
        note_reread(u);
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
                        if (agent_unit_note_read(u))
                                agent_unit_record(u);
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

// NeedDaemonReload says nothing about links, so these always need the reload.
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
        if (load == ARGOSY__LOAD_STATE__LOAD_NOT_FOUND && retries_load(u))
                return;
        u->parsed = true;
        agent_load_said(u, load);
        if (load == ARGOSY__LOAD_STATE__LOAD_LOADED) {
                agent_step_done(u, NULL);
                return;
        }
        str_fit(text, sizeof(text), "systemd cannot use it (%s)%s%s", load_state_to_string(load),
                error && *error ? ": " : "", error ?: "");
        agent_step_given_up(u, text);
}
