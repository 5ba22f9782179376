// SPDX-License-Identifier: LGPL-2.1-or-later
//
// See sim-client.h.
#include "sim-client.h"

#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>

#include "frame.h"
#include "macro.h"
#include "message.h"
#include "sim-host.h"
#include "story.h"
#include "stream.h"

#define EXPORTED __attribute__((visibility("default")))

enum { CLIENTS = SIM_HOSTS_MAX - 1, ASKS_MAX = 100000 };

typedef struct Client {
        SimAsk ask;
        Stream *stream;
} Client;

static struct {
        SimHost *host;
        Client **all;
        size_t n;
        const SimAccount *accounts;
        size_t n_accounts;
        void (*answered)(const SimAsk *ask, const Argosy__Response *r);
} clients;

// ------------------------------------------------------------------------------------------------ accounts

void sim_client_set_accounts(const SimAccount *accounts, size_t n) {
        clients.accounts = accounts;
        clients.n_accounts = n;
}

static char *find_account(unsigned id, bool is_group, char *buf, size_t size) {
        for (size_t i = 0; i < clients.n_accounts; i++) {
                const SimAccount *a = &clients.accounts[i];

                if (a->id == id && a->is_group == is_group && strlen(a->name) < size)
                        return strcpy(buf, a->name);
        }
        return NULL;
}

EXPORTED int getpwuid_r(uid_t uid, struct passwd *account, char *buf, size_t size, struct passwd **ret) {
        *account = (struct passwd){.pw_uid = uid, .pw_name = find_account(uid, false, buf, size)};
        *ret = account->pw_name ? account : NULL;
        return 0;
}

EXPORTED int getgrgid_r(gid_t gid, struct group *group, char *buf, size_t size, struct group **ret) {
        *group = (struct group){.gr_gid = gid, .gr_name = find_account(gid, true, buf, size)};
        *ret = group->gr_name ? group : NULL;
        return 0;
}

// ------------------------------------------------------------------------------------------------ answers

static void digest_response(const Argosy__Response *r) {
        size_t len = argosy__response__get_packed_size(r);
        uint8_t *packed = malloc(len + 1);
        uint64_t now_us = sim_now_us();

        if (!packed)
                abort();
        argosy__response__pack(r, packed);
        story_digest("answered at", &now_us, sizeof(now_us));
        story_digest("response", packed, len);
        free(packed);
}

static int on_message(Stream *s, ProtobufCMessage *message, void *userdata) {
        SimAsk *ask = &((Client *) userdata)->ask;
        Argosy__Response *r = (Argosy__Response *) message;

        if (ask->n++ == 0)
                ask->job = r->job;
        digest_response(r);
        story_event("response", ask->at, r->id, "%d %s", r->status, r->message);
        message_free(ask->last);
        ask->last = message_take(r);
        ask->final |= ask->last->final;
        if (clients.answered)
                clients.answered(ask, ask->last);
        if (ask->final)
                stream_close(s, 0, false);
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

// ------------------------------------------------------------------------------------------------ requests

SimAsk *sim_client_lost(uint32_t at) {
        Client *c = calloc(1, sizeof(*c));

        if (!c || clients.n == ASKS_MAX)
                abort();
        c->ask = (SimAsk){.at = at, .asked_us = sim_now_us(), .final = true, .error = -ECONNREFUSED};
        clients.all[clients.n++] = c;
        return &c->ask;
}

SimAsk *sim_client_send(uint32_t at, const SimUser *user, const Argosy__Request *request) {
        Client *c = calloc(1, sizeof(*c));

        if (!c || clients.n == ASKS_MAX)
                abort();
        c->ask = (SimAsk){.at = at, .asked_us = sim_now_us()};
        clients.all[clients.n++] = c;
        sim_enter(clients.host);
        sim_net_dial_as(user);
        if (stream_dial_unix(sim_host_loop(clients.host), sim_machine(at)->socket, &ops, c, &c->stream) < 0)
                abort();
        sim_net_dial_as(NULL);
        stream_set_messages(c->stream, &argosy__response__descriptor, FRAME_MAX_LOCAL);
        if (stream_send(c->stream, &request->base) < 0)
                abort();
        sim_leave();
        return &c->ask;
}

void sim_client_call_off(SimAsk *ask) {
        Client *c = CONTAINER_OF(ask, Client, ask);

        ask->called_off = true;
        if (!c->stream)
                return;
        sim_enter(clients.host);
        stream_close(c->stream, -ECANCELED, false);
        sim_leave();
}

SimAsk *sim_client_change(uint32_t at, Argosy__Verb verb, const char *name, const char *content) {
        Argosy__Request request = ARGOSY__REQUEST__INIT;
        Argosy__Request__Change change = ARGOSY__REQUEST__CHANGE__INIT;
        Argosy__NamedFile file = ARGOSY__NAMED_FILE__INIT, *files = &file;
        uint64_t id[2] = {draw_word(sim_draw()), draw_word(sim_draw())};

        change.id = (ProtobufCBinaryData){sizeof(id), (uint8_t *) id};
        change.verb = verb;
        change.names = (char **) &name;
        change.n_names = 1;
        change.replace = content != NULL;
        if (content) {
                file.name = file.path = (char *) name;
                file.content = (ProtobufCBinaryData){strlen(content), (uint8_t *) content};
                change.files = &files;
                change.n_files = 1;
        }
        request.what_case = ARGOSY__REQUEST__WHAT_CHANGE;
        request.change = &change;
        return sim_client_send(at, NULL, &request);
}

const Argosy__Response__UnitResult *sim_client_result(const SimAsk *ask) {
        const Argosy__Response *r = ask->last;

        return r && r->what_case == ARGOSY__RESPONSE__WHAT_CHANGE && r->change->n_units == 1
                       ? r->change->units[0]
                       : NULL;
}

// ---------------------------------------------------------------------------------------------- all of them

void sim_client_begin(void) {
        memset(&clients, 0, sizeof(clients));
        clients.all = calloc(ASKS_MAX, sizeof(*clients.all));
        clients.host = sim_host_new(CLIENTS, &(SimClocks){});
        sim_host_start(clients.host);
}

void sim_client_on_response(void (*answered)(const SimAsk *ask, const Argosy__Response *r)) {
        clients.answered = answered;
}

void sim_client_end(void) {
        for (size_t i = 0; i < clients.n; i++) {
                message_free(clients.all[i]->ask.last);
                free(clients.all[i]);
        }
        free(clients.all);
        memset(&clients, 0, sizeof(clients));
}
