// SPDX-License-Identifier: LGPL-2.1-or-later
//
// JobCancel: jobs are called off. One that is held back never begins. Of one that is running what has not
// begun is put back to what the job found: units by job-cancel.c, a rollout that ends where it is, nodes
// that are not empty yet, moves of a rebalance. All of those that are named, or none: one of which nothing
// can be called off is refused.
//
//      1. all are looked at, limits.cancel_looks units in each turn, until something of each is found that
//         can be called off. That is
//         looked at again in each turn until something of them is in the log, and so is what a revision
//         binds
//      2. what is no unit goes into one entry
//      3. units go chunk by chunk (decide-aims.c), each judged anew when its turn has come: what has begun
//      meanwhile goes on
//
// The entry names the jobs (LogOp.JobPut.cancels), so every leader knows from the log alone whether a unit
// was overtaken or called off, and whether a rollout or a drain has ended for that.
//
// Who may do that is said by cancel-rights.c, and of a held job by the queue.
//
// Failures: a job of which another entry is to bring more is waited for, and so is a held one that begins by
// the entry in the making. A later leader goes on with the units that are left.

#include "decide-cancel.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "answer-jobs.h"
#include "author.h"
#include "batch-builder.h"
#include "cancel-rights.h"
#include "decide-aims.h"
#include "decide-bound.h"
#include "drain-judge.h"
#include "held-jobs.h"
#include "job-cancel.h"
#include "job-end.h"
#include "job-state.h"
#include "message-of.h"
#include "message.h"
#include "oom.h"
#include "open-jobs.h"
#include "queue-changes.h"
#include "queue-subject.h"
#include "rebalances.h"
#include "registry.h"
#include "response.h"
#include "rollout-end.h"
#include "rollout-order.h"
#include "str.h"
#include "tables.h"
#include "turn.h"
#include "undo-list.h"
#include "unit-on-node-work.h"
#include "unit-on-node.h"
#include "unit-state.h"

enum {
        REPORTED_MAX = 1000,   // units of which it is said that they go on
        WHO_SIZE = 256,
};

typedef struct CancelJob {
        uint64_t number;
        CancelKind kind;
        UndoList list;   // but for one that is held
        size_t n_looked; // of its units, of which nothing could be called off; they go in the order of
                         // `items`
} CancelJob;

typedef struct CancelItem {
        AimItem to;
        CancelJob *job;
        size_t at; // of its list
        CancelVerdict verdict;
        bool lost; // the content that it had is not kept
} CancelItem;

typedef struct CancelWork {
        RequestWork work;
        AimList aims;
        Leader *leader;
        CancelJob *jobs; // newest first
        size_t n_jobs;
        CancelItem *items; // NULL: they are not listed yet
        uint64_t *cancels;
        size_t n_said, n_not_said;
        char who[WHO_SIZE];
        Argosy__Response *said; // of what is no unit
        void (*part_committed)(Leader *l, PendingRequest *t);
} CancelWork;

static void cancel_free(PendingRequest *t, RequestWork *work) {
        CancelWork *w = CONTAINER_OF(work, CancelWork, work);

        request_calls_off(t, NULL, 0);
        for (size_t i = 0; i < w->n_jobs; i++)
                undo_list_done(&w->jobs[i].list);
        map_done(&w->aims.by_name);
        message_free(w->said);
        free(w->jobs);
        free(w->items);
        free(w->cancels);
        free(w);
}

static const RequestWorkKind cancel_kind = {cancel_free};

// NULL: it has not begun.
static CancelWork *cancel_of(const PendingRequest *t) {
        RequestWork *work = request_work(t, &cancel_kind);

        return work ? CONTAINER_OF(work, CancelWork, work) : NULL;
}

// Something of it is in the log: what is no unit, or there is none.
static bool has_begun(const PendingRequest *t) {
        return t->job > 0;
}

// ----------------------------------------------------------------------------------------------- which jobs

