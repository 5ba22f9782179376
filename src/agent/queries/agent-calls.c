// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Questions to this host's nodes: status (agent-calls-status.c), journal (agent-calls-journal.c), resource
// use (agent-usage.c), and the local stop. The leader's calls are the same with a reply that is wrapped in a
// CallReply.

#include <errno.h>
#include <stdio.h>

#include "agent-calls-journal.h"
#include "agent-calls-status.h"
#include "agent-calls-verify.h"
#include "agent-calls.h"
#include "agent-core.h"
#include "agent-unit.h"
#include "agent-usage.h"
#include "call.h"
#include "message-of.h"

// ---- local stop

static void local_stop_release(Call *c) {
        for (size_t i = 0; c->results && i < c->n_names; i++)
                if (c->results[i].message != (char *) protobuf_c_empty_string)
                        free(c->results[i].message);
        free(c->results);
}

static void local_stop_end(Call *c) {
        Argosy__Response__Change change = ARGOSY__RESPONSE__CHANGE__INIT;
        Argosy__Response response = RESPONSE_OF(CHANGE, change, &change);
        _cleanup_free_ Argosy__Response__UnitResult **list = calloc(c->n_names, sizeof(*list));

        if (!list) {
                call_end(c, -ENOMEM, NULL);
                return;
        }
        for (size_t i = 0; i < c->n_names; i++)
                list[i] = &c->results[i];
        change.units = list;
        change.n_units = c->n_names;
        response.final = true;
        c->reply(&response, c->userdata);
        call_free(c);
}

static void local_stop_result(Call *c, size_t i, int status, const char *message) {
        char *copy = message && *message ? strdup(message) : NULL;

        c->results[i].status = status;
        if (copy)
                c->results[i].message = copy;
        c->n_left--;
}

static void on_local_stopped(const char *name, SystemdJobKind kind, SystemdJobResult result,
                             const char *error, void *userdata) {
        _cleanup_free_ CallRef *ref = userdata;
        Call *c = call_find(ref->agent, ref->number);

        if (!c)
                return;
        local_stop_result(c, ref->at, result == SYSTEMD_JOB_DONE ? 0 : EIO,
                          result == SYSTEMD_JOB_DONE ? NULL
                          : error && *error          ? error
                                                     : "the stop job did not end well");
        if (c->n_left == 0)
                local_stop_end(c);
}

static void local_stop_one(Call *c, size_t i) {
        AgentUnit *u = agent_unit_find(c->node, c->names[i]);
        CallRef *ref;
        int r;

        if (!u || !u->has_held) {
                local_stop_result(c, i, ENOENT, "this node does not hold it");
                return;
        }
        ref = call_ref(c, i);
        r = ref ? systemd_manager_job(c->node->systemd, SYSTEMD_STOP, u->name, on_local_stopped, ref)
                : -ENOMEM;
        if (r < 0) {
                free(ref);
                local_stop_result(c, i, -r, strerror(-r));
        }
}

static int local_stop_start(Agent *a, AgentNode *node, const Argosy__Request__LocalStop *q, AgentReply reply,
                            void *userdata, uint64_t *ret) {
        Call *c;
        int r;

        if (q->n_names == 0)
                return -EINVAL;
        r = call_new(a, node, q->names, q->n_names, local_stop_release, reply, userdata, &c);
        if (r < 0)
                return r;
        c->results = calloc(c->n_names, sizeof(*c->results));
        if (!c->results) {
                call_free(c);
                return -ENOMEM;
        }
        for (size_t i = 0; i < c->n_names; i++) {
                argosy__response__unit_result__init(&c->results[i]);
                c->results[i].name = c->names[i];
                c->results[i].node = node->name;
        }
        *ret = c->number;
        c->n_left = c->n_names;
        for (size_t i = 0; i < c->n_names; i++)
                local_stop_one(c, i);
        if (c->n_left == 0) {
                *ret = 0;
                local_stop_end(c);
        }
        return 0;
}

// ---- calls of this host

static AgentNode *node_of_call(Agent *a, uint32_t number) {
        return number == 0 ? a->system : agent_node_find(a, number);
}

int agent_call(Agent *a, uint64_t asker, uint32_t node_number, const Argosy__Request *q, AgentReply reply,
               void *userdata, uint64_t *ret_cancel) {
        AgentNode *node = node_of_call(a, node_number);

        *ret_cancel = 0;
        if (!node)
                return -ENXIO;
        switch (q->what_case) {
        case ARGOSY__REQUEST__WHAT_STATUS:
                return call_start_status(a, asker, node_number ? node : NULL, q->status, reply, userdata,
                                         ret_cancel);
        case ARGOSY__REQUEST__WHAT_JOURNAL:
                return call_start_journal(a, asker, node_number ? node : NULL, q->journal, reply, userdata,
                                          ret_cancel);
        case ARGOSY__REQUEST__WHAT_TOP:
                return agent_usage_start(a, node, q->top, reply, userdata, ret_cancel);
        case ARGOSY__REQUEST__WHAT_VERIFY:
                return call_start_verify(a, node, q->verify, reply, userdata, ret_cancel);
        case ARGOSY__REQUEST__WHAT_LOCAL_STOP:
                return local_stop_start(a, node, q->local_stop, reply, userdata, ret_cancel);
        default:
                return -EOPNOTSUPP;
        }
}

void agent_cancel(Agent *a, uint64_t cancel) {
        Call *c;

        if (agent_usage_cancel(a, cancel))
                return;
        c = call_find(a, cancel);
        if (c)
                call_free(c);
}

void agent_calls_drop(Agent *a) {
        agent_usage_drop(a);
        while (!list_is_empty(&a->calls_list))
                call_free(CONTAINER_OF(a->calls_list.next, Call, link));
        map_done(&a->calls);
}

static Call *call_on_node(const AgentNode *node) {
        list_foreach (n, &node->agent->calls_list) {
                Call *c = CONTAINER_OF(n, Call, link);

                if (c->node == node)
                        return c;
        }
        return NULL;
}

void agent_calls_drop_node(AgentNode *node) {
        Call *c;

        agent_usage_drop_node(node);
        while ((c = call_on_node(node))) // the reply may cancel others
                call_end(c, -ECONNRESET, "the manager was detached");
}
