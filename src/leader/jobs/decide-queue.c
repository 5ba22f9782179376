// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Whether a request may begin when its turn has come, or is held back: since its author has asked for that,
// or by the rules of the queue (rules/held-job.c). One that is held becomes a job in this entry all the
// same, with a number and without any effect; the log keeps it whole, and who asks is answered that it
// waits, and for what.
//
// One of a job that was held comes by here again when it may go (queue/held-jobs.c). If that is not so any
// more, since somebody was faster, it goes back and stays held.
//
// What names thousands of units is compared with the rules in several turns; others are not held up by that.
//
// Refused is what names a node that there is not, what cannot be carried out later, what waits for a job
// that there is not or that is not done, and what is too large, or one too many, for the log to keep.

#include "decide-queue.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "author-jobs.h"
#include "author.h"
#include "batch-builder.h"
#include "decide-jobs.h"
#include "decision.h"
#include "held-jobs.h"
#include "job-words.h"
#include "message-of.h"
#include "message.h"
#include "queue-policy.h"
#include "queue-subject.h"
#include "request-kind.h"
#include "response.h"
#include "turn.h"

// ---------------------------------------------------------------------------------------- what it waits for

// STEP_PASSED: it may wait for these.
static int check_after(const Leader *l, PendingRequest *t) {
        const Argosy__Request__Job *job = t->request->job;
        uint64_t last = cluster_state_last_job(l->state);

        for (size_t i = 0; job && i < job->n_after; i++) {
                if (job->after[i] == 0 || job->after[i] > last)
                        return request_refuse(t, EINVAL,
                                             "there is no job %" PRIu64
                                             ": a job waits for jobs that came before it, so "
                                             "that nothing goes in a "
                                             "cycle; nothing was changed",
                                             job->after[i]);
                if (cluster_state_job_state(l->state, job->after[i]) == ARGOSY__JOB_STATE__JOB_UNKNOWN)
                        return request_refuse(
                                t, ENOENT,
                                "job %" PRIu64
                                " is not kept any more, or nobody knows how it ended; nothing was "
                                "changed",
                                job->after[i]);
        }
        return STEP_PASSED;
}

// The number of jobs that have not ended, and the first of them.
static size_t open_of(const Leader *l, const Argosy__Request__Job *job, uint64_t *ret_first) {
        size_t n = 0;

        *ret_first = 0;
        for (size_t i = 0; job && i < job->n_after; i++)
                if (held_job_after(cluster_state_job_state(l->state, job->after[i])) == HELD_AFTER_OPEN &&
                    n++ == 0)
                        *ret_first = job->after[i];
        return n;
}

static int refuse_over(const Leader *l, PendingRequest *t) {
        const Argosy__Request__Job *job = t->request->job;

        for (size_t i = 0; i < job->n_after; i++)
                if (held_job_after(cluster_state_job_state(l->state, job->after[i])) == HELD_AFTER_FAILED)
                        return request_refuse(t, ECANCELED,
                                             "job %" PRIu64
                                             " has ended, and is not done: nothing was changed",
                                             job->after[i]);
        return request_settle(t, NULL);
}

// --------------------------------------------------------------------------------------------- into the log

// As it came, without what is said of it when it is sent, and what holds it, which stands beside it.
static int pack(const Argosy__Request *request, ProtobufCBinaryData *ret) {
        Argosy__Request__Job job = ARGOSY__REQUEST__JOB__INIT;
        Argosy__Request only = *request;

        only.id = only.cancel_id = 0;
        only.timeout_ms = 0;
        if (only.job) {
                job = *only.job;
                job.age_ms = 0;
                job.hold = false;
                job.after = NULL;
                job.n_after = 0;
                only.job = &job;
        }
        ret->len = argosy__request__get_packed_size(&only);
        ret->data = malloc(ret->len + 1);
        if (!ret->data)
                return -ENOMEM;
        argosy__request__pack(&only, ret->data);
        return 0;
}