static int newer_first(const void *a, const void *b) {
        const CancelJob *x = a, *y = b;

        return x->number > y->number ? -1 : x->number < y->number;
}

static Argosy__Response *refuse_over(const Leader *l, uint64_t number) {
        Argosy__JobState state = cluster_state_job_state(l->state, number);

        return response_error(
                EALREADY,
                "job %" PRIu64
                " is over, it is %s: nothing was changed; `argosyctl undo` puts back what it did",
                number, job_state_to_string(state));
}

// What is being written is no unit that is yet to do something.
static Argosy__Response *refuse_effect(const CancelJob *job) {
        return response_error(EALREADY,
                              "job %" PRIu64
                              " (%s) has begun, and nothing of it can be called off: nothing was changed",
                              job->number, job->list.job->verb);
}

// 0 and *ret NULL, or why it cannot be.
static int read_job(CancelWork *w, const PendingRequest *t, CancelJob *job, Argosy__Response **ret) {
        const Argosy__Author *author = t->author;
        Leader *l = w->leader;
        Argosy__JobState state = cluster_state_job_state(l->state, job->number);
        int r;

        *ret = NULL;
        if (state == ARGOSY__JOB_STATE__JOB_HELD) {
                job->kind = CANCEL_KIND_HELD;
                *ret = queue_forbid_held(l, author, job->number);
                return 0;
        }
        r = undo_list_read(&job->list, l->state, job->number);
        if (r == -ENOENT)
                *ret = answer_no_such_job(l, job->number);
        else if (r == -E2BIG && cancel_kind_of(job->list.job) == CANCEL_KIND_UNITS)
                *ret = response_error(
                        E2BIG, "job %" PRIu64 " has changed more units than can be called off at once",
                        job->number);
        else if (r < 0 && r != -E2BIG)
                return r;
        else {
                job->kind = cancel_kind_of(job->list.job);
                if (has_begun(t))
                        return 0;
                *ret = state != ARGOSY__JOB_STATE__JOB_RUNNING
                               ? refuse_over(l, job->number)
                               : cancel_forbid_running(l, author, job->list.job);
                if (!*ret && job_end_is_effect(job->list.job->verb))
                        *ret = refuse_effect(job);
                return 0;
        }
        return *ret ? 0 : -ENOMEM;
}

static void name_author(CancelWork *w, const PendingRequest *t) {
        const Argosy__HostRecord *host = cluster_state_find_host(w->leader->state, t->author->host);
        char user[AUTHOR_TEXT_SIZE];

        str_fit(w->who, sizeof(w->who), "%s@%s", author_text(t->author, user), host ? host->name : "?");
}

static int work_new(Leader *l, PendingRequest *t) {
        const Argosy__Request__JobCancel *m = t->request->job_cancel;
        CancelWork *w = calloc(1, sizeof(*w));

        if (!w)
                return -ENOMEM;
        request_add_work(t, &cancel_kind, &w->work);
        w->leader = l;
        name_author(w, t);
        w->jobs = calloc(m->n_numbers, sizeof(*w->jobs));
        w->cancels = calloc(m->n_numbers, sizeof(*w->cancels));
        if (!w->jobs || !w->cancels)
                return -ENOMEM;
        for (size_t i = 0; i < m->n_numbers; i++)
                w->jobs[i].number = m->numbers[i];
        qsort(w->jobs, m->n_numbers, sizeof(*w->jobs), newer_first);
        for (size_t i = 0; i < m->n_numbers; i++)
                if (w->n_jobs == 0 || w->jobs[w->n_jobs - 1].number != w->jobs[i].number)
                        w->jobs[w->n_jobs++] = w->jobs[i];
        return 0;
}

// STEP_PASSED: all of them can be looked at.
static int read_jobs(CancelWork *w, PendingRequest *t) {
        for (size_t i = 0; i < w->n_jobs; i++) {
                Argosy__Response *refusal;
                int r = read_job(w, t, &w->jobs[i], &refusal);

                if (r < 0)
                        return r;
                if (refusal && !has_begun(t))
                        return request_settle(t, refusal);
                message_free(refusal);
        }
        return STEP_PASSED;
}

