// SPDX-License-Identifier: LGPL-2.1-or-later
//
// See sim-client.h.
#include "sim-client.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "frame.h"
#include "random.h"
#include "sim-host.h"
#include "story.h"
#include "str.h"
#include "stream.h"

enum { CLIENTS = SIM_HOSTS_MAX - 1, ASKS_MAX = 100000 };

typedef struct Client {
        SimAsk ask;
        Stream *stream;
        char *content;
} Client;

static struct {
        SimHost *host;
        Client **all;
        size_t n;
} clients;

static int on_message(Stream *s, ProtobufCMessage *message, void *userdata) {
        const Argosy__Response *r = (const Argosy__Response *) message;
        SimAsk *ask = &((Client *) userdata)->ask;

        ask->status = r->status;
        str_fit(ask->message, sizeof(ask->message), "%s", r->message);
        if (r->what_case == ARGOSY__RESPONSE__WHAT_CHANGE && r->change->n_units == 1) {
                ask->status = r->change->units[0]->status;
                ask->revision = r->change->units[0]->revision;
                str_fit(ask->message, sizeof(ask->message), "%s", r->change->units[0]->message);
        }
        ask->final |= r->final;
        if (r->final) {
                story_digest("answer", &(uint64_t[]){sim_now_us(), (uint64_t) ask->status, ask->revision}, 3 * sizeof(uint64_t));
                stream_close(s, 0, false);
        }
        return 0;
}

static void on_closed(Stream *s, int error, void *userdata) {
        Client *c = userdata;

        c->stream = NULL;
        if (!c->ask.final)
                c->ask.error = error ?: -ECONNRESET;
        c->ask.final = true;
}

static const StreamOps ops = {.message = on_message, .closed = on_closed};

static void submit(Client *c) {
        Argosy__Request request = ARGOSY__REQUEST__INIT;
        Argosy__Request__Change change = ARGOSY__REQUEST__CHANGE__INIT;
        Argosy__NamedFile file = ARGOSY__NAMED_FILE__INIT, *files = &file;
        char *name = c->ask.name;

        change.id = (ProtobufCBinaryData){sizeof(c->ask.id), c->ask.id};
        change.verb = c->ask.verb;
        change.names = &name;
        change.n_names = 1;
        if (c->content) {
                file.name = file.path = name;
                file.content = (ProtobufCBinaryData){strlen(c->content), (uint8_t *) c->content};
                change.files = &files;
                change.n_files = 1;
        }
        request.what_case = ARGOSY__REQUEST__WHAT_CHANGE;
        request.change = &change;
        if (stream_send(c->stream, &request.base) < 0)
                abort();
}

static SimAsk *ask_with(const SimAsk *like, uint32_t at, const char *content) {
        Client *c = calloc(1, sizeof(*c));

        if (!c || clients.n == ASKS_MAX)
                abort();
        c->ask = (SimAsk){.at = at, .verb = like->verb, .asked_us = sim_now_us()};
        memcpy(c->ask.id, like->id, sizeof(c->ask.id));
        str_fit(c->ask.name, sizeof(c->ask.name), "%s", like->name);
        c->content = content ? strdup(content) : NULL;
        clients.all[clients.n++] = c;
        sim_enter(clients.host);
        if (stream_dial_unix(sim_host_loop(clients.host), sim_machine(at)->socket, &ops, c, &c->stream) < 0)
                abort();
        stream_set_messages(c->stream, &argosy__response__descriptor, FRAME_MAX_LOCAL);
        submit(c);
        sim_leave();
        return &c->ask;
}

SimAsk *sim_client_change(uint32_t at, Argosy__Verb verb, const char *name, const char *content) {
        SimAsk like = {.verb = verb};

        for (size_t i = 0; i < sizeof(like.id); i++)
                like.id[i] = (uint8_t) draw_word(sim_draw());
        str_fit(like.name, sizeof(like.name), "%s", name);
        return ask_with(&like, at, content);
}

SimAsk *sim_client_again(const SimAsk *ask, uint32_t at, const char *content) {
        return ask_with(ask, at, content);
}

size_t sim_client_n_asks(void) {
        return clients.n;
}

const SimAsk *sim_client_ask(size_t i) {
        return &clients.all[i]->ask;
}

void sim_client_begin(void) {
        memset(&clients, 0, sizeof(clients));
        clients.all = calloc(ASKS_MAX, sizeof(*clients.all));
        clients.host = sim_host_new(CLIENTS, &(SimClocks){});
        sim_host_start(clients.host);
}

void sim_client_end(void) {
        for (size_t i = 0; i < clients.n; i++) {
                free(clients.all[i]->content);
                free(clients.all[i]);
        }
        free(clients.all);
        memset(&clients, 0, sizeof(clients));
}
