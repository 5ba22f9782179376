// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Whether a unit is where a verb wanted it: pending, done, or failed with the reason. Each verb has its
// judgement of one node; a unit that runs on all of them needs all, and one that fails ends the wait. Only
// what is reported for that revision or a later one counts, so an old report never answers a new request.
// A wait for a goal looks at what is seen and at no revision.

#include <errno.h>

#include "cluster-state.h"
#include "macro.h"
#include "str.h"
#include "unit-name.h"
#include "unit-state.h"
#include "wait-condition.h"

static WaitVerdict pending(void) {
        return (WaitVerdict){.message = ""};
}

static WaitVerdict success(const char *message) {
        return (WaitVerdict){.done = true, .message = message};
}

static WaitVerdict failure(int status, const char *message, const char *node) {
        return (WaitVerdict){.done = true, .status = status, .message = message, .node = node};
}

static WaitVerdict silent(void) {
        return (WaitVerdict){.done = true, .status = WAIT_MAY_RUN, .message = "", .silent = true};
}

static WaitVerdict skipped(const char *node) {
        return (WaitVerdict){.done = true, .message = "", .node = node, .skipped = true};
}

static const char *failed(const char *result) {
        return result && *result ? unit_result_phrase(result) : "it failed";
}

// Judges an outcome of the log; of a start that never began the node says more.
static WaitVerdict judge_outcome(const Argosy__Outcome *o, const WaitNode *s) {
        bool never_began = s && s->reported && s->active != ARGOSY__ACTIVE_STATE__ACTIVE_FAILED;
        const char *error =
                never_began && o->kind == ARGOSY__OUTCOME__KIND__FAILED && s->error ? s->error : "";

        if (outcome_is_skipped(o))
                return skipped(s ? s->node : NULL);
        if (o->kind == ARGOSY__OUTCOME__KIND__DONE)
                return success("");
        return failure(EIO, *error ? error : outcome_phrase(o), s ? s->node : NULL);
}

static WaitVerdict judge_state(const WaitNode *s) {
        switch (s->active) {
        case ARGOSY__ACTIVE_STATE__ACTIVE_ACTIVE:
        case ARGOSY__ACTIVE_STATE__ACTIVE_RELOADING:
        case ARGOSY__ACTIVE_STATE__ACTIVE_REFRESHING:
                return success("");
        case ARGOSY__ACTIVE_STATE__ACTIVE_INACTIVE:
                // Its job has ended and nothing failed: a one-shot, or a service that had nothing more to
                // do.
                if (s->skipped)
                        return skipped(s->node);
                if (s->result && *s->result && !streq(s->result, "success"))
                        return failure(EIO, unit_result_phrase(s->result), s->node);
                return success("");
        case ARGOSY__ACTIVE_STATE__ACTIVE_FAILED:
                return failure(EIO, failed(s->result), s->node);
        case ARGOSY__ACTIVE_STATE__ACTIVE_ACTIVATING:
                // Between two attempts; whether a later one succeeds is not what was asked.
                if (s->sub && str_has_prefix(s->sub, "auto-restart"))
                        return failure(EIO,
                                       s->result && *s->result ? unit_result_phrase(s->result)
                                                               : "it failed; systemd is trying again",
                                       s->node);
                return pending();
        default:
                return pending();
        }
}

static bool says_why(const char *result) {
        return result && *result && !streq(result, "success");
}

// What its first run came to counts, and not what has become of it since.
static WaitVerdict judge_started(const WaitNode *s) {
        if (s->skipped && s->active == ARGOSY__ACTIVE_STATE__ACTIVE_INACTIVE)
                return skipped(s->node);
        switch (s->probation) {
        case ARGOSY__PROBATION__PROBATION_PASSED:
                return success("");
        case ARGOSY__PROBATION__PROBATION_RESTARTED:
                return failure(EIO,
                               says_why(s->result)
                                       ? unit_result_phrase(s->result)
                                       : "its program ended at once, and systemd starts it again",
                               s->node);
        case ARGOSY__PROBATION__PROBATION_ENDED:
                return success(s->unneeded ? "it was stopped again at once, as systemd does when no unit "
                                             "needs it (StopWhenUnneeded=)"
                                           : "its program has ended already, without an error");
        case ARGOSY__PROBATION__PROBATION_ON:
                // While it is up, and when it has ended without an error: systemd may be about to start it
                // again.
                return active_state_is_up(s->active) || s->active == ARGOSY__ACTIVE_STATE__ACTIVE_INACTIVE
                               ? pending()
                               : judge_state(s);
        default:
                return judge_state(s);
        }
}

