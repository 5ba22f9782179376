// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Three hosts, units on two of them, and an owner who asks for a rebalance. Shared by the tests of
// rebalances.

#include "leader-private.h"
#include "leader-asks.h"
#include "printed.h"
#include "test.h"
#include "str.h"

#define SERVICE "[Service]\nExecStart=/bin/sleep 1000\n"
#define ONE_DOWN SERVICE "[X-Argosy]\nMaxUnavailable=1\n"
#define START ARGOSY__VERB__VERB_START

enum { HEALTH_MS = 2000, START_MS = 1000 };

static Rig g;

FIXTURE(setup) {
        rig_start(&g, 3);
}

FIXTURE(teardown) {
        rig_stop(&g);
}

// N instances on n1 and n2 only, then n3 opens.
static inline void start_on_two(unsigned n, const char *content) {
        (void) rig_set_mode(&g, "n3", ARGOSY__NODE_MODE__MODE_CORDONED, 0, "");
        rig_change(&g, ARGOSY__VERB__VERB_SUBMIT, "web@.service", content);
        for (unsigned i = 1; i <= n; i++) {
                assert_int_equal(rig_change(&g, START, printed("web@%u.service", i), NULL)->status, 0);
        }
        (void) rig_set_mode(&g, "n3", ARGOSY__NODE_MODE__MODE_OPEN, 0, "");
}

typedef struct Wish {
        const char *pattern; // NULL: all
        unsigned max_moves;
        bool preview, abort, health, no_wait, queue, hold;
        uint8_t id;
        uint64_t if_revision, after; // 0: none
} Wish;

static inline RigAnswer *ask(Wish w) {
        uint8_t id[16] = {w.id ? w.id : 1, [15] = 62}; // no other request has it

        Argosy__Request__Rebalance m =
                MESSAGE_OF(request__rebalance, .id = (ProtobufCBinaryData){.data = id, .len = sizeof(id)},
                           .patterns = (char **) &w.pattern, .n_patterns = w.pattern ? 1 : 0,
                           .max_moves = w.max_moves, .preview = w.preview, .abort = w.abort,
                           .no_wait = w.no_wait, .health_us = w.health ? HEALTH_MS * 1000 : 0);
        Argosy__Request__Job job = JOB_OF(.if_revision = w.if_revision, .queue = w.queue, .hold = w.hold,
                                          .after = &w.after, .n_after = w.after > 0);

        return rig_ask_and_settle(&g, A_REQUEST(REBALANCE, rebalance, &m, .job = &job));
}

static inline size_t units_on(uint32_t host) {
        return rig_host(&g, host)->virtual.units.count;
}

static inline unsigned n_moved(const RigAnswer *a) {
        unsigned n = 0;

        for (size_t i = 0; i < a->n; i++)
                if (a->responses[i]->what_case == ARGOSY__RESPONSE__WHAT_REBALANCE)
                        n += (unsigned) a->responses[i]->rebalance->n_moves;
        return n;
}

static inline unsigned count_down(unsigned n) {
        unsigned down = 0;

        for (unsigned i = 1; i <= n; i++) {
                bool up = false;
                _cleanup_free_ char *name = str_printf("web@%u.service", i);

                for (uint32_t h = 1; h <= 3; h++) {
                        const VirtualUnit *u = rig_unit_on(&g, h, name);

                        up |= u && u->active == ARGOSY__ACTIVE_STATE__ACTIVE_ACTIVE;
                }
                down += !up;
        }
        return down;
}

// Lets time pass until the answer is final; how many of the n were down at most.
static inline unsigned watch(const RigAnswer *a, unsigned n) {
        unsigned most = count_down(n);

        for (unsigned i = 0; i < 1000 && !a->final; i++) {
                rig_pass_ms(&g, 250);
                most = MAX_OF(most, count_down(n));
        }
        assert_true(a->final);
        return most;
}
