// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Jobs whose units have all ended: what else they wait for, the end that the log is told, and those who wait
// for it.
//
// Happy path: a job ends, and its end goes with the next entry, whatever that is about; at the latest after
// limits.job_end_delay_ms it gets one of its own, with all others that have ended by then. At once, if a
// client waits for it: a client that is told that a job has ended finds that in the log, under any leader.
// So ends make at most one entry a second more than there would be, and none under load. Lists and figures
// say how a job has ended from the turn on in which its units have (open_job_end_known()): a wait for the
// units is answered in that turn, and its client would else find a running job. The stream of events says it
// when the log has it, so that no later leader tells it again.
//
// An entry that the log did not take, or of which nobody knows whether it did, is put again: the applier
// skips a job that is not running any more.
//
// Failures: none but memory; then nothing was put, and the next entry tries again.
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "answer-jobs.h"
#include "clock.h"
#include "drain-judge.h"
#include "held-jobs.h"
#include "message-of.h"
#include "message.h"
#include "oom.h"
#include "open-jobs-private.h"
#include "pending-requests.h"
#include "queue-subject.h"
#include "registry.h"
#include "response.h"
#include "str.h"
#include "tables.h"
#include "tallies.h"
#include "turn.h"

// --------------------------------------------------------------------------------------- what else there is

static void say(OpenJob *job, Argosy__JobState state, const char *format, const char *text) {
        job->end.state = state;
        (void) oom_check(field_printf(&job->end.end_message, format, text));
}

// The log is yet to get more of it; which its last entry would say of one that is done with that.
static bool is_partial(const Leader *l, const OpenJob *job) {
        return cluster_state_job_is_partial(l->state, job->number) ||
               (job_end_is_effect(job->verb) &&
                cluster_state_job_state(l->state, job->number) == ARGOSY__JOB_STATE__JOB_RUNNING);
}

// Its client may come again and go on with it, here or at a leader that is not there any more. With what was
// held the leader does that itself: while the log has no room it is no pending request between two tries.
// Once the rest of that was refused, nobody may go on with it, least of all the next leader.
static bool waits_for_rest(const Leader *l, const OpenJob *job) {
        if (!is_partial(l, job) || job->n_cancelled_by > 0)
                return false;
        if (held_job_goes_on(l, job->number))
                return true;
        list_foreach (i, &l->pending_requests) {
                const PendingRequest *t = CONTAINER_OF(i, PendingRequest, all);

                if ((t->job == job->number || t->job_flying == job->number) && list_is_linked(&t->queue))
                        return true;
        }
        if (held_job_rest_refused(l, job->number))
                return false;
        return leader_now(l) < l->jobs_resume_us;
}

// NULL: another one has taken its place, or it is not kept.
static const Argosy__RolloutRecord *own_rollout(const Leader *l, const OpenJob *job) {
        const Argosy__RolloutRecord *r = cluster_state_find_rollout(l->state, job->rollout);

        return r && r->revision > job->revision_before && r->revision <= job->revision ? r : NULL;
}

const Argosy__RolloutRecord *open_job_rollout(const Leader *l, uint64_t number) {
        const OpenJob *job = open_job_find(l, number);
        const Argosy__RolloutRecord *r = job && *job->rollout ? own_rollout(l, job) : NULL;

        return rollout_is_under_way(r) ? r : NULL;
}

// Only a later one has taken its place; of what is not kept nobody knows how it ended.
static void say_replaced(const Leader *l, OpenJob *job) {
        const Argosy__RolloutRecord *r = cluster_state_find_rollout(l->state, job->rollout);

        if (r && r->revision > job->revision)
                say(job, ARGOSY__JOB_STATE__JOB_OVERTAKEN,
                    "%s: another update or restart has taken its place", job->rollout);
        else
                say(job, ARGOSY__JOB_STATE__JOB_FAILED,
                    "%s: the record of this update or restart is not kept any more: how it ended is not "
                    "known",
                    job->rollout);
}

