// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Jobs that are running: which units of them are waited for, and when all is over.
//
// Happy path: an entry brings a job. Each unit that it has changed gets an item among those who wait for
// that unit, and is judged when something about it is seen, as a client's wait would be. Who fails is
// written down with node and reason. When the last one has ended, and the rollout, the drain or the
// rebalance that it has begun, it goes to open-jobs-ends.c, which has the log say so.
//
// A unit that another job changes is that one's from then on: here it is overtaken. What the cluster does by
// itself, moves above all, takes nothing from anybody: the wait follows the unit.
//
// A new leader finds in the log which jobs are running and judges all of their units anew. What had ended
// and was not written yet ends again, so nothing is lost; what was written is not running any more, so
// nothing ends twice. A job of which its leader did not write all waits a while for the client to come
// again, and has failed then.
//
// Cost: a job costs while it runs, and a unit while somebody waits for it. Without memory the process ends
// (oom.h).
#include "open-jobs.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "answer-jobs.h"
#include "clock.h"
#include "held-jobs.h"
#include "job-state.h"
#include "job-words.h"
#include "message.h"
#include "oom.h"
#include "open-jobs-private.h"
#include "refusal-words.h"
#include "registry.h"
#include "response.h"
#include "str.h"
#include "tables.h"
#include "tallies.h"
#include "pending-requests.h"
#include "turn.h"
#include "unit-marks.h"
#include "unit-record.h"
#include "unit-work.h"

bool open_job_is_known(const Leader *l, uint64_t number) {
        return open_job_find(l, number) != NULL;
}

static JobItem *item_of(WaiterItem *wait) {
        return CONTAINER_OF(wait, JobItem, wait);
}

// ------------------------------------------------------------------------------------------------ life

static AuthorJobs *count_for_author(Leader *l, const Argosy__JobRecord *record) {
        Argosy__Author author = ARGOSY__AUTHOR__INIT;

        author.user = record->user;
        author.uid = record->uid_known ? record->uid : UINT32_MAX;
        return *record->user || record->uid_known ? author_jobs_add(l, &author) : NULL;
}

static OpenJob *job_new(Leader *l, uint64_t number, const Argosy__JobRecord *record) {
        OpenJob *job = oom_checked(calloc(1, sizeof(*job)));

        job->number = number;
        list_init(&job->pending_requests);
        list_init(&job->reverting);
        argosy__job_record__init(&job->end);
        job->end.number = number;
        str_fit(job->verb, sizeof(job->verb), "%s", record->verb);
        job->tally = tally_job_row(l, job->verb);
        tally_job(l, job->tally, ARGOSY__JOB_STATE__JOB_UNKNOWN, ARGOSY__JOB_STATE__JOB_RUNNING);
        job->rollout = oom_checked(strdup(record->rollout));
        job->revision_before = record->revision_before;
        job->revision = record->revision;
        job->resumed = record->ended_us > 0;
        if (streq(job->verb, "rebalance"))
                l->rebalance_open = number;
        job->limited_by = record->limited_by;
        held_limit_begin(l, job->limited_by);
        job->author = count_for_author(l, record);
        if (record->n_drains > 0) {
                job->drains = oom_checked(calloc(record->n_drains, sizeof(*job->drains)));
                memcpy(job->drains, record->drains, record->n_drains * sizeof(*job->drains));
                job->n_drains = record->n_drains;
        }
        (void) oom_check(map_add(&l->open_jobs, &job->number, sizeof(job->number), job));
        return job;
}

void open_job_discard(OpenJob *job) {
        while (job->parts) {
                JobChunk *part = job->parts;

                job->parts = part->next;
                for (size_t i = 0; i < part->n; i++) {
                        free(part->items[i].why);
                        free(part->items[i].where);
                }
                free(part);
        }
        for (size_t i = 0; i < job->end.n_ends; i++)
                message_free(job->end.ends[i]);
        free(job->end.ends);
        if (job->end.end_message != protobuf_c_empty_string)
                free(job->end.end_message);
        free(job->rollout);
        free(job->cancelled_by);
        free(job->drains);
        free(job);
}

static void discard(void *job) {
        open_job_discard(job);
}

