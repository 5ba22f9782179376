// SPDX-License-Identifier: LGPL-2.1-or-later
//
// /v1/diff, and ?at= of a unit file (work-past.c): what jobs have changed together is read a page of jobs
// after the other, as argosyctl reads it (job-changes.h); the thread makes one document of it. It is in
// memory meanwhile, so there is a limit to what may differ, and it counts like any other answer. Nobody
// reads on for a client that has gone.

#include "work-changes.h"

#include <errno.h>
#include <stdlib.h>

#include "macro.h"
#include "message.h"
#include "work-send.h"

enum { DIFFERENCES_MAX = 100000 }; // units and settings

Argosy__Request *http_changes_request(HttpCall *call) {
        Argosy__Request__ListJobs list;
        Argosy__Request request;

        if (!call->rows.changes) {
                uint64_t from = call->target.job, to = call->target.to_job;

                call->rows.changes = calloc(1, sizeof(*call->rows.changes));
                if (!call->rows.changes)
                        return NULL;
                job_changes_begin(call->rows.changes, call->target.name, to > 0 ? MIN_OF(from, to) : from,
                                  to > 0 ? MAX_OF(from, to) : 0);
        }
        return job_changes_next(call->rows.changes, &request, &list) ? message_copy(&request) : NULL;
}

void http_changes_drop(HttpCall *call) {
        if (call->rows.changes)
                job_changes_done(call->rows.changes);
        free(call->rows.changes);
        call->rows.changes = NULL;
        http_api_release(call, call->rows.changes_bytes);
        call->rows.changes_bytes = 0;
}

// What has come counts. 0, -EBUSY or -E2BIG.
static int count(HttpCall *call) {
        size_t more =
                call->rows.changes->bytes - MIN_OF(call->rows.changes->bytes, call->rows.changes_bytes);

        if (!http_api_hold(call, more))
                return http_call_why_full(call, call->rows.changes->bytes);
        call->rows.changes_bytes += more;
        return 0;
}

bool http_changes_read(HttpCall *call, const Argosy__Response *response) {
        JobChanges *c = call->rows.changes;

        if (response->status == 0 && call->status == 0)
                http_call_set_status(call, -job_changes_take(c, response));
        if (call->status == 0)
                http_call_set_status(call, -count(call));
        if (!response->final)
                return false;
        if (response->status != 0)
                http_call_fail(call, response->status, response->message);
        else if (call->status != 0)
                http_call_fail(call, call->status, http_why_not_kept(call->status));
        else if (response->no_leader)
                http_call_fail(call, EHOSTUNREACH, "no leader can be reached who could tell all jobs");
        else if (!c->answered)
                http_call_fail(call, EPROTO, "the leader's answer is none");
        else if (c->units.count + c->settings.count > DIFFERENCES_MAX)
                http_call_fail(call, E2BIG,
                               "so much has changed between these that argosyctl diff has to be asked");
        else if (c->stage == CHANGES_ARE_READ)
                return true;
        else if (http_peer_is_gone(call->peer))
                http_call_fail(call, ECONNRESET, "its client has gone");
        else
                http_call_ask(call, call->step, call->author);
        return false;
}

// ---- /v1/diff

static void respond(HttpCall *call, const Argosy__Response *response) {
        if (http_changes_read(call, response))
                http_call_give_back(call);
}

static void begin(HttpCall *call, const Argosy__Author *author) {
        static const HttpStep step = {.request = http_changes_request, .respond = respond};

        if (http_call_keep_author(call, author))
                http_call_ask(call, &step, author);
}

// The document, to be freed, in place of what was read. 0; -EBUSY, -E2BIG: there is no room for it; -ENOMEM.
static int make_document(HttpCall *call, char **ret) {
        JobDifference d;
        Json j = {};
        int r = job_difference(call->rows.changes, call->target.job, call->target.to_job, &d);

        if (r < 0)
                return r;
        job_difference_json(&d, &j);
        json_finish(&j);
        job_difference_done(&d);
        http_changes_drop(call);
        if (j.failed || !http_api_hold(call, j.text.len)) {
                r = j.failed ? -ENOMEM : http_call_why_full(call, j.text.len);
                json_done(&j);
                return r;
        }
        http_call_count(call, j.text.len);
        *ret = buf_take_string(&j.text);
        json_done(&j);
        return *ret ? 0 : -ENOMEM;
}

static enum MHD_Result send_diff(HttpCall *call) {
        HttpProblem problem = {};
        char *text = NULL;
        int r;

        if (call->status != 0)
                return http_send_failure(call);
        r = make_document(call, &text);
        if (r == 0)
                return http_send_text(call, "application/json", text);
        problem.status = http_status_of(-r);
        problem.detail = http_why_not_kept(-r);
        return http_send_problem(call->connection, &problem, NULL, false);
}

const HttpWork http_diff_work = {.begin = begin, .send = send_diff, .done = http_changes_drop};
