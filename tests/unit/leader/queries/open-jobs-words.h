// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// A leader of three hosts, and jobs whose ends are looked at.

#include <errno.h>
#include <inttypes.h>

#include "leader-asks.h"
#include "leader-private.h"
#include "message.h"
#include "messages.h"

#define SERVICE "[Service]\nExecStart=/bin/sleep 1000\n"
#define OTHER "[Service]\nExecStart=/bin/sleep 2000\n"
#define BAD "[Service]\nExecStart=/bin/false\n"
#define START ARGOSY__VERB__VERB_START
#define STOP ARGOSY__VERB__VERB_STOP
#define SUBMIT ARGOSY__VERB__VERB_SUBMIT
#define RUNNING ARGOSY__JOB_STATE__JOB_RUNNING
#define DONE ARGOSY__JOB_STATE__JOB_DONE
#define FAILED ARGOSY__JOB_STATE__JOB_FAILED
#define OVERTAKEN ARGOSY__JOB_STATE__JOB_OVERTAKEN

enum { LATER_MS = 1100, HEALTH_MS = 2000, MANY = 600 };

static Rig g;

FIXTURE(setup) {
        rig_start(&g, 3);
        g.bad = hash_of(BAD, strlen(BAD));
}

FIXTURE(teardown) {
        rig_stop(&g);
}

static inline Argosy__JobState state_of(uint64_t number) {
        return cluster_state_job_state(g.state, number);
}

// The number of the job.
static inline uint64_t change(Argosy__Verb verb, const char *name, const char *content) {
        uint64_t before = rig_last_job(&g);

        (void) rig_change(&g, verb, name, content);
        assert_true(rig_last_job(&g) > before);
        return rig_last_job(&g);
}

static inline RigAnswer *wait_for(uint64_t number) {
        Argosy__Request__JobWait m = MESSAGE_OF(request__job_wait, .number = number);
        Argosy__Request request =
                MESSAGE_OF(request, .what_case = ARGOSY__REQUEST__WHAT_JOB_WAIT, .job_wait = &m);

        return rig_ask_and_settle(&g, &request);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