// Whether the pending request's turn is yet to come: a job goes on in another entry, or is about to end. One
// that is held has nothing in the log that could be waited for, whatever its request waits for.
static bool has_to_wait(Leader *l, const CancelJob *job) {
        if (job->kind == CANCEL_KIND_HELD)
                return false;
        if (open_job_has_ended(l, job->number))
                return true;
        if (!cluster_state_job_is_partial(l->state, job->number))
                return false;
        list_foreach (i, &l->pending_requests) {
                const PendingRequest *t = CONTAINER_OF(i, PendingRequest, all);

                if (t->job == job->number && list_is_linked(&t->queue))
                        return true;
        }
        return false;
}

// ------------------------------------------------------------------------------------------------ units

static const AimItem *item_at(const AimList *list, size_t i);

// A unit that two of them are about is the newer one's. STEP_PASSED: these were all.
static int list_units(CancelWork *w) {
        size_t n = 0;

        for (size_t i = 0; i < w->n_jobs; i++)
                if (w->jobs[i].kind == CANCEL_KIND_UNITS && w->jobs[i].list.job) {
                        int r = undo_list_fill(&w->jobs[i].list, w->leader->limits.cancel_looks);

                        if (r != 0)
                                return r == UNDO_LIST_MORE ? PLAN_SETTLED : r;
                        n += w->jobs[i].list.n;
                }
        w->items = calloc(n + 1, sizeof(*w->items));
        if (!w->items)
                return -ENOMEM;
        for (size_t i = 0; i < w->n_jobs; i++)
                for (size_t k = 0; w->jobs[i].kind == CANCEL_KIND_UNITS && k < w->jobs[i].list.n; k++) {
                        CancelItem *item = &w->items[w->aims.n];
                        int r;

                        *item = (CancelItem){
                                .to.name = w->jobs[i].list.items[k].to.name, .job = &w->jobs[i], .at = k};
                        r = map_add_str(&w->aims.by_name, item->to.name, &item->to);
                        if (r == -ENOMEM)
                                return r;
                        w->aims.n += r == 0;
                }
        w->aims.item = item_at;
        return STEP_PASSED;
}

static bool runs(const UnitOnNode *s) {
        return unit_on_node_is_reported(s) && !unit_on_node_is_down(s);
}

static void add_node(const UnitOnNode *s, CancelUnit *u) {
        bool keeps_back = s->hold == HOLD_START || s->hold == HOLD_BLOCKED ||
                          list_is_linked(&unit_on_node_work_seen(s)->awaiting);

        u->n_nodes++;
        u->n_down += !runs(s);
        u->n_waiting += !runs(s) && (keeps_back || !unit_on_node_is_known(s));
        u->n_stop_waiting += runs(s) && s->hold == HOLD_STOP;
}

static CancelUnit look(const Leader *l, const CancelItem *item) {
        const Unit *u = unit_find(l, item->to.name);
        const UnitEntry *e = cluster_state_find_unit(l->state, item->to.name);
        CancelUnit unit = {.verb = u ? open_job_awaits(l, item->job->number, u) : ARGOSY__VERB__VERB_NONE};
        bool is_global = e && e->record->global;

        if (unit.verb == ARGOSY__VERB__VERB_NONE)
                return unit;
        unit.placed = is_global || u->node;
        unit.heard = is_global ? l->n_hosts.unattached == 0 : !u->node || u->node->host->attached;
        list_foreach (i, &u->on_nodes) {
                const UnitOnNode *s = CONTAINER_OF(i, const UnitOnNode, by_unit);

                if (is_global || s->node == u->node)
                        add_node(s, &unit);
        }
        return unit;
}

