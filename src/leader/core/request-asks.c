// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A request may need answers of hosts before anything of it is in the log, and so before it has a job: what
// an image's tag stands for, whether podman takes a file, images on hosts. Each of these is a work of the
// request, and its kind says what it waits for (RequestWorkKind.asks). So who decides knows that it waits,
// who lists held jobs says what for, and the client hears it:
//
//      it waits -> EVERY_MS later it still does -> Response.awaits, not final -> again when it is other
//      words, or AGAIN_MS are over
//
// The words are made when they are told, so they are true then. A client that gets its answer within
// EVERY_MS hears nothing of this. Failures: without memory for the words nothing is said.

#include "request-asks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "message.h"
#include "request-deadlines.h"
#include "response.h"
#include "str.h"
#include "turn.h"

enum {
        EVERY_MS = 700,
        AGAIN_MS = 30 * 1000, // the same words, so that nobody takes a leader that waits for a silent one
};

typedef struct Telling {
        RequestWork work;
        RequestDeadline deadline;
        char *told; // NULL: nothing yet
        uint64_t told_us;
} Telling;

static void telling_free(PendingRequest *t, RequestWork *work) {
        Telling *k = CONTAINER_OF(work, Telling, work);

        request_deadline_clear(t, &k->deadline);
        free(k->told);
        free(k);
}

static const RequestWorkKind telling_kind = {telling_free};

bool request_asks(const PendingRequest *t, Buf *what) {
        for (const RequestWork *w = t->works; w; w = w->next)
                if (w->kind->asks && w->kind->asks(t, w, what))
                        return true;
        return false;
}

static Argosy__Response *awaits_new(const char *what) {
        Argosy__Response *response = response_new(ARGOSY__RESPONSE__WHAT__NOT_SET);

        if (response && field_set(&response->awaits, what) < 0) {
                message_free(response);
                return NULL;
        }
        return response;
}

static bool is_known(const PendingRequest *t, const Telling *k, const char *what) {
        return k->told && streq(k->told, what) &&
               leader_now(t->leader) < k->told_us + AGAIN_MS * USEC_PER_MSEC;
}

static void tell(PendingRequest *t, Telling *k, char *what) {
        Argosy__Response *response;

        if (!what || is_known(t, k, what) || !(response = awaits_new(what))) {
                free(what);
                return;
        }
        free(k->told);
        k->told = what;
        k->told_us = leader_now(t->leader);
        request_send(t, response);
}

static void on_time(PendingRequest *t, RequestDeadline *d);

static int set(PendingRequest *t, Telling *k) {
        return request_deadline_set(t, &k->deadline, on_time,
                                    leader_now(t->leader) + EVERY_MS * USEC_PER_MSEC);
}

static void on_time(PendingRequest *t, RequestDeadline *d) {
        Telling *k = CONTAINER_OF(d, Telling, deadline);
        Buf what = {};

        if (request_asks(t, &what)) {
                tell(t, k, buf_take_string(&what));
                (void) set(t, k); // else it is told nothing more
        }
        buf_done(&what);
}

int request_asks_tell(PendingRequest *t) {
        RequestWork *work = request_work(t, &telling_kind);
        Telling *k = work ? CONTAINER_OF(work, Telling, work) : NULL;

        if (!t->respond || (k && request_deadline_is_set(&k->deadline)))
                return 0;
        if (!k) {
                k = calloc(1, sizeof(*k));
                if (!k)
                        return -ENOMEM;
                request_add_work(t, &telling_kind, &k->work);
        }
        return set(t, k);
}
