// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// The right that each kind of request needs, said a second time: a new kind, or one that needs another right
// all of a sudden, fails the tests until somebody has thought about it here. And a request of each kind that
// says nothing.

#include <stdlib.h>

#include "argosy.pb-c.h"
#include "macro.h"
#include "request-kind.h"
#include "test.h"

#define NOTHING ARGOSY__RIGHT__RIGHT_NONE
#define VIEW ARGOSY__RIGHT__RIGHT_VIEW
#define OPERATE ARGOSY__RIGHT__RIGHT_OPERATE
#define DEPLOY ARGOSY__RIGHT__RIGHT_DEPLOY
#define ADMIN ARGOSY__RIGHT__RIGHT_ADMIN

static const struct {
        Argosy__Request__WhatCase what;
        Argosy__Right right;
} rights_needed[] = {
        // The host that is asked answers these.
        {ARGOSY__REQUEST__WHAT_VERSION, NOTHING},
        {ARGOSY__REQUEST__WHAT_COUNTERS, VIEW},
        {ARGOSY__REQUEST__WHAT_CLUSTER_JOIN, ADMIN},
        {ARGOSY__REQUEST__WHAT_CLUSTER_LEAVE, ADMIN},
        {ARGOSY__REQUEST__WHAT_CLUSTER_PEERS, ADMIN},
        {ARGOSY__REQUEST__WHAT_MANAGER_ATTACH, ADMIN},
        {ARGOSY__REQUEST__WHAT_MANAGER_DETACH, ADMIN},
        {ARGOSY__REQUEST__WHAT_MANAGER_LIST, VIEW},
        {ARGOSY__REQUEST__WHAT_HTTP_CERTIFICATE, NOTHING},
        {ARGOSY__REQUEST__WHAT_LOCAL_UNITS, VIEW},
        {ARGOSY__REQUEST__WHAT_LOCAL_STOP, OPERATE},

        {ARGOSY__REQUEST__WHAT_STATUS, VIEW},
        {ARGOSY__REQUEST__WHAT_JOURNAL, VIEW},
        {ARGOSY__REQUEST__WHAT_TOP, VIEW},
        {ARGOSY__REQUEST__WHAT_VERIFY, DEPLOY},
        {ARGOSY__REQUEST__WHAT_LIST_UNITS, VIEW},
        {ARGOSY__REQUEST__WHAT_LIST_UNIT_FILES, VIEW},
        {ARGOSY__REQUEST__WHAT_LIST_NODES, VIEW},
        {ARGOSY__REQUEST__WHAT_CAT, VIEW},
        {ARGOSY__REQUEST__WHAT_WHY, VIEW},
        {ARGOSY__REQUEST__WHAT_CLUSTER_STATUS, VIEW},
        {ARGOSY__REQUEST__WHAT_ROLE_LIST, VIEW},
        {ARGOSY__REQUEST__WHAT_POOL_LIST, VIEW},
        {ARGOSY__REQUEST__WHAT_LIST_JOBS, VIEW},
        {ARGOSY__REQUEST__WHAT_WAIT, VIEW},
        {ARGOSY__REQUEST__WHAT_DRAIN_WAIT, VIEW},
        {ARGOSY__REQUEST__WHAT_ROLLOUT_WAIT, VIEW},
        {ARGOSY__REQUEST__WHAT_MANAGER_WAIT, VIEW},
        {ARGOSY__REQUEST__WHAT_JOB_WAIT, VIEW},
        {ARGOSY__REQUEST__WHAT_EVENTS, VIEW},
        {ARGOSY__REQUEST__WHAT_CHANGE, DEPLOY}, // of no verb: the strictest
        {ARGOSY__REQUEST__WHAT_ROLLOUT, DEPLOY},
        {ARGOSY__REQUEST__WHAT_APPLY, DEPLOY},
        {ARGOSY__REQUEST__WHAT_UNDO, DEPLOY}, // puts contents back
        {ARGOSY__REQUEST__WHAT_FORGET, DEPLOY},
        {ARGOSY__REQUEST__WHAT_REBALANCE, OPERATE},
        {ARGOSY__REQUEST__WHAT_NODE_CHANGE, ADMIN},
        {ARGOSY__REQUEST__WHAT_LABEL_CHANGE, ADMIN},
        {ARGOSY__REQUEST__WHAT_ROLE_CHANGE, ADMIN},
        {ARGOSY__REQUEST__WHAT_POOL_CHANGE, ADMIN},
        {ARGOSY__REQUEST__WHAT_CLUSTER_TOKEN, ADMIN},
        {ARGOSY__REQUEST__WHAT_CLUSTER_REMOVE, ADMIN},
        {ARGOSY__REQUEST__WHAT_CLUSTER_ROLE, ADMIN},
        {ARGOSY__REQUEST__WHAT_CLUSTER_VOTERS, ADMIN},
        {ARGOSY__REQUEST__WHAT_CLUSTER_ROTATE_CA, ADMIN},
        {ARGOSY__REQUEST__WHAT_CLUSTER_SET_TIME, ADMIN},
        {ARGOSY__REQUEST__WHAT_JOIN, ADMIN},
        {ARGOSY__REQUEST__WHAT_ACCESS_CHANGE, ADMIN},
        {ARGOSY__REQUEST__WHAT_QUEUE_CHANGE, ADMIN},
        {ARGOSY__REQUEST__WHAT_QUEUE_LIST, VIEW},
        {ARGOSY__REQUEST__WHAT_JOB_RELEASE, OPERATE},
        {ARGOSY__REQUEST__WHAT_JOB_CANCEL, OPERATE},
        {ARGOSY__REQUEST__WHAT_ACCESS_LIST, NOTHING}, // of his own
        {ARGOSY__REQUEST__WHAT_TOKEN_CREATE, ADMIN},
        {ARGOSY__REQUEST__WHAT_TOKEN_REVOKE, ADMIN},
        {ARGOSY__REQUEST__WHAT_TOKEN_LIST, ADMIN},
        {ARGOSY__REQUEST__WHAT_SECRET_SET, DEPLOY},
        {ARGOSY__REQUEST__WHAT_SECRET_DELETE, DEPLOY},
        {ARGOSY__REQUEST__WHAT_SECRET_LIST, VIEW},
        {ARGOSY__REQUEST__WHAT_SECRET_ROTATE_KEY, ADMIN},
        {ARGOSY__REQUEST__WHAT_RIGHT_CHECK, NOTHING}, // it is what is asked
};

