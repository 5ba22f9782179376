// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Checks of what those are told who asked for a change: that it is in the log, once, as theirs; or that
// nothing was changed.
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "checks-log.h"
#include "request-kind.h"
#include "test.h"

static size_t number_of(const WorldAsked *a) {
        return (size_t) (a - asks.asked) + 1;
}

// The log knows a rebalance by its id only if it was held back: one that is asked for again goes on, as
// another job if the first is over.
static bool is_change(const WorldAsked *a) {
        return a->wrong != WRONG_KEY && log_request_id(a->request) &&
               a->request->what_case != ARGOSY__REQUEST__WHAT_REBALANCE;
}

// The job that the answer names is the request's own.
void acknowledged_on_answer(const WorldAsked *a, const Argosy__Response *r) {
        uint64_t job;

        if (!is_change(a) || r->status != 0 || r->job == 0)
                return;
        job = log_job_of(log_request_id(a->request));
        if (job != log_place(r->job))
                check_fail("acknowledged-is-kept",
                           "request %zu was answered with job %" PRIu64 ", and the log has %" PRIu64
                           " of it",
                           number_of(a), r->job, job);
        check_says("acknowledged-is-kept");
}

// What the log had of it when it was asked again is told as such, and not as if it were done now.
static void is_told_as_done(const WorldAsked *a, const Argosy__Response *r) {
        uint64_t job = log_place(r->job);
        const LogJob *j = job > 0 && job <= log_truth.n_jobs ? log_truth.jobs[job] : NULL;

        if (a->request->what_case != ARGOSY__REQUEST__WHAT_CHANGE || !r->change || !j || j->parted ||
            j->entry > a->asked_at)
                return;
        for (size_t i = 0; i < r->change->n_units; i++) {
                int unit = world_unit_index(r->change->units[i]->name);

                if (unit >= 0 && j->touched & 1u << unit && !r->change->units[i]->repeated)
                        check_fail("acknowledged-once",
                                   "request %zu is asked again, and is told of %s as if it were done now",
                                   number_of(a), r->change->units[i]->name);
        }
}

// Whoever asks once more hears of the same job. That no second one is in the log is seen where the log is
// read (checks-log.c).
void once_on_answer(const WorldAsked *a, const Argosy__Response *r) {
        const WorldAsked *first = a->again_of ? &asks.asked[a->again_of - 1] : NULL;

        if (!first || !is_change(a) || r->status != 0 || r->job == 0 || asks.port->job(first) == 0)
                return;
        if (asks.port->job(first) != r->job)
                check_fail("acknowledged-once",
                           "request %zu became job %" PRIu64 ", and asked again job %" PRIu64,
                           number_of(first), asks.port->job(first), r->job);
        is_told_as_done(a, r);
        check_says("acknowledged-once");
}

// ------------------------------------------------------------------------------------------------ refusals

// Whoever asks without a leader is told so of what that host has done.
static bool another_host_had_it(const WorldAsked *a) {
        for (size_t i = 0; i < asks.n_asked; i++) {
                const uint8_t *of = log_request_id(asks.asked[i].request);

                if (&asks.asked[i] != a && of && memcmp(of, log_request_id(a->request), LOG_ID_SIZE) == 0)
                        return true;
        }
        return false;
}

static bool says_nothing_was_changed(const WorldAsked *a, const Argosy__Response *r) {
        return r->final && r->status != 0 && strstr(r->message, "nothing was changed") &&
               !(strstr(r->message, "unless another host had it") && another_host_had_it(a));
}

// Nobody who asked with this id waits any more, and the last of them was told that nothing was changed.
static bool was_refused(const uint8_t *id) {
        bool refused = false;

        for (size_t i = 0; i < asks.n_asked; i++) {
                const WorldAsked *a = &asks.asked[i];
                const uint8_t *of = log_request_id(a->request);

                if (!of || memcmp(of, id, LOG_ID_SIZE) != 0)
                        continue;
                if (!asks_last_response(a) || !says_nothing_was_changed(a, asks_last_response(a)))
                        return false;
                refused = true;
        }
        return refused;
}

void refused_on_answer(const WorldAsked *a, const Argosy__Response *r) {
        uint64_t job;

        if (!is_change(a) || !says_nothing_was_changed(a, r))
                return;
        job = log_job_of(log_request_id(a->request));
        if (job > 0 && log_truth.jobs[job]->touched)
                check_fail("refused-is-undone",
                           "request %zu was told '%s', and job %" PRIu64 " has changed units", number_of(a),
                           r->message, job);
        check_says("refused-is-undone");
}

void refused_on_entry(const Argosy__LogBatch *batch) {
        for (size_t i = 0; i < batch->n_ops; i++) {
                const Argosy__LogOp *op = batch->ops[i];

                if (op->op_case == ARGOSY__LOG_OP__OP_JOB && op->job->id.len == LOG_ID_SIZE &&
                    op->job->number == 0 && was_refused(op->job->id.data))
                        check_fail("refused-is-undone",
                                   "whoever asked was told that nothing was changed, and job %" PRIu64
                                   " does it",
                                   log_truth.n_jobs);
        }
}

// ------------------------------------------------------------------------------------------------ authors

static bool is_of(const LogJob *j, WorldAuthor author) {
        if (author == AUTHOR_ROOT)
                return true;
        if (author == AUTHOR_TOKEN)
                return strncmp(j->user, "token:", strlen("token:")) == 0;
        return strcmp(j->user, world_authors[author]) == 0 && j->uid == 1000 + (uint32_t) author;
}

void author_on_answer(const WorldAsked *a, const Argosy__Response *r) {
        uint64_t place = log_place(r->job);
        const LogJob *j;

        if (!is_change(a) || r->status != 0 || place == 0 || place > log_truth.n_jobs ||
            !log_truth.jobs[place])
                return;
        j = log_truth.jobs[place];
        if (!is_of(j, a->author))
                check_fail("author-is-whoever-asked", "%s asked for job %" PRIu64 ", which is %s's",
                           world_authors[a->author], r->job, j->user);
        check_says("author-is-whoever-asked");
}

// -------------------------------------------------------------------------------------------- wrong ones

static bool is_taken(const Argosy__Response *r) {
        if (r->status != 0 || r->held)
                return false;
        for (size_t i = 0; r->what_case == ARGOSY__RESPONSE__WHAT_CHANGE && i < r->change->n_units; i++)
                if (r->change->units[i]->status != 0)
                        return false;
        return true;
}

// The log had the first one's job before this one came, and forgets none so soon.
static bool had_its_key(const WorldAsked *a) {
        enum { BEHIND_MAX = 64 };
        const uint8_t *id = a->wrong_of > 0 ? log_request_id(asks.asked[a->wrong_of - 1].request) : NULL;
        uint64_t job = id ? log_job_of(id) : 0;

        return job > 0 && log_truth.jobs[job]->entry <= a->asked_at && job + BEHIND_MAX > log_truth.n_jobs;
}

void wrong_on_answer(const WorldAsked *a, const Argosy__Response *r) {
        static const char *const why[] = {"", "its key is another request's", "the name is the machine's",
                                          "the log has what it shows", "no unit can have its file",
                                          "a word of it is none"};

        if (a->wrong == WRONG_NOTHING || (a->wrong == WRONG_KEY && !had_its_key(a)))
                return;
        check_says("wrong-is-refused");
        if (is_taken(r))
                check_fail("wrong-is-refused", "request %zu is answered well, and %s", number_of(a),
                           why[a->wrong]);
}