// STEP_PASSED: it is no larger than one may be, and has room in this entry. Whether there may be one more
// the log is asked as it is put.
static int check_length(const Decision *d, PendingRequest *t, const Argosy__StoredRequest *stored) {
        size_t len = argosy__stored_request__get_packed_size(stored);

        if (len > STORE_BATCH_MAX - 2 * ENTRY_SPARE_BYTES ||
            stored->request.len > CLUSTER_STORED_REQUEST_MAX)
                return request_refuse(
                        t, E2BIG,
                        "the request has %zu KiB with all files in it, and one that is held back may have "
                        "%d: "
                        "nothing was changed. Ask for fewer units at a time, or when nothing holds it back",
                        (len + 1023) / 1024, (STORE_BATCH_MAX - 2 * ENTRY_SPARE_BYTES) / 1024);
        return d->batch.packed.len + len > STORE_BATCH_MAX - 2 * ENTRY_SPARE_BYTES ? -EBUSY : STEP_PASSED;
}

static Argosy__Response *tell(uint64_t job, const char *why) {
        Argosy__Response *r = response_new(ARGOSY__RESPONSE__WHAT__NOT_SET);

        if (!r)
                return NULL;
        r->held = true;
        if (field_printf(&r->message, "job %" PRIu64 " is held back%s%s", job, *why ? ": it waits for " : "",
                         why) < 0) {
                message_free(r);
                return NULL;
        }
        return r;
}

Argosy__Response *decide_queue_held_response(const Leader *l, uint64_t job) {
        char why[HELD_WHY_SIZE];

        held_job_phrase(l, job, why);
        return tell(job, why);
}

// What it waits behind. A rebalance of which the log has nothing yet becomes a job in the same entry. 0 or
// -ENOMEM.
static int find_exclusive(Decision *d, const PendingRequest *t, uint64_t *ret) {
        RebalanceJob *job = d->leader->rebalance_job;
        int r;

        (void) queue_exclusive_job(d->leader, t->request, ret);
        if (*ret > 0)
                return 0;
        job->awaited = true;
        r = decide_job_put_rebalance(d, batch_builder_mark(&d->batch));
        *ret = job->flying;
        return r;
}

static int put(Decision *d, PendingRequest *t, HeldJobVerdict v, const Argosy__QueueRule *rule,
               Argosy__StoredRequest *stored) {
        int r = check_length(d, t, stored);
        char why[HELD_WHY_SIZE];
        uint64_t after, exclusive = 0;
        size_t n_after;

        if (r != STEP_PASSED)
                return r;
        r = v == HELD_JOB_BEHIND ? find_exclusive(d, t, &exclusive) : 0;
        if (r == 0)
                r = decide_job_hold(d, t, stored);
        if (r < 0)
                return r;
        n_after = open_of(d->leader, t->request->job, &after);
        if (v == HELD_JOB_BEHIND) {
                after = exclusive;
                n_after = 1;
        }
        held_verdict_phrase(d->leader, v, rule, &after, n_after, why);
        request_when_committed(t, NULL, t->again);
        return request_prepare(t, tell(t->job_flying, why)) < 0 ? -ENOMEM : QUEUE_HOLDS;
}

static bool is_node(const Leader *l, const char *word, bool *ret_ambiguous) {
        uint32_t node;

        *ret_ambiguous = false;
        return strchr(word, '/') ? cluster_state_resolve_node(l->state, word, &node, ret_ambiguous)
                                 : cluster_state_resolve_host(l->state, word, ret_ambiguous);
}

// The one host or node that it is about; NULL: it is about several, or about none.
static const char *node_of(const Argosy__Request *q) {
        switch (q->what_case) {
        case ARGOSY__REQUEST__WHAT_LABEL_CHANGE:
                return q->label_change->node;
        case ARGOSY__REQUEST__WHAT_CLUSTER_REMOVE:
                return q->cluster_remove->host;
        case ARGOSY__REQUEST__WHAT_CLUSTER_ROLE:
                return q->cluster_role->host;
        default:
                return NULL;
        }
}

