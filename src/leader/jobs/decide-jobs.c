// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Requests as jobs. Before one is planned: whether it was carried out before (its id is known), may have
// been (it is older than what is remembered), or is about something that somebody changed meanwhile. When it
// is in the batch: its JobPut, behind its own operations, in the same entry.
//
// The number is the applier's to give. There is one entry on its way at a time, so it can be foretold: the
// last one that was given, and one more for each job of this entry.
//
// All of that only where the log may contain it; else a Change and a rollout are known again by their ids as
// ever.
#include "decide-jobs.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "access.h"
#include "author-jobs.h"
#include "authorization.h"
#include "batch-builder.h"
#include "decide-bound.h"
#include "decide-chunks.h"
#include "decide-queue.h"
#include "decision.h"
#include "held-jobs.h"
#include "job-words.h"
#include "log-chunks.h"
#include "message-of.h"
#include "message.h"
#include "open-jobs.h"
#include "pending-requests.h"
#include "queue-subject.h"
#include "request-kind.h"
#include "response.h"
#include "store.h"
#include "tables.h"
#include "turn.h"
#include "unit-name.h"

// ------------------------------------------------------------------------------------------------ before

static bool is_current_rollout(const Leader *l, const Argosy__Request__Rollout *m) {
        const Argosy__RolloutRecord *r = cluster_state_find_rollout(l->state, m->name);

        return r && r->request.len == m->id.len && memcmp(r->request.data, m->id.data, m->id.len) == 0;
}

// The answer to a repeated request of which nothing is known but that it was done.
static Argosy__Response *done_before(const PendingRequest *t) {
        Argosy__Response *response = response_new(ARGOSY__RESPONSE__WHAT__NOT_SET);

        if (response && t->request->job && t->request->job->age_ms == 0)
                (void) field_printf(&response->message,
                                    "the cluster has carried this out before, as job %" PRIu64, t->job);
        return response;
}

static bool was_cancelled_while_held(const Leader *l, uint64_t number) {
        Argosy__JobRecord *record;
        bool was;

        if (cluster_state_job_state(l->state, number) != ARGOSY__JOB_STATE__JOB_CANCELLED ||
            cluster_state_read_job(l->state, number, &record) < 0)
                return false;
        was = record->asked_us > 0 && record->n_units == 0;
        message_free(record);
        return was;
}

// Half of it is in the log, and the rest was called off.
static bool was_called_off(const Leader *l, const RequestKey *key) {
        Argosy__JobRecord *record;
        bool was;

        if (!key->more || cluster_state_read_job(l->state, key->job, &record) < 0)
                return false;
        was = record->n_cancelled_by > 0;
        message_free(record);
        return was;
}

// So many others have come since that the log does not remember how far it came.
static Argosy__Response *refuse_given_up(uint64_t job) {
        return response_error(ECANCELED,
                              "only a part of this was carried out, as job %" PRIu64
                              ", and so many others were begun since that "
                              "nobody can go on with it: `argosyctl job show %" PRIu64
                              "` says what it has changed; ask for the rest anew",
                              job, job);
}

// That it is known of it already, and it goes on.
static int admit_going_on(const Leader *l, PendingRequest *t) {
        const ProtobufCBinaryData *id = request_job_id(t->request);
        RequestKey key;

        if (!id || !cluster_state_find_key(l->state, id->data, &key) || !key.given_up)
                return STEP_PASSED;
        return request_settle(t, refuse_given_up(t->job));
}

// What an earlier leader has put into the log of it. 0 or -ENOMEM.
static int count_kept(const Leader *l, PendingRequest *t) {
        Argosy__JobRecord *job;
        int r = cluster_state_read_job(l->state, t->job, &job);

        if (r < 0)
                return r == -ENOMEM ? r : 0;
        for (size_t g = 0; g < job->n_units; g++)
                log_chunk_count_kept(t, job->units[g]->n_names);
        message_free(job);
        return 0;
}

