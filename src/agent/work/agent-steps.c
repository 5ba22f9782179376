// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Carries out what plan_unit() decides. What comes of it is heard in agent-jobs.c.
//
// A step begins with agent_node_plan(): the unit becomes busy with it, and what has to survive a crash is
// put into the ledger. At the end of the turn the ledger is written once; only then do files, loads and jobs
// leave. Each answer carries the number of its step, so the late answer of a start that a stop has overtaken
// changes nothing.

#include <errno.h>

#include "agent-barred.h"
#include "agent-carried.h"
#include "agent-core.h"
#include "agent-down.h"
#include "agent-files.h"
#include "agent-container-names.h"
#include "agent-image-removal.h"
#include "agent-images.h"
#include "agent-jobs.h"
#include "agent-network-made.h"
#include "agent-network-users.h"
#include "agent-networks.h"
#include "agent-probation.h"
#include "agent-returns.h"
#include "agent-search.h"
#include "agent-secrets.h"
#include "agent-spec.h"
#include "agent-start-barrier.h"
#include "agent-step.h"
#include "agent-steps.h"
#include "agent-stop-cause.h"
#include "agent-unit.h"
#include "agent-verify.h"
#include "agent-volumes.h"
#include "clock.h"
#include "log.h"
#include "str.h"
#include "unit-state.h"

// Right after it was watched the manager still asks; its answer marks the unit.
static bool is_known(const AgentUnit *u) {
        return u->watch.runtime.active != ARGOSY__ACTIVE_STATE__ACTIVE_UNKNOWN;
}

// ---- beginnings of steps

static void begin(AgentUnit *u, PlanStep step) {
        u->work->busy = step;
        u->work->surveyed = false;
        u->work->step_number = ++u->node->last_step;
        log_unit(LOG_DEBUG, u->name, "%s: %s", u->name, plan_step_to_string(step));
}

static void begin_call(AgentUnit *u, PlanStep step) {
        begin(u, step);
        if (!list_is_linked(&u->work->call))
                list_append(&u->node->calls, &u->work->call);
}

// The run that the next start or restart makes is told from the one before by the invocation id.
static void record_start(AgentUnit *u, PlanStep step) {
        const PlanWanted *w = &u->work->wanted;
        const UnitRuntime *rt = agent_unit_runtime(u);
        AgentHeld *h = &u->held;

        if (rt && (step == PLAN_RESTART || active_state_is_down(rt->active)))
                memcpy(h->invocation_id, rt->invocation_id, sizeof(rt->invocation_id));
        else if (rt) // joins a start that is under way: that one counts
                memset(h->invocation_id, 0, sizeof(h->invocation_id));
        h->target = ARGOSY__TARGET__TARGET_LAUNCHED;
        h->start_rev = w->start_rev;
        h->restart_rev = w->restart_rev;
        h->stop_rev = w->stop_rev;
        h->pending = true;
        h->owed = h->done = h->failed = h->interrupted = h->unknown = false;
        h->reload = LEDGER_RELOAD_NONE;
        h->down = ARGOSY__DOWN_CAUSE__DOWN_NOT;
        u->unwatched = u->displaced = false;
        agent_unit_displace(u, true);
        agent_unit_forget_down_by(u);
        u->work->outcome = ARGOSY__OUTCOME__KIND__NONE;
        u->work->never_began = NULL;
        u->work->places_seen = u->work->image_seen = u->work->name_seen = u->work->superseded = false;
        u->work->networks_read = false;
        u->work->restarts_before = rt ? rt->n_restarts : 0;
        u->work->cut_off_until_us = 0; // what a guard stopped was the run before
        agent_probation_end(u);
        agent_unit_record(u);
}

// It becomes ours, in a slice of ours if there are many. What a helper writes is believed to be so from the
// beginning.
static void begin_to_hold(AgentUnit *u) {
        LedgerRecord record = {.name = u->name, .taking = u->node->dir};

        if (u->work->spec->spreadable && str_has_suffix(u->name, ".service"))
                slices_choose(&u->node->slices, record.slice);
        slices_add(&u->node->slices, record.slice);
        agent_unit_hold(u, &record, NULL);
}