static void aim(CancelItem *item, const UndoItem *undo) {
        item->lost = item->verdict == CANCEL_CALLED_OFF && undo->lost;
        item->to.aimed = item->verdict == CANCEL_CALLED_OFF && !item->lost;
        item->to.aim = undo->to.aim;
        item->to.aim.bump = 0; // nobody starts or stops it: it is as if nobody had
        item->to.verb = ARGOSY__VERB__VERB_NONE;
}

static void judge(CancelWork *w, CancelItem *item) {
        UndoList *list = &item->job->list;
        CancelUnit unit = look(w->leader, item);

        undo_list_judge(list, w->leader->state, item->at, item->at + 1, false);
        item->verdict = job_cancel_judge(&unit, list->items[item->at].verdict);
        aim(item, &list->items[item->at]);
}

// Each time it is looked at as it is then.
static const AimItem *item_at(const AimList *list, size_t i) {
        CancelWork *w = (CancelWork *) CONTAINER_OF(list, const CancelWork, aims);

        judge(w, &w->items[i]);
        return &w->items[i].to;
}

static const char *why_it_stays(const CancelItem *item) {
        switch (item->verdict) {
        case CANCEL_BEGUN:
                return "it has begun, and goes on";
        case CANCEL_AS_BEFORE:
                return "it was to be so before, too, and stays";
        case CANCEL_TOUCHED:
                return "somebody has changed it since, and it stays";
        default:
                return NULL;
        }
}

static int on_describe(const Leader *l, const PendingRequest *t, const AimList *aims,
                       const AimItem *aim_item, Argosy__Response__UnitResult *ret) {
        const CancelItem *item = CONTAINER_OF(aim_item, const CancelItem, to);
        const char *why = why_it_stays(item);
        CancelWork *w = cancel_of(t);
        int r;

        if (item->lost) {
                ret->status = ENODATA; // log_chunk_is_left()
                r = field_set(&ret->message, "the file that it had before is not kept any more: it stays");
                return r < 0 ? r : AIM_SAID;
        }
        if (!why)
                return 0;
        if (w->n_said == REPORTED_MAX) {
                w->n_not_said++;
                return 0;
        }
        w->n_said++;
        r = field_set(&ret->message, why);
        return r < 0 ? r : AIM_SAID;
}

static bool has_units(const CancelWork *w) {
        for (size_t i = 0; i < w->n_jobs; i++)
                if (w->jobs[i].kind == CANCEL_KIND_UNITS)
                        return true;
        return false;
}

// ------------------------------------------------------------------------------------------ what is no unit

static int say(CancelWork *w, const char *name, bool is_setting, const char *message) {
        Argosy__Response__Change *change = w->said->change;
        Argosy__Response__UnitResult *result = unit_result_new(name);

        if (FIELD_APPEND(change->units, change->n_units, result) < 0)
                return -ENOMEM;
        result->setting = is_setting;
        return field_set(&result->message, message);
}

static int end_held(CancelWork *w, const CancelJob *job, BatchBuilder *b) {
        Argosy__JobRecord record = ARGOSY__JOB_RECORD__INIT, *records = &record;
        _cleanup_free_ char *why = str_printf("by %s, before it began", w->who);
        _cleanup_free_ char *name = str_printf("job %" PRIu64, job->number);
        int r;

        if (!why || !name)
                return -ENOMEM;
        r = held_job_claim(w->leader, b, job->number);
        if (r < 0)
                return r;
        record.number = job->number;
        record.state = ARGOSY__JOB_STATE__JOB_CANCELLED;
        record.ended_us = leader_wall(w->leader);
        record.end_message = why;
        Argosy__LogOp__JobEnds ends = MESSAGE_OF(log_op__job_ends, .ends = &records, .n_ends = 1);
        r = batch_builder_end_jobs(b, &ends);
        return r < 0 ? r : say(w, name, true, "it never begins");
}