static bool rollout_is_over(const Leader *l, OpenJob *job) {
        const Argosy__RolloutRecord *r = own_rollout(l, job);

        if (!r) {
                say_replaced(l, job);
                return true;
        }
        if (rollout_is_under_way(r))
                return false;
        if (r->phase == ARGOSY__ROLLOUT_PHASE__ROLLOUT_RETURNED)
                say(job, ARGOSY__JOB_STATE__JOB_FAILED, "%s; everything has the file of before again",
                    r->reason);
        else if (r->phase == ARGOSY__ROLLOUT_PHASE__ROLLOUT_STOPPED)
                say(job,
                    job->n_cancelled_by > 0 ? ARGOSY__JOB_STATE__JOB_CANCELLED
                                            : ARGOSY__JOB_STATE__JOB_FAILED,
                    "%s; nothing more was changed", r->reason);
        else if (*r->reason)
                say(job, ARGOSY__JOB_STATE__JOB_FAILED, "%s", r->reason);
        return true;
}

// A node that there is no more is known by the job's record.
static void say_gone(const Leader *l, OpenJob *job, uint32_t node) {
        const char *name = "a node";
        Argosy__JobRecord *record;

        if (oom_check(cluster_state_read_job(l->state, job->number, &record)) < 0)
                record = NULL;
        for (size_t i = 0; record && i < record->n_settings; i++)
                if (record->settings[i]->kind == ARGOSY__SETTING_KIND__SETTING_NODE &&
                    record->settings[i]->number == node)
                        name = record->settings[i]->where;
        say(job, ARGOSY__JOB_STATE__JOB_FAILED,
            "%s is not in the cluster any more: whether all units had left it is not known", name);
        message_free(record);
}

// The worst of what became of its nodes is what became of it.
static bool drains_are_over(const Leader *l, OpenJob *job) {
        const char *stuck = NULL, *over = NULL;
        uint32_t gone = 0;
        size_t left;

        for (size_t i = 0; i < job->n_drains; i++) {
                const Node *n = node_find(l, job->drains[i]);

                switch (drain_judge(l, job->drains[i], &left)) {
                case DRAIN_GOES_ON:
                        return false;
                case DRAIN_STUCK:
                        stuck = n->name;
                        break;
                case DRAIN_OVER:
                        over = n->name;
                        break;
                case DRAIN_GONE:
                        gone = job->drains[i];
                        break;
                case DRAIN_EMPTY:
                        break;
                }
        }
        if (stuck)
                say(job, ARGOSY__JOB_STATE__JOB_FAILED, "no other node takes what is left on %s", stuck);
        else if (gone > 0)
                say_gone(l, job, gone);
        else if (over && job->n_cancelled_by > 0)
                say(job, ARGOSY__JOB_STATE__JOB_CANCELLED, "what was left on %s stays there", over);
        else if (over)
                say(job, ARGOSY__JOB_STATE__JOB_OVERTAKEN, "%s is not being drained any more", over);
        return true;
}

static bool rebalance_goes_on(Leader *l, const OpenJob *job) {
        const RebalanceJob *r = l->rebalance_job;

        return r && (r->number == job->number || r->flying == job->number);
}

bool open_job_is_over(Leader *l, OpenJob *job) {
        if (*job->rollout)
                return rollout_is_over(l, job);
        return !waits_for_rest(l, job) && !rebalance_goes_on(l, job) && drains_are_over(l, job);
}

// --------------------------------------------------------------------------------------------- into the log

static void into_ended(Leader *l, OpenJob *job) {
        list_append(&l->jobs_ended, &job->queue);
        if (!l->jobs_due_us)
                l->jobs_due_us = leader_now(l) + l->limits.job_end_delay_ms * USEC_PER_MSEC;
        l->jobs_urgent |= !list_is_empty(&job->pending_requests);
        leader_mark(l);
}