// A Change, an Undo or an Apply is planned again, for the answer; so is what was begun and is not whole in
// the log.
static int admit_known(Leader *l, PendingRequest *t, const RequestKey *key, const HandlerLog *log) {
        const Argosy__Request *q = t->request;

        if (key->content != t->content)
                return request_refuse(t, EEXIST,
                                     "the same key was given to another request before (job %" PRIu64
                                     "): nothing was changed",
                                     key->job);
        request_set_job(t, key->job);
        if (key->given_up)
                return request_settle(t, refuse_given_up(key->job));
        if (cluster_state_job_state(l->state, key->job) == ARGOSY__JOB_STATE__JOB_HELD)
                return request_settle(t, decide_queue_held_response(l, key->job));
        if (was_cancelled_while_held(l, key->job))
                return request_refuse(t, ECANCELED, "job %" PRIu64 " was cancelled before it began",
                                     key->job);
        if (was_called_off(l, key))
                return request_refuse(t, ECANCELED, "job %" PRIu64 " was called off before all of it began",
                                     key->job);
        if (key->more && count_kept(l, t) < 0)
                return -ENOMEM;
        if (key->more || log->again == AGAIN_PLANNED)
                return STEP_PASSED;
        if (log->again == AGAIN_CURRENT && !q->rollout->abort) {
                if (is_current_rollout(l, q->rollout))
                        return STEP_PASSED;
                return request_refuse(t, ECANCELED,
                                     "this was begun before, as job %" PRIu64
                                     ", and %s has had another update or restart since, or is gone",
                                     t->job, q->rollout->name);
        }
        return request_settle(t, done_before(t));
}

// of a request, at about 10 ns each to pack and hash them, beside what else a turn does
enum { CONTENT_BYTES = 128 * 1024 };

// Hashes the content once for each pending request. A longer one takes a turn of its own (-EBUSY).
static int know_content(PendingRequest *t) {
        size_t len;
        int r = t->has_content ? 0 : job_request_content(t->request, &t->content, &len);

        if (t->has_content || r < 0)
                return r;
        t->has_content = true;
        if (len <= CONTENT_BYTES)
                return 0;
        leader_mark(t->leader);
        return -EBUSY;
}

static int admit_by_id(Decision *d, PendingRequest *t, const ProtobufCBinaryData *id,
                       const HandlerLog *log) {
        const ClusterState *state = d->leader->state;
        const Argosy__Request__Job *job = t->request->job;
        RequestKey key;
        int r;

        // twice in one entry: the second one waits
        if (batch_builder_has_claim(&d->batch, id->data, id->len))
                return -EBUSY;
        r = know_content(t);
        if (r < 0)
                return r;
        if (t->held) // the key is its own
                return STEP_PASSED;
        if (cluster_state_find_key(state, id->data, &key))
                return admit_known(d->leader, t, &key, log);
        if (job && job->age_ms > 0 && cluster_state_may_have_forgotten(state, job->age_ms))
                return request_refuse(t, ESTALE,
                                     "outcome unknown: the request is so old that the cluster may have "
                                     "carried it out and forgotten it; look before you send it anew");
        return STEP_PASSED;
}

int decide_job_admit(Decision *d, PendingRequest *t, const HandlerLog *log) {
        const ProtobufCBinaryData *id = request_job_id(t->request);
        const Argosy__Request__Job *job = t->request->job;
        const char *error;
        int r = STEP_PASSED;

        if (t->held)
                r = know_content(t);
        if (r < 0)
                return r;
        if (t->job > 0)
                return admit_going_on(d->leader, t);
        error = job_form_error(t->request);
        if (error)
                return request_refuse(t, EINVAL, "%s", error);
        if (id)
                r = admit_by_id(d, t, id, log);
        if (r == STEP_PASSED && t->job == 0 && job && job->if_revision > 0)
                r = decide_bound_check(d->leader, t, log);
        return r;
}

// ------------------------------------------------------------------------------------------------ behind

enum {
        DRAINS_MAX = 1000, // nodes of one job
        JOB_GROUPS_MAX = 8,         // of its author
        JOB_GROUPS_BYTES_MAX = 512, // their names
        REFUSED_BYTES = UNIT_NAME_MAX + JOB_END_TEXT_MAX + 16, // of a unit that is refused, at most
};