static WaitVerdict judge_loaded(const WaitNode *s) {
        switch (s->load) {
        case ARGOSY__LOAD_STATE__LOAD_NOT_FOUND:
                return failure(ENOENT, "systemd does not find the unit file", s->node);
        case ARGOSY__LOAD_STATE__LOAD_BAD_SETTING:
                return failure(ENOEXEC, "systemd refuses a setting of the unit file", s->node);
        case ARGOSY__LOAD_STATE__LOAD_ERROR:
                return failure(EIO, "systemd cannot load the unit file", s->node);
        case ARGOSY__LOAD_STATE__LOAD_MASKED:
                return failure(ESHUTDOWN, "the unit is masked", s->node);
        case ARGOSY__LOAD_STATE__LOAD_UNKNOWN:
                return pending();
        default:
                return success("");
        }
}

static WaitVerdict judge_stopped(const WaitNode *s) {
        switch (s->active) {
        case ARGOSY__ACTIVE_STATE__ACTIVE_INACTIVE:
        case ARGOSY__ACTIVE_STATE__ACTIVE_FAILED:
                return success("");
        default:
                return pending();
        }
}

// What is held back is loaded, as far as it goes; its start ends when it is certain that it cannot be told
// when it will be.
static WaitVerdict judge_held(Argosy__Verb verb, const WaitNode *s) {
        if (verb == ARGOSY__VERB__VERB_LOAD)
                return success("");
        return s->blocked ? (WaitVerdict){.done = true,
                                          .status = EAGAIN,
                                          .message = "it waits for another unit",
                                          .node = s->node,
                                          .blocked = true}
                          : pending();
}

static WaitVerdict judge_node(Argosy__Verb verb, uint64_t revision, const WaitNode *s) {
        if (s->held && !s->lost && !s->refused)
                return judge_held(verb, s);
        if (s->lost || s->refused || !s->reported || s->revision < revision)
                return pending();
        // Should its node die now, it would be run again elsewhere.
        if (s->unsettled && (verb == ARGOSY__VERB__VERB_START || verb == ARGOSY__VERB__VERB_RESTART))
                return pending();
        if (s->outcome && (verb == ARGOSY__VERB__VERB_START || verb == ARGOSY__VERB__VERB_RESTART))
                return judge_outcome(s->outcome, s);
        if (s->error && *s->error)
                return failure(EIO, s->error, s->node);
        switch (verb) {
        case ARGOSY__VERB__VERB_START:
        case ARGOSY__VERB__VERB_RESTART:
                return judge_started(s);
        case ARGOSY__VERB__VERB_STOP:
                return judge_stopped(s);
        default:
                return judge_loaded(s);
        }
}

static const Argosy__Outcome *final_outcome(const Argosy__UnitRecord *r) {
        for (size_t i = 0; !r->global && i < r->n_outcomes; i++)
                if (r->outcomes[i]->start_rev == r->start_rev)
                        return r->outcomes[i];
        return NULL;
}

// A node that is lost, of a unit that runs on all: only who stops it wants to know whether it is down there.
static WaitVerdict judge_lost(Argosy__Verb verb, const WaitNode *s) {
        if (verb != ARGOSY__VERB__VERB_STOP || (s->seen && active_state_is_down(s->active)))
                return success("");
        return s->silent ? silent() : s->fenced ? pending() : success("");
}

// What it was asked to be is so, but for nodes that leave it out. That it gives way is as it is to be, as
// long as it runs somewhere.
static WaitVerdict judge_left_out(Argosy__Verb verb, const WaitView *v, bool any) {
        if (verb == ARGOSY__VERB__VERB_STOP || (!v->n_refused && !v->n_gave_way))
                return success("");
        return (WaitVerdict){.done = true,
                             .status = v->n_refused ? EPERM : any ? 0 : ENOSPC,
                             .message = v->n_refused ? "some nodes refuse it"
                                        : any        ? "it gives way on some nodes"
                                                     : "it gives way on every node",
                             .left_out = true};
}

