// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Asking a leader for jobs that are held back, and about its queue. Shared by the tests of these.

#include <errno.h>

#include "leader-asks.h"
#include "leader-private.h"
#include "message.h"
#include "messages.h"

#define SERVICE "[Service]\nExecStart=/bin/sleep 1000\n"
#define OTHER "[Service]\nExecStart=/bin/sleep 2000\n"
#define BAD "[Service]\nExecStart=/bin/false\n"
#define START ARGOSY__VERB__VERB_START
#define STOP ARGOSY__VERB__VERB_STOP
#define RESTART ARGOSY__VERB__VERB_RESTART
#define SUBMIT ARGOSY__VERB__VERB_SUBMIT
#define HELD ARGOSY__JOB_STATE__JOB_HELD
#define RUNNING ARGOSY__JOB_STATE__JOB_RUNNING
#define DONE ARGOSY__JOB_STATE__JOB_DONE
#define FAILED ARGOSY__JOB_STATE__JOB_FAILED
#define CANCELLED ARGOSY__JOB_STATE__JOB_CANCELLED

enum { LATER_MS = 1100, MANY = 600 /* more than are one entry */ };

static Rig g;

FIXTURE(setup) {
        rig_start(&g, 3);
        g.author = NULL;
        g.bad = hash_of(BAD, strlen(BAD));
}

RIG_TEARDOWN

#define RIG_TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

static inline Argosy__JobState state_of(uint64_t number) {
        return cluster_state_job_state(g.state, number);
}

typedef struct Ask {
        Argosy__Verb verb;
        const char *name, *content;
        bool hold;
        uint64_t after, after_too; // 0: none
        uint64_t id;               // 0: a new one
        uint64_t if_revision;
        const char *reason;
} Ask;

// A log that takes its time never lets everything happen.
static inline RigAnswer *ask_and_go_on(const Argosy__Request *request) {
        if (!g.slow)
                return rig_ask_and_settle(&g, request);
        RigAnswer *a = rig_ask(&g, request);
        rig_turns(&g, 10);
        return a;
}

static inline RigAnswer *ask(Ask w) {
        Argosy__NamedFile file = ARGOSY__NAMED_FILE__INIT, *files = &file;
        uint64_t id[2] = {w.id ? w.id : ++g.id, 66}, after[2] = {w.after, w.after_too};
        Argosy__Request__Change change = MESSAGE_OF(
                request__change, .id = (ProtobufCBinaryData){.data = (uint8_t *) id, .len = sizeof(id)},
                .verb = w.verb, .names = (char **) &w.name, .n_names = 1);

        if (w.content) {
                file.name = file.path = (char *) w.name;
                file.content =
                        (ProtobufCBinaryData){.data = (uint8_t *) w.content, .len = strlen(w.content)};
                change.files = &files;
                change.n_files = 1;
        }
        Argosy__Request__Job job = MESSAGE_OF(
                request__job, .hold = w.hold, .after = after, .n_after = (w.after > 0) + (w.after_too > 0),
                .if_revision = w.if_revision, .reason = (char *) (w.reason ? w.reason : ""));
        Argosy__Request request = REQUEST_OF(CHANGE, change, &change, .job = &job);
        return ask_and_go_on(&request);
}

static inline const Argosy__Response *answer(Ask w) {
        return rig_last(ask(w));
}

// The job, which is held.
static inline uint64_t hold(Ask w) {
        const Argosy__Response *r = answer(w);

        assert_int_equal(r->status, 0);
        assert_true(r->held);
        assert_int_equal(r->job, rig_last_job(&g));
        assert_int_equal(state_of(r->job), HELD);
        return r->job;
}

static inline RigAnswer *ask_to_release_at(uint64_t number, uint64_t if_revision) {
        Argosy__Request__JobRelease m = MESSAGE_OF(request__job_release, .numbers = &number, .n_numbers = 1);
        Argosy__Request__Job job = JOB_OF(.if_revision = if_revision);
        Argosy__Request request = MESSAGE_OF(request, .what_case = ARGOSY__REQUEST__WHAT_JOB_RELEASE,
                                             .job_release = &m, .job = &job);

        return ask_and_go_on(&request);
}