// What is asked for, and who asks. More of it may follow, or have come before.
typedef struct JobSource {
        const Argosy__Request *request;
        const Argosy__Author *author;
        const ProtobufCBinaryData *id; // NULL: it is not known again
        uint64_t content;
        uint64_t number; // 0: this is its beginning
        bool more;
        uint32_t done; // LogOp.JobPut.done
        uint32_t limited_by;
        const uint64_t *cancels; // LogOp.JobPut.cancels
        size_t n_cancels;
        const Argosy__Response__Change *refused; // by this some units are; NULL: none
        bool is_heard; // the answer says that: only what was changed meanwhile is written down
        uint64_t asked_revision,
                if_revision; // of the first of several entries (JobRecord); 0: of another one
        Argosy__StoredRequest *stored;           // it is held back; NULL: it is not
        const char *rollout;                     // that it begins, which is not what it asks for; NULL: none
        const char *failed;                      // it has, with this reason; NULL: it has not
} JobSource;

// Records the author by name, since users and hosts come and go.
static void set_author(const Leader *l, const Argosy__Author *author, Argosy__JobRecord *record) {
        const Argosy__HostRecord *host = cluster_state_find_host(l->state, author->host);

        record->host = author->host;
        if (host)
                record->host_name = host->name;
        record->user = author->user;
        record->uid_known = author->uid != UINT32_MAX;
        record->uid = record->uid_known ? author->uid : 0;
}

// The author's groups that give it a right. Of more names than are kept of a job it has the first.
static void set_groups(const Leader *l, const Argosy__Author *author, const char *groups[JOB_GROUPS_MAX],
                       Argosy__JobRecord *record) {
        size_t n = access_groups(authorization_list_for(l, author), author, groups, JOB_GROUPS_MAX),
               bytes = 0;

        record->groups = (char **) groups;
        while (record->n_groups < n && (bytes += strlen(groups[record->n_groups])) <= JOB_GROUPS_BYTES_MAX)
                record->n_groups++;
}

static bool is_kept(const Leader *l, uint64_t number) {
        return number > 0 && cluster_state_job_before(l->state, number + 1) == number;
}

static size_t nodes_of(const Leader *l, const char *word, uint32_t *ret, size_t max) {
        const Argosy__HostRecord *host;
        uint32_t node = 0;
        bool ambiguous;
        size_t n = 0;

        host = strchr(word, '/') ? cluster_state_resolve_node(l->state, word, &node, &ambiguous)
                                 : cluster_state_resolve_host(l->state, word, &ambiguous);
        for (size_t i = 0; host && i < host->n_nodes && n < max; i++)
                if (node == 0 || host->nodes[i]->node == node)
                        ret[n++] = host->nodes[i]->node;
        return n;
}

// The nodes that are to be empty when it has ended, as many as a record names.
static size_t drains_of(const Leader *l, const Argosy__Request *q, uint32_t ret[DRAINS_MAX]) {
        size_t n = 0;

        if (!request_job_runs(q))
                return 0;
        if (q->what_case == ARGOSY__REQUEST__WHAT_NODE_CHANGE)
                for (size_t i = 0; i < q->node_change->n_nodes; i++)
                        n += nodes_of(l, q->node_change->nodes[i], ret + n, DRAINS_MAX - n);
        return n;
}

static void ends_done(Argosy__JobRecord *record) {
        for (size_t i = 0; i < record->n_ends; i++)
                message_free(record->ends[i]);
        free(record->ends);
}

static bool is_refused(const JobSource *source, const Argosy__Response__UnitResult *u) {
        return source->is_heard ? log_chunk_is_left(u) : u->status != 0;
}

// Those that are refused are named as far as the entry has room for it. 0 or -ENOMEM.
static int add_refused(const JobSource *source, uint32_t n_before, size_t room, Argosy__JobRecord *record) {
        const Argosy__Response__Change *change = source->refused;
        size_t n = 0;

        for (size_t i = 0; change && i < change->n_units; i++)
                n += is_refused(source, change->units[i]);
        record->failed = change ? n_before + (uint32_t) n : 0;
        if (record->failed > 0 && record->state == ARGOSY__JOB_STATE__JOB_DONE)
                record->state = ARGOSY__JOB_STATE__JOB_FAILED;
        if (n == 0)
                return 0;
        record->ends = calloc(JOB_REFUSED_MAX, sizeof(*record->ends));
        if (!record->ends)
                return -ENOMEM;
        for (size_t i = 0; i < change->n_units && record->n_ends < JOB_REFUSED_MAX && room >= REFUSED_BYTES;
             i++) {
                const Argosy__Response__UnitResult *u = change->units[i];
                Argosy__JobUnitEnd *end;

                if (!is_refused(source, u))
                        continue;
                end = job_unit_end_new(u->name, ARGOSY__UNIT_END__END_FAILED, "", u->message);
                if (!end)
                        return -ENOMEM;
                record->ends[record->n_ends++] = end;
                room -= REFUSED_BYTES;
        }
        return 0;
}

