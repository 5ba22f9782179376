// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Calls of the leader: the same as those of this host, with replies that travel. They end with the link that
// they came over.
//
// A leader that is asked about thousands of units asks for each by itself. AGENT_STATUS_CALLS_MAX of these
// are worked on at a time, so that others have a place; the rest waits here and is begun as they end, some
// in each turn.

#include <errno.h>

#include "agent-core.h"
#include "agent-remote.h"
#include "message-of.h"
#include "message.h"

enum {
        REMOTE_WAITING_MAX = 65536,  // as many as a node has units, and more
        REMOTE_BEGUN_PER_TURN = 256, // at some 10 us each
};

typedef struct RemoteCall {
        ListNode link;    // in a->remote_calls
        ListNode waiting; // in a->remote_waiting
        Agent *agent;
        uint64_t id;      // the leader's
        uint64_t cancel;  // ours
        Argosy__ToHost__Call *call; // while it waits
        bool counts;                // as one of a->n_status_calls
} RemoteCall;

static void remote_reply(Agent *a, uint64_t id, const Argosy__Response *response) {
        Argosy__ToVoter__CallReply reply =
                MESSAGE_OF(to_voter__call_reply, .id = id, .response = (Argosy__Response *) response);
        Argosy__ToVoter message = TO_VOTER_OF(CALL_REPLY, call_reply, &reply);

        (void) a->ops.send(&message, a->userdata); // no link: the leader has forgotten the call
}

static void remote_free(RemoteCall *rc) {
        Agent *a = rc->agent;

        list_unlink(&rc->link);
        if (list_is_linked(&rc->waiting))
                a->n_remote_waiting--;
        list_unlink(&rc->waiting);
        a->n_status_calls -= rc->counts;
        if (rc->counts && a->n_remote_waiting > 0 && !a->closing)
                drain_mark(&a->drain);
        message_free(rc->call);
        free(rc);
}

static void on_remote_response(const Argosy__Response *response, void *userdata) {
        RemoteCall *rc = userdata;

        remote_reply(rc->agent, rc->id, response);
        if (response->final)
                remote_free(rc);
}

static void refuse(Agent *a, uint64_t id, int error) {
        Argosy__Response response = ARGOSY__RESPONSE__INIT;

        response.final = true;
        response.status = -error;
        response.message = strerror(-error);
        remote_reply(a, id, &response);
}

static void begin(RemoteCall *rc, const Argosy__ToHost__Call *call) {
        Agent *a = rc->agent;
        uint64_t id = rc->id, cancel = 0;
        int r;

        rc->counts = call->request->what_case == ARGOSY__REQUEST__WHAT_STATUS;
        a->n_status_calls += rc->counts;
        rc->cancel = a->last_call + 1; // a reply may come before agent_call() returns, and frees `rc`
        r = agent_call(a, call->asker, call->node, call->request, on_remote_response, rc, &cancel);
        if (r >= 0)
                return;
        remote_free(rc);
        refuse(a, id, r);
}

static int wait_for_room(RemoteCall *rc, const Argosy__ToHost__Call *call) {
        Agent *a = rc->agent;

        if (a->n_remote_waiting >= REMOTE_WAITING_MAX)
                return -EBUSY;
        rc->call = message_copy(call);
        if (!rc->call)
                return -ENOMEM;
        list_append(&a->remote_waiting, &rc->waiting);
        a->n_remote_waiting++;
        return 0;
}

void agent_on_call(Agent *a, const Argosy__ToHost__Call *call) {
        RemoteCall *rc = calloc(1, sizeof(*rc));
        int r;

        if (!rc || !call->request) {
                free(rc);
                return;
        }
        rc->agent = a;
        rc->id = call->id;
        list_init(&rc->link);
        list_append(&a->remote_calls, &rc->link);
        if (call->request->what_case != ARGOSY__REQUEST__WHAT_STATUS ||
            a->n_status_calls < AGENT_STATUS_CALLS_MAX) {
                begin(rc, call);
                return;
        }
        r = wait_for_room(rc, call);
        if (r < 0) {
                remote_free(rc);
                refuse(a, call->id, r);
        }
}

void agent_remote_drain(Agent *a) {
        for (unsigned n = 0; a->n_remote_waiting > 0 && a->n_status_calls < AGENT_STATUS_CALLS_MAX; n++) {
                RemoteCall *rc = CONTAINER_OF(a->remote_waiting.next, RemoteCall, waiting);
                Argosy__ToHost__Call *call;

                if (n == REMOTE_BEGUN_PER_TURN) {
                        drain_mark(&a->drain);
                        return;
                }
                list_unlink(&rc->waiting);
                a->n_remote_waiting--;
                call = TAKE_PTR(rc->call);
                begin(rc, call);
                message_free(call);
        }
}

void agent_on_call_taken(Agent *a, const Argosy__ToHost__CallTaken *taken) {
        list_foreach (n, &a->remote_calls) {
                const RemoteCall *rc = CONTAINER_OF(n, RemoteCall, link);

                if (rc->id == taken->id) {
                        agent_taken(a, rc->cancel, taken->mark);
                        return;
                }
        }
}

static void remote_cancel(RemoteCall *rc) {
        if (!rc->call)
                agent_cancel(rc->agent, rc->cancel);
        remote_free(rc);
}

void agent_on_call_cancel(Agent *a, const Argosy__ToHost__CallCancel *cancel) {
        list_foreach_safe (n, &a->remote_calls) {
                RemoteCall *rc = CONTAINER_OF(n, RemoteCall, link);

                if (rc->id == cancel->id)
                        remote_cancel(rc);
        }
}

void agent_remote_calls_drop(Agent *a) {
        while (!list_is_empty(&a->remote_calls))
                remote_cancel(CONTAINER_OF(a->remote_calls.next, RemoteCall, link));
}
