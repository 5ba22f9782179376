// SPDX-License-Identifier: LGPL-2.1-or-later
//
// /v1/diff, and ?at= of a unit file (http-api-past.c): what jobs have changed together is read a page of jobs after the other, as argosyctl reads it (job-changes.h); the thread makes
// one document of it. It is in memory meanwhile, so there is a limit to what may differ.

#include <errno.h>
#include <stdlib.h>

#include "http-private.h"
#include "message.h"

enum { DIFFERENCES_MAX = 100000 }; // units and settings

Argosy__Request *http_changes_request(HttpCall *call) {
        Argosy__Request__ListJobs list;
        Argosy__Request request;

        if (!call->changes) {
                uint64_t from = call->target.job, to = call->target.to_job;

                call->changes = calloc(1, sizeof(*call->changes));
                if (!call->changes)
                        return NULL;
                job_changes_begin(call->changes, call->target.name, to > 0 ? MIN_OF(from, to) : from,
                                  to > 0 ? MAX_OF(from, to) : 0);
        }
        return job_changes_next(call->changes, &request, &list) ? message_copy(&request) : NULL;
}

void http_changes_drop(HttpCall *call) {
        if (call->changes)
                job_changes_done(call->changes);
        free(call->changes);
        call->changes = NULL;
}

void http_changes_respond(HttpCall *call, const Argosy__Response *response) {
        JobChanges *c = call->changes;

        if (response->status == 0 && call->status == 0)
                call->status = -job_changes_take(c, response);
        if (!response->final)
                return;
        if (response->status != 0)
                http_call_fail(call, response->status, response->message);
        else if (call->status != 0)
                http_call_fail(call, call->status, http_why_not_kept(call->status));
        else if (response->no_leader)
                http_call_fail(call, EHOSTUNREACH, "no leader can be reached who could tell all jobs");
        else if (!c->answered)
                http_call_fail(call, EPROTO, "the leader's answer is none");
        else if (c->units.count + c->settings.count > DIFFERENCES_MAX)
                http_call_fail(call, E2BIG, "so much has changed between these that argosyctl diff has to be asked");
        else if (c->stage == CHANGES_ARE_READ && http_target_is_past(&call->target))
                http_past_on_changes(call);
        else if (c->stage == CHANGES_ARE_READ)
                http_call_give_back(call);
        else
                http_steps_read_on(call);
}

char *http_changes_document(HttpCall *call) {
        JobDifference d;
        Json j = {};

        if (job_difference(call->changes, call->target.job, call->target.to_job, &d) < 0)
                return NULL;
        job_difference_json(&d, &j);
        json_finish(&j);
        job_difference_done(&d);
        if (j.failed) {
                json_done(&j);
                return NULL;
        }
        return buf_take_string(&j.text);
}