void open_job_free(Leader *l, OpenJob *job) {
        map_take(&l->open_jobs, &job->number, sizeof(job->number));
        if (!job->end_tallied)
                tally_job(l, job->tally, ARGOSY__JOB_STATE__JOB_RUNNING, ARGOSY__JOB_STATE__JOB_UNKNOWN);
        list_unlink(&job->queue);
        list_unlink(&job->reported);
        list_unlink(&job->reverts);
        held_limit_end(l, job->limited_by);
        author_jobs_drop(l, job->author);
        open_job_discard(job);
}

void open_jobs_retire(Leader *l) {
        map_done_with(&l->open_jobs, discard);
        open_jobs_build_end(l);
        list_init(&l->jobs_watched);
        list_init(&l->jobs_ended);
        list_init(&l->jobs_flying);
        list_init(&l->jobs_reported);
        list_init(&l->jobs_reverting);
        l->jobs_due_us = l->jobs_walked = l->rebalance_open = 0;
        l->jobs_urgent = false;
}

void open_job_notify(Leader *l, OpenJob *job) {
        if (!list_is_empty(&job->pending_requests) && !list_is_linked(&job->reported))
                list_append(&l->jobs_reported, &job->reported);
}

// ------------------------------------------------------------------------------------------------ units

// A unit that is not as it was to be, and why.
typedef struct UnitWord {
        const char *name;
        Argosy__UnitEnd end;
        const char *node, *message;
        uint64_t by;
} UnitWord;

static Argosy__JobUnitEnd *unit_end_new(const UnitWord *w) {
        Argosy__JobUnitEnd *end = oom_checked(job_unit_end_new(w->name, w->end, w->node, w->message));

        end->by = w->by;
        return end;
}

static void note_end(OpenJob *job, const UnitWord *w) {
        Argosy__JobUnitEnd *end;
        size_t bytes;

        job->counts.n[w->end]++;
        if (w->end == ARGOSY__UNIT_END__END_OK || job->end.n_ends == JOB_ENDS_MAX)
                return;
        end = unit_end_new(w);
        bytes = argosy__job_unit_end__get_packed_size(end);
        if (job->n_bytes + bytes > JOB_ENDS_BYTES_MAX) {
                message_free(end);
                return;
        }
        job->n_bytes += bytes;
        (void) oom_check(FIELD_APPEND(job->end.ends, job->end.n_ends, end));
}

// All units have ended: with them the job, or it has more to wait for.
static void settle(Leader *l, OpenJob *job) {
        if (open_job_is_over(l, job))
                open_job_end(l, job);
        else
                list_append(&l->jobs_watched, &job->queue);
}

// Judges the clients that wait for the unit. A wait for a unit on trial lasts as long as its job might bring
// the former content back.
static void judge_clients(Leader *l, Unit *u) {
        const UnitEntry *e = cluster_state_find_unit(l->state, u->name);

        if (e && record_is_on_trial(e->record))
                waiters_on_unit(l, u);
}

static void end_item(Leader *l, JobItem *item, UnitWord w) {
        OpenJob *job = item->job;
        Unit *u = item->wait.unit;

        w.name = u->name;
        note_end(job, &w);
        list_unlink(&item->reverting);
        waiter_item_end(l, &item->wait);
        if (item->wait.reverts)
                judge_clients(l, u);
        unit_mark_unused(l, u);
        job->n_open--;
        open_job_notify(l, job);
        if (job->n_open == 0)
                settle(l, job);
}

// NULL: out of memory, or there is nothing to say.
static Argosy__Response__UnitResult *explain(Leader *l, const JobItem *item, const WaitVerdict *v) {
        return v->status == 0 ? NULL : waiter_result(l, item->verb, item->wait.revision, item->wait.unit, v);
}

// A job's record has no room for what each node says: a line has the reasons.
static void say_refusals(Argosy__Response__UnitResult *result) {
        _cleanup_free_ char *before = oom_checked(strdup(result->message)), *words = NULL;

        if (result->n_refusals == 0)
                return;
        words = oom_checked(refusal_words(result->refusals, result->n_refusals));
        (void) field_printf(&result->message, "%s: %s", before, words);
}

