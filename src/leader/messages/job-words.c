// SPDX-License-Identifier: LGPL-2.1-or-later
//
// From a request to the words that its job is kept by. A request that has words of the person is believed in
// these, as far as they go: they are shown and mean nothing. What the job of a kind is called, and which
// kinds name nothing, is in model/request-kind.c; a test compares. Text of others is cut where it is too
// long, and what a terminal would obey becomes a question mark.

#include "job-words.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "access.h"
#include "field-order.h"
#include "hash.h"
#include "macro.h"
#include "message.h"
#include "request-kind.h"
#include "response.h"
#include "str.h"
#include "unit-name.h"
#include "unit-state.h"
#include "utc-time.h"

// ------------------------------------------------------------------------------------------------ verbs

const char *job_verb(const Argosy__Request *q) {
        const RequestKind *kind = request_kind(q->what_case);
        const RequestJob *job = request_job(q);

        if (!job)
                return kind ? kind->name : "";
        return job->verb ?: job->verb_of(q);
}

// ------------------------------------------------------------------------------------------------ targets

static int add(JobWords *w, const char *text) {
        size_t whole = strlen(text), len = MIN_OF(whole, (size_t) JOB_TARGET_MAX);
        char *copy;

        if (w->n_targets == JOB_TARGETS_MAX || w->n_bytes + len > JOB_TARGETS_BYTES_MAX) {
                w->more_targets++;
                return 0;
        }
        copy = str_is_plain(text) ? str_dup_cut(text, JOB_TARGET_MAX) : str_printable(text, JOB_TARGET_MAX);
        if (!copy)
                return -ENOMEM;
        w->targets[w->n_targets++] = copy;
        w->n_bytes += len;
        return 0;
}

static int add_mib(JobWords *w, uint32_t mib) {
        char text[16];

        snprintf(text, sizeof(text), "%" PRIu32 "M", mib);
        return add(w, text);
}

static int add_size(JobWords *w, const char *key, uint32_t size, char unit) {
        char text[32];

        if (size == 0)
                return 0;
        snprintf(text, sizeof(text), "%s=%" PRIu32 "%c", key, size, unit);
        return add(w, text);
}

static int add_files_limit(JobWords *w, const Argosy__Request__QueueChange *m) {
        return add_size(w, "file", m->file_kib, 'K')
                ?: add_size(w, "unit", m->unit_files_kib, 'K')
                ?: add_size(w, "all", m->files_mib, 'M');
}

// None: what the clocks say.
static int add_time(JobWords *w, uint64_t wall_us) {
        char text[UTC_TIME_SIZE];

        utc_time_format(wall_us, text);
        return wall_us > 0 ? add(w, text) : 0;
}

static int add_all(JobWords *w, char *const *texts, size_t n) {
        int r = 0;

        for (size_t i = 0; r == 0 && i < n; i++)
                r = add(w, texts[i]);
        return r;
}

static int add_number(JobWords *w, uint64_t number) {
        _cleanup_free_ char *text = str_printf("%" PRIu64, number);

        return text ? add(w, text) : -ENOMEM;
}

static int add_access(JobWords *w, const Argosy__Request__AccessChange *m) {
        _cleanup_free_ char *text = str_printf("%s:%s%s%s", *m->user ? "user" : "group",
                                               *m->user ? m->user : m->group, *m->host ? "@" : "", m->host);
        int r = add(w, right_to_string(m->right));

        return r < 0 ? r : text ? add(w, text) : -ENOMEM;
}

static int add_numbers(JobWords *w, const uint64_t *numbers, size_t n) {
        int r = 0;

        for (size_t i = 0; r == 0 && i < n; i++)
                r = add_number(w, numbers[i]);
        return r;
}

