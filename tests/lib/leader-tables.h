// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// A leader with nobody around it: no log, no hosts, a clock that only the test moves. The test applies
// batches to the state, calls one file of the room, and looks at the tables and at what the leader would
// have said. The loop does not run, so nothing is decided: what a call does is all that happens.
//
//      tables_start(&t, 2);                              two hosts of the log, n1 (ours) and n2
//      batch_unit(&b, "web.service", "[Service]\n", ...);
//      tables_apply(&t, &b);                             as the log does it, the leader follows
//      session_on_attach(t.leader, host_find(t.leader, 2), &attach);

#include <uv.h>

#include "accounts.h"
#include "batch.h"
#include "clock.h"
#include "feature-level.h"
#include "leader-private.h"
#include "log.h"
#include "message.h"
#include "messages.h"
#include "test.h"
#include "walks.h"

enum { TABLES_LEASE_MS = 4000, TABLES_SENT_MAX = 64 };

typedef struct Tables {
        uv_loop_t loop;
        Accounts *accounts;
        ClusterState *state;
        Leader *leader; // leads from the beginning
        uint64_t now_us, wall_us;
        bool unsure; // it has no authority
        uint64_t index;
        struct {
                uint32_t host;
                Argosy__ToHost *message;
        } sent[TABLES_SENT_MAX];
        size_t n_sent;
        uint32_t dropped; // host whose session it ended last
        unsigned n_dropped;
        StoreDone barrier; // NULL: none is on its way
        void *barrier_data;
        unsigned n_barriers;
        bool closed;
} Tables;

static inline uint64_t tables_now(void *userdata) {
        return ((Tables *) userdata)->now_us;
}

// No turn takes any time.
static inline uint64_t tables_cpu(void *userdata) {
        return 1;
}

static inline uint64_t tables_wall(void *userdata) {
        return ((Tables *) userdata)->wall_us;
}

static inline int tables_to_host(uint32_t host, const Argosy__ToHost *message, void *userdata) {
        Tables *t = userdata;

        assert_true(t->n_sent < TABLES_SENT_MAX);
        t->sent[t->n_sent].host = host;
        t->sent[t->n_sent++].message = message_copy(message);
        return 0;
}

static inline bool tables_host_is_full(uint32_t host, void *userdata) {
        return false;
}

static inline void tables_drop_host(uint32_t host, void *userdata) {
        Tables *t = userdata;

        t->dropped = host;
        t->n_dropped++;
}

static inline int tables_barrier(StoreDone done, void *done_data, void *userdata) {
        Tables *t = userdata;

        assert_null(t->barrier);
        t->barrier = done;
        t->barrier_data = done_data;
        t->n_barriers++;
        return 0;
}

static inline int tables_submit(const void *data, size_t len, StoreDone done, void *done_data,
                                void *userdata) {
        fail_msg("nothing is decided here");
        return -EAGAIN;
}

static inline uint64_t tables_authority_until(void *userdata) {
        return ((Tables *) userdata)->unsure ? 0 : UINT64_MAX;
}

// The barrier that is on its way ends.
static inline void tables_end_barrier(Tables *t, StoreOutcome outcome) {
        StoreDone done = TAKE_PTR(t->barrier);

        assert_non_null(done);
        done(outcome, outcome == STORE_COMMITTED ? ++t->index : 0, t->barrier_data);
}

static inline void tables_apply(Tables *t, Batch *b) {
        assert_int_equal(cluster_state_apply(t->state, &b->log), 0);
        batch_done(b);
        leader_on_applied(t->leader, ++t->index);
}

static inline void tables_forget_sent(Tables *t) {
        while (t->n_sent > 0)
                message_free(t->sent[--t->n_sent].message);
}

