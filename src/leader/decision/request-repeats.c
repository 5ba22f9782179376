// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Requests of one id that are refused together. See request-repeats.h.
//
//      a refusal after a question to hosts -> all pending requests of that id -> the same answer
//
// Hosts, and registries behind them, may answer the second question otherwise than the first. Failures: a
// request whose answer finds no memory is answered by the next look at it.

#include "request-repeats.h"

#include <string.h>

#include "job-words.h"
#include "message.h"
#include "pending-requests.h"

static bool is_same(const PendingRequest *t, const ProtobufCBinaryData *id) {
        const ProtobufCBinaryData *other = job_request_id(t->request);

        return other && other->len == id->len && memcmp(other->data, id->data, id->len) == 0;
}

// What is in the log, or in the entry that is being made, is known there by its id (decide-jobs.c).
static bool is_pending(const PendingRequest *t) {
        return list_is_linked(&t->queue) && !t->ended && t->job == 0 && t->job_flying == 0;
}

int request_repeats_refuse(PendingRequest *t, Argosy__Response *response) {
        const ProtobufCBinaryData *id = is_pending(t) ? job_request_id(t->request) : NULL;

        list_foreach_safe (i, &t->leader->pending_requests) {
                PendingRequest *other = CONTAINER_OF(i, PendingRequest, all);
                Argosy__Response *copy = response && id && other != t && is_pending(other) &&
                                                         is_same(other, id)
                                                 ? message_copy(response)
                                                 : NULL;

                if (copy)
                        (void) request_settle(other, copy);
        }
        return request_settle(t, response);
}