static int add_what_it_names(JobWords *w, const Argosy__Request *q) {
        switch (q->what_case) {
        case ARGOSY__REQUEST__WHAT_CHANGE:
                return add_all(w, q->change->names, q->change->n_names);
        case ARGOSY__REQUEST__WHAT_ROLLOUT:
                return add(w, q->rollout->name);
        case ARGOSY__REQUEST__WHAT_REBALANCE:
                return add_all(w, q->rebalance->patterns, q->rebalance->n_patterns);
        case ARGOSY__REQUEST__WHAT_NODE_CHANGE:
                return add_all(w, q->node_change->nodes, q->node_change->n_nodes);
        case ARGOSY__REQUEST__WHAT_LABEL_CHANGE:
                return add(w, q->label_change->node);
        case ARGOSY__REQUEST__WHAT_ROLE_CHANGE:
                return add(w, q->role_change->name);
        case ARGOSY__REQUEST__WHAT_POOL_CHANGE:
                return add(w, q->pool_change->name);
        case ARGOSY__REQUEST__WHAT_CLUSTER_REMOVE:
                return add(w, q->cluster_remove->host);
        case ARGOSY__REQUEST__WHAT_CLUSTER_ROLE:
                return add(w, q->cluster_role->host);
        case ARGOSY__REQUEST__WHAT_CLUSTER_VOTERS:
                return add_number(w, q->cluster_voters->wanted);
        case ARGOSY__REQUEST__WHAT_CLUSTER_SET_TIME:
                return add_time(w, q->cluster_set_time->to_us);
        case ARGOSY__REQUEST__WHAT_ACCESS_CHANGE:
                return add_access(w, q->access_change);
        case ARGOSY__REQUEST__WHAT_TOKEN_CREATE:
                return add(w, q->token_create->name);
        case ARGOSY__REQUEST__WHAT_TOKEN_REVOKE:
                return add_all(w, q->token_revoke->tokens, q->token_revoke->n_tokens);
        case ARGOSY__REQUEST__WHAT_SECRET_SET:
                return add(w, q->secret_set->name);
        case ARGOSY__REQUEST__WHAT_SECRET_DELETE:
                return add_all(w, q->secret_delete->names, q->secret_delete->n_names);
        case ARGOSY__REQUEST__WHAT_APPLY:
                return add(w, q->apply->set);
        case ARGOSY__REQUEST__WHAT_UNDO:
                return add_number(w, q->undo->job);
        case ARGOSY__REQUEST__WHAT_JOB_RELEASE:
                return add_numbers(w, q->job_release->numbers, q->job_release->n_numbers);
        case ARGOSY__REQUEST__WHAT_JOB_CANCEL:
                return add_numbers(w, q->job_cancel->numbers, q->job_cancel->n_numbers);
        case ARGOSY__REQUEST__WHAT_QUEUE_CHANGE:
                if (q->queue_change->open_max > 0)
                        return add_number(w, q->queue_change->open_max);
                if (q->queue_change->history_mib > 0)
                        return add_mib(w, q->queue_change->history_mib);
                return q->queue_change->remove > 0 ? add_number(w, q->queue_change->remove)
                                                   : add_files_limit(w, q->queue_change);
        case ARGOSY__REQUEST__WHAT_JOIN:
                return q->join->host ? add(w, q->join->host->name) : 0;
        default:
                return 0;
        }
}

int job_words_init(JobWords *w, const Argosy__Request *request) {
        const Argosy__Request__Job *job = request->job;
        int r;

        *w = (JobWords){};
        if (job && job->n_targets > 0) {
                w->more_targets = job->more_targets;
                r = add_all(w, job->targets, job->n_targets);
        } else
                r = add_what_it_names(w, request);
        if (r < 0)
                job_words_done(w);
        return r;
}

void job_words_done(JobWords *w) {
        for (size_t i = 0; i < w->n_targets; i++)
                free(w->targets[i]);
        *w = (JobWords){};
}

// ------------------------------------------------------------------------------------------------ ends

// The name, too, is whatever somebody has asked for, and may be refused for that.
Argosy__JobUnitEnd *job_unit_end_new(const char *unit, Argosy__UnitEnd how, const char *node,
                                     const char *message) {
        Argosy__JobUnitEnd *end = calloc(1, sizeof(*end));
        char name[UNIT_NAME_MAX + 1], text[JOB_END_TEXT_MAX];

        if (!end)
                return NULL;
        argosy__job_unit_end__init(end);
        end->end = how;
        str_fit(name, sizeof(name), "%s", unit);
        str_fit(text, sizeof(text), "%s", message);
        if (field_set(&end->unit, name) == 0 && field_set(&end->node, node) == 0 &&
            field_set(&end->message, text) == 0)
                return end;
        message_free(end);
        return NULL;
}

// ------------------------------------------------------------------------------------------------ keys

const char *job_form_error(const Argosy__Request *request) {
        const Argosy__Request__Job *job = request->job;

        if (!job)
                return NULL;
        if (strlen(job->reason) > JOB_REASON_MAX)
                return "the reason is longer than 512 bytes";
        if (!str_is_plain(job->reason))
                return "the reason has characters that are no text, or that turn text around";
        if (job->id.len != 0 && job->id.len != REQUEST_JOB_ID_SIZE)
                return "the request's id is not of 16 bytes";
        if (job->n_after > JOB_AFTER_MAX)
                return "a job waits for 100 others at most";
        return NULL;
}

