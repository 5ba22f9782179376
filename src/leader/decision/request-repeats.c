// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Requests of one id that are refused together. See request-repeats.h.
//
//      a refusal, of which the log knows nothing -> all that wait and ask for the same -> the same answer
//
// What one is compared with may be as it was again when the next one has its turn, and hosts, and registries
// behind them, may answer a second question otherwise than the first. Who asks for something else under the
// same id is refused for that by its own turn. Failures: a request whose answer finds no memory is answered
// by the next look at it.

#include "request-repeats.h"

#include "cluster-state.h"
#include "job-words.h"
#include "message.h"
#include "pending-requests.h"
#include "request-kind.h"

// What is in the log, or in the entry that is being made, is known there by its id (decide-jobs.c).
static bool is_undecided(const PendingRequest *t) {
        return t->job == 0 && t->job_flying == 0 && !t->under_way && !t->held;
}

static uint64_t bound_to(const Argosy__Request *q) {
        return q->job ? q->job->if_revision : 0;
}

// Who was told how all is by now may ask anew under the same key.
static bool is_bound_alike(const Argosy__Request *a, const Argosy__Request *b) {
        return a->what_case == b->what_case && bound_to(a) == bound_to(b) &&
               (a->what_case != ARGOSY__REQUEST__WHAT_APPLY || a->apply->plan == b->apply->plan);
}

static bool asks_for_the_same(const PendingRequest *t, const PendingRequest *other) {
        uint64_t content = t->content;
        size_t len;

        return is_bound_alike(t->request, other->request) &&
               (t->has_content || job_request_content(t->request, &content, &len) == 0) &&
               content == other->content;
}

void request_repeats_settle(PendingRequest *t) {
        const Argosy__Response *refusal = request_refusal(t);
        const ProtobufCBinaryData *id = refusal ? request_job_id(t->request) : NULL;
        RequestKey key;

        if (!id || !t->has_content || !is_undecided(t) ||
            cluster_state_find_key(t->leader->state, id->data, &key))
                return;
        list_foreach (i, &t->same) {
                PendingRequest *other = CONTAINER_OF(i, PendingRequest, same);
                bool waits = list_is_linked(&other->queue) && !other->ended && is_undecided(other);
                Argosy__Response *copy = waits && asks_for_the_same(other, t) ? message_copy(refusal) : NULL;

                if (copy)
                        (void) request_settle(other, copy);
        }
}