// Judges a job's end by its units, if nothing else has said it. A chunk of a request is not what was asked
// for, whatever its units are like, and units that the record does not name were not looked at; but a
// rollout that has got through has looked at all. An end in the log is replaced by a later one, but not
// taken back.
static void judge_end(const Leader *l, OpenJob *job) {
        bool called_off = job->n_cancelled_by > 0;
        const char *refusal = held_job_rest_refused(l, job->number);

        if (!called_off && is_partial(l, job))
                say(job, ARGOSY__JOB_STATE__JOB_FAILED, "only a part of it was carried out: %s",
                    refusal && *refusal ? refusal
                                        : "the rest was refused, or nobody has asked for it again");
        else if (!called_off && job->cut && !*job->rollout && !job_end_is_effect(job->verb))
                say(job, ARGOSY__JOB_STATE__JOB_FAILED, "%s",
                    "it changed more units than its record can name: how the others ended is not known");
        else
                say(job, job_end_state(&job->counts, called_off), "%s", job->resumed ? JOB_END_RESUMED : "");
}

static void fill_end(Leader *l, OpenJob *job) {
        if (job->end.state == ARGOSY__JOB_STATE__JOB_UNKNOWN)
                judge_end(l, job);
        job->end.ended_us = leader_wall(l);
        job->end.failed = job->counts.n[ARGOSY__UNIT_END__END_FAILED];
        job->end.unplaced = job->counts.n[ARGOSY__UNIT_END__END_UNPLACED];
        job->end.overtaken = job->counts.n[ARGOSY__UNIT_END__END_OVERTAKEN];
        job->end.cancelled = job->counts.n[ARGOSY__UNIT_END__END_CANCELLED];
}

// Counts the end once, whichever caller comes first.
static void tally_end(Leader *l, OpenJob *job) {
        if (job->end_tallied)
                return;
        job->end_tallied = true;
        tally_job(l, job->tally, ARGOSY__JOB_STATE__JOB_RUNNING, job->end.state);
}

void open_job_end(Leader *l, OpenJob *job) {
        author_jobs_drop(l, TAKE_PTR(job->author)); // a client that has waited for it may ask for the next
        fill_end(l, job);
        tally_end(l, job);
        into_ended(l, job);
}

bool open_job_has_ended(Leader *l, uint64_t number) {
        const OpenJob *job = open_job_find(l, number);

        if (!job || job->end.state == ARGOSY__JOB_STATE__JOB_UNKNOWN)
                return false;
        l->jobs_urgent = true;
        return true;
}

void open_job_goes_on(Leader *l, uint64_t number) {
        OpenJob *job = open_job_find(l, number);

        if (!job || job->n_open > 0)
                return;
        say(job, ARGOSY__JOB_STATE__JOB_UNKNOWN, "%s", "");
        list_unlink(&job->queue);
        list_append(&l->jobs_watched, &job->queue);
        if (job->end_tallied)
                tally_job(l, job->tally, ARGOSY__JOB_STATE__JOB_UNKNOWN, ARGOSY__JOB_STATE__JOB_RUNNING);
        job->end_tallied = false;
}

static bool is_due(const Leader *l, const BatchBuilder *b, bool goes_anyhow) {
        if (list_is_empty(&l->jobs_ended) || b->packed.len >= l->limits.entry_bytes ||
            (l->one_by_one && b->n_ops > 0))
                return false;
        return goes_anyhow || l->jobs_urgent || l->jobs_due_us <= leader_now(l);
}

int open_jobs_decide(Leader *l, BatchBuilder *b, bool goes_anyhow) {
        Argosy__JobRecord *pointers[LEADER_LIMIT_job_ends];
        size_t bytes = 0, most = l->one_by_one ? 1 : l->limits.job_ends;
        int r;

        if (!is_due(l, b, goes_anyhow))
                return 0;
        Argosy__LogOp__JobEnds ends = MESSAGE_OF(log_op__job_ends, .ends = pointers);
        while (!list_is_empty(&l->jobs_ended) && ends.n_ends < most &&
               bytes < l->limits.job_ends_bytes) {
                OpenJob *job = CONTAINER_OF(l->jobs_ended.next, OpenJob, queue);

                pointers[ends.n_ends++] = &job->end;
                bytes += job->n_bytes;
                list_unlink(&job->queue);
                list_append(&l->jobs_flying, &job->queue);
        }
        r = batch_builder_end_jobs(b, &ends);
        if (r < 0)
                list_splice_front(&l->jobs_ended, &l->jobs_flying);
        else if (list_is_empty(&l->jobs_ended)) {
                l->jobs_due_us = 0;
                l->jobs_urgent = false;
        }
        return r;
}