// The record names the new content from now on; what is in place stays known until that is written.
static void record_write(AgentUnit *u, const PlanResult *res) {
        AgentUnitWork *work = u->work;
        AgentSpec *before = u->held.spec;

        // Also when the record has named it before: a write that failed, or that argosyd did not live to
        // see, has changed nothing.
        work->new_content = !u->has_held || before != work->spec || !u->content_known ||
                            (work->replacing && work->new_content);
        work->claims = !u->has_held;
        work->takes_over = work->claims && !agent_unit_is_down(u);
        u->to_verify |= u->has_held && work->new_content && !res->in_place;
        // what is in place is ours, whether this one comes to be there or not
        if (!work->claims && work->new_content)
                u->held.taking = false;
        if (!u->has_held)
                begin_to_hold(u);
        u->held.unread |= work->new_content && agent_unit_is_down(u); // what is up runs what it has read
        if (!work->replacing) {
                // else argosyd died before it was
                bool in_place = u->content_known && (u->file_present || u->files_removed);

                work->before = in_place ? agent_spec_ref(before) : NULL;
                work->replacing = true;
        }
        if (before && before->image && work->spec->image && !streq(before->image, work->spec->image))
                agent_image_removal_replaced(u->node->agent, u->name, before->image);
        agent_spec_unref(u->node->agent, before);
        work->places_seen = work->networks_read = false;
        work->image_seen = work->image_ready; // just now
        u->held.spec = agent_spec_ref(work->spec);
        u->held.from_template = work->from_template;
        agent_unit_doubt_file(u);
        u->files_removed = false;
        if (res->owe_reload)
                u->held.reload = LEDGER_RELOAD_DUE;
        if (!res->in_place) { // else systemd has no reason to say anything else than before
                u->parsed = false;
                u->load = ARGOSY__LOAD_STATE__LOAD_UNKNOWN;
        }
        agent_unit_record(u);
}

static void forget(AgentUnit *u) {
        int r;

        agent_secrets_gone(u);
        agent_image_removal_replaced(u->node->agent, u->name, NULL);
        if (u->has_held) {
                r = ledger_forget(u->node->ledger, u->name);
                if (r < 0) {
                        agent_step_done(u, strerror(-r));
                        return;
                }
                agent_unit_drop_held(u);
        }
        u->work->outcome = ARGOSY__OUTCOME__KIND__NONE;
        u->file_stale = false;
        u->gone = true;
        u->work->answered = u->work->wanted.revision;
        agent_unit_report(u);
}

static void carry_out(AgentUnit *u, const PlanResult *res) {
        int r = 0;

        if (res->owe_run)
                agent_unit_owe_run(u);
        switch (res->step) {
        case PLAN_NOTHING:
                break;
        case PLAN_WAIT:
                u->work->wait_until_us = res->wait_until_us;
                list_append(&u->node->waiting, &u->work->waiting);
                break;
        case PLAN_LOOK:
                begin(u, PLAN_LOOK);
                r = agent_files_queue(u, AGENT_FILE_LOOK);
                break;
        case PLAN_VERIFY:
                begin(u, PLAN_VERIFY);
                agent_verify(u);
                break;
        case PLAN_FETCH:
                begin(u, PLAN_FETCH);
                if (agent_verify_makes(u))
                        agent_verify_make(u);
                else if (agent_carried_is_due(u))
                        agent_carried_fetch(u);
                else if (agent_container_names_is_due(u))
                        agent_container_names_fetch(u);
                else if (agent_images_is_due(u))
                        agent_images_fetch(u);
                else if (agent_volumes_is_due(u))
                        agent_volumes_see(u);
                else
                        agent_network_users_see(u);
                break;
        case PLAN_PLACES:
                begin(u, PLAN_PLACES);
                if (agent_carried_has_unseen_places(u))
                        agent_carried_see_places(u);
                else if (agent_container_names_is_unseen(u))
                        agent_container_names_see(u);
                else if (agent_images_is_unseen(u))
                        agent_images_see(u);
                else
                        agent_network_made_read(u);
                break;
        case PLAN_WRITE:
                record_write(u, res);
                begin(u, PLAN_WRITE);
                r = agent_files_queue(u, AGENT_FILE_WRITE);
                if (r < 0 && u->work->claims)
                        agent_unit_give_back(u);
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
        case PLAN_STOP:
                agent_probation_end(u);
                begin_call(u, PLAN_STOP);
                break;
        case PLAN_RELOAD_UNIT: // once for each start that asks for it, whatever comes of it
                u->held.start_rev = u->work->wanted.start_rev;
                agent_unit_record(u);
                begin_call(u, PLAN_RELOAD_UNIT);
                break;
        case PLAN_NETWORKS:
        case PLAN_PIN:
        case PLAN_UNPIN:
        case PLAN_LOAD:
        case PLAN_RESET_FAILED:
        case PLAN_RELOAD:
        case PLAN_SURVEY:
                begin_call(u, res->step);
                break;
        case PLAN_BRING_BACK:
                begin(u, PLAN_BRING_BACK);
                agent_returns_begin(u);
                break;
        case PLAN_FORGET:
                forget(u);
                break;
        }
        if (r < 0)
                agent_step_done(u, strerror(-r));
}