// Hosts of the log: n1, which is ours, n2, ...; each has one node, of the same number.
static inline void tables_start(Tables *t, size_t n_hosts) {
        static const LeaderOps ops = {
                .to_host = tables_to_host,
                .host_is_full = tables_host_is_full,
                .drop_host = tables_drop_host,
                .submit = tables_submit,
                .barrier = tables_barrier,
                .authority_until = tables_authority_until,
        };
        LeaderConfig config = {
                .self = 1,
                .lease_ms = TABLES_LEASE_MS,
                .beat_ms = TABLES_LEASE_MS / 4,
                .mass_loss_percent = 100,
                .now_us = tables_now,
                .wall_us = tables_wall,
                .cpu_us = tables_cpu,
        };
        Batch b = {};
        Argosy__ClusterRecord *cluster = BATCH_NEW(&b, Argosy__ClusterRecord, argosy__cluster_record__init);

        log_set_level(LOG_ERR);
        *t = (Tables){.now_us = 1000 * USEC_PER_SEC, .wall_us = 1700000000 * USEC_PER_SEC};
        assert_int_equal(uv_loop_init(&t->loop), 0);
        config.loop = &t->loop;
        config.accounts = t->accounts = accounts_new(&account_limits);
        config.state = t->state = cluster_state_new();
        cluster->generation = 1;
        cluster->feature_level = FEATURE_LEVEL;
        batch_op(&b, ARGOSY__LOG_OP__OP_CLUSTER)->cluster = cluster;
        for (size_t i = 1; i <= n_hosts; i++) {
                char name[16];

                snprintf(name, sizeof(name), "n%zu", i);
                batch_host(&b, 0, name, 1);
        }
        assert_int_equal(leader_new(&config, &ops, t, &t->leader), 0);
        tables_apply(t, &b);
        leader_set_leading(t->leader, true, 1);
        while (!t->leader->leading)
                uv_run(&t->loop, UV_RUN_NOWAIT);
        walks_end(t->leader); // it has led for a while
}

static inline void tables_on_closed(void *userdata) {
        ((Tables *) userdata)->closed = true;
}

static inline void tables_stop(Tables *t) {
        leader_close(t->leader, tables_on_closed, t);
        if (t->barrier)
                tables_end_barrier(t, STORE_UNKNOWN);
        while (!t->closed)
                uv_run(&t->loop, UV_RUN_ONCE);
        tables_forget_sent(t);
        cluster_state_free(t->state);
        assert_int_equal(uv_loop_close(&t->loop), 0);
        accounts_free(t->accounts);
}

// ---- what is looked at

static inline size_t tables_count(const ListNode *head) {
        size_t n = 0;

        list_foreach (i, head)
                n++;
        return n;
}

static inline Host *tables_host(Tables *t, uint32_t number) {
        Host *h = host_find(t->leader, number);

        assert_non_null(h);
        return h;
}

static inline Node *tables_node(Tables *t, uint32_t number) {
        Node *n = node_find(t->leader, number);

        assert_non_null(n);
        return n;
}

static inline Unit *tables_unit(Tables *t, const char *name) {
        Unit *u = unit_find(t->leader, name);

        assert_non_null(u);
        return u;
}

// NULL: the node is not seen to hold it.
static inline UnitOnNode *tables_unit_on_node(Tables *t, const char *name, uint32_t node) {
        Unit *u = unit_find(t->leader, name);

        return u ? unit_on_node_find(u, tables_node(t, node)) : NULL;
}

// One unit of these, by a record.
static inline void tables_put(Tables *t, const char *name, const char *content, UnitPut how) {
        Batch b = {};

        batch_unit(&b, name, content, how);
        tables_apply(t, &b);
}

static inline const UnitEntry *tables_entry(Tables *t, const char *name) {
        return cluster_state_find_unit(t->state, name);
}

// ---- what hosts say

// The link comes up: from a host of this build.
static inline void tables_link(Tables *t, uint32_t host) {
        Argosy__ToVoter__Hello hello = HELLO_OF(.feature_level = FEATURE_LEVEL);

        leader_on_host_link(t->leader, host, &hello);
}

// A unit as it runs by its record.
static inline Argosy__UnitReport tables_report(Tables *t, const char *name, uint32_t node) {
        const UnitEntry *e = tables_entry(t, name);
        Argosy__UnitReport r =
                UNIT_REPORT_OF(.node = node, .name = (char *) name, .load = ARGOSY__LOAD_STATE__LOAD_LOADED,
                               .active = ARGOSY__ACTIVE_STATE__ACTIVE_ACTIVE, .sub = (char *) "running");

        if (e) {
                r.revision = e->record->revision;
                r.spec = e->record->spec;
        }
        return r;
}