// One that has lasted longer than all that came after it is not kept when it has ended.
static void answer(Leader *l, OpenJob *job) {
        bool is_kept = cluster_state_job_state(l->state, job->number) != ARGOSY__JOB_STATE__JOB_UNKNOWN;
        Argosy__JobRecord end = job->end;

        end.verb = job->verb;
        list_foreach_safe (i, &job->pending_requests) {
                PendingRequest *t = request_in(i, PENDING_WAIT);

                request_settle(t, is_kept ? answer_job(l, t->author, job->number)
                                         : answer_job_end(l, t->author, &end));
        }
}

// The log says how it ended.
static void leave(Leader *l, OpenJob *job) {
        tally_end(l, job);
        answer(l, job);
        open_job_free(l, job);
}

void open_jobs_landed(Leader *l, bool committed) {
        ListNode flying = LIST_INIT(flying);

        list_splice(&flying, &l->jobs_flying);
        while (!list_is_empty(&flying)) {
                OpenJob *job = CONTAINER_OF(flying.next, OpenJob, queue);

                list_unlink(&job->queue);
                if (committed &&
                    cluster_state_job_state(l->state, job->number) != ARGOSY__JOB_STATE__JOB_RUNNING)
                        leave(l, job);
                else
                        into_ended(l, job);
        }
}

// ------------------------------------------------------------------------------------------------ each turn

static void tell(OpenJob *job) {
        list_foreach (i, &job->pending_requests) {
                PendingRequest *t = request_in(i, PENDING_WAIT);

                if (request_report(t, job->n_open))
                        request_send(t, response_progress(job->n_open));
        }
}

// The last entry of its effect has said how it ended. False: it is running.
static bool has_ended_with_its_effect(Leader *l, OpenJob *job) {
        Argosy__JobState state = cluster_state_job_state(l->state, job->number);

        if (state == ARGOSY__JOB_STATE__JOB_RUNNING)
                return false;
        fill_end(l, job);
        if (state != ARGOSY__JOB_STATE__JOB_UNKNOWN) // it is kept
                job->end.state = state;
        leave(l, job);
        return true;
}

void open_jobs_turn(Leader *l) {
        list_foreach_safe (i, &l->jobs_watched) {
                OpenJob *job = CONTAINER_OF(i, OpenJob, queue);

                if (!open_job_is_over(l, job) || has_ended_with_its_effect(l, job))
                        continue;
                list_unlink(&job->queue);
                open_job_end(l, job);
        }
        while (!list_is_empty(&l->jobs_reported)) {
                OpenJob *job = CONTAINER_OF(l->jobs_reported.next, OpenJob, reported);

                list_unlink(&job->reported);
                tell(job);
        }
}

uint64_t open_jobs_next_deadline(const Leader *l) {
        uint64_t now = leader_now(l), due = l->jobs_due_us > now ? l->jobs_due_us : 0;

        if (!list_is_empty(&l->jobs_watched) && l->jobs_resume_us > now && (!due || l->jobs_resume_us < due))
                due = l->jobs_resume_us;
        return due;
}

// ------------------------------------------------------------------------------------------------ who waits

void open_job_add_waiter(Leader *l, OpenJob *job, PendingRequest *t) {
        request_join(t, PENDING_WAIT, &job->pending_requests);
        open_job_notify(l, job);
        if (job->end.state != ARGOSY__JOB_STATE__JOB_UNKNOWN)
                l->jobs_urgent = true;
        leader_mark(l);
}

int job_waiter_start(Leader *l, PendingRequest *t) {
        uint64_t number = t->request->job_wait->number;
        Argosy__Response *now = answer_job(l, t->author, number);
        OpenJob *job = open_job_find(l, number);

        if (now && now->status == 0 && held_job_wait(l, number, t)) {
                message_free(now);
                return 0;
        }
        if (!job || !now || now->status != 0) { // it has ended, there is none, or the author may not see it
                request_settle(t, now);
                return 0;
        }
        message_free(now);
        open_job_add_waiter(l, job, t);
        return 0;
}
