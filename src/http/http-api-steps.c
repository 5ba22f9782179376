// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What the loop asks for a call. Most ask once. What changes something may ask up to four times:
//
//      TOKEN   of what has a long body, before that is read: whether there is such a token at all
//      CHANGES of what jobs have changed: page by page, and nothing else; of a unit file as it was behind ASK, and then ASIDE its text
//      ASIDE   of one thing: what stands behind its rows
//      RETRY   of what asks for a job's units again: what became of them
//      ASK     what it is about; the answer has the job's number
//      WAIT    ?wait=: until that job has ended, or the time is over
//      JOB     what became of it, or how far it is; of thousands of units in several answers, as if ASK was about a job
//
// A stream asks for EVENTS behind its cursor, over and over: for the first time when it is begun, and this is answered at once, so
// that the status says whether there can be a stream; and then when its client has read what there was, but no sooner than
// HTTP_BATCH_MS after the last answer. If there is nothing for HTTP_COMMENT_SEC, the question is called off, the client gets a
// comment, and it begins anew.
//
// A call that waits is not told that its client has gone (http-thread.c), so it does not wait for longer than HTTP_WAIT_SEC_MAX.

#include <errno.h>

#include "clock.h"
#include "event-json.h"
#include "http-private.h"
#include "message.h"
#include "request-kind.h"

Argosy__Request *http_steps_ask_for_end(uint64_t job) {
        Argosy__Request q = ARGOSY__REQUEST__INIT;
        Argosy__Request__JobWait m = ARGOSY__REQUEST__JOB_WAIT__INIT;

        m.number = job;
        q.what_case = ARGOSY__REQUEST__WHAT_JOB_WAIT;
        q.job_wait = &m;
        return message_copy(&q);
}

static bool is_long(const HttpCall *call) {
        return call->announced > HTTP_SMALL_BODY_MAX;
}

// What it may do is judged when it is known what is asked for; so the least is asked here, and that it is too little is no answer. But nobody
// sends much who may not bring content.
static Argosy__Request *ask_for_token(const HttpCall *call) {
        Argosy__Request q = ARGOSY__REQUEST__INIT;
        Argosy__Request__RightCheck m = ARGOSY__REQUEST__RIGHT_CHECK__INIT;

        m.right = is_long(call) ? ARGOSY__RIGHT__RIGHT_DEPLOY : ARGOSY__RIGHT__RIGHT_VIEW;
        q.what_case = ARGOSY__REQUEST__WHAT_RIGHT_CHECK;
        q.right_check = &m;
        return message_copy(&q);
}

static Argosy__Request *request_of(HttpCall *call) {
        switch (call->step) {
        case HTTP_STEP_TOKEN:
                return ask_for_token(call);
        case HTTP_STEP_CHANGES:
                return http_changes_request(call);
        case HTTP_STEP_RETRY:
                return http_retry_request(call);
        case HTTP_STEP_ASIDE:
                return http_target_is_past(&call->target) ? http_past_request(call) : http_resource_aside(&call->target);
        case HTTP_STEP_WAIT:
                return http_steps_ask_for_end(call->target.job);
        case HTTP_STEP_ASK:
                if (http_target_is(&call->target, HTTP_IS_WRITTEN))
                        return TAKE_PTR(call->request);
                break;
        case HTTP_STEP_EVENTS:
                return http_resource_events(&call->target, call->cursor,
                                          !call->streams       ? ARGOSY__REQUEST__EVENTS__LEAD__UNSAID
                                          : call->knows_nobody ? ARGOSY__REQUEST__EVENTS__LEAD__NOBODY
                                                               : ARGOSY__REQUEST__EVENTS__LEAD__SOMEBODY);
        case HTTP_STEP_JOB:
                break;
        }
        return http_resource_request(&call->target);
}

static void ask(HttpCall *call, const Argosy__Author *author) {
        HttpApi *a = call->api;
        Argosy__Request *request = request_of(call);

        if (request) {
                call->proves = request->what_case == ARGOSY__REQUEST__WHAT_RIGHT_CHECK ||
                               request_right(request) != ARGOSY__RIGHT__RIGHT_NONE;
                a->ops->request(call, request, author, a->userdata);
        } else
                http_call_fail(call, ENOMEM, "this host has no memory for the request");
}

uint64_t http_steps_now_us(const HttpApi *a) {
        return uv_now(a->timer.loop) * USEC_PER_MSEC;
}

static void arm(HttpApi *a) {
        uint64_t next_us = deadline_heap_next(&a->deadlines), now = http_steps_now_us(a);

        if (next_us == 0)
                uv_timer_stop(&a->timer);
        else
                uv_timer_start(&a->timer, http_steps_on_timer,
                               next_us > now ? (next_us - now) / USEC_PER_MSEC : 0, 0);
}

