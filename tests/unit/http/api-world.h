// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// The thread and the loop together, on a socket of their own, and clients that say what programs say. What
// the loop is asked is kept, and answered by the test, or with no nodes.

#include <unistd.h>

#include "api-answers.h"
#include "http-world.h"
#include "message.h"

enum { CLIENTS = CONNECTIONS_PER_OWNER + 6 };

typedef struct World {
        bool ready, nobody_admitted, waits;
        HttpCall *calls[CLIENTS];
        size_t n_calls, n_cancelled;
        int last_what;
        uint32_t last_first_unit;
        Argosy__Request__Events__Lead last_lead;
        struct {
                Argosy__Verb verb;
                uint64_t retries;
                size_t n_names;
                char first[64];
        } change; // the last one
        char known[256]; // tags with which the newest list was asked for
} World;

static World w;

static inline void on_request(HttpCall *call, Argosy__Request *request, const Argosy__Author *author,
                              void *userdata) {
        if (request->what_case == ARGOSY__REQUEST__WHAT_LIST_UNITS && request->list_units->filter)
                (void) str_copy(w.known, sizeof(w.known), request->list_units->filter->known);
        assert_int_equal(author->uid, getuid());
        w.last_what = (int) request->what_case;
        if (request->what_case == ARGOSY__REQUEST__WHAT_EVENTS)
                w.last_lead = request->events->lead;
        if (request->what_case == ARGOSY__REQUEST__WHAT_LIST_JOBS)
                w.last_first_unit = request->list_jobs->first_unit;
        if (request->what_case == ARGOSY__REQUEST__WHAT_CHANGE && request->change->n_names > 0) {
                w.change.verb = request->change->verb;
                w.change.retries = request->job->retries;
                w.change.n_names = request->change->n_names;
                str_fit(w.change.first, sizeof(w.change.first), "%s", request->change->names[0]);
        }
        message_free(request);
        if (w.waits)
                w.calls[w.n_calls++] = call;
        else
                answer_nodes(call);
}

static inline bool admits(const Argosy__Author *author, void *userdata) {
        return !w.nobody_admitted;
}

static inline bool is_ready(void *userdata) {
        return w.ready;
}

static inline void on_cancel(void *route, void *userdata) {
        assert_ptr_equal(route, &w);
        w.n_cancelled++;
}

static const HttpApiOps ops = {
        .request = on_request, .cancel = on_cancel, .admits = admits, .is_ready = is_ready};

FIXTURE(begin) {
        memset(&w, 0, sizeof(w));
        w.ready = true;
        world_begin_on_socket(state, CLIENTS, &ops);
}

#define GET(path) "GET " path " HTTP/1.1\r\nHost: x\r\n\r\n"

// A question that is the first of its test to be handed on, and waits there.
static inline Client *say_and_wait(const char *text) {
        w.waits = true;
        Client *c = say(0, text);
        RUN_UNTIL(w.n_calls == 1);
        return c;
}

#define API_TEST(name) cmocka_unit_test_setup_teardown(name, begin, world_end)
