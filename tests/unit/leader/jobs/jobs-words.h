// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Changes of units as jobs, asked of a rig.

#include "leader-asks.h"
#include "leader-private.h"
#include "messages.h"
#include "str.h"

#define SERVICE "[Service]\nExecStart=/bin/sleep 1000\n"
#define OTHER "[Service]\nExecStart=/bin/sleep 2000\n"
#define START ARGOSY__VERB__VERB_START
#define STOP ARGOSY__VERB__VERB_STOP

RIG_OF(3)

typedef struct Ask {
        Argosy__Verb verb;
        const char *name, *content, *reason;
        uint64_t id; // 0: a new one
        uint64_t if_revision, age_ms;
} Ask;

static inline const Argosy__Response *ask(Ask w) {
        Argosy__NamedFile file = ARGOSY__NAMED_FILE__INIT, *files = &file;
        uint64_t id[2] = {w.id ?: ++g.id, 55};
        char *target = (char *) "as typed";
        Argosy__Request__Change change = MESSAGE_OF(
                request__change, .id = (ProtobufCBinaryData){.data = (uint8_t *) id, .len = sizeof(id)},
                .verb = w.verb, .names = (char **) &w.name, .n_names = 1);
        Argosy__Request request = REQUEST_OF(CHANGE, change, &change);

        if (w.content) {
                file.name = file.path = (char *) w.name;
                file.content =
                        (ProtobufCBinaryData){.data = (uint8_t *) w.content, .len = strlen(w.content)};
                change.files = &files;
                change.n_files = 1;
        }
        Argosy__Request__Job job =
                MESSAGE_OF(request__job, .reason = (char *) (w.reason ?: ""), .targets = &target,
                           .n_targets = 1, .if_revision = w.if_revision, .age_ms = w.age_ms);
        request.job = &job;
        return rig_last(rig_ask_and_settle(&g, &request));
}

// Restarts them, and asks again. Each time the answer is about these three, of which only a.service is
// there.
static inline void restart_twice(const char *const *names, size_t n_names) {
        static const char *const told[] = {"nobody.service", "a.service", "no.service"};
        const Argosy__Response *r;
        uint64_t id[2] = {7777, 55}, n = 0;

        (void) ask((Ask){START, "a.service", SERVICE});
        Argosy__Request__Change change = MESSAGE_OF(
                request__change, .id = (ProtobufCBinaryData){.data = (uint8_t *) id, .len = sizeof(id)},
                .verb = ARGOSY__VERB__VERB_RESTART, .names = (char **) names, .n_names = n_names);
        Argosy__Request request = REQUEST_OF(CHANGE, change, &change);
        for (unsigned i = 0; i < 2; i++) {
                r = rig_last(rig_ask_and_settle(&g, &request));
                assert_true(i == 0 || r->job == n);
                n = r->job;
                assert_int_equal(r->change->n_units, 3);
                for (size_t k = 0; k < 3; k++)
                        assert_string_equal(r->change->units[k]->name, told[k]);
                assert_int_equal(r->change->units[0]->status, ENOENT);
                assert_int_equal(r->change->units[1]->status, 0);
                assert_int_equal(r->change->units[1]->repeated, i > 0);
                assert_int_equal(r->change->units[2]->status, ENOENT);
        }
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