// ---- what the plan says about the unit

// systemd's word if it has one.
static const char *result_of(const AgentUnit *u, Argosy__Outcome__Kind outcome) {
        const UnitRuntime *rt = agent_unit_runtime(u);

        if (outcome == ARGOSY__OUTCOME__KIND__DONE)
                return u->watch.runtime.skipped ? OUTCOME_SKIPPED : "success";
        if (outcome != ARGOSY__OUTCOME__KIND__FAILED)
                return "";
        if (u->work->never_began)
                return u->work->never_began;
        if (rt && rt->was_reset)
                return "reset";
        return rt && !streq(rt->result, "success") ? rt->result : "";
}

static void note_outcome(AgentUnit *u, Argosy__Outcome__Kind outcome) {
        const UnitRuntime *rt = agent_unit_runtime(u);
        AgentUnitWork *work = agent_unit_work(u);

        if (!work)
                return; // judged again whenever it is looked at
        work->outcome = outcome;
        work->outcome_at_us = rt && rt->since_us ? rt->since_us : clock_wall_us();
        work->outcome_result = result_of(u, outcome);
        if (u->has_held && (!u->held.done && !u->held.failed)) {
                u->held.done = outcome == ARGOSY__OUTCOME__KIND__DONE;
                u->held.failed = outcome == ARGOSY__OUTCOME__KIND__FAILED;
                u->held.unknown = outcome == ARGOSY__OUTCOME__KIND__UNKNOWN;
                agent_unit_record(u);
        }
        agent_unit_report(u);
}

// If we stopped the other unit ourselves, its name is known.
static const char *down_by(const AgentUnit *u, Argosy__DownCause down) {
        const AgentUnit *with;

        if (down == ARGOSY__DOWN_CAUSE__DOWN_CONFLICT)
                return agent_unit_conflict(u);
        if (down != ARGOSY__DOWN_CAUSE__DOWN_BOUND)
                return NULL;
        with = agent_unit_goes_along(u);
        return with ? with->name : agent_returns_with(u);
}

// What a job that is not ours has stopped is noted once systemd has said for whom.
static void note_down(AgentUnit *u, Argosy__DownCause down) {
        if (u->held.down == down || !u->has_held)
                return;
        if (down != ARGOSY__DOWN_CAUSE__DOWN_STOPPED || !agent_stop_cause_ask(u))
                agent_unit_set_down(u, down, down_by(u, down));
}

static void note_judgement(AgentUnit *u, const PlanResult *res) {
        const AgentUnitWork *work = agent_unit_doing(u);
        // A step under way changes neither, but newer content may be wanted meanwhile. A start that failed
        // says so itself.
        bool busy = work->busy != PLAN_NOTHING, file_stale = res->file_stale || (busy && u->file_stale);

        if (res->judged && res->outcome != work->outcome)
                note_outcome(u, res->outcome);
        if (!busy && !work->error)
                note_down(u, res->down);
        if (u->file_stale != file_stale) {
                u->file_stale = file_stale;
                agent_unit_report_state(u);
        }
}

static void note_fulfilled(AgentUnit *u, bool failed) {
        const UnitRuntime *rt = agent_unit_runtime(u);

        u->held.pending = u->held.owed = false;
        u->held.failed = failed;
        if (rt)
                memcpy(u->held.invocation_id, rt->invocation_id, sizeof(rt->invocation_id));
        u->unwatched = false;
        agent_unit_record(u);
        if (agent_unit_work(u))
                agent_probation_begin(u);
}