int http_steps_arm(HttpCall *call, uint64_t at_us) {
        int r = deadline_heap_set(&call->api->deadlines, &call->deadline, at_us);

        if (r >= 0)
                arm(call->api);
        return r;
}

// False: out of memory, and the call has failed.
static bool set_deadline(HttpCall *call, uint64_t at_us) {
        if (http_steps_arm(call, at_us) >= 0)
                return true;
        http_call_fail(call, ENOMEM, "this host has no memory for the request");
        return false;
}

// False: out of memory, and the call has failed.
bool http_steps_wait_for(HttpCall *call) {
        return set_deadline(call,
                            http_steps_now_us(call->api) + call->target.wait_sec * (uint64_t) USEC_PER_SEC);
}

static void wait(HttpCall *call, uint64_t job, const Argosy__Author *author) {
        call->target.resource = HTTP_JOB;
        call->target.job = job;
        call->step = HTTP_STEP_WAIT;
        if (http_steps_wait_for(call))
                ask(call, author);
}

static void show_job(HttpCall *call) {
        deadline_heap_clear(&call->api->deadlines, &call->deadline);
        call->step = HTTP_STEP_JOB;
        http_call_drop_parts(call);
        ask(call, call->author);
}

// ---- streams

// Answers of all streams begin together: so they are behind the same cursor, and what they are told is asked for, and written, once for
// all of them.
static uint64_t next_tick(const HttpApi *a) {
        const uint64_t tick_us = HTTP_BATCH_MS * (uint64_t) USEC_PER_MSEC;

        return (http_steps_now_us(a) / tick_us + 1) * tick_us;
}

static void pull(HttpCall *call) {
        uint64_t silent_us = http_steps_now_us(call->api) + HTTP_COMMENT_SEC * (uint64_t) USEC_PER_SEC;

        if (!call->streams || (set_deadline(call, silent_us) && !http_alike_join(call)))
                ask(call, call->author);
}

static void note_lead(HttpCall *call, const Argosy__Response *r) {
        const ProtobufCBinaryData *here = r->what_case == ARGOSY__RESPONSE__WHAT_EVENTS ? &r->events->here : NULL;
        Argosy__Event *e;

        if (!here || here->len == 0 || message_unpack(&argosy__event__descriptor, here->data, here->len, (void **) &e) < 0)
                return;
        call->knows_nobody = !*event_value(e, EVENT_LEADER_NAME);
        message_free(e);
}

// What is asked now.
static void call_off(HttpCall *call) {
        if (call->route)
                call->api->ops->cancel(TAKE_PTR(call->route), call->api->userdata);
}

bool http_steps_lets(HttpCall *call) {
        if (http_gate_still_lets(&call->api->gate, &call->pass))
                return true;
        call_off(call);
        http_call_drop_parts(call);
        call->status = EKEYREVOKED;
        free(call->message);
        call->message = strdup("the session has ended");
        http_call_give_back(call); // and no other that is alike
        return false;
}

void http_steps_go_on(HttpCall *call) {
        if (!http_steps_lets(call))
                return;
        if (call->pull_from_us > http_steps_now_us(call->api))
                (void) set_deadline(call, call->pull_from_us);
        else
                pull(call);
}

// No leader, or too much to do for anybody: what passes a stream waits for, as argosyctl watch waits for the next leader.
bool http_steps_again(HttpCall *call, int status) {
        if (!call->streams || call->api->ending ||
            (status != ETIMEDOUT && status != EAGAIN && status != EHOSTUNREACH && status != EBUSY))
                return false;
        http_call_drop_parts(call);
        call->status = 0;
        return set_deadline(call, http_steps_now_us(call->api) + HTTP_AGAIN_MS * (uint64_t) USEC_PER_MSEC);
}

static void on_stream_due(HttpCall *call) {
        bool asks = call->route;

        if (!asks && !call->alike.of) {
                pull(call);
                return;
        }
        if (asks)
                call->api->ops->cancel(TAKE_PTR(call->route), call->api->userdata);
        call->comment = true;
        http_call_give_back(call);
}

// ---- one after the other

void http_steps_respond_token(HttpCall *call, const Argosy__Response *response) {
        if (!response->final)
                return;
        if (response->status == EACCES && is_long(call)) {
                http_call_fail(call, E2BIG, "a body of more than 1 MiB is read of whoever may bring content, and has the right 'deploy'");
                return;
        }
        if (response->status != 0 && response->status != EACCES) {
                http_call_fail(call, response->status, response->message);
                return;
        }
        call->step = HTTP_STEP_ASK;
        http_call_give_back(call);
}

