// SPDX-License-Identifier: LGPL-2.1-or-later
//
// /v1/diff, and ?at= of a unit file (http-api-past.c): what jobs have changed together is read a page of jobs after the other, as argosyctl
// reads it (job-changes.h); the thread makes one document of it. It is in memory meanwhile, so there is a limit to what may differ, and it counts like any other answer. Nobody reads
// on for a client that has gone.

#include <errno.h>
#include <stdlib.h>

#include "http-private.h"
#include "macro.h"
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
        http_api_release(call, call->changes_bytes);
        call->changes_bytes = 0;
}

static int why_full(const HttpCall *call, size_t bytes) {
        return bytes > account_most(call->user, ACCOUNT_BYTES) ? -E2BIG : -EBUSY;
}

// What has come counts. 0, -EBUSY or -E2BIG.
static int count(HttpCall *call) {
        size_t more = call->changes->bytes - MIN_OF(call->changes->bytes, call->changes_bytes);

        if (!http_api_hold(call, more))
                return why_full(call, call->changes->bytes);
        call->changes_bytes += more;
        return 0;
}

void http_changes_respond(HttpCall *call, const Argosy__Response *response) {
        JobChanges *c = call->changes;

        if (response->status == 0 && call->status == 0)
                call->status = -job_changes_take(c, response);
        if (call->status == 0)
                call->status = -count(call);
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
        else if (http_peer_is_gone(call->peer))
                http_call_fail(call, ECONNRESET, "its client has gone");
        else
                http_steps_read_on(call);
}

int http_changes_document(HttpCall *call, char **ret) {
        JobDifference d;
        Json j = {};
        int r = job_difference(call->changes, call->target.job, call->target.to_job, &d);

        if (r < 0)
                return r;
        job_difference_json(&d, &j);
        json_finish(&j);
        job_difference_done(&d);
        http_changes_drop(call);
        if (j.failed || !http_api_hold(call, j.text.len)) {
                r = j.failed ? -ENOMEM : why_full(call, j.text.len);
                json_done(&j);
                return r;
        }
        call->n_bytes += j.text.len;
        *ret = buf_take_string(&j.text);
        json_done(&j);
        return *ret ? 0 : -ENOMEM;
}