static int stop_rollout(CancelWork *w, const CancelJob *job, Decision *d) {
        const Argosy__RolloutRecord *r = open_job_rollout(w->leader, job->number);
        _cleanup_free_ char *reason = str_printf("called off by %s", w->who);
        int k;

        if (!reason)
                return -ENOMEM;
        k = rollout_stop(w->leader, &d->batch, &d->planned, r, reason);
        if (k == ROLLOUT_IN_CYCLE)
                return say(w, r->name, false,
                           "its order would go in a cycle with the new content: all goes back");
        return k < 0 ? k : say(w, r->name, false, "nothing more of it is changed; what was changed stays");
}

// Those that are empty have nothing that could be called off.
static int judge_drains(Leader *l, CancelJob *job) {
        UndoSettings *settings = &job->list.settings;
        int r = undo_settings_judge(settings, l, false);
        size_t left;

        for (size_t i = 0; r == 0 && i < settings->n; i++)
                if (settings->items[i].first->kind != ARGOSY__SETTING_KIND__SETTING_NODE ||
                    drain_judge(l, settings->items[i].first->number, &left) != DRAIN_GOES_ON)
                        settings->items[i].verdict = UNDO_RAN;
        return r;
}

static int stop_drains(CancelWork *w, CancelJob *job, BatchBuilder *b) {
        Argosy__Response__Change *change = w->said->change;
        UndoSettings *settings = &job->list.settings;
        int r = judge_drains(w->leader, job);

        if (r == 0)
                r = undo_settings_put(settings, w->leader, b);
        for (size_t i = 0; r >= 0 && i < settings->n; i++) {
                Argosy__Response__UnitResult *result = undo_setting_result(&settings->items[i]);

                r = FIELD_APPEND(change->units, change->n_units, result);
                if (r == 0 && undo_setting_is_due(&settings->items[i]))
                        r = undo_setting_describe(&settings->items[i], result);
                else if (r == 0)
                        r = field_set(&result->message,
                                      "it is empty, or was changed since, and stays as it is");
        }
        return MIN_OF(r, 0);
}

static int put_job(CancelWork *w, CancelJob *job, Decision *d) {
        switch (job->kind) {
        case CANCEL_KIND_HELD:
                return end_held(w, job, &d->batch);
        case CANCEL_KIND_ROLLOUT:
                return stop_rollout(w, job, d);
        case CANCEL_KIND_DRAIN:
                return stop_drains(w, job, &d->batch);
        case CANCEL_KIND_REBALANCE: // on_begun()
                return say(w, "rebalance", true, "nothing more is moved");
        default:
                return 0;
        }
}

// ------------------------------------------------------------------------------- whether there is something

static bool is_rebalance(Leader *l, const CancelJob *job) {
        const RebalanceJob *r = l->rebalance_job;

        return r && r->number == job->number && !rebalance_is_aborted(l);
}

// The first of which something can be called off in this turn; what is before it has begun, and that is not
// taken back.
static int look_at_units(CancelWork *w, CancelJob *job, size_t *n, bool *ret_found) {
        for (; job->n_looked < w->aims.n; job->n_looked++) {
                CancelItem *item = &w->items[job->n_looked];

                if (item->job != job)
                        continue;
                if ((*n)++ == w->leader->limits.cancel_looks)
                        return PLAN_SETTLED;
                judge(w, item);
                *ret_found = item->to.aimed;
                if (*ret_found)
                        break;
        }
        return STEP_PASSED;
}

// STEP_PASSED: whether something of it can be called off in this turn is known.
static int look_at(CancelWork *w, CancelJob *job, size_t *n, bool *ret_found) {
        const Argosy__RolloutRecord *rollout;
        int r;

        *ret_found = false;
        switch (job->kind) {
        case CANCEL_KIND_HELD:
                *ret_found = true;
                return STEP_PASSED;
        case CANCEL_KIND_ROLLOUT:
                rollout = open_job_rollout(w->leader, job->number);
                *ret_found = rollout && rollout->phase != ARGOSY__ROLLOUT_PHASE__ROLLOUT_RETURNING;
                return STEP_PASSED;
        case CANCEL_KIND_DRAIN:
                r = judge_drains(w->leader, job);
                for (size_t i = 0; r == 0 && i < job->list.settings.n; i++)
                        *ret_found |= undo_setting_is_due(&job->list.settings.items[i]);
                return r < 0 ? r : STEP_PASSED;
        case CANCEL_KIND_REBALANCE:
                *ret_found = is_rebalance(w->leader, job);
                return STEP_PASSED;
        default:
                return look_at_units(w, job, n, ret_found);
        }
}