static size_t room_left(const BatchBuilder *b) {
        return b->packed.len < STORE_BATCH_MAX - ENTRY_SPARE_BYTES
                       ? STORE_BATCH_MAX - ENTRY_SPARE_BYTES - b->packed.len
                       : 0;
}

// While more is to come it goes on, also if its effect is its end.
static Argosy__JobState state_of(const JobSource *source) {
        if (source->stored)
                return ARGOSY__JOB_STATE__JOB_HELD;
        return source->more || request_job_runs(source->request) ? ARGOSY__JOB_STATE__JOB_RUNNING
                                                                 : ARGOSY__JOB_STATE__JOB_DONE;
}

static int put_words(Decision *d, const JobSource *source, uint32_t n_ops, JobWords *words,
                     uint64_t *ret_number) {
        Argosy__JobRecord record = ARGOSY__JOB_RECORD__INIT;
        const char *groups[JOB_GROUPS_MAX];
        uint32_t drains[DRAINS_MAX];
        int r;

        record.state = state_of(source);
        record.asked_revision = source->asked_revision;
        record.if_revision = source->if_revision;
        if (source->stored) {
                record.after = source->stored->after;
                record.n_after = source->stored->n_after;
        } else {
                if (source->request->what_case == ARGOSY__REQUEST__WHAT_ROLLOUT &&
                    !source->request->rollout->abort)
                        record.rollout = source->request->rollout->name;
                if (source->rollout)
                        record.rollout = (char *) source->rollout;
                record.drains = drains;
                record.n_drains = drains_of(d->leader, source->request, drains);
                record.limited_by = source->limited_by;
        }
        if (source->failed) {
                record.state = ARGOSY__JOB_STATE__JOB_FAILED;
                record.end_message = (char *) source->failed;
        }
        record.verb = (char *) job_verb(source->request);
        record.targets = words->targets;
        record.n_targets = words->n_targets;
        record.more_targets = words->more_targets;
        if (source->request->job)
                record.reason = source->request->job->reason;
        if (source->request->job &&
            source->request->job->retries <= cluster_state_last_job(d->leader->state))
                record.retries = source->request->job->retries;
        set_author(d->leader, source->author, &record);
        set_groups(d->leader, source->author, groups, &record);
        Argosy__LogOp__JobPut put = MESSAGE_OF(log_op__job_put, .job = &record, .n_ops = n_ops,
                                               .more = source->more, .done = source->done);
        if (is_kept(d->leader, source->number)) {
                put.number = source->number;
                if (record.state == ARGOSY__JOB_STATE__JOB_DONE &&
                    open_job_is_resumed(d->leader, put.number))
                        record.end_message = (char *) JOB_END_RESUMED;
                open_job_goes_on(d->leader, put.number);
        }
        if (source->id) {
                put.id = *source->id;
                put.content = source->content;
        }
        put.stored = source->stored;
        put.cancels = (uint64_t *) source->cancels;
        put.n_cancels = source->n_cancels;
        *ret_number = put.number ?: cluster_state_last_job(d->leader->state) + ++d->n_jobs;
        r = add_refused(source, open_job_n_refused(d->leader, put.number), room_left(&d->batch), &record);
        if (r == 0)
                r = batch_builder_put_job(&d->batch, &put);
        ends_done(&record);
        return r;
}

static int put_job(Decision *d, const JobSource *source, size_t n_ops, uint64_t *ret_number) {
        JobWords words = {};
        // its first chunk has them
        int r = is_kept(d->leader, source->number) ? 0 : job_words_init(&words, source->request);

        if (r < 0)
                return r;
        r = put_words(d, source, (uint32_t) n_ops, &words, ret_number);
        job_words_done(&words);
        return r;
}

