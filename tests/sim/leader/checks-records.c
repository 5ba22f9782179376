// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Check of what the log keeps of jobs, which needs no model of what they do: the end of one that came in
// parts, how far a part came, dates of before a clock was set back, and settings that are noted as changed.
#include <inttypes.h>
#include <string.h>

#include "checks-private.h"
#include "macro.h"
#include "message.h"
#include "test.h"

enum { SETS_MAX = 256 };

typedef struct Kept {
        uint64_t entry; // of its last part
        uint32_t done;  // names of a change that it has gone through
        bool more;      // another part goes on
} Kept;

static Kept kept[LOG_JOBS_MAX];
// What was dated later before that entry is dated so.
static struct { uint64_t entry, to_us; } sets[SETS_MAX];
static size_t n_sets;

void records_begin(void) {
        memset(kept, 0, sizeof(kept));
        n_sets = 0;
}

static void on_part(uint64_t number, const Argosy__LogOp__JobPut *put) {
        static const char *const verbs[] = {"start",  "stop",    "load",   "unload",
                                            "submit", "restart", "destroy"};
        const LogJob *j = log_truth.jobs[number];
        bool is_change = false;

        for (size_t i = 0; j && i < ELEMENTSOF(verbs); i++)
                is_change |= strcmp(j->verb, verbs[i]) == 0;
        if (is_change && put->more && !put->stored && put->done <= kept[number].done)
                check_fail("records-are-true",
                           "job %" PRIu64 " (%s) goes on, and has come to name %" PRIu32 " behind %" PRIu32,
                           number, j->verb, put->done, kept[number].done);
        kept[number] = (Kept){log_truth.n_entries, put->done, put->more};
}

static void on_ends(const Argosy__LogOp__JobEnds *m) {
        for (size_t i = 0; i < m->n_ends; i++) {
                uint64_t number = log_place(m->ends[i]->number);

                if (number > log_truth.n_jobs)
                        continue;
                kept[number].entry = log_truth.n_entries; // what says its end has a date, too
                if (!kept[number].more || kept[number].done == 0)
                        continue;
                check_says("records-are-true");
                if (m->ends[i]->state == ARGOSY__JOB_STATE__JOB_DONE)
                        check_fail("records-are-true",
                                   "job %" PRIu64 " (%s) is done, and the log has only a part of it", number,
                                   log_truth.jobs[number] ? log_truth.jobs[number]->verb : "");
        }
}

// ------------------------------------------------------------------------------------------------ words

// What the request names, that may be one of several. NULL: nothing is known of such requests.
static char *const *names_of(const Argosy__Request *q, size_t *ret_n) {
        *ret_n = 1;
        switch (q->what_case) {
        case ARGOSY__REQUEST__WHAT_CHANGE:
                *ret_n = q->change->n_names;
                return q->change->names;
        case ARGOSY__REQUEST__WHAT_NODE_CHANGE:
                *ret_n = q->node_change->n_nodes;
                return q->node_change->nodes;
        case ARGOSY__REQUEST__WHAT_LABEL_CHANGE:
                return &q->label_change->node;
        case ARGOSY__REQUEST__WHAT_ROLE_CHANGE:
                return &q->role_change->name;
        case ARGOSY__REQUEST__WHAT_POOL_CHANGE:
                return &q->pool_change->name;
        case ARGOSY__REQUEST__WHAT_ROLLOUT:
                return &q->rollout->name;
        case ARGOSY__REQUEST__WHAT_SECRET_SET:
                return &q->secret_set->name;
        default:
                return NULL;
        }
}

static bool is_one_of(const char *word, char *const *words, size_t n) {
        for (size_t i = 0; i < n; i++)
                if (strcmp(words[i], word) == 0)
                        return true;
        return false;
}