// How a unit ends for this job if it is another job's by now.
static Argosy__UnitEnd end_by(const OpenJob *job, uint64_t by) {
        return open_job_was_cancelled_by(job, by) ? ARGOSY__UNIT_END__END_CANCELLED
                                                  : ARGOSY__UNIT_END__END_OVERTAKEN;
}

static uint64_t changed_by(const Leader *l, const char *name) {
        const UnitEntry *e = cluster_state_find_unit(l->state, name);

        return e ? cluster_state_find_job_of(l->state, name, e->record->revision) : 0;
}

// ------------------------------------------------------------------------------------------ former contents

JobItem *open_job_item(const OpenJob *job, const Unit *u) {
        list_foreach (i, &unit_work_seen(u)->waiters) {
                WaiterItem *wait = CONTAINER_OF(i, WaiterItem, by_unit);

                if (!wait->waiter && item_of(wait)->job == job)
                        return item_of(wait);
        }
        return NULL;
}

static void begin_revert(Leader *l, JobItem *item, const WaitVerdict *v) {
        Argosy__Response__UnitResult *result;
        OpenJob *job = item->job;

        if (list_is_linked(&item->reverting))
                return;
        result = oom_checked(explain(l, item, v));
        free(item->why);
        free(item->where);
        item->why = oom_checked(strdup(result->message));
        item->where =
                oom_checked(str_printf("%s%s%s", result->name, *result->node ? " on " : "", result->node));
        message_free(result);
        list_append(&job->reverting, &item->reverting);
        if (!list_is_linked(&job->reverts))
                list_append(&l->jobs_reverting, &job->reverts);
        leader_mark(l);
}

// Whether the unit gets its former content back; a cancelled job begins nothing more.
static bool is_to_revert(const Leader *l, const JobItem *item, const WaitVerdict *v) {
        return item->job->n_cancelled_by == 0 && item->wait.reverts &&
               waiter_is_to_revert(l, item->wait.unit, v);
}

bool open_job_item_reverts(Leader *l, JobItem *item) {
        WaitDue due;
        WaitVerdict v = waiter_judge(l, item->verb, item->wait.revision, item->wait.unit, NULL, &due);

        if (is_to_revert(l, item, &v))
                return true;
        list_unlink(&item->reverting);
        waiters_on_unit(l, item->wait.unit);
        return false;
}

void open_job_item_keep(Leader *l, JobItem *item) {
        item->wait.reverts = false;
        list_unlink(&item->reverting);
        waiters_on_unit(l, item->wait.unit);
        leader_mark(l);
}

// ------------------------------------------------------------------------------------------------ verdicts

void open_job_judge(Leader *l, WaiterItem *wait, const WaitSeen *seen) {
        JobItem *item = item_of(wait);
        WaitDue due;
        WaitVerdict v = waiter_judge(l, item->verb, wait->revision, wait->unit, seen, &due);
        Argosy__Response__UnitResult *result;
        UnitWord w = {.node = "", .message = ""};

        l->n_waiters_judged++;
        if (!v.done) {
                (void) oom_check(waiter_item_judge_again(l, wait, &due));
                return;
        }
        if (is_to_revert(l, item, &v)) {
                begin_revert(l, item, &v);
                return;
        }
        w.end = job_end_of_unit(&v);
        result = explain(l, item, &v);
        if (result) {
                say_refusals(result);
                w.node = result->node;
                w.message = result->message;
        }
        if (w.end == ARGOSY__UNIT_END__END_OVERTAKEN) {
                w.by = changed_by(l, wait->unit->name);
                w.end = end_by(item->job, w.by);
        }
        end_item(l, item, w);
        message_free(result);
}

// ---------------------------------------------------------------------------------------- what a job brings

static void overtake(Leader *l, const char *name, uint64_t revision, uint64_t by) {
        Unit *u = unit_find(l, name);

        if (!u)
                return;
        list_foreach_safe (i, &unit_work_seen(u)->waiters) {
                WaiterItem *wait = CONTAINER_OF(i, WaiterItem, by_unit);

                if (!wait->waiter && wait->revision < revision && item_of(wait)->job->number != by)
                        end_item(l, item_of(wait),
                                 (UnitWord){.end = end_by(item_of(wait)->job, by),
                                            .node = "",
                                            .message = "",
                                            .by = by});
        }
}