// What was said of the units of this entry; NULL: nothing.
static const Argosy__Response__Change *results_of(const PendingRequest *t) {
        const Argosy__Response__Change *part = log_chunk_results(t);

        if (part || !t->response || t->response->what_case != ARGOSY__RESPONSE__WHAT_CHANGE)
                return part;
        return t->response->change;
}

int decide_job_put(Decision *d, PendingRequest *t, BatchBuilderMark mark) {
        JobSource source = {.request = t->request,
                            .author = t->author,
                            .id = request_job_id(t->request),
                            .content = t->content,
                            .number = t->job == 0 && t->held ? held_job_number(t->held) : t->job,
                            .more = t->again,
                            .done = t->again ? decide_chunks_end(t) : 0,
                            .limited_by = t->limited_by,
                            .cancels = t->cancels,
                            .n_cancels = t->n_cancels};
        size_t n_ops = d->batch.n_ops - mark.n_ops;
        int r = 0;

        t->job_flying = 0;
        if (n_ops == 0 && t->n_cancels == 0 && !request_has_open_job(t))
                return 0;
        if (source.id && t->again && t->job == 0 &&
            !cluster_state_takes_open_keys(d->leader->state, ++d->n_parted))
                return -EUSERS;
        source.failed = t->job_failed;
        source.rollout = t->rolls;
        source.refused = results_of(t);
        source.is_heard = !t->held;
        if (t->job == 0 && t->again) {
                source.asked_revision = t->asked.revision;
                source.if_revision = t->asked.if_revision;
        }
        if (source.id)
                r = batch_builder_claim(&d->batch, source.id->data, source.id->len);
        if (r == 0)
                r = put_job(d, &source, n_ops, &t->job_flying);
        if (r == 0 && t->job == 0) {
                held_limit_admit(d->leader, t->limited_by);
                if (!t->held && request_job_runs(t->request))
                        author_jobs_admit(d->leader, t->author);
        }
        return r;
}

int decide_job_hold(Decision *d, PendingRequest *t, Argosy__StoredRequest *stored) {
        JobSource source = {.request = t->request,
                            .author = t->author,
                            .id = request_job_id(t->request),
                            .content = t->content,
                            .stored = stored};
        int r = batch_builder_claim(&d->batch, source.id->data, source.id->len);

        if (r == 0)
                author_jobs_admit(d->leader, t->author);
        return r < 0 ? r : put_job(d, &source, 0, &t->job_flying);
}

// Its record says by which request it was begun, and that request's key whose job it is.
int decide_job_put_rollout(const Argosy__RolloutRecord *r, BatchBuilderMark mark, void *userdata) {
        Argosy__JobRecord record = ARGOSY__JOB_RECORD__INIT;
        Decision *d = userdata;
        const ClusterState *state = d->leader->state;
        RequestKey key;

        if (d->batch.n_ops == mark.n_ops || r->request.len != REQUEST_JOB_ID_SIZE ||
            !cluster_state_find_key(state, r->request.data, &key) || !is_kept(d->leader, key.job))
                return 0;
        Argosy__LogOp__JobPut put =
                MESSAGE_OF(log_op__job_put, .job = &record,
                           .n_ops = (uint32_t) (d->batch.n_ops - mark.n_ops), .number = key.job);
        return batch_builder_put_job(&d->batch, &put);
}

// Whether an entry has to say something of it in which nothing is moved.
static bool has_news(const RebalanceJob *job) {
        return job->flying == 0 && (job->is_last || (job->awaited && job->number == 0 && job->held == 0));
}

// One that was held back goes on until its last entry, so that its request stays in the log as long.
int decide_job_put_rebalance(Decision *d, BatchBuilderMark mark) {
        RebalanceJob *job = d->leader->rebalance_job;
        size_t n_ops = d->batch.n_ops - mark.n_ops;
        JobSource source;
        int r;

        if (!job || (n_ops == 0 && !has_news(job)))
                return 0;
        source = (JobSource){.request = job->request,
                             .author = job->author,
                             .number = job->number ?: job->held,
                             .limited_by = job->limited_by};
        if (job->held > 0) {
                source.id = request_job_id(job->request);
                source.content = job->content;
                source.more = !job->is_last;
        }
        r = put_job(d, &source, n_ops, &job->flying);
        if (r < 0)
                job->flying = 0;
        return r;
}