static Argosy__Response *refuse_begun(const CancelJob *job) {
        if (job->kind == CANCEL_KIND_ROLLOUT)
                return response_error(EALREADY,
                                      "job %" PRIu64
                                      ": %s goes back to what it was before already: nothing was called off",
                                      job->number, job->list.job->rollout);
        return response_error(
                EALREADY,
                "all of job %" PRIu64
                " (%s) has begun: nothing was called off; `argosyctl undo` puts back what it did",
                job->number, job->list.job->verb);
}

// What is not there any more has no revision: so it is that of the last unit that went, whichever it was.
static uint64_t newest_of_units(const CancelWork *w) {
        const ClusterState *state = w->leader->state;
        uint64_t newest = 0;

        for (size_t i = 0; i < w->aims.n; i++) {
                const UnitEntry *u = cluster_state_find_unit(state, w->items[i].to.name);

                newest = MAX_OF(newest, u ? u->record->revision : cluster_state_left_revision(state));
        }
        return newest;
}

// The newest revision of the job itself, or of what it is about, but for units.
static uint64_t newest_of(const CancelWork *w, const CancelJob *job) {
        const ClusterState *state = w->leader->state;
        uint64_t newest = cluster_state_job_revision(state, job->number);

        if (job->kind == CANCEL_KIND_ROLLOUT)
                return MAX_OF(newest, decide_bound_group_revision(w->leader, job->list.job->rollout));
        return job->kind == CANCEL_KIND_DRAIN ? MAX_OF(newest, cluster_state_hosts_revision(state)) : newest;
}

// STEP_PASSED: nothing of all that has changed after the revision that the request names. It is asked about
// all of them in the turn of the first entry, at about 0.1 us each.
static int refuse_if_changed(const CancelWork *w, PendingRequest *t) {
        uint64_t newest = t->request->job && t->request->job->if_revision > 0 ? newest_of_units(w) : 0;

        for (size_t i = 0; i < w->n_jobs; i++)
                newest = MAX_OF(newest, newest_of(w, &w->jobs[i]));
        return decide_bound_check_revision(t, "a job, or what it is about", newest);
}

// STEP_PASSED: something of each can be.
static int check(CancelWork *w, PendingRequest *t) {
        size_t n = 0;

        for (size_t i = 0; i < w->n_jobs; i++) {
                bool found;
                int r;

                if (has_to_wait(w->leader, &w->jobs[i]))
                        return PLAN_SETTLED;
                if (w->jobs[i].kind != CANCEL_KIND_HELD && !open_job_is_known(w->leader, w->jobs[i].number))
                        return request_settle(t, refuse_over(w->leader, w->jobs[i].number));
                r = look_at(w, &w->jobs[i], &n, &found);
                if (r == PLAN_SETTLED)
                        leader_mark(w->leader);
                if (r != STEP_PASSED)
                        return r;
                if (!found)
                        return request_settle(t, refuse_begun(&w->jobs[i]));
        }
        return STEP_PASSED;
}

// One that was held back has begun, or is over.
static bool is_outdated(const CancelWork *w, const PendingRequest *t) {
        for (size_t i = 0; !has_begun(t) && i < w->n_jobs; i++)
                if (w->jobs[i].kind == CANCEL_KIND_HELD &&
                    cluster_state_job_state(w->leader->state, w->jobs[i].number) !=
                            ARGOSY__JOB_STATE__JOB_HELD)
                        return true;
        return false;
}

// --------------------------------------------------------------------------------------------- into the log

