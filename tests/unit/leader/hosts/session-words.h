// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Hosts that talk to a leader of tables (leader-tables.h), one message at a time: the words that the tests
// of sessions share.

#include "leader-tables.h"
#include "messages.h"

#define SERVICE "[Service]\nExecStart=/bin/sleep 1000\n"

static Tables t;

FIXTURE(setup) {
        tables_start(&t, 3);
}

FIXTURE(teardown) {
        tables_stop(&t);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

static uint64_t last_seq;

// As the host's record has it, valid as long as that; the test changes what it likes.
static inline Argosy__ToVoter__Attach attach_of(uint32_t host) {
        const Argosy__HostRecord *r = cluster_state_find_host(t.state, host);

        return (Argosy__ToVoter__Attach) ATTACH_OF(.seq = ++last_seq, .name = r->name, .address = r->address,
                                                   .port = r->port);
}

static inline void attach_with(uint32_t host, Argosy__ToVoter__Attach a) {
        tables_link(&t, host);
        session_on_attach(t.leader, tables_host(&t, host), &a);
}

static inline void attach(uint32_t host) {
        attach_with(host, attach_of(host));
}

static inline void attach_holding(uint32_t host, Argosy__UnitReport report) {
        Argosy__ToVoter__Attach a = attach_of(host);
        Argosy__UnitReport *held = &report;

        a.held = &held;
        a.n_held = 1;
        attach_with(host, a);
}

static inline void report(uint32_t host, Argosy__UnitReport r) {
        Argosy__UnitReport *reports = &r;
        Argosy__ToVoter__Reports m = MESSAGE_OF(to_voter__reports, .reports = &reports, .n_reports = 1);

        session_on_reports(t.leader, tables_host(&t, host), &m);
}

static inline void put(const char *name, uint32_t node) {
        tables_put(&t, name, SERVICE, (UnitPut){.target = LAUNCHED, .node = node, .start = true});
}

static inline bool is_moving(const char *name) {
        return tables_unit(&t, name)->life == LIFE_MOVING;
}
