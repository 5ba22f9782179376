// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What the loop asks for a body of many operations:
//
//      LEVEL   as http-api-steps.c
//      ASK     each step in its order; the next one when this one was answered, so operations take effect in the order of their lines
//      WAIT    ?wait=: the job of each step, until the time is over for all of them
//
// A step that is refused keeps nobody from the next one. One that gets no answer does: nobody knows what became of it, and what
// stands behind it may build on it. Who sends the body again under its key goes on there.

#include <errno.h>

#include "array.h"
#include "http-outcome.h"
#include "http-private.h"
#include "message.h"
#include "str.h"

static HttpBulkStep *step_of(const HttpCall *call) {
        return &call->bulk->steps[call->bulk_step];
}

static void ask(HttpCall *call, Argosy__Request *request) {
        HttpApi *a = call->api;

        if (request)
                a->ops->request(call, request, call->author, a->userdata);
        else
                http_bulk_fail(call, ENOMEM, "this host has no memory for the request");
}

// ---- until the jobs have ended

static void wait_on(HttpCall *call) {
        const HttpBulk *b = call->bulk;

        while (call->bulk_step < b->n_steps && b->steps[call->bulk_step].job == 0)
                call->bulk_step++;
        if (call->bulk_step < b->n_steps)
                ask(call, http_steps_ask_for_end(step_of(call)->job));
        else
                http_call_give_back(call);
}

static void drop_requests(HttpBulk *b) {
        for (size_t i = 0; i < b->n_steps; i++)
                message_free(TAKE_PTR(b->steps[i].request));
}

static void end(HttpCall *call) {
        drop_requests(call->bulk); // those that are not asked for any more
        http_api_release_body(call);
        if (call->target.wait_sec == 0) {
                http_call_give_back(call);
                return;
        }
        call->step = HTTP_STEP_WAIT;
        call->bulk_step = 0;
        if (http_steps_wait_for(call))
                wait_on(call);
}

// NULL, if there is no room for it any more.
static uint8_t *pack(HttpCall *call, const Argosy__Response *r, size_t *ret_len) {
        size_t len = argosy__response__get_packed_size(r);
        uint8_t *data;

        if (!http_api_hold(call, len))
                return NULL;
        call->n_bytes += len;
        data = malloc(MAX_OF(len, (size_t) 1));
        if (data)
                *ret_len = argosy__response__pack(r, data);
        return data;
}

static void on_ended(HttpCall *call, const Argosy__Response *r) {
        HttpBulkStep *s = step_of(call);

        if (!r->final)
                return;
        if (r->status == 0 && r->what_case == ARGOSY__RESPONSE__WHAT_JOBS)
                s->end.data = pack(call, r, &s->end.len);
        call->bulk_step++;
        wait_on(call);
}

// ---- step by step

static void next(HttpCall *call) {
        call->bulk_step++;
        if (call->bulk_step < call->bulk->n_steps)
                ask(call, TAKE_PTR(step_of(call)->request));
        else
                end(call);
}

static bool is_lost(int status) {
        return status == EHOSTUNREACH || status == ETIMEDOUT || status == EAGAIN || status == ECONNRESET ||
               status == ENOMEM || status == EINPROGRESS;
}

// If it is the first one there is nothing to say but that. When argosyd ends nobody can be asked how jobs end.
static void give_up(HttpCall *call, int status, const char *message) {
        HttpBulkStep *s = step_of(call);

        s->answered = true;
        s->status = http_outcome_status(status, call->keyed);
        free(s->message);
        s->message = strdup(message);
        if (call->bulk_step > 0 && call->api->ending) {
                http_call_give_back(call);
                return;
        }
        if (call->bulk_step > 0) {
                end(call);
                return;
        }
        call->status = s->status;
        call->message = strdup(message);
        http_call_give_back(call);
}

static void forget_parts(HttpBulkStep *s) {
        http_parts_free(s->parts, s->n_parts);
        s->parts = NULL;
        s->n_parts = s->n_units = 0;
}

// Of a part that is missing (there is no room for it) the units are not told, and those behind it neither; the job's number is.
static void keep_part(HttpCall *call, HttpBulkStep *s, const Argosy__Response *r) {
        HttpPart part = {};

        if (r->change->first == 0)
                forget_parts(s); // also of a leader who has begun it before
        if (r->change->first != s->n_units || ARRAY_RESERVE(s->parts, s->n_parts + 1) < 0)
                return;
        part.data = pack(call, r, &part.len);
        if (!part.data)
                return;
        s->parts[s->n_parts++] = part;
        s->n_units += r->change->n_units;
}

static void on_answer(HttpCall *call, const Argosy__Response *r) {
        HttpBulkStep *s = step_of(call);

        if (!*s->cursor) // the first of several answers is before the others
                (void) str_copy(s->cursor, sizeof(s->cursor), r->cursor);
        if (r->status == 0 && r->what_case == ARGOSY__RESPONSE__WHAT_CHANGE)
                keep_part(call, s, r);
        if (!r->final)
                return;
        if (is_lost(r->status)) {
                give_up(call, r->status, r->message);
                return;
        }
        s->answered = true;
        s->status = r->status;
        s->job = r->status == 0 ? r->job : 0;
        s->held = r->held;
        s->message = *r->message ? strdup(r->message) : NULL;
        next(call);
}

// ---- entries

void http_bulk_begin(HttpCall *call) {
        call->step = HTTP_STEP_ASK;
        ask(call, TAKE_PTR(step_of(call)->request));
}

void http_bulk_respond(HttpCall *call, const Argosy__Response *response) {
        if (call->step == HTTP_STEP_ASK)
                on_answer(call, response);
        else
                on_ended(call, response);
}

void http_bulk_fail(HttpCall *call, int status, const char *message) {
        if (call->step == HTTP_STEP_WAIT)
                http_call_give_back(call); // what was taken is told
        else
                give_up(call, status, message);
}
