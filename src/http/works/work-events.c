// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A stream of events, by the loop. It asks for what is behind its cursor, over and over: for the first time
// when it is begun, and this is answered at once, so that the status says whether there can be a stream; and
// then when its client has read what there was, but no sooner than HTTP_BATCH_MS after the last answer. If
// there is nothing for HTTP_COMMENT_SEC, the question is called off, the client gets a comment, and it
// begins anew.
//
// Failures: what passes (no leader, too much to do) a stream waits for; anything else ends it, and is said
// in it.

#include "work-events.h"

#include <errno.h>
#include <string.h>

#include "clock.h"
#include "event-json.h"
#include "macro.h"
#include "message.h"
#include "work-alike.h"
#include "work-stream.h"

static const HttpStep step;

// Answers of all streams begin together: so they are behind the same cursor, and what they are told is asked
// for, and written, once for all of them.
static uint64_t next_tick(const HttpApi *a) {
        const uint64_t tick_us = HTTP_BATCH_MS * (uint64_t) USEC_PER_MSEC;

        return (http_api_now_us(a) / tick_us + 1) * tick_us;
}

static void pull(HttpCall *call) {
        uint64_t silent_us = http_api_now_us(call->api) + HTTP_COMMENT_SEC * (uint64_t) USEC_PER_SEC;

        if (!call->stream.begun || (http_call_set_deadline(call, silent_us) && !http_alike_join(call)))
                http_call_ask(call, &step, call->author);
}

static void note_lead(HttpCall *call, const Argosy__Response *r) {
        const ProtobufCBinaryData *here =
                r->what_case == ARGOSY__RESPONSE__WHAT_EVENTS ? &r->events->here : NULL;
        Argosy__Event *e;

        if (!here || here->len == 0 ||
            message_unpack(&argosy__event__descriptor, here->data, here->len, (void **) &e) < 0)
                return;
        call->events.knows_nobody = !*event_value(e, EVENT_LEADER_NAME);
        message_free(e);
}

// False: the session with which somebody listens has ended, and so has the call.
static bool is_let(HttpCall *call) {
        if (http_call_is_let(call))
                return true;
        http_call_off(call);
        http_call_drop_parts(call);
        http_call_end(call, EKEYREVOKED, "the session has ended"); // and no other that is alike
        return false;
}

static void go_on(HttpCall *call) {
        if (!is_let(call))
                return;
        if (call->events.pull_from_us > http_api_now_us(call->api))
                (void) http_call_set_deadline(call, call->events.pull_from_us);
        else
                pull(call);
}

static Argosy__Request *request(HttpCall *call) {
        return http_resource_events(&call->target, call->stream.cursor,
                                    !call->stream.begun         ? ARGOSY__REQUEST__EVENTS__LEAD__UNSAID
                                    : call->events.knows_nobody ? ARGOSY__REQUEST__EVENTS__LEAD__NOBODY
                                                                : ARGOSY__REQUEST__EVENTS__LEAD__SOMEBODY);
}

static void take(HttpCall *call, const Argosy__Response *response) {
        int r;

        if (response->status != 0) {
                http_call_fail(call, response->status, response->message);
                return;
        }
        http_call_drop_parts(call);
        r = http_call_keep(call, response);
        if (!response->final)
                return;
        if (r < 0) {
                http_call_fail(call, -r, http_why_not_kept(-r));
                return;
        }
        note_lead(call, response);
        call->events.pull_from_us = next_tick(call->api);
        http_call_give_back(call);
}

// It is the answer of all that wait for the same.
static void respond(HttpCall *call, const Argosy__Response *response) {
        ListNode others = LIST_INIT(others);

        if (response->final)
                http_alike_take(call, &others);
        take(call, response);
        while (!list_is_empty(&others)) {
                HttpCall *other = CONTAINER_OF(others.next, HttpCall, events.link);

                list_unlink(&other->events.link);
                take(other, response);
        }
}

static void on_due(HttpCall *call) {
        if (!call->route && !call->events.of) {
                pull(call);
                return;
        }
        http_call_off(call);
        call->stream.comment = true;
        http_call_give_back(call);
}

static const HttpStep step = {.request = request, .respond = respond, .on_due = on_due};

// No leader, or too much to do for anybody: what passes a stream waits for, as argosyctl watch waits for the
// next leader.
static bool asks_again(HttpCall *call, int status) {
        if (!call->stream.begun || call->api->ending ||
            (status != ETIMEDOUT && status != EAGAIN && status != EHOSTUNREACH && status != EBUSY))
                return false;
        http_call_drop_parts(call);
        http_call_set_status(call, 0);
        return http_call_set_deadline(call,
                                      http_api_now_us(call->api) + HTTP_AGAIN_MS * (uint64_t) USEC_PER_MSEC);
}

static bool fail(HttpCall *call, int status, const char *message) {
        ListNode others = LIST_INIT(others);

        if (!call->api->ending)
                http_alike_take(call, &others);
        while (!list_is_empty(&others)) {
                HttpCall *other = CONTAINER_OF(others.next, HttpCall, events.link);

                list_unlink(&other->events.link);
                http_call_fail(other, status, message);
        }
        return asks_again(call, status);
}

static void begin(HttpCall *call, const Argosy__Author *author) {
        if (http_call_keep_author(call, author))
                pull(call);
}

static void leave(HttpCall *call) {
        HttpCall *next = http_alike_leave(call);

        if (next && !call->api->ending)
                http_call_ask(next, &step, next->author);
}

static void done(HttpCall *call) {
        buf_done(&call->events.wanted);
        http_stream_done(call);
}

const HttpWork http_events_work = {.begin = begin,
                                   .go_on = go_on,
                                   .fail = fail,
                                   .leave = leave,
                                   .send = http_stream_send,
                                   .done = done};

static HttpCall *find_logged_out(HttpApi *a) {
        list_foreach (n, &a->asked) {
                HttpCall *call = CONTAINER_OF(n, HttpCall, link);

                if (call->step == &step && !http_call_is_let(call))
                        return call;
        }
        return NULL;
}

// A call that ends may make another one ask in its place, so the walk begins anew after each.
void http_events_on_logout(HttpApi *a) {
        HttpCall *call;

        while ((call = find_logged_out(a)))
                (void) is_let(call);
}