// Systemd was never told of the run, or nobody can tell what became of it.
static void note_unseen(AgentUnit *u, bool unknown) {
        u->held.owed = !unknown;
        u->unwatched = false;
        if (unknown) {
                u->held.pending = false;
                u->held.unknown = true;
                log_unit(LOG_WARNING, u->name, "%s: %s", u->name, OUTCOME_UNKNOWN_TEXT);
        }
        agent_unit_record(u);
}

static bool is_same_record(const AgentHeld *a, const AgentHeld *b) {
        return a->revision == b->revision && a->start_rev == b->start_rev &&
               a->restart_rev == b->restart_rev && a->stop_rev == b->stop_rev && a->target == b->target &&
               a->done == b->done && a->failed == b->failed && a->pending == b->pending &&
               a->owed == b->owed && a->interrupted == b->interrupted && a->unknown == b->unknown;
}

// Called again whenever a settled unit is looked at.
static void note_settled(AgentUnit *u, const PlanWanted *w) {
        AgentHeld *h = &u->held, before = *h;

        if ((h->start_rev != w->start_rev || h->restart_rev != w->restart_rev) &&
            u->probation != ARGOSY__PROBATION__PROBATION_ON)
                // that was about another start, which made the run
                u->probation = ARGOSY__PROBATION__PROBATION_NONE;
        if (w->outcome != ARGOSY__OUTCOME__KIND__NONE && !h->done && !h->failed) {
                h->done = w->outcome == ARGOSY__OUTCOME__KIND__DONE;
                h->failed = w->outcome == ARGOSY__OUTCOME__KIND__FAILED;
                h->unknown = w->outcome == ARGOSY__OUTCOME__KIND__UNKNOWN;
        } else if (h->start_rev != w->start_rev) {
                h->done = h->failed = h->interrupted = h->unknown = false;
        }
        if (w->target != ARGOSY__TARGET__TARGET_LAUNCHED)
                h->pending = h->owed = false;
        h->target = (uint8_t) w->target;
        h->revision = w->revision;
        h->start_rev = w->start_rev;
        h->restart_rev = w->restart_rev;
        h->stop_rev = w->stop_rev;
        if (u->work)
                u->work->superseded = false;
        agent_secrets_settled(u);
        if (!is_same_record(h, &before))
                agent_unit_record(u);
}

static void note_answered(AgentUnit *u, uint64_t revision) {
        if (agent_unit_answered(u) == revision)
                return;
        u->work->answered = revision; // at rest that is what is held
        agent_unit_report(u);
}

// What the plan found out, before the step that it wants.
static void note(AgentUnit *u, const PlanResult *res, const PlanWanted *wanted) {
        note_judgement(u, res);
        if (res->fulfilled)
                note_fulfilled(u, res->failed);
        if (res->not_begun || res->unknown)
                note_unseen(u, res->unknown);
        if (res->again)
                agent_unit_mark(u);
        if (res->reread) {
                u->held.reload = LEDGER_RELOAD_NONE;
                agent_unit_record(u);
                agent_unit_clear_error(u);
        }
        if (u->held.reload == LEDGER_RELOAD_FAILED && res->step == PLAN_NOTHING &&
            !agent_unit_doing(u)->error) // an earlier argosyd has told it
                agent_unit_set_error(u, "%s", AGENT_RELOAD_FAILED_TEXT);
        if (res->joined) {
                u->held.start_rev = wanted->start_rev;
                agent_unit_record(u);
        }
        if (res->superseded)
                u->work->superseded = true;
        if (res->leaves_off)
                agent_returns_leave_off(u);
        if (res->turned_down) {
                u->held.restart_rev = wanted->restart_rev;
                agent_unit_record(u);
        }
        if (res->settled)
                note_settled(u, wanted);
        if (res->refused) {
                agent_barred_refuse(u);
                agent_unit_set_error(u, AGENT_ACTIVE_TEXT);
        }
        if (res->answered)
                note_answered(u, wanted->revision);
}

