// SPDX-License-Identifier: LGPL-2.1-or-later
//
//   a step that needs podman's word -> podman, in a service of its own (agent-command.h) -> its end -> the
//   unit, if its step is still that one, and what podman printed
//
// Failures: a podman that does not answer in time, or fails, has said nothing; what that means the kind of
// look knows. A look that could not begin is freed, and the caller goes on. Looks under way go with the
// agent, and nobody hears of them.

#include "podman-look.h"

#include <stdlib.h>

void podman_look_free(PodmanLook *look) {
        list_unlink(&look->link);
        if (look->free_rest)
                look->free_rest(look);
        free(look->call);
        free(look);
}

void *podman_look_apart(Agent *a, size_t size, void (*on_said)(PodmanLook *, AgentUnit *, const Buf *)) {
        PodmanLook *look = calloc(1, size);

        if (!look)
                return NULL;
        list_init(&look->link);
        look->agent = a;
        look->on_said = on_said;
        return look;
}

void *podman_look_new(AgentUnit *u, size_t size, void (*on_said)(PodmanLook *, AgentUnit *, const Buf *)) {
        PodmanLook *look = podman_look_apart(u->node->agent, size, on_said);

        if (!look)
                return NULL;
        look->call = agent_step_call_new(u);
        if (look->call)
                return look;
        podman_look_free(look);
        return NULL;
}

static void on_done(int result, const Buf *output, const Buf *said, void *userdata) {
        PodmanLook *look = userdata;
        AgentUnit *u = look->call
                               ? agent_step_find(look->call->node, look->call->name, look->call->number)
                               : NULL;

        look->command = NULL;
        look->on_said(look, u, result == 0 ? output : NULL);
        drain_mark(&look->agent->drain);
        podman_look_free(look);
}

int podman_look_begin(PodmanLook *look, const AgentCommand *command) {
        int r = agent_command_start(look->agent, command, on_done, look, &look->command);

        if (r < 0)
                podman_look_free(look);
        else
                list_append(&look->agent->images.looks, &look->link);
        return r;
}

void podman_looks_drop(Agent *a) {
        list_foreach_safe (i, &a->images.looks) {
                PodmanLook *look = CONTAINER_OF(i, PodmanLook, link);

                agent_command_cancel(a, &look->command);
                podman_look_free(look);
        }
}