static void begin(HttpCall *call, const Argosy__Author *author) {
        bool streams = call->target.resource == HTTP_EVENTS, waits = call->target.wait_sec > 0,
             is_job = http_target_is(&call->target, HTTP_IS_JOB), has_aside = http_target_has_aside(&call->target);
        bool differs = call->target.resource == HTTP_DIFF, retries = http_retry_is_asked(call),
             is_past = http_target_is_past(&call->target),
             asks_again = retries || waits || is_job || is_past || streams || has_aside || differs || call->bulk;

        call->author = asks_again ? message_copy(author) : NULL;
        if (asks_again && !call->author) {
                http_call_fail(call, ENOMEM, "this host has no memory for the request");
                return;
        }
        if (call->bulk) {
                http_bulk_begin(call);
                return;
        }
        if (is_job && waits) {
                wait(call, call->target.job, author);
                return;
        }
        call->step = streams     ? HTTP_STEP_EVENTS
                     : has_aside ? HTTP_STEP_ASIDE
                     : differs   ? HTTP_STEP_CHANGES
                     : retries   ? HTTP_STEP_RETRY
                                 : HTTP_STEP_ASK;
        if (streams)
                pull(call);
        else
                ask(call, author);
}

void http_steps_read_on(HttpCall *call) {
        ask(call, call->author);
}

void http_steps_begin(HttpCall *call, const Argosy__Author *author) {
        if (call->step == HTTP_STEP_TOKEN)
                ask(call, author);
        else
                begin(call, author);
}

void http_steps_ask(HttpCall *call) {
        call->step = HTTP_STEP_ASK;
        ask(call, call->author);
}

// What became of the units behind those that have come. True: it is asked for, or the client has gone.
static bool asks_for_more_units(HttpCall *call, const Argosy__Response *last) {
        const Argosy__Response__JobRow *job;

        if (!http_target_is(&call->target, HTTP_IS_JOB) || last->what_case != ARGOSY__RESPONSE__WHAT_JOBS || last->jobs->n_rows != 1)
                return false;
        job = last->jobs->rows[0];
        if (job->n_units == 0 || job->more_units == 0 ||
            (call->target.resource == HTTP_JOB && call->target.first_unit + job->n_units >= HTTP_JOB_UNITS_MAX))
                return false;
        call->target.first_unit += (uint32_t) job->n_units;
        call->no_leader = last->no_leader;
        if (http_peer_is_gone(call->peer))
                http_call_fail(call, ECONNRESET, "its client has gone");
        else
                http_steps_read_on(call);
        return true;
}

bool http_steps_next(HttpCall *call, const Argosy__Response *last) {
        switch (call->step) {
        case HTTP_STEP_ASK:
                if (http_target_is_past(&call->target)) {
                        http_past_on_now(call, last);
                        return true;
                }
                if (asks_for_more_units(call, last))
                        return true;
                http_api_release_body(call); // what was made of it was carried out
                call->job = http_target_is(&call->target, HTTP_IS_WRITTEN) ? last->job : 0;
                if (call->job == 0 || call->target.wait_sec == 0)
                        return false;
                http_call_drop_parts(call);
                wait(call, call->job, call->author);
                return true;
        case HTTP_STEP_WAIT:
                show_job(call);
                return true;
        case HTTP_STEP_EVENTS:
                note_lead(call, last);
                call->pull_from_us = next_tick(call->api);
                break;
        case HTTP_STEP_TOKEN:
        case HTTP_STEP_ASIDE:   // http-api-pieces.c
        case HTTP_STEP_CHANGES: // http-api-changes.c
        case HTTP_STEP_RETRY:   // http-api-retry.c
                break;
        case HTTP_STEP_JOB:
                return asks_for_more_units(call, last);
        }
        return false;
}

// Of a job that was waited for long enough what is known is shown.
static void on_waited(HttpCall *call) {
        call_off(call);
        call->under_way = true;
        if (call->bulk)
                http_call_give_back(call);
        else
                show_job(call);
}

void http_steps_on_timer(uv_timer_t *timer) {
        HttpApi *a = timer->data;
        Deadline *d;

        while ((d = deadline_heap_pop(&a->deadlines, http_steps_now_us(a)))) {
                HttpCall *call = CONTAINER_OF(d, HttpCall, deadline);

                if (call->fleet)
                        http_fleet_on_due(call);
                else if (call->journal.open)
                        http_journal_on_due(call);
                else if (call->step == HTTP_STEP_EVENTS)
                        on_stream_due(call);
                else
                        on_waited(call);
        }
        arm(a);
}

void http_steps_end(HttpCall *call) {
        HttpCall *next = http_alike_leave(call);

        if (next && !call->api->ending)
                ask(next, next->author);
        deadline_heap_clear(&call->api->deadlines, &call->deadline);
        message_free(TAKE_PTR(call->request));
}