// The jobs of one of these kinds, that the log does not know yet to be called off.
static void name_jobs(PendingRequest *t, bool of_units) {
        CancelWork *w = cancel_of(t);
        size_t n = 0;

        for (size_t i = 0; i < w->n_jobs; i++) {
                const CancelJob *job = &w->jobs[i];

                if (job->kind != CANCEL_KIND_HELD && (job->kind == CANCEL_KIND_UNITS) == of_units &&
                    !(t->job > 0 && open_job_is_cancelled_by(w->leader, job->number, t->job)))
                        w->cancels[n++] = job->number;
        }
        request_calls_off(t, w->cancels, n);
}

static bool has_more_than_units(const CancelWork *w) {
        for (size_t i = 0; i < w->n_jobs; i++)
                if (w->jobs[i].kind != CANCEL_KIND_UNITS)
                        return true;
        return false;
}

static int finish(CancelWork *w, Argosy__Response *to) {
        Argosy__Response__Change *from = w->said ? w->said->change : NULL;

        for (size_t i = 0; from && i < from->n_units; i++) {
                Argosy__Response__UnitResult *result = TAKE_PTR(from->units[i]);

                if (FIELD_APPEND(to->change->units, to->change->n_units, result) < 0)
                        return -ENOMEM;
        }
        if (from)
                from->n_units = 0;
        return w->n_not_said == 0 ? 0
                                  : field_printf(&to->message, "and %zu more units go on", w->n_not_said);
}

static void on_begun(Leader *l, PendingRequest *t) {
        CancelWork *w = cancel_of(t);

        for (size_t i = 0; i < w->n_jobs; i++)
                if (is_rebalance(l, &w->jobs[i]))
                        rebalance_abort(l);
        if (!has_units(w))
                (void) request_prepare(t, TAKE_PTR(w->said));
}

static void on_part(Leader *l, PendingRequest *t) {
        cancel_of(t)->part_committed(l, t);
        if (t->response)
                (void) oom_check(finish(cancel_of(t), t->response));
}

// What is no unit. PLAN_IN_BATCH.
static int begin(Decision *d, PendingRequest *t) {
        CancelWork *w = cancel_of(t);
        int r = 0;

        message_free(w->said); // its entry was not taken
        w->said = response_new(ARGOSY__RESPONSE__WHAT_CHANGE);
        if (!w->said)
                return -ENOMEM;
        for (size_t i = 0; r == 0 && i < w->n_jobs; i++)
                r = put_job(w, &w->jobs[i], d);
        if (r < 0)
                return r;
        name_jobs(t, false);
        request_when_committed(t, on_begun, has_units(w));
        return PLAN_IN_BATCH;
}

static int go_on(Decision *d, PendingRequest *t) {
        CancelWork *w = cancel_of(t);
        int r;

        w->aims.describe = on_describe;
        name_jobs(t, true);
        r = decide_aims(d, t, &w->aims);
        if (r == PLAN_IN_BATCH) {
                w->part_committed = t->committed;
                request_when_committed(t, on_part, t->again);
        }
        return r;
}

int decide_cancel(Decision *d, PendingRequest *t) {
        Leader *l = d->leader;
        int r = STEP_PASSED;

        if (cancel_of(t) && is_outdated(cancel_of(t), t))
                request_drop_work(t, &cancel_kind);
        if (!cancel_of(t)) {
                r = work_new(l, t);
                r = r < 0 ? r : read_jobs(cancel_of(t), t);
        }
        if (r != STEP_PASSED)
                return r;
        if (!cancel_of(t)->items)
                r = list_units(cancel_of(t));
        if (r == PLAN_SETTLED)
                leader_mark(l);
        if (r == STEP_PASSED && !has_begun(t))
                r = refuse_if_changed(cancel_of(t), t);
        if (r == STEP_PASSED && !has_begun(t))
                r = check(cancel_of(t), t);
        if (r != STEP_PASSED)
                return r;
        return has_begun(t) || !has_more_than_units(cancel_of(t)) ? go_on(d, t) : begin(d, t);
}