static PlanInput input_of(const AgentUnit *u, const PlanWanted *wanted, const LedgerRecord *held,
                          uint64_t now_us) {
        const AgentUnitWork *work = agent_unit_doing(u);
        const AgentSpec *content = agent_unit_content(u);

        return (PlanInput){
                .wanted = wanted,
                .held = u->has_held ? held : NULL,
                .runtime = agent_unit_runtime(u),
                .file_present = u->file_present,
                .files_removed = u->files_removed,
                .stale = u->stale,
                .stale_since_us = work->stale_since_us,
                .parsed = u->parsed,
                .links = content && content->links,
                .enabled = u->enabled,
                .links_stale = u->links_stale,
                .links_stale_since_us = work->links_stale_since_us,
                .oneshot = content && content->oneshot,
                .rerun_unknown = content && content->rerun_unknown,
                .pinned = u->watch.pinned,
                .pin_failed = u->pin_failed,
                .unwatched = u->unwatched,
                .may_take = u->node->dir && *u->node->agent->take_from,
                .left_behind = work->left_behind,
                .verdict = agent_verdict(u),
                .lacks_files = agent_carried_is_due(u) || agent_verify_makes(u) ||
                               agent_container_names_is_due(u) || agent_images_is_due(u) ||
                               agent_volumes_is_due(u) || agent_network_users_is_due(u),
                .places_unseen = agent_carried_has_unseen_places(u) ||
                                 agent_container_names_is_unseen(u) || agent_images_is_unseen(u) ||
                                 agent_network_made_is_unread(u),
                .networks_due = (work->network_stale || work->network_in_way) && !work->network_free,
                .secrets_differ = agent_secrets_differ(u),
                .superseded = work->superseded,
                .file_change = agent_carried_change(u),
                .stopping = u->node->stopping,
                .busy = work->busy,
                .cut_off = agent_is_cut_off(u, now_us),
                .was_cut_off = now_us < work->cut_off_until_us,
                .down = u->held.down,
                .skipped = u->watch.runtime.skipped,
                .was_reset = u->watch.runtime.was_reset,
                .signalled = u->watch.runtime.signalled,
                .end = u->watch.runtime.end,
                .stops_unneeded = content && content->stops_unneeded,
                .goes_along = u->held.down == ARGOSY__DOWN_CAUSE__DOWN_BOUND || agent_unit_goes_along(u),
                .conflicts = agent_unit_has_conflict(u),
                .surveyed = work->surveyed,
                .brings_back = u->brings_back,
                .brings_back_anyway = u->brings_back && agent_returns_anyway(u),
                .comes_back = u->comes_back,
                .held_back = u->comes_back && agent_returns_held_back(u),
                .retry_us = work->retry_us,
                .now_us = now_us,
        };
}

static PlanResult plan(AgentUnit *u, const PlanWanted *wanted, uint64_t now_us) {
        LedgerRecord held;
        PlanInput in;

        if (u->has_held)
                agent_unit_fill_record(u, &held);
        in = input_of(u, wanted, &held, now_us);
        return plan_unit(&in);
}

static void plan_one(AgentUnit *u, uint64_t now_us) {
        PlanWanted buffer;
        const PlanWanted *wanted = agent_unit_wanted(u, &buffer);
        PlanResult res;

        if (u->gone || !is_known(u))
                return;
        agent_start_barrier_planned(u);
        agent_returns_ordered(u, wanted);
        if (!agent_unit_runtime(u)) { // the next load sees them
                u->links_stale = false;
                (void) agent_unit_note_read(u); // recorded with what comes next
        }
        res = plan(u, wanted, now_us);
        if (u->work)
                u->work->left_behind = false;
        if (res.cut_short) {
                agent_unit_keep_order(u);
                u->held.target = ARGOSY__TARGET__TARGET_LOADED;
                agent_unit_record(u);
                res = plan(u, wanted, now_us);
        }
        if (res.step != PLAN_NOTHING && !agent_unit_work(u)) {
                agent_unit_mark(u); // out of memory: again in the next turn
                return;
        }
        note(u, &res, wanted);
        if (agent_unit_doing(u)->network_turn && u->work->busy == PLAN_NOTHING &&
            res.step != PLAN_NETWORKS && res.step != PLAN_WRITE)
                agent_networks_release(u);
        if ((res.step == PLAN_PLACES || res.step == PLAN_PIN || res.step == PLAN_START ||
             res.step == PLAN_RESTART) &&
            agent_start_barrier_hold_back(u))
                return;
        carry_out(u, &res);
        agent_returns_planned(u);
        agent_unit_settle(u);
}

