// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The rules of the queue are one small record, which is put whole: of two changes the second one waits for
// the next entry, since it is made of what the first has left. A rule has a number of its own for good, so a
// client deletes the rule that it has seen and no other.
//
// An author that may ask for what a job is about may release it: from what its own author asked for, --hold
// and --after. Past the rules, a limit and a closed queue it is released only by an author that may change
// these.
//
// Failures: all of a request, or nothing. A number without a job that is held says how that one is.

#include "queue-changes.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "access.h"
#include "author.h"
#include "authorization.h"
#include "carried-files.h"
#include "held-jobs.h"
#include "job-state.h"
#include "message-of.h"
#include "message.h"
#include "pending-requests.h"
#include "queue-policy.h"
#include "response.h"
#include "str.h"
#include "turn.h"

// ------------------------------------------------------------------------------------------------ rules

static size_t find_rule(const Argosy__QueueRecord *queue, uint32_t number) {
        for (size_t i = 0; i < queue->n_rules; i++)
                if (queue->rules[i]->number == number)
                        return i;
        return SIZE_MAX;
}

static Argosy__Response *no_such_rule(uint32_t number) {
        return response_error(ENOENT, "the queue has no rule %" PRIu32 ": argosyctl queue rule list",
                              number);
}

static int insert(Argosy__QueueRecord *queue, const Argosy__QueueRule *rule, size_t at) {
        Argosy__QueueRule *copy = message_copy(rule);

        if (!copy)
                return -ENOMEM;
        copy->number = ++queue->last_number;
        if (FIELD_APPEND(queue->rules, queue->n_rules, copy) < 0)
                return -ENOMEM;
        memmove(&queue->rules[at + 1], &queue->rules[at], (queue->n_rules - 1 - at) * sizeof(*queue->rules));
        queue->rules[at] = copy;
        return 0;
}

// STEP_PASSED: the record is as it was asked for; so it is with the three below.
static int add(PendingRequest *t, const Argosy__Request__QueueChange *m, Argosy__QueueRecord *queue) {
        const char *error = queue_rule_error(m->add);
        size_t at = m->before > 0 ? find_rule(queue, m->before) : queue->n_rules;
        int r;

        if (error)
                return request_refuse(t, EINVAL, "%s", error);
        if (at == SIZE_MAX)
                return request_settle(t, no_such_rule(m->before));
        r = insert(queue, m->add, at);
        return r < 0 ? r : STEP_PASSED;
}

static int remove_rule(PendingRequest *t, uint32_t number, Argosy__QueueRecord *queue) {
        size_t at = find_rule(queue, number);

        if (at == SIZE_MAX)
                return request_settle(t, no_such_rule(number));
        message_free(queue->rules[at]);
        memmove(&queue->rules[at], &queue->rules[at + 1], (--queue->n_rules - at) * sizeof(*queue->rules));
        return STEP_PASSED;
}

static int set_closed(PendingRequest *t, bool closed, Argosy__QueueRecord *queue) {
        const char *reason = closed && t->request->job ? t->request->job->reason : "";

        if (queue->closed == closed && strcmp(queue->reason, reason) == 0)
                return request_settle(t, response_new(ARGOSY__RESPONSE__WHAT__NOT_SET));
        queue->closed = closed;
        return field_set(&queue->reason, reason) < 0 ? -ENOMEM : STEP_PASSED;
}

static int set_open_max(PendingRequest *t, uint32_t max, Argosy__QueueRecord *queue) {
        if (max > CLUSTER_OPEN_JOBS_MAX)
                return request_refuse(t, EINVAL, "an author may have up to %d open jobs",
                                     CLUSTER_OPEN_JOBS_MAX);
        if ((queue->open_max ?: CLUSTER_OPEN_JOBS_DEFAULT) == max)
                return request_settle(t, response_new(ARGOSY__RESPONSE__WHAT__NOT_SET));
        queue->open_max = max;
        return STEP_PASSED;
}

static int set_history(PendingRequest *t, uint32_t mib, Argosy__QueueRecord *queue) {
        if (mib > CLUSTER_HISTORY_MIB_MAX)
                return request_refuse(t, EINVAL, "up to %d MiB of the past can be kept",
                                     CLUSTER_HISTORY_MIB_MAX);
        if ((queue->history_mib ?: CLUSTER_HISTORY_MIB_DEFAULT) == mib)
                return request_settle(t, response_new(ARGOSY__RESPONSE__WHAT__NOT_SET));
        queue->history_mib = mib;
        return STEP_PASSED;
}

static bool is_about_files(const Argosy__Request__QueueChange *m) {
        return m->file_kib > 0 || m->unit_files_kib > 0 || m->files_mib > 0;
}