// A name that is mistyped is told now, and not when somebody lets the job go. STEP_PASSED: all are there.
static int check_nodes(const Leader *l, PendingRequest *t) {
        const Argosy__Request *q = t->request;
        const char *one = node_of(q);
        bool several = q->what_case == ARGOSY__REQUEST__WHAT_NODE_CHANGE, ambiguous;
        size_t n = several ? q->node_change->n_nodes : one != NULL;

        for (size_t i = 0; i < n; i++) {
                const char *word = several ? q->node_change->nodes[i] : one;

                if (!is_node(l, word, &ambiguous))
                        return request_refuse(t, ENOENT, "%s '%s': nothing was changed",
                                             ambiguous ? "several nodes are meant by" : "there is no node",
                                             word);
        }
        return STEP_PASSED;
}

static int hold(Decision *d, PendingRequest *t, HeldJobVerdict v, const Argosy__QueueRule *rule) {
        const Argosy__Request__Job *job = t->request->job;
        char why[HELD_WHY_SIZE];
        int r = check_nodes(d->leader, t);

        if (r != STEP_PASSED)
                return r;

        if (!held_jobs_can_hold(t->request)) {
                held_verdict_phrase(d->leader, v, rule, NULL, 0, why);
                return request_refuse(t, EEXIST, "%s cannot be held back%s%s: nothing was changed",
                                     job_verb(t->request), *why ? ", and would wait for " : "", why);
        }
        Argosy__StoredRequest stored = MESSAGE_OF(stored_request, .author = t->author);
        if (job) {
                stored.by_hand = job->hold;
                stored.after = job->after;
                stored.n_after = job->n_after;
        }
        r = pack(t->request, &stored.request);
        if (r == 0)
                r = put(d, t, v, rule, &stored);
        free(stored.request.data);
        return r;
}

// ------------------------------------------------------------------------------------------------ how many

// STEP_PASSED: its author may have one more job that is open.
static int check_author(const Leader *l, PendingRequest *t, bool is_held) {
        size_t max = cluster_state_queue(l->state)->open_max ?: CLUSTER_OPEN_JOBS_DEFAULT;
        bool opens = is_held || request_job_runs(t->request);
        char who[AUTHOR_TEXT_SIZE];

        if (!opens || !queue_policy_is_limited(t->request) || queue_undoes_rules(l, t->request) ||
            author_jobs_open(l, t->author) < max)
                return STEP_PASSED;
        return request_refuse(t, EDQUOT,
                             "%s has %zu jobs that are running or held back, as many as an author may have "
                             "(see argosyctl queue limit): nothing was changed",
                             author_text(t->author, who), author_jobs_open(l, t->author));
}

// ---------------------------------------------------------------------------------------------- the request

int decide_queue_admit(Decision *d, PendingRequest *t) {
        const Argosy__QueueRule *rule;
        Leader *l = d->leader;
        HeldJobVerdict v;
        int r;

        if (t->job > 0 || queue_policy_only_asks(t->request)) { // it has begun, or never will
                (void) queue_look_free(queue_look_take(t));
                return STEP_PASSED;
        }
        r = t->held ? STEP_PASSED : check_after(l, t);
        if (r != STEP_PASSED)
                return r;
        if (!held_jobs_judge(l, t, &v, &rule)) {
                leader_mark(l);
                return PLAN_SETTLED;
        }
        t->limited_by = v == HELD_JOB_GOES && rule && rule->action == ARGOSY__QUEUE_ACTION__QUEUE_LIMIT
                                ? rule->number
                                : 0;
        if (v == HELD_JOB_GOES)
                return t->held ? STEP_PASSED : check_author(l, t, false);
        if (t->held) {
                held_job_put_back(l, t);
                return QUEUE_PUT_BACK;
        }
        if (v == HELD_JOB_REFUSED)
                return request_refuse(t, EPERM, "%s (rule %" PRIu32 " of the queue); nothing was changed",
                                     rule->text, rule->number);
        if (v == HELD_JOB_OVER)
                return refuse_over(l, t);
        r = check_author(l, t, true);
        return r == STEP_PASSED ? hold(d, t, v, rule) : r;
}
