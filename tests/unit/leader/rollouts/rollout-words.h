// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Three hosts, instances of a template on them, and who asks for updates and restarts and waits for their
// end. Shared by the tests of rollouts.

#include "leader-asks.h"
#include "leader-private.h"
#include "messages.h"
#include "printed.h"
#include "str.h"
#include "test.h"

#define OLD "[Service]\nExecStart=/bin/sleep 1000\n"
#define NEW "[Service]\nExecStart=/bin/sleep 2000\n"
#define BAD "[Service]\nExecStart=/bin/false\n"
#define ONE_DOWN "[X-Argosy]\nMaxUnavailable=1\n"
#define GLOBAL "[X-Argosy]\nGlobal=true\n"
#define UPDATE ARGOSY__ROLLOUT_KIND__ROLLOUT_UPDATE
#define RESTART ARGOSY__ROLLOUT_KIND__ROLLOUT_RESTART
#define START ARGOSY__VERB__VERB_START

enum { N_UNITS = 6, START_MS = 1000, HEALTH_MS = 2000 };

static Rig g;

FIXTURE(setup) {
        rig_start(&g, 3);
        g.bad = hash_of(BAD, strlen(BAD));
}

FIXTURE(teardown) {
        rig_stop(&g);
}

static inline RigAnswer *ask(RigRollout w) {
        w.health_ms = HEALTH_MS;
        RigAnswer *a = rig_rollout(&g, w);
        assert_true(a->final);
        return a;
}

static inline RigAnswer *wait_for(const char *name, uint64_t revision) {
        Argosy__Request__RolloutWait m =
                MESSAGE_OF(request__rollout_wait, .name = (char *) name, .revision = revision);

        return rig_ask_and_settle(&g, A_REQUEST(ROLLOUT_WAIT, rollout_wait, &m));
}

static inline RigAnswer *begin(RigRollout w) {
        const Argosy__Response *r = rig_last(ask(w));

        if (r->status != 0)
                fail_msg("refused: %s", r->message);
        return wait_for(w.name, r->change->units[0]->revision);
}

static inline const char *why_of(const char *name) {
        Argosy__Request__Why m = MESSAGE_OF(request__why, .names = (char **) &name, .n_names = 1);

        return rig_ask(&g, A_REQUEST(WHY, why, &m))->responses[0]->status_reply->why;
}

static inline void start_instances(unsigned n, const char *content) {
        rig_change(&g, ARGOSY__VERB__VERB_SUBMIT, "web@.service", content);
        for (unsigned i = 1; i <= n; i++) {
                assert_int_equal(rig_change(&g, START, printed("web@%u.service", i), NULL)->status, 0);
        }
        g.start_ms = START_MS;
}

static inline unsigned count_with(const char *content, Argosy__ActiveState active) {
        Hash hash = hash_of(content, strlen(content));
        unsigned n = 0;

        for (uint32_t h = 1; h <= 3; h++)
                map_foreach (slot, &rig_host(&g, h)->virtual.units) {
                        const VirtualUnit *u = slot->value;

                        n += u->active == active && hash_equal(&u->order.spec, &hash);
                }
        return n;
}

static inline unsigned count_running(const char *content) {
        return count_with(content, ARGOSY__ACTIVE_STATE__ACTIVE_ACTIVE);
}

static inline unsigned count_down(void) {
        unsigned n = 0;

        for (uint32_t h = 1; h <= 3; h++)
                map_foreach (slot, &rig_host(&g, h)->virtual.units)
                        n += ((VirtualUnit *) slot->value)->active != ARGOSY__ACTIVE_STATE__ACTIVE_ACTIVE;
        return n;
}

// Lets time pass until the wait has ended; returns how many were down at most.
static inline unsigned watch(const RigAnswer *a) {
        unsigned most = 0;

        for (unsigned i = 0; i < 1000 && !a->final; i++) {
                rig_pass_ms(&g, 250);
                most = MAX_OF(most, count_down());
        }
        assert_true(a->final);
        return most;
}