// True: it is another one than before.
static bool set_size(uint32_t *field, uint32_t size, uint32_t otherwise) {
        bool same = size == 0 || (*field ?: otherwise) == size;

        *field = same ? *field : size;
        return !same;
}

static int set_files(PendingRequest *t, const Argosy__Request__QueueChange *m, Argosy__QueueRecord *queue) {
        enum {
                FILE_KIB = CARRIED_FILE_MAX / 1024,
                UNIT_KIB = CARRIED_UNIT_MAX / 1024,
                ALL_MIB = CLUSTER_FILES_BYTES_MAX / 1024 / 1024
        };
        bool changed;

        if (m->file_kib > FILE_KIB || m->unit_files_kib > UNIT_KIB || m->files_mib > ALL_MIB)
                return request_refuse(t, EINVAL,
                                     "a file of a unit may have up to %d KiB, a unit with its files %d KiB, "
                                     "and all of them %d MiB",
                                     FILE_KIB, UNIT_KIB, ALL_MIB);
        changed = set_size(&queue->file_kib, m->file_kib, FILE_KIB);
        changed |= set_size(&queue->unit_files_kib, m->unit_files_kib, UNIT_KIB);
        changed |= set_size(&queue->files_mib, m->files_mib, ALL_MIB);
        return changed ? STEP_PASSED : request_settle(t, response_new(ARGOSY__RESPONSE__WHAT__NOT_SET));
}

static int change(PendingRequest *t, const Argosy__Request__QueueChange *m, Argosy__QueueRecord *queue) {
        if ((m->add != NULL) + (m->remove > 0) + m->close + m->open + (m->open_max > 0) +
                    (m->history_mib > 0) + is_about_files(m) !=
            1)
                return request_refuse(t, EINVAL, "the request does not say what is to become of the queue");
        if (m->add)
                return add(t, m, queue);
        if (m->open_max > 0)
                return set_open_max(t, m->open_max, queue);
        if (m->history_mib > 0)
                return set_history(t, m->history_mib, queue);
        if (is_about_files(m))
                return set_files(t, m, queue);
        return m->remove > 0 ? remove_rule(t, m->remove, queue) : set_closed(t, m->close, queue);
}

static int add_row(const Leader *l, Argosy__Response__Queue *q, const Argosy__QueueRule *rule) {
        Argosy__Response__QueueRow *row = calloc(1, sizeof(*row));

        if (!row)
                return -ENOMEM;
        *row = (Argosy__Response__QueueRow) MESSAGE_OF(response__queue_row, .rule = message_copy(rule));
        if (FIELD_APPEND(q->rows, q->n_rows, row) < 0 || !row->rule)
                return -ENOMEM;
        row->running = (uint32_t) held_limit_running(l, rule->number);
        row->held = (uint32_t) held_jobs_of_rule(l, rule->number);
        return 0;
}

// What is there stays, and nothing more comes.
static int tell_files(const Leader *l, const Argosy__QueueRecord *queue, char **ret_message) {
        size_t there = cluster_state_files_bytes(l->state), max = (size_t) queue->files_mib * 1024 * 1024;

        return max > 0 && there > max ? field_printf(ret_message,
                                                     "units have %zu KiB of files now: none gets another "
                                                     "one before there is room",
                                                     (there + 1023) / 1024)
                                      : 0;
}

// The rule that was added, with its number; a warning if it is about everything.
static Argosy__Response *tell_change(const Leader *l, const Argosy__Request__QueueChange *m,
                                     const Argosy__QueueRecord *queue) {
        _cleanup_response_ Argosy__Response *r = response_new(ARGOSY__RESPONSE__WHAT_QUEUE);
        Argosy__QueueRule rule;

        if (r && is_about_files(m) && tell_files(l, queue, &r->message) < 0)
                return NULL;
        if (!r || !m->add)
                return TAKE_PTR(r);
        rule = *m->add;
        rule.number = queue->last_number;
        if (add_row(l, r->queue, &rule) < 0)
                return NULL;
        if (queue_rule_matches_all(m->add) && m->add->action != ARGOSY__QUEUE_ACTION__QUEUE_ACCEPT &&
            field_printf(&r->message,
                         "rule %" PRIu32 " is about every request, and no rule behind it counts",
                         rule.number) < 0)
                return NULL;
        return TAKE_PTR(r);
}

static int plan(Leader *l, PendingRequest *t, BatchBuilder *b, Argosy__QueueRecord *queue) {
        const Argosy__Request__QueueChange *m = t->request->queue_change;
        int r = change(t, m, queue);

        if (r != STEP_PASSED)
                return r;
        r = batch_builder_put_queue(b, queue);
        if (r < 0)
                return r;
        return request_prepare(t, tell_change(l, m, queue));
}

