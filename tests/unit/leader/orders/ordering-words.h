// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// A leader with units that depend on each other, on whatever hosts they are. Shared by the tests of
// ordering.

#include <errno.h>

#include "leader-asks.h"
#include "leader-private.h"
#include "messages.h"
#include "test.h"
#include "unit-state.h"

#define ON(host) "[X-Argosy]\nMachineMetadata=on=" host "\n"
#define ON_TWO_OR_THREE "[X-Argosy]\nMachineMetadata=on=two on=three\n"
#define SERVICE "[Service]\nType=notify\nExecStart=/bin/sleep 1000\n"
#define STOP ARGOSY__VERB__VERB_STOP
#define START ARGOSY__VERB__VERB_START
#define RESTART ARGOSY__VERB__VERB_RESTART
#define SUBMIT ARGOSY__VERB__VERB_SUBMIT
#define LOADED ARGOSY__TARGET__TARGET_LOADED
#define LAUNCHED ARGOSY__TARGET__TARGET_LAUNCHED
#define UP ARGOSY__ACTIVE_STATE__ACTIVE_ACTIVE
#define DOWN ARGOSY__ACTIVE_STATE__ACTIVE_INACTIVE
#define ACTIVATING ARGOSY__ACTIVE_STATE__ACTIVE_ACTIVATING
#define DEACTIVATING ARGOSY__ACTIVE_STATE__ACTIVE_DEACTIVATING
#define FAILED ARGOSY__ACTIVE_STATE__ACTIVE_FAILED
#define UNSEEN ARGOSY__ACTIVE_STATE__ACTIVE_UNKNOWN

static Rig g;

FIXTURE(setup) {
        rig_start(&g, 3);
        rig_host_set_labels(&g, 1, "on", "one");
        rig_host_set_labels(&g, 2, "on", "two");
        rig_host_set_labels(&g, 3, "on", "three");
        g.start_ms = 1000;
}

static inline int teardown(void **state) {
        rig_stop(&g);
        return 0;
}

static inline void change(Argosy__Verb verb, const char *name, const char *content) {
        const Argosy__Response__UnitResult *r = rig_change(&g, verb, name, content);

        if (r->status)
                fail_msg("%s: %s", name, r->message);
}

static inline Argosy__ActiveState on(uint32_t host, const char *name) {
        const VirtualUnit *u = rig_unit_on(&g, host, name);

        return u ? u->active : ARGOSY__ACTIVE_STATE__ACTIVE_UNKNOWN;
}

// A one-shot has ended; its host says how with the same report.
static inline void ends(uint32_t host, const char *name, Argosy__ActiveState state,
                        Argosy__Outcome__Kind outcome) {
        VirtualUnit *u = rig_unit_on(&g, host, name);

        virtual_host_settle(&rig_host(&g, host)->virtual, u);
        u->outcome = outcome; // again with the next Attach
        rig_host_report(&g, rig_host(&g, host), u, state, outcome);
        rig_turns(&g, 10);
}

static bool replace; // what has other content

// All of a request that has several units.
static inline RigAnswer *change_many(Argosy__Verb verb, size_t n, char **names, char **contents) {
        Argosy__NamedFile files[32], *pointers[32];
        uint8_t id[16] = {};

        g.id++;
        memcpy(id, &g.id, sizeof(g.id));
        Argosy__Request__Change change =
                MESSAGE_OF(request__change, .id = (ProtobufCBinaryData){.data = id, .len = 16}, .verb = verb,
                           .names = names, .n_names = n);
        for (size_t i = 0; contents && i < n; i++) {
                files[i] = (Argosy__NamedFile) ARGOSY__NAMED_FILE__INIT;
                files[i].name = files[i].path = names[i];
                files[i].content =
                        (ProtobufCBinaryData){.data = (uint8_t *) contents[i], .len = strlen(contents[i])};
                pointers[i] = &files[i];
        }
        change.files = pointers;
        change.n_files = contents ? n : 0;
        change.replace = replace;
        Argosy__Request request = REQUEST_OF(CHANGE, change, &change);
        RigAnswer *a = rig_ask_and_settle(&g, &request);
        assert_true(a->final && a->responses[0]->status == 0);
        return a;
}
