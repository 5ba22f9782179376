// SPDX-License-Identifier: LGPL-2.1-or-later
//
// POST of a retry of a job: which units of that job ended badly is read first (job-retry.h), then the change
// is asked for.
//
//      request(): list-jobs -> respond() -> ... -> end(): verb and names into the call's change
//          -> the next step
//
// Failures: a retry that makes no sense is 400 before anything changes; without a leader, or memory, the
// call fails.

#include "work-retry.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "macro.h"
#include "message.h"

enum { TARGETS_MAX = 16 }; // names that a job's record keeps, as with argosyctl

bool http_retry_is_asked(const HttpCall *call) {
        const Argosy__Request *q = call->request;

        return q && q->what_case == ARGOSY__REQUEST__WHAT_CHANGE && q->job && q->job->retries > 0;
}

static Argosy__Request *request(HttpCall *call) {
        Argosy__Request__ListJobs list;
        Argosy__Request request;

        if (!call->rows.retry) {
                call->rows.retry = calloc(1, sizeof(*call->rows.retry));
                if (!call->rows.retry)
                        return NULL;
                job_retry_begin(call->rows.retry, call->request->job->retries);
        }
        return job_retry_next(call->rows.retry, &request, &list) ? message_copy(&request) : NULL;
}

void http_retry_drop(HttpCall *call) {
        if (call->rows.retry)
                job_retry_done(call->rows.retry);
        free(call->rows.retry);
        call->rows.retry = NULL;
}

static char **copy_names(char *const *names, size_t n) {
        char **copy = calloc(n + 1, sizeof(*copy));

        for (size_t i = 0; copy && i < n; i++)
                if (!(copy[i] = strdup(names[i]))) {
                        while (i > 0)
                                free(copy[--i]);
                        free(copy);
                        return NULL;
                }
        return copy;
}

// The change takes the names, and its job a copy of the first ones.
static int fill(HttpCall *call, Argosy__Verb verb) {
        Argosy__Request__Change *change = call->request->change;
        Argosy__Request__Job *job = call->request->job;
        JobRetryNames *bad = &call->rows.retry->bad;
        size_t n_targets = MIN_OF(bad->n, (size_t) TARGETS_MAX);
        char **names = copy_names(bad->names, bad->n),
             **targets = names ? copy_names(bad->names, n_targets) : NULL;

        if (!targets) {
                for (size_t i = 0; names && i < bad->n; i++)
                        free(names[i]);
                free(names);
                return -ENOMEM;
        }
        change->verb = verb;
        change->names = names;
        change->n_names = bad->n;
        job->targets = targets;
        job->n_targets = n_targets;
        job->more_targets = (uint32_t) (bad->n - n_targets);
        return 0;
}

static void end(HttpCall *call) {
        char why[JOB_RETRY_WHY_SIZE];
        Argosy__Verb verb;
        int r = job_retry_judge(call->rows.retry, &verb, why);

        if (r == 0)
                r = fill(call, verb);
        if (r == -EINVAL)
                http_call_fail(call, EINVAL, why);
        else if (r < 0)
                http_call_fail(call, ENOMEM, http_why_not_kept(ENOMEM));
        else {
                http_retry_drop(call);
                http_call_next(call, call->author);
        }
}

static void respond(HttpCall *call, const Argosy__Response *response) {
        JobRetry *retry = call->rows.retry;

        if (response->status == 0 && call->status == 0)
                http_call_set_status(call, -job_retry_take(retry, response));
        if (!response->final)
                return;
        if (response->status != 0)
                http_call_fail(call, response->status, response->message);
        else if (call->status != 0)
                http_call_fail(call, call->status, http_why_not_kept(call->status));
        else if (response->no_leader)
                http_call_fail(call, EHOSTUNREACH,
                               "no leader can be reached who could tell how that job ended");
        else if (retry->read || !retry->answered)
                end(call);
        else
                http_call_ask(call, call->step, call->author);
}

const HttpStep http_retry_step = {.request = request, .respond = respond, .is_repeated = true};
