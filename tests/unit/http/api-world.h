// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// The thread and the loop together, on a socket of their own, and clients that say what programs say. What the loop is asked is kept,
// and answered by the test, or with no nodes.

#include <pthread.h>
#include <unistd.h>

#include "api-answers.h"
#include "author-names.h"
#include "buf.h"
#include "http-private.h"
#include "log.h"
#include "message.h"
#include "str.h"
#include "stream.h"
#include "test.h"
#include "tmpdir.h"

enum { CLIENTS = HTTP_CONNECTIONS_PER_OWNER + 6 };

typedef struct Client {
        Stream *stream;
        Buf got;
        bool closed;
} Client;

typedef struct World {
        uv_loop_t loop;
        AuthorNames *names;
        HttpApi *api;
        char *path;
        bool api_closed, ready, nobody_admitted, waits;
        HttpCall *calls[CLIENTS];
        size_t n_calls, n_cancelled;
        int last_what;
        uint32_t last_first_unit;
        struct {
                Argosy__Verb verb;
                uint64_t retries;
                size_t n_names;
                char first[64];
        } change; // the last one
        Client clients[CLIENTS];
        char known[256]; // tags with which the newest list was asked for
} World;

static World w;

static inline void on_request(HttpCall *call, Argosy__Request *request, const Argosy__Author *author,
                              void *userdata) {
        if (request->what_case == ARGOSY__REQUEST__WHAT_LIST_UNITS && request->list_units->filter)
                (void) str_copy(w.known, sizeof(w.known), request->list_units->filter->known);
        assert_int_equal(author->uid, getuid());
        w.last_what = (int) request->what_case;
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

static const HttpApiOps ops = {.request = on_request, .cancel = on_cancel, .admits = admits, .is_ready = is_ready};

static inline int on_data(Stream *s, const uint8_t *data, size_t len, void *userdata) {
        return buf_append(&((Client *) userdata)->got, data, len);
}

static inline void on_closed(Stream *s, int error, void *userdata) {
        ((Client *) userdata)->closed = true;
}

static const StreamOps client_ops = {.data = on_data, .closed = on_closed};

static inline void on_api_closed(void *userdata) {
        w.api_closed = true;
}

static inline int begin(void **state) {
        int fd;

        memset(&w, 0, sizeof(w));
        w.ready = true;
        tmpdir_make(state);
        w.path = str_printf("%s/http", (char *) *state);
        assert_int_equal(uv_loop_init(&w.loop), 0);
        assert_int_equal(author_names_new(&w.loop, &account_source_system, &w.names), 0);
        assert_int_equal(listener_bind_unix(w.path, 0600, (gid_t) -1, &fd), 0);
        assert_int_equal(http_api_new(&w.loop, fd, w.names, &ops, NULL, &w.api), 0);
        return 0;
}

static inline void close_api(void) {
        http_api_close(w.api, on_api_closed, NULL);
        w.api = NULL;
}

static inline int end(void **state) {
        if (w.api)
                close_api();
        author_names_close(w.names);
        for (size_t i = 0; i < CLIENTS; i++)
                if (w.clients[i].stream && !w.clients[i].closed)
                        stream_close(w.clients[i].stream, 0, false);
        assert_int_equal(uv_run(&w.loop, UV_RUN_DEFAULT), 0);
        assert_true(w.api_closed);
        assert_int_equal(uv_loop_close(&w.loop), 0);
        for (size_t i = 0; i < CLIENTS; i++)
                buf_done(&w.clients[i].got);
        free(w.path);
        return tmpdir_drop(state);
}

#define RUN_UNTIL(condition) \
        while (!(condition)) \
        uv_run(&w.loop, UV_RUN_ONCE)

// Of what the thread does without a word to the loop.
#define SPIN_UNTIL(condition) \
        while (!(condition))  \
        uv_run(&w.loop, UV_RUN_NOWAIT)

static inline Client *say(size_t i, const char *text) {
        Client *c = &w.clients[i];

        if (!c->stream)
                assert_int_equal(stream_dial_unix(&w.loop, w.path, &client_ops, c, &c->stream), 0);
        assert_int_equal(stream_write(c->stream, text, strlen(text)), 0);
        return c;
}

static inline bool has(const Client *c, const char *words) {
        return c->got.data && memmem(c->got.data, c->got.len, words, strlen(words));
}

#define GET(path) "GET " path " HTTP/1.1\r\nHost: x\r\n\r\n"

// Bytes of requests and answers that wait.
static inline size_t held(void) {
        size_t n;

        pthread_mutex_lock(&w.api->lock);
        n = w.api->room.held;
        pthread_mutex_unlock(&w.api->lock);
        return n;
}

#define API_TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
