// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The way of a call: the thread posts it -> the loop asks for it, step by step -> http_call_respond() ... ->
// it is given back.
//
// What is done with an answer, and with a failure, is the work's (HttpWork, HttpStep). Failures: a call that
// has failed keeps nothing of what had come, and its status is the answer.

#include "http-call.h"

#include <errno.h>
#include <string.h>

#include "clock.h"
#include "http-outcome.h"
#include "macro.h"
#include "message.h"
#include "request-kind.h"

static const char no_memory[] = "this host has no memory for the request";

// ---- to and fro

void http_api_on_logout(HttpApi *a) {
        pthread_mutex_lock(&a->lock);
        a->sessions_ended = true;
        pthread_mutex_unlock(&a->lock);
        uv_async_send(&a->async);
}

bool http_api_post(HttpCall *call) {
        HttpApi *a = call->api;
        bool taken;

        pthread_mutex_lock(&a->lock);
        taken = !a->ended;
        if (taken && list_is_empty(&a->arrived))
                a->arrived_us = clock_boot_us();
        if (taken)
                list_append(&a->arrived, &call->link);
        pthread_mutex_unlock(&a->lock);
        if (taken)
                uv_async_send(&a->async); // it is closed after the thread has ended
        return taken;
}

void http_api_call_begins(HttpApi *a) {
        pthread_mutex_lock(&a->lock);
        a->n_calls++;
        a->n_begun++;
        pthread_mutex_unlock(&a->lock);
}

void http_api_call_ends(HttpApi *a) {
        bool is_awaited;

        pthread_mutex_lock(&a->lock);
        is_awaited = --a->n_calls == 0 && a->ended;
        pthread_mutex_unlock(&a->lock);
        if (is_awaited)
                uv_async_send(&a->async);
}

void http_call_give_back(HttpCall *call) {
        if (call->work->leave)
                call->work->leave(call);
        list_unlink(&call->link);
        author_names_forget(&call->question);
        http_call_clear_deadline(call);
        message_free(TAKE_PTR(call->request));
        http_api_release_body(call);
        MHD_resume_connection(call->connection); // it is the thread's again
}

void http_call_set_status(HttpCall *call, int status) {
        call->status = status;
}

void http_call_set_message(HttpCall *call, char *message) {
        free(call->message);
        call->message = message;
}

void http_call_end(HttpCall *call, int status, const char *message) {
        http_call_set_status(call, status);
        http_call_set_message(call, message ? strdup(message) : NULL);
        http_call_give_back(call);
}

void http_call_free(HttpCall *call) {
        http_call_drop_parts(call);
        if (call->work && call->work->done)
                call->work->done(call);
        http_target_done(&call->target);
        message_free(call->request);
        message_free(call->author);
        http_call_leave(call);
        free(call->message);
        free(call->text);
        free(call);
}

// ---- questions

void http_call_set_route(HttpCall *call, void *route) {
        call->route = route;
}

void http_call_off(HttpCall *call) {
        if (call->route)
                call->api->ops->cancel(TAKE_PTR(call->route), call->api->userdata);
}

void http_call_send(HttpCall *call, Argosy__Request *request, const Argosy__Author *author) {
        HttpApi *a = call->api;

        if (!request) {
                http_call_fail(call, ENOMEM, no_memory);
                return;
        }
        a->ops->request(call, request, author, a->userdata);
}

void http_call_ask(HttpCall *call, const HttpStep *step, const Argosy__Author *author) {
        Argosy__Request *request = step->request(call);

        call->step = step;
        call->proves = request && (request->what_case == ARGOSY__REQUEST__WHAT_RIGHT_CHECK ||
                                   request_right(request) != ARGOSY__RIGHT__RIGHT_NONE);
        http_call_send(call, request, author);
}

Argosy__Request *http_call_request(HttpCall *call) {
        return http_target_is(&call->target, HTTP_IS_WRITTEN) ? TAKE_PTR(call->request)
                                                              : http_resource_request(&call->target);
}

void http_call_skip_units(HttpCall *call, size_t n) {
        call->target.first_unit += (uint32_t) n;
}

void http_call_show_job(HttpCall *call, uint64_t job) {
        call->target.resource = HTTP_JOB;
        call->target.job = job;
}

void http_call_set_step(HttpCall *call, const HttpStep *step) {
        call->step = step;
}

void http_call_next(HttpCall *call, const Argosy__Author *author) {
        const HttpStep *next = call->n_steps < HTTP_STEPS_MAX ? call->steps[call->n_steps] : NULL;

        if (next) {
                call->n_steps++;
                http_call_ask(call, next, author);
        } else
                http_call_give_back(call);
}

bool http_call_keep_author(HttpCall *call, const Argosy__Author *author) {
        call->author = message_copy(author);
        if (!call->author)
                http_call_fail(call, ENOMEM, no_memory);
        return call->author;
}

bool http_call_is_let(HttpCall *call) {
        return http_auth_still_lets(&call->api->auth, &call->principal);
}

// ---- answers

void http_call_respond(HttpCall *call, const Argosy__Response *response) {
        if (response->status == 0)
                http_call_note_known(call);
        if (*response->awaits) // HTTP has one answer to a request
                return;
        if (response->final)
                call->route = NULL;
        call->step->respond(call, response);
}

void http_call_fail(HttpCall *call, int status, const char *message) {
        bool is_safe = call->keyed || http_target_only_asks(&call->target);

        if (call->work->fail && call->work->fail(call, status, message))
                return;
        http_call_drop_parts(call);
        http_call_end(call, http_outcome_status(status, is_safe), message);
}

// ---- deadlines

uint64_t http_api_now_us(const HttpApi *a) {
        return uv_now(a->timer.loop) * USEC_PER_MSEC;
}

static void arm(HttpApi *a) {
        uint64_t next_us = deadline_heap_next(&a->deadlines), now = http_api_now_us(a);

        if (next_us == 0)
                uv_timer_stop(&a->timer);
        else
                uv_timer_start(&a->timer, http_api_on_timer,
                               next_us > now ? (next_us - now) / USEC_PER_MSEC : 0, 0);
}

int http_call_arm(HttpCall *call, uint64_t at_us) {
        int r = deadline_heap_set(&call->api->deadlines, &call->deadline, at_us);

        if (r >= 0)
                arm(call->api);
        return r;
}

bool http_call_set_deadline(HttpCall *call, uint64_t at_us) {
        if (http_call_arm(call, at_us) >= 0)
                return true;
        http_call_fail(call, ENOMEM, no_memory);
        return false;
}

void http_call_clear_deadline(HttpCall *call) {
        deadline_heap_clear(&call->api->deadlines, &call->deadline);
}

void http_api_on_timer(uv_timer_t *timer) {
        HttpApi *a = timer->data;
        Deadline *d;

        while ((d = deadline_heap_pop(&a->deadlines, http_api_now_us(a)))) {
                HttpCall *call = CONTAINER_OF(d, HttpCall, deadline);

                call->step->on_due(call);
        }
        arm(a);
}