// A record names what its request names, and of groups those that its author is in.
static void judge_words(const Argosy__JobRecord *put, uint64_t number) {
        const LogJob *j = log_truth.jobs[number];
        const WorldAsked *a = j && put->own == ARGOSY__OWN_CAUSE__OWN_NONE ? log_asked_of(j) : NULL;
        size_t n;
        char *const *names = a ? names_of(a->request, &n) : NULL;

        for (size_t i = 0; a && i < put->n_groups; i++)
                if (!world_author_is_in(a->author, put->groups[i]))
                        check_fail("records-are-true",
                                   "the record of job %" PRIu64 " says that its author is in %s", number,
                                   put->groups[i]);
        if (!names || (a->request->job && a->request->job->n_targets > 0))
                return;
        check_says("records-are-true");
        if (put->n_targets == 0 || !is_one_of(put->targets[0], names, n))
                check_fail("records-are-true",
                           "the record of job %" PRIu64 " (%s) names '%s', and its request does not", number,
                           put->verb, put->n_targets > 0 ? put->targets[0] : "");
}

void records_on_entry(const Argosy__LogBatch *batch) {
        uint64_t next = log_truth.n_jobs;

        for (size_t i = 0; i < batch->n_ops; i++)
                next -= batch->ops[i]->op_case == ARGOSY__LOG_OP__OP_JOB && batch->ops[i]->job->number == 0;
        for (size_t i = 0; i < batch->n_ops; i++) {
                const Argosy__LogOp *op = batch->ops[i];

                if (op->op_case == ARGOSY__LOG_OP__OP_JOB) {
                        uint64_t number = op->job->number == 0 ? ++next : log_place(op->job->number);

                        if (number <= log_truth.n_jobs)
                                on_part(number, op->job);
                        if (number <= log_truth.n_jobs && op->job->number == 0)
                                judge_words(op->job->job, number);
                } else if (op->op_case == ARGOSY__LOG_OP__OP_JOB_ENDS)
                        on_ends(op->job_ends);
                else if (op->op_case == ARGOSY__LOG_OP__OP_TIME_SET && n_sets < SETS_MAX) {
                        sets[n_sets].entry = log_truth.n_entries;
                        sets[n_sets++].to_us = op->time_set->to_us;
                }
        }
}

// ------------------------------------------------------------------------------------------------ dates

void records_on_answer(const WorldAsked *a, const Argosy__Response *r) {
        if (r->status != 0 || r->what_case != ARGOSY__RESPONSE__WHAT_JOBS)
                return;
        for (size_t i = 0; i < r->jobs->n_rows; i++) {
                const Argosy__Response__JobRow *row = r->jobs->rows[i];

                for (size_t k = 0; k < n_sets && row->job <= log_truth.n_jobs && row->at_us > 0; k++) {
                        if (kept[row->job].entry == 0 || sets[k].entry <= kept[row->job].entry ||
                            sets[k].to_us == 0)
                                continue;
                        check_says("records-are-true");
                        if (row->at_us > sets[k].to_us)
                                check_fail("records-are-true",
                                           "job %" PRIu64 " is dated %" PRIu64
                                           ", and the clock was set to %" PRIu64 " behind it",
                                           row->job, row->at_us, sets[k].to_us);
                }
        }
}

// ------------------------------------------------------------------------------------------------ settings

static bool is_same(const Argosy__SettingValue *a, const Argosy__SettingValue *b) {
        uint8_t packed[2][1024];
        size_t len[2];

        if (!a || !b || argosy__setting_value__get_packed_size(a) > sizeof(packed[0]) ||
            argosy__setting_value__get_packed_size(b) > sizeof(packed[1]))
                return false;
        len[0] = argosy__setting_value__pack(a, packed[0]);
        len[1] = argosy__setting_value__pack(b, packed[1]);
        return len[0] == len[1] && memcmp(packed[0], packed[1], len[0]) == 0;
}

void records_on_finish(void) {
        for (uint64_t i = log_truth.first_job; i <= log_truth.n_jobs; i++) {
                Argosy__JobRecord *r = NULL;

                if (!log_truth.jobs[i] || cluster_state_job_before(world.rig.state, i + 1) != i ||
                    cluster_state_read_job(world.rig.state, i, &r) < 0)
                        continue;
                for (size_t k = 0; k < r->n_settings; k++) {
                        check_says("records-are-true");
                        if (is_same(r->settings[k]->before, r->settings[k]->after))
                                check_fail("records-are-true",
                                           "the record of job %" PRIu64
                                           " (%s) has setting '%s', which it has not changed",
                                           i, r->verb, r->settings[k]->name);
                }
                message_free(r);
        }
}
