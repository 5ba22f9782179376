// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// The thread and the loop together, and clients that say what programs say, from the beginning of a test to
// its end. What the loop is asked is the test's (HttpApiOps), and what else a test knows it has in an object
// of its own.

#include <pthread.h>

#include "http-accounts.h"
#include "author-names.h"
#include "buf.h"
#include "http-call.h"
#include "str.h"
#include "stream.h"
#include "test.h"
#include "tmpdir.h"

typedef struct Client {
        Stream *stream;
        Buf got;
        bool closed;
} Client;

static struct HttpWorld {
        uv_loop_t loop;
        Accounts *accounts;
        AuthorNames *names;
        HttpApi *api;
        char *path;    // of the socket on which it listens, in a directory of the test's own; or NULL,
        uint16_t port; // and on loopback the test lets it listen there
        bool api_closed;
        Client *clients;
        size_t n_clients;
} world;

static inline int world_on_data(Stream *s, const uint8_t *data, size_t len, void *userdata) {
        return buf_append(&((Client *) userdata)->got, data, len);
}

static inline void world_on_closed(Stream *s, int error, void *userdata) {
        ((Client *) userdata)->closed = true;
}

static const StreamOps world_client_ops = {.data = world_on_data, .closed = world_on_closed};

static inline void world_on_api_closed(void *userdata) {
        world.api_closed = true;
}

// fd: on which it listens; or -1.
static inline void world_begin(int fd, size_t n_clients, const HttpApiOps *ops) {
        world.n_clients = n_clients;
        world.clients = calloc(n_clients, sizeof(*world.clients));
        assert_non_null(world.clients);
        assert_int_equal(uv_loop_init(&world.loop), 0);
        assert_int_equal(author_names_new(&world.loop, &account_source_system, &world.names), 0);
        world.accounts = accounts_new(&world_limits);
        assert_non_null(world.accounts);
        assert_int_equal(http_api_new(&world.loop, fd, world.accounts, world.names, ops, NULL, &world.api),
                         0);
}

static inline void world_begin_on_socket(void **state, size_t n_clients, const HttpApiOps *ops) {
        int fd;

        tmpdir_make(state);
        world.path = str_printf("%s/http", (char *) *state);
        assert_int_equal(listener_bind_unix(world.path, 0600, (gid_t) -1, &fd), 0);
        world_begin(fd, n_clients, ops);
}

static inline void world_close_api(void) {
        http_api_close(world.api, world_on_api_closed, NULL);
        world.api = NULL;
}

// Of what belongs to the test the handles are closed, or closing; nothing is left for the next one.
static inline int world_end(void **state) {
        bool has_dir = world.path;

        if (world.api)
                world_close_api();
        author_names_close(world.names);
        for (size_t i = 0; i < world.n_clients; i++)
                if (world.clients[i].stream && !world.clients[i].closed)
                        stream_close(world.clients[i].stream, 0, false);
        assert_int_equal(uv_run(&world.loop, UV_RUN_DEFAULT), 0);
        assert_true(world.api_closed);
        assert_int_equal(uv_loop_close(&world.loop), 0);
        accounts_free(world.accounts); // which sees that nothing is held any more
        for (size_t i = 0; i < world.n_clients; i++)
                buf_done(&world.clients[i].got);
        free(world.clients);
        free(world.path);
        world = (struct HttpWorld){};
        return has_dir ? tmpdir_drop(state) : 0;
}

#define RUN_UNTIL(condition) \
        while (!(condition)) \
        uv_run(&world.loop, UV_RUN_ONCE)

// Of what the thread does without a word to the loop.
#define SPIN_UNTIL(condition) \
        while (!(condition))  \
        uv_run(&world.loop, UV_RUN_NOWAIT)

// Whoever has said nothing yet connects first.
static inline Client *say(size_t i, const char *text) {
        Client *c = &world.clients[i];
        int r = 0;

        if (!c->stream && world.path)
                r = stream_dial_unix(&world.loop, world.path, &world_client_ops, c, &c->stream);
        else if (!c->stream)
                r = stream_dial(&world.loop, "127.0.0.1", world.port, NULL, NULL, NULL, &world_client_ops, c,
                                &c->stream);
        assert_int_equal(r, 0);
        assert_int_equal(stream_write(c->stream, text, strlen(text)), 0);
        return c;
}

static inline bool has(const Client *c, const char *words) {
        return c->got.len > 0 && memmem(c->got.data, c->got.len, words, strlen(words));
}

// Bytes of requests and answers that wait.
static inline size_t held(void) {
        return accounts_have(world.accounts, ACCOUNT_BYTES);
}
