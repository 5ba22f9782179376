// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// A leader that has the key of secrets, what its hosts are sent of these, and who sets and lists them.
// Shared by the tests of secrets.

#include <errno.h>

#include "test.h"

#include "leader-asks.h"
#include "leader-private.h"
#include "log.h"
#include "messages.h"
#include "voter-secrets.h"

#define SUBMIT ARGOSY__VERB__VERB_SUBMIT
#define START ARGOSY__VERB__VERB_START
#define STOP ARGOSY__VERB__VERB_STOP
#define RESTART ARGOSY__VERB__VERB_RESTART
#define APP "[Service]\nExecStart=/bin/sleep 1000\n[X-Argosy]\nSecret=db:password\n"
#define OTHER "[Service]\nExecStart=/bin/sleep 1001\n[X-Argosy]\nSecret=db:password\n"
#define PLAIN "[Service]\nExecStart=/bin/sleep 1000\n"

static Rig g;
static VoterSecrets keys;

// What a host was sent last, and ever.
static struct Sent {
        uint64_t version; // of the last order that names a secret
        uint64_t latest;  // the highest that an order has named
        char value[64], id[16];
        unsigned n; // values
} sent[8];
static char shown[256]; // to a registry, by the last host that was asked about an image

static inline void on_secrets(uint32_t host, Argosy__UnitOrder **orders, size_t n_orders,
                              Argosy__SecretValue **values, size_t n) {
        struct Sent *s = &sent[host];

        for (size_t i = 0; i < n; i++) {
                snprintf(s->value, sizeof(s->value), "%.*s", (int) values[i]->value.len,
                         values[i]->value.data);
                s->n++;
        }
        for (size_t i = 0; i < n_orders; i++)
                if (orders[i]->n_secrets > 0) {
                        s->version = orders[i]->secrets[0]->version;
                        s->latest = MAX_OF(s->latest, s->version);
                        snprintf(s->id, sizeof(s->id), "%s", orders[i]->secrets[0]->id);
                }
}

static inline void on_host_message(Rig *rig, uint32_t host, const Argosy__ToHost *m) {
        if (m->msg_case == ARGOSY__TO_HOST__MSG_CALL && m->call->registry_auth)
                snprintf(shown, sizeof(shown), "%s of %s for %s%s", m->call->registry_auth->value.data,
                         m->call->registry_auth->name, m->call->image, m->call->pull ? ", pulled" : "");
        if (m->msg_case == ARGOSY__TO_HOST__MSG_ORDERS)
                on_secrets(host, m->orders->orders, m->orders->n_orders, m->orders->secrets,
                           m->orders->n_secrets);
        else if (m->msg_case == ARGOSY__TO_HOST__MSG_WELCOME)
                on_secrets(host, m->welcome->orders, m->welcome->n_orders, m->welcome->secrets,
                           m->welcome->n_secrets);
        else if (m->msg_case == ARGOSY__TO_HOST__MSG_WELCOME_PART)
                on_secrets(host, m->welcome_part->orders, m->welcome_part->n_orders,
                           m->welcome_part->secrets, m->welcome_part->n_secrets);
}

static inline int begin(unsigned n_hosts) {
        rig_start(&g, n_hosts);
        rig_give_secrets_key(&g, &keys, 1);
        g.author = NULL;
        memset(sent, 0, sizeof(sent));
        *shown = 0;
        g.on_host_message = on_host_message;
        return 0;
}

static inline int teardown(void **state) {
        rig_stop(&g);
        voter_secrets_done(&keys);
        return 0;
}

// ------------------------------------------------------------------------------------------------ asking

static inline const Argosy__Response *ask(Argosy__Request *request) {
        RigAnswer *a = rig_ask_and_settle(&g, request);

        assert_true(a->final);
        return rig_last(a);
}

static inline RigAnswer *begin_set(const char *name, const void *value, size_t len) {
        Argosy__Request__SecretSet m = MESSAGE_OF(request__secret_set, .name = (char *) name,
                                                  .value = (ProtobufCBinaryData){len, (uint8_t *) value});

        return rig_ask(&g, A_REQUEST(SECRET_SET, secret_set, &m));
}

static inline const Argosy__Response *set_bytes(const char *name, const void *value, size_t len) {
        RigAnswer *a = begin_set(name, value, len);

        rig_settle(&g);
        assert_true(a->final);
        return rig_last(a);
}

static inline void set(const char *name, const char *value) {
        const Argosy__Response *r = set_bytes(name, value, strlen(value));

        assert_string_equal(r->message, "");
        assert_int_equal(r->status, 0);
}

static inline const Argosy__Response__SecretRow *row(const char *name) {
        Argosy__Request__SecretList m =
                MESSAGE_OF(request__secret_list, .names = (char **) &name, .n_names = 1);
        const Argosy__Response *r = ask(A_REQUEST(SECRET_LIST, secret_list, &m));

        return r->status == 0 ? r->secrets->rows[0] : NULL;
}

static inline const Argosy__Response__UnitResult *change(Argosy__Verb verb, const char *name,
                                                         const char *content) {
        RigAnswer *a = rig_change_with(&g, verb, name, content, true, NULL);

        rig_settle(&g);
        return rig_change_answered(a)->units[0];
}

static inline void do_well(Argosy__Verb verb, const char *name, const char *content) {
        const Argosy__Response__UnitResult *r = change(verb, name, content);

        assert_string_equal(r->message, "");
        assert_int_equal(r->status, 0);
}

static inline struct Sent *at_unit(const char *name) {
        return &sent[rig_host_of(&g, name)];
}