// Every node that is to have the unit must have got there; one that failed ends the wait.
static WaitVerdict judge_all(Argosy__Verb verb, uint64_t revision, const WaitView *v) {
        WaitVerdict result = success("");
        bool any = false, waits = false;

        for (size_t i = 0; i < v->n_nodes; i++) {
                const WaitNode *s = &v->nodes[i];
                bool is_lost = s->lost && v->record->global;
                WaitVerdict one;

                if (!s->wanted)
                        continue;
                any |= !is_lost;
                one = is_lost ? judge_lost(verb, s) : judge_node(verb, revision, s);
                if (one.done && one.status && !one.silent)
                        return one;
                waits |= !one.done;
                if (one.silent || (one.done && (*one.message || one.skipped) && !result.silent))
                        result = one;
        }
        if (waits)
                return pending();
        if (!any && v->record->global && v->hosts_unattached && !result.silent)
                return pending();
        if (v->record->global && (v->n_refused || v->n_gave_way) && !result.silent)
                return judge_left_out(verb, v, any);
        if (!any && v->record->global && !result.silent)
                return success("no node matches at present");
        return any || result.silent ? result : pending();
}

// The record is not as the verb leaves it. That somebody has changed it is known only of a later revision.
static WaitVerdict changed(const Argosy__UnitRecord *r, uint64_t revision, const char *how) {
        return r->revision > revision
                       ? failure(ECANCELED, how, NULL)
                       : failure(EIO, "the cluster does not have this change; ask for it again", NULL);
}

// Gone from every node that had it.
static WaitVerdict judge_gone(Argosy__Verb verb, uint64_t revision, const WaitView *v) {
        const Argosy__UnitRecord *r = v->record;
        bool waits = false, is_silent = false;

        if (r && r->revision > revision && verb == ARGOSY__VERB__VERB_DESTROY)
                return success("submitted again meanwhile");
        if (r && r->target != ARGOSY__TARGET__TARGET_INACTIVE)
                return changed(r, revision, "the unit was loaded again meanwhile");
        for (size_t i = 0; i < v->n_nodes; i++) {
                const WaitNode *s = &v->nodes[i];

                if (!s->lost && s->reported && s->revision >= revision && s->error && *s->error)
                        return failure(EIO, s->error, s->node);
                is_silent |= s->silent;
                waits |= !s->silent && (!s->lost || s->fenced);
        }
        if (waits || v->hosts_unattached)
                return pending();
        return is_silent ? silent() : success("");
}

static const WaitNode *wait_node(const WaitView *v) {
        for (size_t i = 0; i < v->n_nodes; i++)
                if (v->nodes[i].wanted)
                        return &v->nodes[i];
        return NULL;
}

static WaitVerdict judge_placed(Argosy__Verb verb, uint64_t revision, const WaitView *v) {
        const Argosy__UnitRecord *r = v->record;
        const Argosy__Outcome *o;

        if (!r) // that it was destroyed is known only if it was there
                return v->was_known ? failure(ECANCELED, "the unit was destroyed meanwhile", NULL)
                                    : failure(ENOENT,
                                              "the unit is not in the cluster; what became of it is no "
                                              "longer known",
                                              NULL);
        if (r->target == ARGOSY__TARGET__TARGET_INACTIVE)
                return changed(r, revision, "the unit was unloaded meanwhile");
        if (verb == ARGOSY__VERB__VERB_STOP && r->target == ARGOSY__TARGET__TARGET_LAUNCHED)
                return changed(r, revision, "the unit was started again meanwhile");
        if ((verb == ARGOSY__VERB__VERB_START || verb == ARGOSY__VERB__VERB_RESTART) &&
            r->target != ARGOSY__TARGET__TARGET_LAUNCHED)
                return changed(r, revision, "the unit was stopped meanwhile");

        if (!r->global && (r->node == 0 || v->stranded) && v->unscheduled)
                return pending();
        if (!r->global && (r->node == 0 || v->stranded))
                return (WaitVerdict){.done = true,
                                     .status = EAGAIN,
                                     .message = "no node takes it at present",
                                     .unplaced = true};
        if (r->target == ARGOSY__TARGET__TARGET_LAUNCHED && (o = final_outcome(r)))
                return judge_outcome(o, wait_node(v));
        return judge_all(verb, revision, v);
}

// Judges a wait for `launched`. A unit whose new content did not start has failed once its state with the
// former content is known, whatever that is.
static WaitVerdict judge_launched(Argosy__Verb verb, uint64_t revision, const WaitView *v) {
        const Argosy__UnitRecord *r = v->record;
        const Argosy__Trial *trial = r ? unit_record_trial(r) : NULL;
        bool reverted = trial && trial->failed > 0 && trial->failed >= revision;
        WaitVerdict verdict = judge_placed(verb, reverted ? MAX_OF(revision, r->start_rev) : revision, v);
        const WaitNode *on;

        if (!reverted || !verdict.done || verdict.status == ECANCELED)
                return verdict;
        on = wait_node(v);
        verdict.reverted = trial->why;
        verdict.reverted_along = trial->along;
        verdict.node = verdict.node ?: on ? on->node : NULL;
        verdict.message = verdict.status ? verdict.message : "";
        verdict.status = verdict.status ?: EIO;
        verdict.skipped = false;
        return verdict;
}

