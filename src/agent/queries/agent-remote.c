// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Calls of the leader: the same as those of this host, with replies that travel. They end with the link that
// they came over.

#include "agent-core.h"
#include "agent-remote.h"

typedef struct RemoteCall {
        ListNode link; // in a->remote_calls
        Agent *agent;
        uint64_t id;     // the leader's
        uint64_t cancel; // ours
} RemoteCall;

static void remote_reply(Agent *a, uint64_t id, const Argosy__Response *response) {
        Argosy__ToVoter message = ARGOSY__TO_VOTER__INIT;
        Argosy__ToVoter__CallReply reply = ARGOSY__TO_VOTER__CALL_REPLY__INIT;

        reply.id = id;
        reply.response = (Argosy__Response *) response;
        message.msg_case = ARGOSY__TO_VOTER__MSG_CALL_REPLY;
        message.call_reply = &reply;
        (void) a->ops.send(&message, a->userdata); // no link: the leader has forgotten the call
}

static void remote_free(RemoteCall *rc) {
        list_unlink(&rc->link);
        free(rc);
}

static void on_remote_response(const Argosy__Response *response, void *userdata) {
        RemoteCall *rc = userdata;

        remote_reply(rc->agent, rc->id, response);
        if (response->final)
                remote_free(rc);
}

void agent_on_call(Agent *a, const Argosy__ToHost__Call *call) {
        Argosy__Response response = ARGOSY__RESPONSE__INIT;
        RemoteCall *rc = calloc(1, sizeof(*rc));
        uint64_t cancel = 0;
        int r;

        if (!rc || !call->request) {
                free(rc);
                return;
        }
        rc->agent = a;
        rc->id = call->id;
        list_init(&rc->link);
        list_append(&a->remote_calls, &rc->link);
        rc->cancel = a->last_call + 1; // a reply may come before agent_call() returns, and frees `rc`
        r = agent_call(a, call->node, call->request, on_remote_response, rc, &cancel);
        if (r >= 0)
                return;
        remote_free(rc);
        response.final = true;
        response.status = -r;
        response.message = strerror(-r);
        remote_reply(a, call->id, &response);
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
