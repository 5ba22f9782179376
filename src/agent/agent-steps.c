// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Carries out what plan_unit() decides. What comes of it is heard in agent-systemd.c.
//
// A step begins with agent_node_plan(): the unit becomes busy with it, and what has to survive a crash is
// put into the ledger. At the end of the turn the ledger is written once; only then do files, loads and jobs
// leave. Each answer carries the number of its step, so the late answer of a start that a stop has overtaken
// changes nothing.

#include <errno.h>
#include <stdio.h>

#include "agent-private.h"
#include "clock.h"
#include "log.h"

AgentStepCall *agent_step_call_new(const AgentUnit *u) {
        AgentStepCall *c = malloc(sizeof(*c) + strlen(u->name) + 1);

        if (!c)
                return NULL;
        c->node = u->node;
        c->number = u->step_number;
        strcpy(c->name, u->name);
        return c;
}

const UnitRuntime *agent_unit_runtime(const AgentUnit *u) {
        const UnitRuntime *rt = &u->watch.runtime;

        return rt->loaded ? rt : NULL;
}

// Right after it was watched the manager still asks; its answer marks the unit.
static bool is_known(const AgentUnit *u) {
        return u->watch.runtime.active != ARGOSY__ACTIVE_STATE__ACTIVE_UNKNOWN;
}

void agent_unit_record(AgentUnit *u) {
        int r = ledger_put(u->node->ledger, &u->held);

        if (r < 0)
                agent_unit_set_error(u, "cannot note %s in the ledger: %s", u->name, strerror(-r));
}

// ---- beginnings of steps

static void begin(AgentUnit *u, PlanStep step) {
        u->busy = step;
        u->step_number = ++u->node->last_step;
        log_unit(LOG_DEBUG, u->name, "%s: %s", u->name, plan_step_to_string(step));
}

static void begin_call(AgentUnit *u, PlanStep step) {
        begin(u, step);
        if (!list_is_linked(&u->call))
                list_append(&u->node->calls, &u->call);
}

// The run that the next start or restart makes is told from the one before by the invocation id.
static void record_start(AgentUnit *u, PlanStep step) {
        const PlanWanted *w = &u->wanted;
        const UnitRuntime *rt = agent_unit_runtime(u);
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
        agent_unit_record(u);
}

static void record_owed_run(AgentUnit *u) {
        const UnitRuntime *rt = agent_unit_runtime(u);

        if (u->held.pending)
                return;
        u->held.pending = true;
        if (rt)
                memcpy(u->held.invocation_id, rt->invocation_id, sizeof(rt->invocation_id));
        agent_unit_record(u);
}

static void record_write(AgentUnit *u) {
        u->new_content = !u->has_held || !hash_equal(&u->held.spec, &u->wanted.spec);
        u->to_verify |= u->has_held && u->new_content;
        if (!u->has_held) {
                u->held = (LedgerRecord){.name = u->name};
                if (u->spec->spreadable && str_has_suffix(u->name, ".service"))
                        slices_choose(&u->node->slices, u->held.slice);
                slices_add(&u->node->slices, u->held.slice);
                u->has_held = true;
        }
        u->held.spec = u->wanted.spec;
        u->held.from_template = u->from_template;
        u->file_present = u->files_removed = false;
        u->parsed = false;
        u->load = ARGOSY__LOAD_STATE__LOAD_UNKNOWN;
        agent_unit_record(u);
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
                r = agent_files_queue(u, AGENT_FILE_WRITE);
                break;
        case PLAN_LINK:
                begin(u, PLAN_LINK);
                r = agent_files_queue(u, AGENT_FILE_LINK);
                break;
        case PLAN_REMOVE:
                begin(u, PLAN_REMOVE);
                r = agent_files_queue(u, AGENT_FILE_REMOVE);
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
        const UnitRuntime *rt = agent_unit_runtime(u);
        // A step under way changes neither, but newer content may be wanted meanwhile. A start that failed
        // is no drift.
        bool busy = u->busy != PLAN_NOTHING, drift = busy ? u->drift : res->drift && !u->error,
             file_stale = res->file_stale || (busy && u->file_stale);

        if (res->judged && res->outcome != u->outcome) {
                u->outcome = res->outcome;
                u->outcome_at_us = rt && rt->since_us ? rt->since_us : clock_wall_us();
                snprintf(u->outcome_result, sizeof(u->outcome_result), "%s",
                         rt && *rt->result ? rt->result : "success");
                if (u->has_held && (!u->held.done && !u->held.failed)) {
                        u->held.done = res->outcome == ARGOSY__OUTCOME__KIND__DONE;
                        u->held.failed = res->outcome == ARGOSY__OUTCOME__KIND__FAILED;
                        agent_unit_record(u);
                }
                agent_unit_report(u);
        }
        if (u->drift != drift || u->file_stale != file_stale) {
                u->drift = drift;
                u->file_stale = file_stale;
                agent_unit_report_state(u);
        }
}

