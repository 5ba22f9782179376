// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A journal, by the loop. Unlike any other call, this one has its question open while the thread has it:
// lines come when they are written, and not when they are asked for. What comes meanwhile is kept here, and
// is no more than the window that was offered (flow-window.h): the reader on the unit's node waits until the
// client has read.
//
//      the loop     asks -> lines -> hands them over, and says that they are taken
//      the thread   writes them -> the client has read them -> posts the call -> the loop hands over what
// has come, or waits for more
//      the thread   the client has gone, or all is said -> posts the call for the last time -> the loop
// drops and frees it
//
// The status that is answered is true: the answer begins when a node has lines, or says that it reads the
// journal (Request.Journal.says_read) and there are none. Until then what goes wrong is the status.
//
// Of a journal that is followed the node may be lost, the leader may change, or the unit may move: its
// client is told so in the stream, once, and it is asked for again, from then on, every HTTP_AGAIN_MS.
// Anything else ends it.

#include "work-journal.h"

#include <errno.h>

#include "clock.h"
#include "error-response.h"
#include "macro.h"
#include "message.h"
#include "work-stream.h"

static bool is_open(const HttpCall *call) {
        return call->journal.link.next;
}

static bool passes(int status) {
        return status == ECONNRESET || status == EHOSTUNREACH || status == ETIMEDOUT || status == EAGAIN ||
               status == EBUSY;
}

static Argosy__Request *request(HttpCall *call) {
        return http_resource_journal(&call->target, call->journal.began);
}

static void respond(HttpCall *call, const Argosy__Response *response);
static void on_due(HttpCall *call);

static const HttpStep step = {.request = request, .respond = respond, .on_due = on_due};

static void ask(HttpCall *call) {
        call->journal.again_us = 0;
        http_call_ask(call, &step, call->author);
}

static void drop_parts(HttpCall *call) {
        HttpJournalCall *j = &call->journal;

        http_api_release(call, j->n_bytes);
        http_parts_free(TAKE_PTR(j->parts), j->n_parts);
        j->n_parts = j->n_bytes = 0;
}

// For good. What was said first stays.
static void end(HttpCall *call, int status, const char *message) {
        HttpJournalCall *j = &call->journal;

        http_call_off(call);
        j->ended = true;
        j->again_us = 0;
        if (j->status != 0 || status == 0)
                return;
        j->status = status;
        j->message = message ? strdup(message) : NULL;
}

// What there is, and the end if it has come.
static void hand_over(HttpCall *call) {
        HttpJournalCall *j = &call->journal;
        HttpApi *a = call->api;

        if (call->route && j->n_parts > 0)
                a->ops->taken(call->route, a->userdata);
        http_call_take_parts(call, TAKE_PTR(j->parts), j->n_parts, j->n_bytes);
        j->n_parts = j->n_bytes = 0;
        call->stream.over = j->ended && j->status == 0;
        if (j->ended && j->status != 0) {
                http_call_set_status(call, j->status);
                http_call_set_message(call, TAKE_PTR(j->message));
        }
        j->away = true;
        http_call_give_back(call);
}

// False: out of memory, and it has ended.
static bool arm(HttpCall *call) {
        const HttpJournalCall *j = &call->journal;
        uint64_t at = j->again_us > 0 ? MIN_OF(j->again_us, j->silent_us) : j->silent_us;

        return http_call_arm(call, at) == 0;
}

static void settle(HttpCall *call) {
        HttpJournalCall *j = &call->journal;

        if (j->away)
                return;
        if (!j->ended && (!j->began || (j->n_parts == 0 && call->stream.begun))) {
                if (arm(call))
                        return;
                end(call, ENOMEM, "this host has no memory for the request");
        }
        if (j->ended && !j->began && j->status != 0)
                drop_parts(call); // they are what the status says
        hand_over(call);
}

static int keep(HttpCall *call, const Argosy__Response *response) {
        HttpJournalCall *j = &call->journal;

        return http_parts_keep(call, response, &j->parts, &j->n_parts, &j->n_bytes);
}