static inline Argosy__Right right_needed_for(Argosy__Request__WhatCase what) {
        for (size_t i = 0; i < ELEMENTSOF(rights_needed); i++)
                if (rights_needed[i].what == what)
                        return rights_needed[i].right;
        fail_msg("no right is needed for request %d", (int) what);
        return ADMIN;
}

// Each field of a Request that is a kind of request, with `kind`.
#define request_kinds_foreach(field, kind)                                                                  \
        for (unsigned field##_i = 0; field##_i < argosy__request__descriptor.n_fields; field##_i++)         \
                for (const ProtobufCFieldDescriptor *field =                                                \
                             &argosy__request__descriptor.fields[field##_i];                                \
                     field; field = NULL)                                                                   \
                        for (const RequestKind *kind = request_kind((Argosy__Request__WhatCase) field->id); \
                             kind; kind = NULL)

typedef struct EmptyRequest {
        Argosy__Request request;
        ProtobufCMessage *what;
} EmptyRequest;

static inline void empty_request(EmptyRequest *ret, const ProtobufCFieldDescriptor *field) {
        const ProtobufCMessageDescriptor *type = field->descriptor;

        ret->what = malloc(type->sizeof_message);
        assert_non_null(ret->what);
        protobuf_c_message_init(type, ret->what);
        argosy__request__init(&ret->request);
        ret->request.what_case = (Argosy__Request__WhatCase) field->id;
        *(ProtobufCMessage **) (void *) ((char *) &ret->request + field->offset) = ret->what;
}

static inline void empty_request_done(EmptyRequest *q) {
        free(q->what);
}
