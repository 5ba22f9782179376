// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Carries out what plan_unit() decides, and hears from systemd what came of it.
//
// A step begins with agent_node_plan(): the unit becomes busy with it, and what has to survive a crash is
// put into the ledger. At the end of the turn the ledger is written once; only then do files, loads and jobs
// leave. Each answer carries the number of its step, so the late answer of a start that a stop has overtaken
// changes nothing.

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>

#include "agent-private.h"
#include "clock.h"
#include "fileio.h"
#include "log.h"
#include "unit-state.h"

typedef struct StepCall { // userdata of one job or reload
        AgentNode *node;
        uint64_t number;
        char name[];
} StepCall;

static StepCall *step_call_new(const AgentUnit *u) {
        StepCall *c = malloc(sizeof(*c) + strlen(u->name) + 1);

        if (!c)
                return NULL;
        c->node = u->node;
        c->number = u->step_number;
        strcpy(c->name, u->name);
        return c;
}

// NULL if the step was overtaken or the unit is gone.
AgentUnit *agent_step_find(AgentNode *node, const char *name, uint64_t number) {
        AgentUnit *u = agent_unit_find(node, name);

        return u && u->busy != PLAN_NOTHING && u->step_number == number ? u : NULL;
}

static const UnitRuntime *runtime_of(const AgentUnit *u) {
        const UnitRuntime *rt = systemd_manager_find(u->node->systemd, u->name);

        return rt && rt->loaded ? rt : NULL;
}

// Right after it was watched the manager still asks; its answer marks the unit.
static bool is_known(const AgentUnit *u) {
        const UnitRuntime *rt = systemd_manager_find(u->node->systemd, u->name);

        return rt && rt->active != ARGOSY__ACTIVE_STATE__ACTIVE_UNKNOWN;
}

static void put_record(AgentUnit *u) {
        int r = ledger_put(u->node->ledger, &u->held);

        if (r < 0)
                agent_unit_set_error(u, "cannot note %s in the ledger: %s", u->name, strerror(-r));
}

// ---- ends of steps

void agent_step_done(AgentUnit *u, const char *error) {
        u->busy = PLAN_NOTHING;
        if (error) {
                u->failures++;
                u->retry_us = clock_boot_us() + plan_backoff_us(u->failures);
                agent_unit_set_error(u, "%s", error);
        } else {
                u->failures = 0;
                u->retry_us = 0;
                agent_unit_clear_error(u);
        }
        agent_unit_mark(u);
}

// The step failed and is not tried again by itself: the next request may.
static void step_given_up(AgentUnit *u, const char *error) {
        u->busy = PLAN_NOTHING;
        u->failures = 0;
        u->retry_us = 0;
        agent_unit_set_error(u, "%s", error);
        agent_unit_mark(u);
}

// Nobody knows what came of it: look at the unit when the connection is back.
static void step_lost(AgentUnit *u) {
        u->busy = PLAN_NOTHING;
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
                [SYSTEMD_JOB_LOST] = "was lost",
        };

        return (size_t) result < ELEMENTSOF(texts) ? texts[result] : "ended in an unknown way";
}

static void describe_job(const AgentUnit *u, const char *what, SystemdJobResult result, const char *error,
                         char ret[static AGENT_ERROR_MAX]) {
        const UnitRuntime *rt = runtime_of(u);

        if (error && *error)
                snprintf(ret, AGENT_ERROR_MAX, "%s %s: %s", what, job_result_text(result), error);
        else if (result == SYSTEMD_JOB_FAILED && rt && *rt->result && !streq(rt->result, "success"))
                snprintf(ret, AGENT_ERROR_MAX, "%s failed (%s)", what, rt->result);
        else
                snprintf(ret, AGENT_ERROR_MAX, "%s %s", what, job_result_text(result));
}