// One of several nodes, or all. Before the answer has begun this may be the status, and else a line of it.
static int note_problem(HttpCall *call, const Argosy__Response *response) {
        HttpJournalCall *j = &call->journal;

        if (j->lost && passes(response->status))
                return 0;
        if (j->began && response->final && !passes(response->status)) {
                end(call, response->status, response->message);
                return 0;
        }
        if (!j->began && j->status == 0) {
                j->status = response->status;
                j->message = strdup(response->message);
        }
        return keep(call, response);
}

static void note_began(HttpJournalCall *j) {
        j->began = true;
        j->status = 0; // its part says that
        free(TAKE_PTR(j->message));
}

static void on_final(HttpCall *call, int status) {
        HttpJournalCall *j = &call->journal;

        j->lost = j->began && call->target.follow && (status == 0 || passes(status));
        if (j->lost)
                j->again_us = http_api_now_us(call->api) + HTTP_AGAIN_MS * (uint64_t) USEC_PER_MSEC;
        else
                end(call, 0, NULL);
}

static void respond(HttpCall *call, const Argosy__Response *response) {
        HttpJournalCall *j = &call->journal;
        int r = 0;

        if (response->status != 0)
                r = note_problem(call, response);
        else if (response->what_case == ARGOSY__RESPONSE__WHAT_JOURNAL) {
                if (!j->began)
                        note_began(j);
                j->lost = false;
                if (response->journal->n_lines > 0)
                        r = keep(call, response);
        }
        if (r < 0)
                end(call, -r,
                    r == -EBUSY ? "too many long answers wait to be read"
                                : "this host has no memory for the answer");
        else if (response->final)
                on_final(call, response->status);
        settle(call);
}

// Ends the journal; once its stream has begun, by a problem in the stream.
static bool fail(HttpCall *call, int status, const char *message) {
        Argosy__Response response = error_response(status, message);

        if (!is_open(call) || call->api->ending)
                return false;
        respond(call, &response);
        return true;
}

static void begin(HttpCall *call, const Argosy__Author *author) {
        HttpJournalCall *j = &call->journal;

        if (!http_call_keep_author(call, author))
                return;
        list_append(&call->api->journals, &j->link);
        http_call_set_step(call, &step);
        j->silent_us = http_api_now_us(call->api) + HTTP_BEGIN_MS * (uint64_t) USEC_PER_MSEC;
        if (arm(call))
                ask(call);
        else
                http_call_fail(call, ENOMEM, "this host has no memory for the request");
}

// Whether it has.
static bool ends_with_session(HttpCall *call) {
        if (http_call_is_let(call))
                return false;
        drop_parts(call);
        end(call, EKEYREVOKED, "the session has ended");
        return true;
}

static void go_on(HttpCall *call) {
        HttpJournalCall *j = &call->journal;

        j->away = false;
        (void) ends_with_session(call);
        j->silent_us = http_api_now_us(call->api) + HTTP_COMMENT_SEC * (uint64_t) USEC_PER_SEC;
        settle(call);
}

static void on_due(HttpCall *call) {
        HttpJournalCall *j = &call->journal;
        uint64_t now = http_api_now_us(call->api);

        if (j->silent_us <= now) {
                call->stream.comment = call->stream.begun;
                if (!j->began)
                        note_began(j); // no node has said a word
                hand_over(call);
        } else if (j->again_us > 0 && j->again_us <= now)
                ask(call);
        else
                settle(call);
}

void http_journals_on_logout(HttpApi *a) {
        list_foreach_safe (n, &a->journals) {
                HttpCall *call = CONTAINER_OF(n, HttpCall, journal.link);

                if (ends_with_session(call))
                        settle(call);
        }
}

void http_journals_forget(HttpApi *a) {
        list_foreach_safe (n, &a->journals) {
                HttpCall *call = CONTAINER_OF(n, HttpCall, journal.link);

                list_unlink(&call->journal.link);
                http_call_set_route(call, NULL);
                drop_parts(call);
        }
}

static void done(HttpCall *call) {
        list_unlink(&call->journal.link);
        http_call_off(call);
        drop_parts(call);
        free(TAKE_PTR(call->journal.message));
        http_stream_done(call);
}

const HttpWork http_journal_work = {.begin = begin,
                                    .go_on = go_on,
                                    .fail = fail,
                                    .send = http_stream_send,
                                    .done = done,
                                    .is_kept = true};
