// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// What a unit's step asks podman: a struct of its own for each kind, which begins with a PodmanLook, from
// the heap. See podman-look.c.

#include "agent-command.h"
#include "agent-step.h"

typedef struct PodmanLook PodmanLook;
struct PodmanLook {
        ListNode link; // in Agent.images.looks
        Agent *agent;
        AgentStepCall *call; // NULL: it is of no unit's step
        TransientCommand *command;
        // `output` NULL: podman could not say. `u` NULL: its step is another one by now, or it is of none.
        // Fires once, from the loop, or not at all.
        void (*on_said)(PodmanLook *look, AgentUnit *u, const Buf *output);
        void (*free_rest)(PodmanLook *look); // what the struct has besides; NULL: nothing
};

// NULL: out of memory.
void *podman_look_new(AgentUnit *u, size_t size, void (*on_said)(PodmanLook *, AgentUnit *, const Buf *));
// The same of no unit's step.
void *podman_look_apart(Agent *a, size_t size, void (*on_said)(PodmanLook *, AgentUnit *, const Buf *));
// Takes the look. As agent_command_start().
int podman_look_begin(PodmanLook *look, const AgentCommand *command);
void podman_look_free(PodmanLook *look);
void podman_looks_drop(Agent *a);