static void start_ended(AgentUnit *u, const char *what, SystemdJobResult result, const char *error) {
        const UnitRuntime *rt = runtime_of(u);
        char text[AGENT_ERROR_MAX];

        if (result == SYSTEMD_JOB_LOST) {
                step_lost(u);
                return;
        }
        u->held.pending = false;
        u->held.interrupted = result == SYSTEMD_JOB_CANCELED;
        if (rt)
                memcpy(u->held.invocation_id, rt->invocation_id, sizeof(rt->invocation_id));
        u->unwatched = false;
        u->parsed = true;
        put_record(u);
        if (result == SYSTEMD_JOB_DONE) {
                agent_step_done(u, NULL);
                return;
        }
        describe_job(u, what, result, error, text);
        step_given_up(u, text);
}

static void stop_ended(AgentUnit *u, SystemdJobResult result, const char *error) {
        char text[AGENT_ERROR_MAX];

        if (result == SYSTEMD_JOB_LOST) {
                step_lost(u);
                return;
        }
        if (result == SYSTEMD_JOB_DONE) {
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
                u->was_reset = true;
                agent_step_done(u, NULL);
                return;
        }
        describe_job(u, "reset-failed", result, error, text);
        agent_step_done(u, text);
}

static void on_job_done(const char *name, SystemdJobKind kind, SystemdJobResult result, const char *error,
                        void *userdata) {
        _cleanup_free_ StepCall *call = userdata;
        AgentUnit *u = agent_step_find(call->node, call->name, call->number);

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

static void on_reloaded(int error, void *userdata) {
        _cleanup_free_ StepCall *call = userdata;
        AgentUnit *u = agent_step_find(call->node, call->name, call->number);
        char text[AGENT_ERROR_MAX];

        if (!u)
                return;
        if (error < 0) {
                snprintf(text, sizeof(text), "daemon-reload failed: %s", strerror(-error));
                agent_step_done(u, text);
                return;
        }
        u->stale = false;
        agent_step_done(u, NULL);
}

static void on_loaded(const char *name, Argosy__LoadState load, const char *error, void *userdata) {
        AgentUnit *u = agent_unit_find(userdata, name);
        char text[AGENT_ERROR_MAX];

        if (!u || u->busy != PLAN_LOAD)
                return;
        if (load == ARGOSY__LOAD_STATE__LOAD_UNKNOWN) {
                snprintf(text, sizeof(text), "systemd did not load it: %s",
                         error && *error ? error : "no answer");
                agent_step_done(u, text);
                return;
        }
        u->parsed = true;
        u->load = load;
        if (load == ARGOSY__LOAD_STATE__LOAD_LOADED) {
                agent_step_done(u, NULL);
                return;
        }
        snprintf(text, sizeof(text), "systemd cannot use it (%s)%s%s", load_state_to_string(load),
                 error && *error ? ": " : "", error ?: "");
        step_given_up(u, text);
}

// ---- beginnings of steps

static void begin(AgentUnit *u, PlanStep step) {
        u->busy = step;
        u->step_number = ++u->node->last_step;
}

static void begin_call(AgentUnit *u, PlanStep step) {
        begin(u, step);
        if (!list_is_linked(&u->call))
                list_append(&u->node->calls, &u->call);
}

// The run that the next start or restart makes is told from the one before by the invocation id.
static void record_start(AgentUnit *u, PlanStep step) {
        const PlanWanted *w = &u->wanted;
        const UnitRuntime *rt = runtime_of(u);
        LedgerRecord *h = &u->held;

        if (rt && (step == PLAN_RESTART || rt->active == ARGOSY__ACTIVE_STATE__ACTIVE_INACTIVE ||
                   rt->active == ARGOSY__ACTIVE_STATE__ACTIVE_FAILED))
                memcpy(h->invocation_id, rt->invocation_id, sizeof(rt->invocation_id));
        else if (rt) // joins a start that is under way: that one counts
                memset(h->invocation_id, 0, sizeof(h->invocation_id));
        h->target = ARGOSY__TARGET__TARGET_LAUNCHED;
        h->start_rev = w->start_rev;
        h->restart_rev = w->restart_rev;
        h->stop_rev = w->stop_rev;
        h->pending = true;
        h->done = h->failed = h->interrupted = false;
        u->unwatched = false;
        u->outcome = ARGOSY__OUTCOME__KIND__NONE;
        put_record(u);
}

static void record_owed_run(AgentUnit *u) {
        const UnitRuntime *rt = runtime_of(u);

        if (u->held.pending)
                return;
        u->held.pending = true;
        if (rt)
                memcpy(u->held.invocation_id, rt->invocation_id, sizeof(rt->invocation_id));
        put_record(u);
}

static void record_write(AgentUnit *u) {
        u->new_content = !u->has_held || !hash_equal(&u->held.spec, &u->wanted.spec);
        if (!u->has_held) {
                u->held = (LedgerRecord){.name = u->name};
                if (u->spec->spreadable && str_has_suffix(u->name, ".service"))
                        slices_choose(&u->node->slices, u->held.slice);
                slices_add(&u->node->slices, u->held.slice);
                u->has_held = true;
        }
        u->held.spec = u->wanted.spec;
        u->held.from_template = u->from_template;
        u->file_present = false;
        u->parsed = false;
        u->load = ARGOSY__LOAD_STATE__LOAD_UNKNOWN;
        put_record(u);
}

static void forget(AgentUnit *u) {
        int r;

        if (u->has_held) {
                r = ledger_forget(u->node->ledger, u->name);
                if (r < 0) {
                        agent_step_done(u, strerror(-r));
                        return;
                }
                slices_remove(&u->node->slices, u->held.slice);
        }
        u->has_held = false;
        agent_spec_unref(u->node->agent, u->held_spec);
        u->held_spec = NULL;
        u->outcome = ARGOSY__OUTCOME__KIND__NONE;
        u->drift = u->file_stale = false;
        u->gone = true;
        u->answered = u->wanted.revision;
        agent_unit_report(u);
}

static void carry_out(AgentUnit *u, const PlanResult *res) {
        int r = 0;

        if (res->owe_run)
                record_owed_run(u);
        switch (res->step) {
        case PLAN_NOTHING:
                break;
        case PLAN_WAIT:
                u->wait_until_us = res->wait_until_us;
                list_append(&u->node->waiting, &u->waiting);
                break;
        case PLAN_WRITE:
                record_write(u);
                begin(u, PLAN_WRITE);
                r = agent_files_queue(u, false);
                break;
        case PLAN_REMOVE:
                begin(u, PLAN_REMOVE);
                r = agent_files_queue(u, true);
                break;
        case PLAN_START:
        case PLAN_RESTART:
                record_start(u, res->step);
                begin_call(u, res->step);
                break;
        case PLAN_LOAD:
        case PLAN_STOP:
        case PLAN_RESET_FAILED:
        case PLAN_RELOAD:
                begin_call(u, res->step);
                break;
        case PLAN_LOOK_BACK:
                begin(u, PLAN_LOOK_BACK);
                r = agent_look_back(u);
                break;
        case PLAN_FORGET:
                forget(u);
                break;
        }
        if (r < 0)
                agent_step_done(u, strerror(-r));
}

// ---- what the plan says about the unit

static void note_judgement(AgentUnit *u, const PlanResult *res) {
        const UnitRuntime *rt = runtime_of(u);
        bool drift = res->drift && !u->error; // a start that failed is no drift

        if (res->judged && res->outcome != u->outcome) {
                u->outcome = res->outcome;
                u->outcome_at_us = rt && rt->since_us ? rt->since_us : clock_wall_us();
                snprintf(u->outcome_result, sizeof(u->outcome_result), "%s",
                         rt && *rt->result ? rt->result : "success");
                if (u->has_held && (!u->held.done && !u->held.failed)) {
                        u->held.done = res->outcome == ARGOSY__OUTCOME__KIND__DONE;
                        u->held.failed = res->outcome == ARGOSY__OUTCOME__KIND__FAILED;
                        put_record(u);
                }
                agent_unit_report(u);
        }
        if (u->busy == PLAN_NOTHING && (u->drift != drift || u->file_stale != res->file_stale)) {
                u->drift = drift;
                u->file_stale = res->file_stale;
                agent_unit_report(u);
        }
}

static void note_fulfilled(AgentUnit *u) {
        const UnitRuntime *rt = runtime_of(u);

        u->held.pending = false;
        if (rt)
                memcpy(u->held.invocation_id, rt->invocation_id, sizeof(rt->invocation_id));
        u->unwatched = false;
        put_record(u);
}

static void note_settled(AgentUnit *u) {
        const PlanWanted *w = &u->wanted;
        LedgerRecord *h = &u->held;

        if (w->outcome != ARGOSY__OUTCOME__KIND__NONE && !h->done && !h->failed) {
                h->done = w->outcome == ARGOSY__OUTCOME__KIND__DONE;
                h->failed = w->outcome == ARGOSY__OUTCOME__KIND__FAILED;
        } else if (h->start_rev != w->start_rev) {
                h->done = h->failed = h->interrupted = false;
        }
        if (w->target != ARGOSY__TARGET__TARGET_LAUNCHED)
                h->pending = false;
        h->target = w->target;
        h->revision = w->revision;
        h->start_rev = w->start_rev;
        h->restart_rev = w->restart_rev;
        h->stop_rev = w->stop_rev;
        put_record(u);
}

static void note_answered(AgentUnit *u) {
        if (u->answered == u->wanted.revision)
                return;
        u->answered = u->wanted.revision;
        agent_unit_report(u);
}

static void plan_one(AgentUnit *u, uint64_t now_us) {
        PlanInput in = {
                .wanted = u->has_wanted ? &u->wanted : NULL,
                .held = u->has_held ? &u->held : NULL,
                .runtime = runtime_of(u),
                .file_present = u->file_present,
                .stale = u->stale,
                .stale_since_us = u->stale_since_us,
                .parsed = u->parsed,
                .oneshot = u->held_spec && u->held_spec->oneshot,
                .unwatched = u->unwatched,
                .was_reset = u->was_reset,
                .stopping = u->node->stopping,
                .busy = u->busy,
                .retry_us = u->retry_us,
                .now_us = now_us,
        };
        PlanResult res;

        if (u->gone || !is_known(u))
                return;
        res = plan_unit(&in);
        note_judgement(u, &res);
        if (res.fulfilled)
                note_fulfilled(u);
        if (res.joined) {
                u->held.start_rev = u->wanted.start_rev;
                put_record(u);
        }
        if (res.settled)
                note_settled(u);
        if (res.refused) {
                u->refused = true;
                agent_unit_set_error(
                        u, "a unit of that name is already active on this node and is not argosy's");
        }
        if (res.answered)
                note_answered(u);
        carry_out(u, &res);
}

// ---- one turn

static void call_systemd(AgentUnit *u) {
        static const SystemdJobKind kinds[] = {
                [PLAN_START] = SYSTEMD_START,
                [PLAN_RESTART] = SYSTEMD_RESTART,
                [PLAN_STOP] = SYSTEMD_STOP,
                [PLAN_RESET_FAILED] = SYSTEMD_RESET_FAILED,
        };
        SystemdManager *m = u->node->systemd;
        StepCall *call = step_call_new(u);
        int r;

        if (!call)
                r = -ENOMEM;
        else if (u->busy == PLAN_RELOAD)
                r = systemd_manager_reload(m, on_reloaded, call);
        else
                r = systemd_manager_job(m, kinds[u->busy], u->name, on_job_done, call);
        if (r < 0) {
                free(call);
                agent_step_done(u, strerror(-r));
        }
}

static void call_load(AgentNode *node, const char **names, size_t n) {
        int r = systemd_manager_load(node->systemd, names, n, on_loaded, node);

        for (size_t i = 0; r < 0 && i < n; i++) {
                AgentUnit *u = agent_unit_find(node, names[i]);

                if (u && u->busy == PLAN_LOAD)
                        agent_step_done(u, strerror(-r));
        }
}

// Hands out what waited for the ledger.
static void call_all(AgentNode *node) {
        const char *names[AGENT_PLANS_PER_TURN];
        ListNode calls = LIST_INIT(calls);
        size_t n = 0;

        list_splice(&calls, &node->calls);
        while (!list_is_empty(&calls)) {
                AgentUnit *u = CONTAINER_OF(calls.next, AgentUnit, call);

                list_unlink(&u->call);
                if (u->busy == PLAN_LOAD)
                        names[n++] = u->name;
                else
                        call_systemd(u);
                if (n == ELEMENTSOF(names)) {
                        call_load(node, names, n);
                        n = 0;
                }
        }
        if (n > 0)
                call_load(node, names, n);
}

static void fail_all(AgentNode *node, int error) {
        while (!list_is_empty(&node->calls)) {
                AgentUnit *u = CONTAINER_OF(node->calls.next, AgentUnit, call);
                char text[AGENT_ERROR_MAX];

                list_unlink(&u->call);
                snprintf(text, sizeof(text), "cannot write the ledger: %s", strerror(-error));
                if (u->busy == PLAN_START || u->busy == PLAN_RESTART)
                        u->unwatched = false; // pending, and certainly not started
                agent_step_done(u, text);
        }
}

void agent_node_plan(AgentNode *node) {
        uint64_t now_us = clock_boot_us();
        int r;

        if (!node->synced || !systemd_manager_is_synced(node->systemd))
                return; // everything is marked again when it is
        for (unsigned n = 0; n < AGENT_PLANS_PER_TURN && !list_is_empty(&node->dirty); n++) {
                AgentUnit *u = CONTAINER_OF(node->dirty.next, AgentUnit, dirty);

                list_unlink(&u->dirty);
                list_unlink(&u->waiting);
                plan_one(u, now_us);
        }
        r = ledger_flush(node->ledger);
        if (r < 0) {
                fail_all(node, r);
                agent_files_fail(node, r);
        } else {
                agent_files_start(node);
                call_all(node);
        }
        if (!list_is_empty(&node->dirty))
                drain_mark(&node->agent->drain);
}

void agent_node_wake(AgentNode *node, uint64_t now_us) {
        list_foreach_safe (n, &node->waiting) {
                AgentUnit *u = CONTAINER_OF(n, AgentUnit, waiting);

                if (u->wait_until_us <= now_us) {
                        list_unlink(&u->waiting);
                        agent_unit_mark(u);
                }
        }
}

// 0: nobody waits.
uint64_t agent_node_next_wake(const AgentNode *node) {
        uint64_t next = 0;

        list_foreach (n, &node->waiting) {
                const AgentUnit *u = CONTAINER_OF(n, AgentUnit, waiting);

                if (next == 0 || u->wait_until_us < next)
                        next = u->wait_until_us;
        }
        return next;
}

// ---- what systemd says

static void on_unit_changed(const char *name, const UnitRuntime *now, void *userdata) {
        AgentUnit *u = agent_unit_find(userdata, name);

        if (!u)
                return;
        u->was_reset = false;
        if (now->active == ARGOSY__ACTIVE_STATE__ACTIVE_ACTIVE && u->busy == PLAN_NOTHING &&
            u->retry_us == 0 && !u->refused)
                agent_unit_clear_error(u); // somebody helped
        agent_unit_report(u);
        agent_unit_mark(u);
}

static void on_unit_unloaded(const char *name, void *userdata) {
        AgentUnit *u = agent_unit_find(userdata, name);

        if (!u)
                return;
        u->was_reset = false;
        u->stale = false;
        agent_unit_report(u);
        agent_unit_mark(u);
}

static void on_synced(void *userdata) {
        AgentNode *node = userdata;

        node->synced = true;
        map_foreach (slot, &node->units)
                agent_unit_mark(slot->value);
        drain_mark(&node->agent->drain);
}

static void on_disconnected(const char *why, void *userdata) {
        AgentNode *node = userdata;

        log_warning("The connection to systemd (%s) is lost: %s. Units go on running.", node->manager, why);
}

static void on_stopping(void *userdata) {
        AgentNode *node = userdata;
        Agent *a = node->agent;

        if (node->stopping)
                return;
        node->stopping = true;
        (void) file_replace(AT_FDCWD, node->shutdown_mark, "", 0, 0600,
                            0); // matters after a soft-reboot only
        agent_say_goodbye(a, ARGOSY__TO_VOTER__GOODBYE__WHY__SHUTDOWN, true);
        if (a->ops.stopping)
                a->ops.stopping(a->userdata);
}

const SystemdOps agent_systemd_ops = {
        .unit_changed = on_unit_changed,
        .unit_unloaded = on_unit_unloaded,
        .synced = on_synced,
        .disconnected = on_disconnected,
        .stopping = on_stopping,
};