int queue_plan_change(Leader *l, PendingRequest *t, BatchBuilder *b) {
        Argosy__QueueRecord *queue;
        int r;

        if (batch_builder_has_queue(b))
                return -EBUSY;
        queue = message_copy(cluster_state_queue(l->state));
        r = queue ? plan(l, t, b, queue) : -ENOMEM;
        message_free(queue);
        return r;
}

Argosy__Response *queue_answer_list(Leader *l, const Argosy__Request *request) {
        _cleanup_response_ Argosy__Response *r = response_new(ARGOSY__RESPONSE__WHAT_QUEUE);
        const Argosy__QueueRecord *queue = cluster_state_queue(l->state);
        size_t n_stored;

        if (!r || field_set(&r->queue->reason, queue->reason) < 0)
                return NULL;
        for (size_t i = 0; i < queue->n_rules; i++)
                if (add_row(l, r->queue, queue->rules[i]) < 0)
                        return NULL;
        (void) cluster_state_stored_requests(l->state, &n_stored);
        r->queue->held = (uint32_t) n_stored;
        r->queue->closed = queue->closed;
        r->queue->open_max = queue->open_max ?: CLUSTER_OPEN_JOBS_DEFAULT;
        r->queue->history_mib = queue->history_mib ?: CLUSTER_HISTORY_MIB_DEFAULT;
        r->queue->file_kib = (uint32_t) (cluster_state_file_limit(l->state) / 1024);
        r->queue->unit_files_kib = (uint32_t) (cluster_state_unit_files_limit(l->state) / 1024);
        r->queue->files_mib = (uint32_t) (cluster_state_files_limit(l->state) / 1024 / 1024);
        r->queue->files_bytes = cluster_state_files_bytes(l->state);
        r->queue->undo_from = cluster_state_undo_from(l->state);
        return TAKE_PTR(r);
}

// ------------------------------------------------------------------------------------------------ release

static Argosy__Response *refuse_numbers(size_t n) {
        if (n > 0 && n <= RELEASE_MAX)
                return NULL;
        return response_error(EINVAL, "the request names %zu jobs: it has to be 1 to %d", n, RELEASE_MAX);
}

Argosy__Response *queue_refuse_release(const Argosy__Request *request) {
        return refuse_numbers(request->job_release->n_numbers);
}

Argosy__Response *queue_refuse_cancel(const Argosy__Request *request) {
        return refuse_numbers(request->job_cancel->n_numbers);
}

static Argosy__Response *refuse_not_held(const Leader *l, uint64_t number) {
        Argosy__JobState state = cluster_state_job_state(l->state, number);

        if (state == ARGOSY__JOB_STATE__JOB_UNKNOWN)
                return response_error(ENOENT,
                                      "there is no job %" PRIu64
                                      ", or it is not kept any more: nothing was changed",
                                      number);
        return response_error(EALREADY, "job %" PRIu64 " is not held, it is %s: nothing was changed", number,
                              job_state_to_string(state));
}

Argosy__Response *queue_forbid_held(const Leader *l, const Argosy__Author *author, uint64_t number) {
        const Argosy__StoredRequest *m = cluster_state_find_stored_request(l->state, number);
        char why[AUTHORIZATION_WHY_SIZE];
        void *request;
        bool refuses;

        if (!m || cluster_state_job_state(l->state, number) != ARGOSY__JOB_STATE__JOB_HELD)
                return refuse_not_held(l, number);
        if (access_has(authorization_list(l), author, ARGOSY__RIGHT__RIGHT_ADMIN, NULL))
                return NULL;
        if (message_unpack(&argosy__request__descriptor, m->request.data, m->request.len, &request) < 0)
                return response_error(EACCES, "job %" PRIu64 " is for those who have the right 'admin'",
                                      number);
        refuses = authorization_refuses(l, author, request, why);
        message_free(request);
        return refuses ? response_error(EACCES, "job %" PRIu64 ": %s", number, why) : NULL;
}

int queue_plan_release(Leader *l, PendingRequest *t, BatchBuilder *b) {
        const Argosy__Request__JobRelease *m = t->request->job_release;
        bool past_rules =
                access_has(authorization_list(l), t->author, ARGOSY__RIGHT__RIGHT_ADMIN, NULL);
        int r = 0;

        for (size_t i = 0; i < m->n_numbers; i++) {
                Argosy__Response *refusal = queue_forbid_held(l, t->author, m->numbers[i]);

                if (refusal)
                        return request_settle(t, refusal);
        }
        for (size_t i = 0; r == 0 && i < m->n_numbers; i++)
                r = batch_builder_release_request(b, m->numbers[i], past_rules);
        if (r < 0)
                return r;
        return request_prepare(t, response_new(ARGOSY__RESPONSE__WHAT__NOT_SET));
}