// A later job that the unit is by now; 0: none. Asked when a leader begins: else it is told when that one
// comes.
static uint64_t overtaken_by(const Leader *l, const OpenJob *job, const UnitEntry *e) {
        uint64_t by = cluster_state_find_job_of(l->state, e->record->name, e->record->revision);

        return by != job->number && cluster_state_job_takes_units(l->state, by) ? by : 0;
}

// There is no such unit any more, which the job has left there, so another job has removed it: which one is
// known by its own record, or by what the log has of where it may still run.
static UnitWord word_of_gone(const Leader *l, const OpenJob *job, const Map *removed, const char *name,
                             uint64_t revision) {
        UnitWord w = {.name = name,
                      .end = ARGOSY__UNIT_END__END_OVERTAKEN,
                      .node = "",
                      .message = "it is not in the cluster any more"};
        const ListNode *tombs = cluster_state_tombstones_of(l->state, name);
        const Tombstone *last = tombs ? CONTAINER_OF(tombs->prev, const Tombstone, by_name) : NULL;
        const RemovedUnit *by = map_find_str(removed, name);

        if (by)
                w.by = by->by;
        else if (last && last->revision > revision) // else it is of a unit of that name before
                w.by = cluster_state_find_job_of(l->state, name, last->revision);
        if (w.by > 0) {
                w.end = end_by(job, w.by);
                w.message = "";
        }
        return w;
}

static void begin_item(Leader *l, OpenJob *job, JobItem *item, const Map *removed,
                       const Argosy__JobUnits *group, size_t i) {
        const char *name = group->names[i];
        const UnitEntry *e = cluster_state_find_unit(l->state, name);
        UnitWord w = {.name = name, .node = "", .message = ""};

        item->job = job;
        item->verb = job_end_wait_verb(job->verb, e && !group->gone ? e->record : NULL, group->target);
        item->wait.revision = group->revisions[i];
        if (!e && !group->gone) {
                w = word_of_gone(l, job, removed, name, item->wait.revision);
                note_end(job, &w);
                return;
        }
        if (e && e->record->revision > item->wait.revision)
                w.by = overtaken_by(l, job, e);
        if (w.by > 0) {
                w.end = end_by(job, w.by);
                note_end(job, &w);
                return;
        }
        if (item->verb == ARGOSY__VERB__VERB_NONE) {
                note_end(job, &w);
                return;
        }
        item->wait.unit = oom_checked(unit_get(l, name));
        // it had another content before, and waits for the former one now
        if (open_job_item(job, item->wait.unit)) {
                item->wait.unit = NULL;
                return;
        }
        item->wait.reverts = item->verb == ARGOSY__VERB__VERB_START;
        list_append(&unit_work(l, item->wait.unit)->waiters, &item->wait.by_unit);
        job->n_open++;
        waiters_on_unit(l, item->wait.unit);
}

// An image is not looked at as closely as what was applied.
static size_t n_units_of(const Argosy__JobUnits *group) {
        return MIN_OF(group->n_names, group->n_revisions);
}

size_t open_job_count_units(const Argosy__JobRecord *record) {
        size_t n = 0;

        for (size_t g = 0; g < record->n_units; g++)
                n += n_units_of(record->units[g]);
        return n;
}

void open_job_add_chunk(Leader *l, OpenJob *job, const Argosy__JobRecord *record, const Map *removed) {
        size_t n = open_job_count_units(record);
        JobChunk *part;

        // which say by themselves how they ended
        if (n == 0 || *job->rollout || job_end_is_effect(job->verb))
                return;
        part = oom_checked(calloc(1, sizeof(*part) + n * sizeof(*part->items)));
        part->next = job->parts;
        job->parts = part;
        for (size_t g = 0; g < record->n_units; g++)
                for (size_t i = 0; i < n_units_of(record->units[g]); i++)
                        begin_item(l, job, &part->items[part->n++], removed, record->units[g], i);
}

void open_job_overtake_others(Leader *l, uint64_t number, const Argosy__JobRecord *record) {
        for (size_t g = 0; g < record->n_units; g++)
                for (size_t i = 0; i < n_units_of(record->units[g]); i++)
                        overtake(l, record->units[g]->names[i], record->units[g]->revisions[i], number);
}