// ---- one turn

// It is not started without: that is tried again, and at once when there is another order.
static bool lacks_secrets(AgentUnit *u) {
        char why[AGENT_ERROR_MAX];

        if ((u->work->busy != PLAN_START && u->work->busy != PLAN_RESTART) ||
            agent_secrets_place(u, why) == 0)
                return false;
        u->unwatched = false; // pending, and certainly not started
        agent_step_done(u, why);
        return true;
}

static void call_systemd(AgentUnit *u) {
        static const SystemdJobKind kinds[] = {
                [PLAN_START] = SYSTEMD_START,
                [PLAN_RESTART] = SYSTEMD_RESTART,
                [PLAN_STOP] = SYSTEMD_STOP,
                [PLAN_RESET_FAILED] = SYSTEMD_RESET_FAILED,
                [PLAN_RELOAD_UNIT] = SYSTEMD_RELOAD,
        };
        SystemdManager *m = u->node->systemd;
        AgentStepCall *call;
        int r;

        if (u->work->busy == PLAN_NETWORKS) {
                agent_networks_begin(u);
                return;
        }
        if (lacks_secrets(u))
                return;
        call = agent_step_call_new(u);
        if (!call)
                r = -ENOMEM;
        else if (u->work->busy == PLAN_RELOAD)
                r = agent_reload(u, call);
        else if (u->work->busy == PLAN_SURVEY)
                r = systemd_manager_stopped_with(m, u->name, agent_on_surveyed, call);
        else if (u->work->busy == PLAN_PIN || u->work->busy == PLAN_UNPIN)
                r = systemd_manager_pin(m, u->work->request, u->name, u->work->busy == PLAN_PIN,
                                        agent_on_pin_done, call);
        else
                r = systemd_manager_job_of(m, u->work->request, kinds[u->work->busy], u->name,
                                           agent_on_job_done, call);
        if (r >= 0 && u->work->busy != PLAN_RELOAD && u->work->busy != PLAN_SURVEY)
                u->node->n_jobs++;
        if (r == -ENAMETOOLONG && u->work->busy == PLAN_PIN) {
                free(call);
                agent_pin_failed(u);
        } else if (r < 0) {
                free(call);
                agent_step_done(u, strerror(-r));
        }
}

static void call_load(AgentNode *node, const char **names, size_t n) {
        int r = systemd_manager_load(node->systemd, names, n, agent_on_loaded, node);

        for (size_t i = 0; r < 0 && i < n; i++) {
                AgentUnit *u = agent_unit_find(node, names[i]);

                if (u && agent_unit_doing(u)->busy == PLAN_LOAD)
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
                AgentUnitWork *work = CONTAINER_OF(calls.next, AgentUnitWork, call);
                AgentUnit *u = work->unit;

                list_unlink(&work->call);
                if (work->busy == PLAN_LOAD)
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
                AgentUnitWork *work = CONTAINER_OF(node->calls.next, AgentUnitWork, call);
                AgentUnit *u = work->unit;
                char text[AGENT_ERROR_MAX];

                list_unlink(&work->call);
                str_fit(text, sizeof(text), "cannot write the ledger: %s", strerror(-error));
                if (work->busy == PLAN_START || work->busy == PLAN_RESTART)
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
                if (u->work)
                        list_unlink(&u->work->waiting);
                plan_one(u, now_us);
        }
        agent_start_barrier_release(node);
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
                AgentUnitWork *work = CONTAINER_OF(n, AgentUnitWork, waiting);

                if (work->wait_until_us <= now_us) {
                        list_unlink(&work->waiting);
                        agent_unit_mark(work->unit);
                }
        }
}

// 0: nobody waits.
uint64_t agent_node_next_wake(const AgentNode *node) {
        // Files wait for systemd too, and its return is a wake of its own.
        uint64_t next = systemd_manager_is_synced(node->systemd) ? agent_files_due(node) : 0,
                 search = node->dir ? 0 : agent_search_due(node); // only helpers wait

        if (search != 0 && (next == 0 || search < next))
                next = search;
        list_foreach (n, &node->waiting) {
                const AgentUnitWork *work = CONTAINER_OF(n, AgentUnitWork, waiting);

                if (next == 0 || work->wait_until_us < next)
                        next = work->wait_until_us;
        }
        return next;
}
