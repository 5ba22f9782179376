// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What the loop asks for a body of many operations:
//
//      ASK     each step in its order; the next one when this one was answered, so operations take effect in
// the order of their lines
//      WAIT    ?wait=: the job of each step, until the time is over for all of them
//
// A refused step does not stop the next one. A step without an answer does: its outcome is unknown, and
// later ones may build on it. A client that sends the body again under its key goes on there.

#include "work-bulk.h"

#include <errno.h>

#include "http-outcome.h"
#include "message.h"
#include "str.h"
#include "work-rows.h"
#include "work-send.h"

static HttpBulkStep *step_of(const HttpCall *call) {
        return &call->bulk.body->steps[call->bulk.step];
}

// ---- until the jobs have ended

static void wait_on(HttpCall *call) {
        const HttpBulk *b = call->bulk.body;

        while (call->bulk.step < b->n_steps && b->steps[call->bulk.step].job == 0)
                call->bulk.step++;
        if (call->bulk.step < b->n_steps)
                http_call_send(call, http_rows_ask_for_end(step_of(call)->job), call->author);
        else
                http_call_give_back(call);
}

static void drop_requests(HttpBulk *b) {
        for (size_t i = 0; i < b->n_steps; i++)
                message_free(TAKE_PTR(b->steps[i].request));
}

static void end(HttpCall *call) {
        drop_requests(call->bulk.body); // those that are not asked for any more
        http_api_release_body(call);
        if (call->target.wait_sec == 0) {
                http_call_give_back(call);
                return;
        }
        call->bulk.waits = true;
        call->bulk.step = 0;
        if (http_rows_wait_for(call))
                wait_on(call);
}

// Without room for it nobody is told how it has ended.
static void keep_end(HttpCall *call, HttpBulkStep *s, const Argosy__Response *r) {
        if (http_part_pack(call, r, &s->end) == 0)
                http_call_count(call, s->end.len);
}

static void on_ended(HttpCall *call, const Argosy__Response *r) {
        HttpBulkStep *s = step_of(call);

        if (!r->final)
                return;
        if (r->status == 0 && r->what_case == ARGOSY__RESPONSE__WHAT_JOBS)
                keep_end(call, s, r);
        call->bulk.step++;
        wait_on(call);
}

// ---- step by step

static void next(HttpCall *call) {
        call->bulk.step++;
        if (call->bulk.step < call->bulk.body->n_steps)
                http_call_send(call, TAKE_PTR(step_of(call)->request), call->author);
        else
                end(call);
}

static bool is_lost(int status) {
        return status == EHOSTUNREACH || status == ETIMEDOUT || status == EAGAIN || status == ECONNRESET ||
               status == ENOMEM || status == EINPROGRESS;
}

// If it is the first one there is nothing to say but that. When argosyd ends nobody can be asked how jobs
// end.
static void give_up(HttpCall *call, int status, const char *message) {
        HttpBulkStep *s = step_of(call);

        s->answered = true;
        s->status = http_outcome_status(status, call->keyed);
        free(s->message);
        s->message = strdup(message);
        if (call->bulk.step > 0 && call->api->ending) {
                http_call_give_back(call);
                return;
        }
        if (call->bulk.step > 0) {
                end(call);
                return;
        }
        http_call_end(call, s->status, message);
}

static void forget_parts(HttpBulkStep *s) {
        http_parts_free(s->parts, s->n_parts);
        s->parts = NULL;
        s->n_parts = s->n_units = 0;
}

// Keeps one response. If there is no room for it, its units and later ones are not in the answer; the job's
// number is.
static void keep_part(HttpCall *call, HttpBulkStep *s, const Argosy__Response *r) {
        size_t bytes = 0;

        if (r->change->first == 0)
                forget_parts(s); // also of a leader who has begun it before
        if (r->change->first == s->n_units &&
            http_parts_keep(call, r, &s->parts, &s->n_parts, &bytes) == 0)
                s->n_units += r->change->n_units;
        http_call_count(call, bytes);
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

// ---- the work

static void respond(HttpCall *call, const Argosy__Response *response) {
        if (call->bulk.waits)
                on_ended(call, response);
        else
                on_answer(call, response);
}

// Jobs that were waited for long enough are told as they are.
static void on_waited(HttpCall *call) {
        http_call_off(call);
        http_call_give_back(call);
}

static const HttpStep step = {.respond = respond, .on_due = on_waited};

static void begin(HttpCall *call, const Argosy__Author *author) {
        if (!http_call_keep_author(call, author))
                return;
        http_call_set_step(call, &step);
        http_call_send(call, TAKE_PTR(step_of(call)->request), call->author);
}

// Before anything was asked it fails as any other call.
static bool fail(HttpCall *call, int status, const char *message) {
        if (!call->author)
                return false;
        if (call->bulk.waits)
                http_call_give_back(call); // what was taken is told
        else
                give_up(call, status, message);
        return true;
}

static bool may_be_done(const HttpCall *call) {
        return call->author && !call->bulk.waits && !call->bulk.body->steps[call->bulk.step].request;
}

static enum MHD_Result send_lines(HttpCall *call) {
        struct MHD_Response *r;
        size_t len;
        char *text;

        if (call->status != 0)
                return http_send_failure(call);
        text = http_bulk_answer(call->bulk.body, &len);
        r = http_response_of_text(text, len);
        return http_send(call->connection, 200, "application/x-ndjson", r);
}

static void done(HttpCall *call) {
        http_bulk_free(call->bulk.body);
}

const HttpWork http_bulk_work = {
        .begin = begin, .fail = fail, .may_be_done = may_be_done, .send = send_lines, .done = done};