// The record says how many there have been so far.
static void note_refused(OpenJob *job, const Argosy__JobRecord *record) {
        if (record->failed <= job->n_refused)
                return;
        job->counts.n[ARGOSY__UNIT_END__END_FAILED] += record->failed - job->n_refused;
        job->n_refused = record->failed;
}

// Its units may all have ended while that was on its way to the log: then the job has ended otherwise than
// was thought.
static void note_cancels(OpenJob *job, const Argosy__JobRecord *record) {
        size_t n = record->n_cancelled_by;

        if (n == 0)
                return;
        job->cancelled_by = oom_checked(
                realloc(job->cancelled_by, (job->n_cancelled_by + n) * sizeof(*job->cancelled_by)));
        memcpy(job->cancelled_by + job->n_cancelled_by, record->cancelled_by,
               n * sizeof(*job->cancelled_by));
        job->n_cancelled_by += n;
        job->end.state = ARGOSY__JOB_STATE__JOB_UNKNOWN;
}

OpenJob *open_job_begin(Leader *l, OpenJob *job, uint64_t number, const Argosy__JobRecord *record) {
        if (!job)
                job = job_new(l, number, record);
        list_unlink(&job->queue);
        job->revision = MAX_OF(job->revision, record->revision);
        job->cut |= record->cut;
        note_refused(job, record);
        note_cancels(job, record);
        return job;
}

void open_job_begun(Leader *l, OpenJob *job) {
        open_job_notify(l, job);
        if (job->n_open == 0)
                settle(l, job);
}

// `job`: as it is known already; NULL: it is not.
static void follow(Leader *l, OpenJob *job, uint64_t number, Argosy__JobState state,
                   const Argosy__JobRecord *record) {
        RemovedUnits removed = {};

        if (l->open_jobs.count > 0 && job_end_overtakes(job ? job->verb : record->verb))
                open_job_overtake_others(l, number, record);
        if (state != ARGOSY__JOB_STATE__JOB_RUNNING)
                return;
        job = open_job_begin(l, job, number, record);
        if (record->n_units > 0)
                while (open_job_note_removed(l, job, &removed))
                        ;
        open_job_add_chunk(l, job, record, &removed.units);
        removed_units_done(&removed);
        open_job_begun(l, job);
}

// Of a chunk of one that had ended all of it is looked at again.
static void follow_news(Leader *l, const JobNews *news, Argosy__JobState state) {
        OpenJob *job = open_job_find(l, news->number);
        size_t from = job || state != ARGOSY__JOB_STATE__JOB_RUNNING ? news->from : 0;
        Argosy__JobRecord *record;

        if (oom_check(cluster_state_read_job_from(l->state, news->number, from, &record)) < 0)
                return; // the same entry has dropped it
        follow(l, job, news->number, state, record);
        message_free(record);
}

// Those who wait for a job that was held back wait for it as it runs; or it has ended.
static void follow_held(Leader *l, uint64_t number) {
        ListNode pending_requests = LIST_INIT(pending_requests);
        OpenJob *job;

        if (l->building) // the walk comes to it
                return;
        held_jobs_on_news(l, number, &pending_requests);
        job = open_job_find(l, number);
        while (!list_is_empty(&pending_requests)) {
                PendingRequest *t = request_in(pending_requests.next, PENDING_WAIT);

                request_leave(t, PENDING_WAIT);
                if (job)
                        open_job_add_waiter(l, job, t);
                else
                        request_settle(t, answer_job(l, t->author, number));
        }
}

void open_jobs_on_applied(Leader *l) {
        const JobNews *news;

        while ((news = cluster_state_next_job(l->state))) {
                Argosy__JobState state = cluster_state_job_state(l->state, news->number);

                if (news->only_state) {
                        follow_held(l, news->number);
                        continue;
                }
                if (l->building && news->number > l->jobs_walked)
                        state = ARGOSY__JOB_STATE__JOB_UNKNOWN; // the walk comes to it
                if (state == ARGOSY__JOB_STATE__JOB_RUNNING || l->open_jobs.count > 0)
                        follow_news(l, news, state);
                follow_held(l, news->number);
        }
}
