// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Calls from their beginning to their end, whatever they ask. A call is known by its number; answers of
// systemd name the number, so a call that was cancelled meanwhile is simply not found.
//
//      call_new() -> its kind replies -> call_end(), or call_free() with its last reply
//
// Failures: -EBUSY above AGENT_CALLS_MAX, -ENOMEM.

#include "call.h"

#include <errno.h>

#include "agent-unit.h"
#include "str.h"

Call *call_find(Agent *a, uint64_t number) {
        return map_find(&a->calls, &number, sizeof(number));
}

CallRef *call_ref(const Call *c, size_t at) {
        CallRef *ref = malloc(sizeof(*ref));

        if (ref)
                *ref = (CallRef){c->agent, c->number, at};
        return ref;
}

void call_free(Call *c) {
        map_take(&c->agent->calls, &c->number, sizeof(c->number));
        list_unlink(&c->link);
        c->agent->n_calls--;
        if (c->release)
                c->release(c);
        for (size_t i = 0; i < c->n_names; i++)
                free(c->names[i]);
        free(c->names);
        free(c);
}

int call_new(Agent *a, AgentNode *node, char **names, size_t n, CallRelease release, AgentReply reply,
             void *userdata, Call **ret) {
        Call *c;

        if (a->n_calls >= AGENT_CALLS_MAX)
                return -EBUSY;
        c = calloc(1, sizeof(*c));
        if (!c)
                return -ENOMEM;
        *c = (Call){.agent = a,
                    .node = node,
                    .reply = reply,
                    .userdata = userdata,
                    .release = release,
                    .number = ++a->last_call};
        list_init(&c->link);
        c->names = calloc(n ?: 1, sizeof(*c->names));
        if (!c->names || map_add(&a->calls, &c->number, sizeof(c->number), c) < 0) {
                free(c->names);
                free(c);
                return -ENOMEM;
        }
        a->n_calls++;
        list_append(&a->calls_list, &c->link);
        for (; c->n_names < n; c->n_names++) {
                c->names[c->n_names] = strdup(names[c->n_names]);
                if (!c->names[c->n_names]) {
                        call_free(c);
                        return -ENOMEM;
                }
        }
        *ret = c;
        return 0;
}

void call_end(Call *c, int error, const char *message) {
        Argosy__Response response = ARGOSY__RESPONSE__INIT;
        AgentReply reply = c->reply;
        void *userdata = c->userdata;
        char text[AGENT_ERROR_MAX];

        str_fit(text, sizeof(text), "%s", message ?: error < 0 ? strerror(-error) : "");
        response.final = true;
        response.status = -error;
        response.message = text;
        call_free(c);
        reply(&response, userdata);
}

AgentNode *call_find_holder(Agent *a, const char *name) {
        agent_foreach_node (node, a) {
                const AgentUnit *u = agent_unit_find(node, name);

                if (u && u->has_held)
                        return node;
        }
        return NULL;
}
