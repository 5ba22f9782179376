// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What the loop asks for a call. Most ask once. What changes something may ask up to four times:
//
//      LEVEL   if it depends on what only a cluster with jobs looks at, until one was seen to keep them
//      ASK     what it is about; the answer has the job's number
//      WAIT    ?wait=: until that job has ended, or the time is over
//      JOB     what became of it, or how far it is
//
// A call that waits is not told that its client has gone (http-thread.c), so it does not wait for longer than HTTP_WAIT_SEC_MAX.

#include <errno.h>

#include "feature-level.h"
#include "http-private.h"
#include "message.h"

Argosy__Request *http_steps_ask_for_level(void) {
        Argosy__Request q = ARGOSY__REQUEST__INIT;
        Argosy__Request__ClusterStatus m = ARGOSY__REQUEST__CLUSTER_STATUS__INIT;

        q.what_case = ARGOSY__REQUEST__WHAT_CLUSTER_STATUS;
        q.cluster_status = &m;
        return message_copy(&q);
}

Argosy__Request *http_steps_ask_for_end(uint64_t job) {
        Argosy__Request q = ARGOSY__REQUEST__INIT;
        Argosy__Request__JobWait m = ARGOSY__REQUEST__JOB_WAIT__INIT;

        m.number = job;
        q.what_case = ARGOSY__REQUEST__WHAT_JOB_WAIT;
        q.job_wait = &m;
        return message_copy(&q);
}

static Argosy__Request *request_of(HttpCall *call) {
        switch (call->step) {
        case HTTP_STEP_LEVEL:
                return http_steps_ask_for_level();
        case HTTP_STEP_WAIT:
                return http_steps_ask_for_end(call->target.job);
        case HTTP_STEP_ASK:
                if (http_target_writes(&call->target))
                        return TAKE_PTR(call->request);
                break;
        case HTTP_STEP_JOB:
                break;
        }
        return http_target_request(&call->target);
}

static void ask(HttpCall *call, const Argosy__Author *author) {
        HttpApi *a = call->api;
        Argosy__Request *request = request_of(call);

        if (request)
                a->ops->request(call, request, author, a->userdata);
        else
                http_call_fail(call, ENOMEM, "this host has no memory for the request");
}

static void arm(HttpApi *a) {
        uint64_t now_ms = uv_now(a->timer.loop), next_ms = UINT64_MAX;

        list_foreach (n, &a->asked) {
                const HttpCall *call = CONTAINER_OF(n, HttpCall, link);

                if (call->wait_until_ms > 0)
                        next_ms = MIN_OF(next_ms, call->wait_until_ms);
        }
        if (next_ms == UINT64_MAX)
                uv_timer_stop(&a->timer);
        else
                uv_timer_start(&a->timer, http_steps_on_timer, next_ms > now_ms ? next_ms - now_ms : 0, 0);
}

void http_steps_wait_for(HttpCall *call) {
        call->wait_until_ms = uv_now(call->api->timer.loop) + call->target.wait_sec * (uint64_t) 1000;
        arm(call->api);
}

static void wait(HttpCall *call, uint64_t job, const Argosy__Author *author) {
        call->target.resource = HTTP_JOB;
        call->target.job = job;
        call->step = HTTP_STEP_WAIT;
        http_steps_wait_for(call);
        ask(call, author);
}

static void show_job(HttpCall *call) {
        call->wait_until_ms = 0;
        call->step = HTTP_STEP_JOB;
        http_call_drop_parts(call);
        ask(call, call->author);
}

// What a cluster in the middle of an upgrade would not look at.
static bool is_looked_at(const Argosy__Request *q) {
        const Argosy__Request__Job *job = q ? q->job : NULL;

        return job && (*job->reason || job->if_revision > 0 || job->hold || job->queue || job->n_after > 0);
}

static bool needs_jobs(const HttpCall *call) {
        bool needs = is_looked_at(call->request);

        for (size_t i = 0; call->bulk && i < call->bulk->n_steps && !needs; i++)
                needs = is_looked_at(call->bulk->steps[i].request);
        return needs;
}

void http_steps_begin(HttpCall *call, const Argosy__Author *author) {
        bool waits = call->target.wait_sec > 0, checks = needs_jobs(call) && !call->api->keeps_jobs;

        call->author = waits || checks || call->bulk ? message_copy(author) : NULL;
        if ((waits || checks || call->bulk) && !call->author) {
                http_call_fail(call, ENOMEM, "this host has no memory for the request");
                return;
        }
        if (call->bulk) {
                http_bulk_begin(call, checks);
                return;
        }
        if (call->target.resource == HTTP_JOB && waits) {
                wait(call, call->target.job, author);
                return;
        }
        call->step = checks ? HTTP_STEP_LEVEL : HTTP_STEP_ASK;
        ask(call, author);
}

bool http_steps_note_level(HttpCall *call, const Argosy__Response *r) {
        call->api->keeps_jobs = r->what_case == ARGOSY__RESPONSE__WHAT_CLUSTER_STATUS &&
                                r->cluster_status->feature_level >= FEATURE_JOBS;
        return call->api->keeps_jobs;
}

bool http_steps_next(HttpCall *call, const Argosy__Response *last) {
        switch (call->step) {
        case HTTP_STEP_LEVEL:
                http_call_drop_parts(call);
                if (http_steps_note_level(call, last)) {
                        call->step = HTTP_STEP_ASK;
                        ask(call, call->author);
                } else
                        http_call_fail(call, EOPNOTSUPP, HTTP_NEEDS_JOBS);
                return true;
        case HTTP_STEP_ASK:
                call->job = http_target_writes(&call->target) ? last->job : 0;
                if (call->job == 0 || call->target.wait_sec == 0)
                        return false;
                http_call_drop_parts(call);
                wait(call, call->job, call->author);
                return true;
        case HTTP_STEP_WAIT:
                show_job(call);
                return true;
        case HTTP_STEP_JOB:
                break;
        }
        return false;
}

void http_steps_on_timer(uv_timer_t *timer) {
        HttpApi *a = timer->data;
        uint64_t now_ms = uv_now(timer->loop);

        list_foreach_safe (n, &a->asked) {
                HttpCall *call = CONTAINER_OF(n, HttpCall, link);

                if (call->wait_until_ms == 0 || call->wait_until_ms > now_ms)
                        continue;
                if (call->route)
                        a->ops->cancel(TAKE_PTR(call->route), a->userdata);
                call->under_way = true;
                if (call->bulk)
                        http_call_give_back(call);
                else
                        show_job(call);
        }
        arm(a);
}

void http_steps_end(HttpCall *call) {
        message_free(TAKE_PTR(call->author));
        message_free(TAKE_PTR(call->request));
        call->wait_until_ms = 0;
}