WaitVerdict wait_condition_judge(Argosy__Verb verb, uint64_t revision, const WaitView *v) {
        switch (verb) {
        case ARGOSY__VERB__VERB_SUBMIT:
                return success("");
        case ARGOSY__VERB__VERB_UNLOAD:
        case ARGOSY__VERB__VERB_DESTROY:
                return judge_gone(verb, revision, v);
        case ARGOSY__VERB__VERB_STOP: // what was unloaded or destroyed meanwhile stops too
                if (!v->record || v->record->target == ARGOSY__TARGET__TARGET_INACTIVE)
                        return judge_gone(verb, revision, v);
                return judge_placed(verb, revision, v);
        case ARGOSY__VERB__VERB_START:
        case ARGOSY__VERB__VERB_RESTART:
                return judge_launched(verb, revision, v);
        case ARGOSY__VERB__VERB_LOAD:
                return judge_placed(verb, revision, v);
        default:
                return failure(EINVAL, "there is nothing to wait for", NULL);
        }
}

// ------------------------------------------------------------------------------------------------ goals

static bool is_heard(const WaitNode *s) {
        return s->reported && !s->lost;
}

// A unit that runs on all nodes is up when it is on those that can be.
static WaitVerdict judge_up(const WaitView *v) {
        bool any = false;

        for (size_t i = 0; i < v->n_nodes; i++) {
                const WaitNode *s = &v->nodes[i];

                if (!s->wanted || (s->lost && v->record->global))
                        continue;
                if (!is_heard(s) || s->refused || !active_state_is_up(s->active))
                        return pending();
                any = true;
        }
        return any && !(v->record->global && v->hosts_unattached) ? success("") : pending();
}

// On every node that has, or had it. One that was not begun there is down, too.
static WaitVerdict judge_down(const WaitView *v) {
        bool is_silent = false;

        for (size_t i = 0; i < v->n_nodes; i++) {
                const WaitNode *s = &v->nodes[i];
                WaitVerdict lost = s->lost ? judge_lost(ARGOSY__VERB__VERB_STOP, s) : success("");
                bool never_begun = s->refused || (s->held && !s->reported);

                if (!lost.done ||
                    (!s->lost && !never_begun && !(s->reported && active_state_is_down(s->active))))
                        return pending();
                is_silent |= lost.silent;
        }
        if (v->hosts_unattached)
                return pending();
        return is_silent ? silent() : success("");
}

static bool has_failed(const WaitNode *s) {
        if (s->outcome)
                return s->outcome->kind == ARGOSY__OUTCOME__KIND__FAILED;
        return is_heard(s) && s->active == ARGOSY__ACTIVE_STATE__ACTIVE_FAILED;
}

static WaitVerdict judge_failed(const WaitView *v) {
        for (size_t i = 0; i < v->n_nodes; i++) {
                const WaitNode *s = &v->nodes[i];

                if (s->wanted && has_failed(s))
                        return (WaitVerdict){.done = true, .message = "", .node = s->node};
        }
        return pending();
}

WaitVerdict wait_condition_judge_goal(Argosy__UnitGoal goal, const WaitView *v) {
        const Argosy__UnitRecord *r = v->record;

        if (goal == ARGOSY__UNIT_GOAL__GOAL_GONE)
                return r ? pending() : judge_gone(ARGOSY__VERB__VERB_DESTROY, UINT64_MAX, v);
        if (goal == ARGOSY__UNIT_GOAL__GOAL_INACTIVE && !r && (v->n_nodes > 0 || v->was_known))
                return judge_down(v); // it was destroyed
        if (!r)
                return failure(ENOENT,
                               v->was_known ? "the unit was destroyed meanwhile" : "there is no such unit",
                               NULL);
        if (unit_name_kind(r->name, NULL) == UNIT_NAME_TEMPLATE)
                return failure(EINVAL, "a template runs nowhere: its instances do", NULL);
        switch (goal) {
        case ARGOSY__UNIT_GOAL__GOAL_ACTIVE:
                return judge_up(v);
        case ARGOSY__UNIT_GOAL__GOAL_INACTIVE:
                return judge_down(v);
        case ARGOSY__UNIT_GOAL__GOAL_FAILED:
                return judge_failed(v);
        default:
                return failure(EINVAL, "there is nothing to wait for", NULL);
        }
}