static void note_fulfilled(AgentUnit *u) {
        const UnitRuntime *rt = agent_unit_runtime(u);

        u->held.pending = false;
        if (rt)
                memcpy(u->held.invocation_id, rt->invocation_id, sizeof(rt->invocation_id));
        u->unwatched = false;
        agent_unit_record(u);
}

static bool is_same_record(const LedgerRecord *a, const LedgerRecord *b) {
        return a->revision == b->revision && a->start_rev == b->start_rev &&
               a->restart_rev == b->restart_rev && a->stop_rev == b->stop_rev && a->target == b->target &&
               a->done == b->done && a->failed == b->failed && a->pending == b->pending &&
               a->interrupted == b->interrupted;
}

// Of a unit that is as it is to be this is said again whenever it is looked at.
static void note_settled(AgentUnit *u) {
        const PlanWanted *w = &u->wanted;
        LedgerRecord *h = &u->held, before = *h;

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
        if (!is_same_record(h, &before))
                agent_unit_record(u);
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
                .runtime = agent_unit_runtime(u),
                .file_present = u->file_present,
                .files_removed = u->files_removed,
                .stale = u->stale,
                .stale_since_us = u->stale_since_us,
                .parsed = u->parsed,
                .links = u->held_spec && u->held_spec->links,
                .enabled = u->enabled,
                .links_stale = u->links_stale,
                .links_stale_since_us = u->links_stale_since_us,
                .oneshot = u->held_spec && u->held_spec->oneshot,
                .unwatched = u->unwatched,
                .stopping = u->node->stopping,
                .busy = u->busy,
                .cut_off = agent_is_cut_off(u, now_us),
                .was_cut_off = now_us < u->cut_off_until_us,
                .drift = u->drift,
                .retry_us = u->retry_us,
                .now_us = now_us,
        };
        PlanResult res;

        if (u->gone || !is_known(u))
                return;
        agent_together_planned(u);
        if (!in.runtime) // the next load sees them
                in.links_stale = u->links_stale = false;
        res = plan_unit(&in);
        if (res.cut_short) {
                u->held.target = ARGOSY__TARGET__TARGET_LOADED;
                agent_unit_record(u);
                res = plan_unit(&in);
        }
        note_judgement(u, &res);
        if (res.fulfilled)
                note_fulfilled(u);
        if (res.joined) {
                u->held.start_rev = u->wanted.start_rev;
                agent_unit_record(u);
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
        if ((res.step == PLAN_START || res.step == PLAN_RESTART) && agent_together_hold_back(u))
                return;
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
        AgentStepCall *call = agent_step_call_new(u);
        int r;

        if (!call)
                r = -ENOMEM;
        else if (u->busy == PLAN_RELOAD)
                r = agent_reload(u, call);
        else {
                r = systemd_manager_job_of(m, u->request, kinds[u->busy], u->name, agent_on_job_done, call);
                u->node->n_jobs += r >= 0;
        }
        if (r < 0) {
                free(call);
                agent_step_done(u, strerror(-r));
        }
}

static void call_load(AgentNode *node, const char **names, size_t n) {
        int r = systemd_manager_load(node->systemd, names, n, agent_on_loaded, node);

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

void agent_node_plan(AgentNode *node, unsigned max) {
        uint64_t now_us = clock_boot_us();
        int r;

        if (!node->synced || !systemd_manager_is_synced(node->systemd))
                return; // everything is marked again when it is
        for (unsigned n = 0; n < max && !list_is_empty(&node->dirty); n++) {
                AgentUnit *u = CONTAINER_OF(node->dirty.next, AgentUnit, dirty);

                list_unlink(&u->dirty);
                list_unlink(&u->waiting);
                plan_one(u, now_us);
        }
        agent_together_release(node);
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
        // Files wait for systemd too, and its return is a wake of its own.
        uint64_t next = systemd_manager_is_synced(node->systemd) ? agent_files_due(node) : 0;

        list_foreach (n, &node->waiting) {
                const AgentUnit *u = CONTAINER_OF(n, AgentUnit, waiting);

                if (next == 0 || u->wait_until_us < next)
                        next = u->wait_until_us;
        }
        return next;
}
