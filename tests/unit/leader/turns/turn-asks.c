// SPDX-License-Identifier: LGPL-2.1-or-later
//
// See turn-asks.h.
#include "turn-asks.h"

#include "batch.h"
#include "large-cluster.h"
#include "test.h"
#include "messages.h"

static Argosy__Request request;
static Argosy__Request__Job job;

uint64_t ask_if_revision;
bool ask_hold;

ProtobufCBinaryData new_id(void) {
        static uint64_t ids[64][2];
        uint64_t *id = ids[++large.rig.id % ELEMENTSOF(ids)];

        id[0] = large.rig.id;
        id[1] = 99;
        return (ProtobufCBinaryData){.data = (uint8_t *) id, .len = 16};
}

RigAnswer *ask(Argosy__Request__WhatCase what, void *message) {
        argosy__request__init(&request);
        job = (Argosy__Request__Job) JOB_OF(.id = new_id(), .if_revision = ask_if_revision,
                                            .hold = ask_hold);
        request.what_case = what;
        request.change = message; // a union: all of them are pointers
        request.job = &job;
        return rig_ask(&large.rig, &request);
}

RigAnswer *ask_and_turn(Argosy__Request__WhatCase what, void *message) {
        RigAnswer *a = ask(what, message);

        large_cluster_turns(TURNS);
        return a;
}

const Argosy__Response *taken(const RigAnswer *a) {
        assert_int_equal(a->error, 0);
        assert_true(a->n > 0);
        if (a->responses[0]->status != 0)
                fail_msg("it was refused: %s", a->responses[0]->message);
        return a->responses[0];
}

Argosy__NamedFile *file_of(const char *name, const char *content) {
        static Argosy__NamedFile file;

        file = (Argosy__NamedFile) MESSAGE_OF(
                named_file, .name = (char *) name, .path = (char *) name,
                .content = (ProtobufCBinaryData){.data = (uint8_t *) content, .len = strlen(content)});
        return &file;
}

void change_access(void) {
        Argosy__Request__AccessChange m = ACCESS_CHANGE_OF(.right = ARGOSY__RIGHT__RIGHT_OPERATE,
                                                           .user = (char *) "joe", .role = (char *) "crew");

        (void) taken(ask_and_turn(ARGOSY__REQUEST__WHAT_ACCESS_CHANGE, &m));
}

void as_joe(void (*f)(void)) {
        Argosy__Author joe = AUTHOR_OF(.host = 1, .uid = 1000, .user = (char *) "joe");

        change_access();
        large.rig.author = &joe;
        f();
        large.rig.author = NULL;
}