static inline RigAnswer *ask_to_release(uint64_t number) {
        return ask_to_release_at(number, 0);
}

static inline int release(uint64_t number) {
        return rig_last(ask_to_release(number))->status;
}

static inline int cancel_at(uint64_t number, uint64_t if_revision) {
        Argosy__Request__JobCancel m = MESSAGE_OF(request__job_cancel, .numbers = &number, .n_numbers = 1);
        Argosy__Request__Job job = JOB_OF(.if_revision = if_revision);
        Argosy__Request request = MESSAGE_OF(request, .what_case = ARGOSY__REQUEST__WHAT_JOB_CANCEL,
                                             .job_cancel = &m, .job = &job);

        return rig_last(rig_ask_and_settle(&g, &request))->status;
}

static inline int cancel(uint64_t number) {
        return cancel_at(number, 0);
}

static inline RigAnswer *wait_for(uint64_t number) {
        Argosy__Request__JobWait m = MESSAGE_OF(request__job_wait, .number = number);
        Argosy__Request request =
                MESSAGE_OF(request, .what_case = ARGOSY__REQUEST__WHAT_JOB_WAIT, .job_wait = &m);

        return ask_and_go_on(&request);
}

static inline bool is_launched(const char *name) {
        const Argosy__UnitRecord *r = rig_record(&g, name);

        return r && r->target == ARGOSY__TARGET__TARGET_LAUNCHED;
}

static inline size_t n_held(void) {
        size_t n;

        (void) cluster_state_stored_requests(g.state, &n);
        return n;
}

static inline const Argosy__Response *change_queue(const Argosy__Request__QueueChange *m,
                                                   const char *reason) {
        Argosy__Request__Job job = MESSAGE_OF(request__job, .reason = (char *) reason);
        Argosy__Request request =
                MESSAGE_OF(request, .what_case = ARGOSY__REQUEST__WHAT_QUEUE_CHANGE,
                           .queue_change = (Argosy__Request__QueueChange *) m, .job = &job);

        return rig_last(rig_ask_and_settle(&g, &request));
}

// The number of the rule.
static inline uint32_t add_rule(Argosy__QueueRule rule) {
        Argosy__Request__QueueChange m = MESSAGE_OF(request__queue_change, .add = &rule);
        const Argosy__Response *r = change_queue(&m, "");

        assert_int_equal(r->status, 0);
        assert_int_equal(r->what_case, ARGOSY__RESPONSE__WHAT_QUEUE);
        return r->queue->rows[0]->rule->number;
}

static inline Argosy__QueueRule rule(Argosy__QueueAction action, const char *unit) {
        return (Argosy__QueueRule) QUEUE_RULE_OF(.action = action, .unit = (char *) unit);
}

static inline int delete_rule(uint32_t number) {
        Argosy__Request__QueueChange m = MESSAGE_OF(request__queue_change, .remove = number);

        return change_queue(&m, "")->status;
}

static inline void set_closed(bool closed, const char *reason) {
        Argosy__Request__QueueChange m = MESSAGE_OF(request__queue_change, .close = closed, .open = !closed);

        assert_int_equal(change_queue(&m, reason)->status, 0);
}

static inline void give(Argosy__Right right, const char *user, bool revoke) {
        Argosy__Request__AccessChange change = ACCESS_CHANGE_OF(.revoke = revoke, .right = right,
                                                                .user = (char *) user);
        Argosy__Request request = MESSAGE_OF(request, .what_case = ARGOSY__REQUEST__WHAT_ACCESS_CHANGE,
                                             .access_change = &change);
        const Argosy__Author *asks = g.author;

        g.author = NULL;
        assert_int_equal(rig_last(rig_ask_and_settle(&g, &request))->status, 0);
        g.author = asks;
}

static inline Argosy__Author user(const char *name, uint32_t uid) {
        return (Argosy__Author) AUTHOR_OF(.host = 2, .uid = uid, .user = (char *) name);
}
