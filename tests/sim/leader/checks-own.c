// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Check of the records of what the cluster does by itself: what happens again within a minute is counted in
// one of them, what follows from the loss of a host stands in that of its loss; and each move that a record
// tells of was made in that entry, from there to there.
//
// The records are followed as the log puts them; time is the sum of what the log counts.
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "checks-private.h"
#include "leader-private.h"
#include "message.h"
#include "test.h"

enum { HOSTS_MAX = 64 };
#define CAUSES (ARGOSY__OWN_CAUSE__OWN_PLACED + 1)

typedef struct OwnRecord {
        uint64_t number; // of its job; 0: there is none
        uint32_t host;
        uint32_t times;
        size_t bytes;     // of all that was put of it: the log keeps a part for each time
        uint64_t last_us; // counted time when it was gone on with
} OwnRecord;

enum { PART_BYTES = 64 }; // at most, of each part, that its entry does not say

static struct {
        uint64_t counted_us;
        // The newest of each cause about each host: an entry may begin one about a host, and go on behind
        // that with the one about another host, of which all parts count.
        OwnRecord of[CAUSES][HOSTS_MAX + 1];
        uint32_t last[CAUSES]; // the host that the newest of all is about
        bool is_lost[HOSTS_MAX + 1]; // the newest record about the host says so
} own;

void own_begin(void) {
        memset(&own, 0, sizeof(own));
}

// Who leads, that is one record about all of them.
static OwnRecord *record_of(Argosy__OwnCause cause, uint32_t host) {
        return &own.of[cause][cause == ARGOSY__OWN_CAUSE__OWN_LEADER ? 0 : host];
}

// What a record would go on with.
static const OwnRecord *newest_for(Argosy__OwnCause cause, uint32_t host) {
        bool is_by_host = cause == ARGOSY__OWN_CAUSE__OWN_LOST || cause == ARGOSY__OWN_CAUSE__OWN_BACK;

        return record_of(cause, is_by_host ? host : own.last[cause]);
}

// It is kept whole, and not so long that another one follows.
static bool may_go_on(const OwnRecord *r) {
        Argosy__JobRecord *job = NULL;
        bool may = r->number > 0 && cluster_state_read_job(world.rig.state, r->number, &job) == 0 &&
                   !job->dropped && !job->cut && r->bytes <= world.rig.leader->limits.own_record_bytes;

        message_free(job);
        return may;
}

static bool is_recent(const OwnRecord *r) {
        uint64_t sec = world.rig.leader->limits.own_repeat_sec;

        return own.counted_us - r->last_us < sec * 900000; // the leader's own clock counts a little more
}

static void judge_new(const Argosy__JobRecord *put, uint64_t number) {
        const OwnRecord *r = newest_for(put->own, put->own_host);
        bool follows = put->own == ARGOSY__OWN_CAUSE__OWN_LOST && put->times == 0;

        if (!may_go_on(r) || (put->own != ARGOSY__OWN_CAUSE__OWN_LEADER && r->host != put->own_host))
                return;
        check_says("own-records-are-one");
        if (follows ? own.is_lost[put->own_host] : is_recent(r))
                check_fail("own-records-are-one",
                           "job %" PRIu64 " (%s, n%u) is a record of its own, and job %" PRIu64
                           " tells of the same, %" PRIu64 " ms before",
                           number, put->verb, put->own_host, r->number,
                           (own.counted_us - r->last_us) / 1000);
}

static void judge_times(const Argosy__JobRecord *put, const OwnRecord *r, uint64_t number, bool begins) {
        uint32_t times = (begins ? 0 : r->times) + 1;

        if (put->times > 0 && put->times != times)
                check_fail("own-records-are-one", "job %" PRIu64 " (%s) says %u times, and it is %u", number,
                           put->verb, put->times, times);
}

static void on_put(const Argosy__LogOp__JobPut *put, uint64_t next) {
        const Argosy__JobRecord *job = put->job;
        OwnRecord *r;

        if (job->own == ARGOSY__OWN_CAUSE__OWN_NONE || job->own > ARGOSY__OWN_CAUSE__OWN_PLACED ||
            job->own_host > HOSTS_MAX)
                return;
        r = record_of(job->own, job->own_host);
        if (put->number == 0)
                judge_new(job, next);
        judge_times(job, r, put->number ?: next, put->number == 0 || put->number != r->number);
        if (put->number == 0 || put->number != r->number)
                r->times = r->bytes = 0;
        *r = (OwnRecord){.number = put->number ?: next,
                         .host = job->own_host,
                         .times = job->times ?: r->times,
                         .bytes = r->bytes + argosy__job_record__get_packed_size(job) + PART_BYTES,
                         .last_us = own.counted_us};
        if (job->own == ARGOSY__OWN_CAUSE__OWN_LOST || job->own == ARGOSY__OWN_CAUSE__OWN_BACK)
                own.is_lost[job->own_host] = job->own == ARGOSY__OWN_CAUSE__OWN_LOST;
        own.last[job->own] = job->own_host;
}

// ------------------------------------------------------------------------------------------------ moves

// Whether that is what the node is called. Records name none that is not in the cluster any more; of one
// with another name, or of a second manager, nothing is said.
static bool is_called(uint32_t node, const char *name) {
        uint32_t host = node > 0 ? places_host_of(node) : 0;
        char usual[16];

        snprintf(usual, sizeof(usual), "n%u", host);
        if (node == 0)
                return !*name;
        return host == 0 || !*name || world_host_lies(host) || strchr(name, '/') || strcmp(name, usual) == 0;
}

static bool is_way(const struct LogMove *m, const struct LogTouched *t) {
        return is_called(t->before.exists ? t->before.node : 0, m->from) && is_called(t->after.node, m->to);
}

static void judge_move(const struct LogMove *m) {
        check_says("own-records-are-one");
        for (size_t i = 0; i < log_truth.n_touched; i++)
                if (log_truth.touched[i].unit == m->unit && !log_truth.touched[i].asked &&
                    is_way(m, &log_truth.touched[i]))
                        return;
        check_fail("own-records-are-one", "a record tells that %s went from '%s' to '%s', and it did not",
                   asks.units[m->unit].name, m->from, m->to);
}

void own_on_entry(const Argosy__LogBatch *batch) {
        uint64_t next = log_truth.n_jobs;

        own.counted_us += batch->counted_us > 0 ? batch->counted_us : 1;
        for (size_t i = 0; i < batch->n_ops; i++)
                next -= batch->ops[i]->op_case == ARGOSY__LOG_OP__OP_JOB && batch->ops[i]->job->number == 0;
        for (size_t i = 0; i < batch->n_ops; i++) {
                const Argosy__LogOp *op = batch->ops[i];

                if (op->op_case == ARGOSY__LOG_OP__OP_HOST_REMOVE && op->host_remove->host <= HOSTS_MAX)
                        own.is_lost[op->host_remove->host] = false;
                if (op->op_case != ARGOSY__LOG_OP__OP_JOB)
                        continue;
                next += op->job->number == 0;
                on_put(op->job, next);
        }
        for (size_t i = 0; i < log_truth.n_moves; i++)
                judge_move(&log_truth.moves[i]);
}