// Fields that a leader does not know are sorted with the others: leaders of several versions come to the
// same.
static int hash_request(const Argosy__Request *request, uint64_t *ret, size_t *ret_len) {
        size_t len = argosy__request__get_packed_size(request);
        _cleanup_free_ uint8_t *packed = malloc(len + 1);
        Hash hash;
        int r;

        if (!packed)
                return -ENOMEM;
        argosy__request__pack(request, packed);
        r = field_order_sort(&argosy__request__descriptor, packed, len);
        if (r < 0)
                return r;
        hash = hash_of(packed, len);
        *ret = 0;
        for (size_t i = 0; i < sizeof(*ret); i++)
                *ret |= (uint64_t) hash.bytes[i] << (8 * i);
        *ret_len = len;
        return 0;
}

// What a folder says; not what was missing of it when it was compared with the cluster. So a command that is
// given again, since the first one was lost in the middle, is the same. Files are megabytes: their contents
// are named by their hashes, and no others are taken.
static int hash_apply(const Argosy__Request *request, uint64_t *ret, size_t *ret_len) {
        Argosy__Request__Apply apply = *request->apply;
        _cleanup_free_ Argosy__Request__Apply__Unit *units = calloc(apply.n_units + 1, sizeof(*units));
        _cleanup_free_ Argosy__Request__Apply__Unit **pointers =
                calloc(apply.n_units + 1, sizeof(*pointers));
        Argosy__Request only = *request;

        if (!units || !pointers)
                return -ENOMEM;
        for (size_t i = 0; i < apply.n_units; i++) {
                units[i] = *apply.units[i];
                units[i].file = 0;
                pointers[i] = &units[i];
        }
        apply.units = pointers;
        apply.n_files = apply.n_gone = 0;
        apply.revision = apply.plan = 0;
        only.apply = &apply;
        return hash_request(&only, ret, ret_len);
}

// A file is its name and what is in it; by which path somebody found it says nothing of that.
static int hash_change(const Argosy__Request *request, uint64_t *ret, size_t *ret_len) {
        Argosy__Request__Change change = *request->change;
        _cleanup_free_ Argosy__NamedFile *files = calloc(change.n_files + 1, sizeof(*files));
        _cleanup_free_ Argosy__NamedFile **pointers = calloc(change.n_files + 1, sizeof(*pointers));
        Argosy__Request only = *request;

        if (!files || !pointers)
                return -ENOMEM;
        for (size_t i = 0; i < change.n_files; i++) {
                files[i] = *change.files[i];
                files[i].path = (char *) "";
                pointers[i] = &files[i];
        }
        change.files = pointers;
        change.id = (ProtobufCBinaryData){};
        only.change = &change;
        return hash_request(&only, ret, ret_len);
}

static int hash_rollout(const Argosy__Request *request, uint64_t *ret, size_t *ret_len) {
        Argosy__Request__Rollout rollout = *request->rollout;
        Argosy__NamedFile file = ARGOSY__NAMED_FILE__INIT;
        Argosy__Request only = *request;

        rollout.id = (ProtobufCBinaryData){};
        if (rollout.file) {
                file = *rollout.file;
                file.path = (char *) "";
                rollout.file = &file;
        }
        only.rollout = &rollout;
        return hash_request(&only, ret, ret_len);
}

// Without what differs from one time to the next.
int job_request_content(const Argosy__Request *request, uint64_t *ret, size_t *ret_len) {
        Argosy__Request only = *request;
        Argosy__Request__Rebalance rebalance;
        Argosy__Request__SecretSet secret;

        only.id = only.cancel_id = 0;
        only.timeout_ms = 0;
        only.job = NULL;
        if (only.what_case == ARGOSY__REQUEST__WHAT_CHANGE)
                return hash_change(&only, ret, ret_len);
        if (only.what_case == ARGOSY__REQUEST__WHAT_ROLLOUT)
                return hash_rollout(&only, ret, ret_len);
        if (only.what_case == ARGOSY__REQUEST__WHAT_APPLY)
                return hash_apply(&only, ret, ret_len);
        if (only.what_case == ARGOSY__REQUEST__WHAT_REBALANCE) {
                rebalance = *request->rebalance;
                rebalance.id = (ProtobufCBinaryData){};
                rebalance.no_wait = false; // how it is listened to
                only.rebalance = &rebalance;
        }
        // the log keeps this, and nothing that the value could be guessed by
        if (only.what_case == ARGOSY__REQUEST__WHAT_SECRET_SET) {
                secret = *request->secret_set;
                secret.value = (ProtobufCBinaryData){};
                only.secret_set = &secret;
        }
        return hash_request(&only, ret, ret_len);
}
