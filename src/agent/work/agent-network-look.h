// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// The networks that a unit's wanted content brings, and what podman says of them: a look of one unit, which
// agent-network-users.c and agent-networks.c have.

#include "agent-command.h"
#include "agent-core.h"
#include "agent-step.h"
#include "network-look.h"

enum {
        NETWORKS_MAX = 16, // of one container
        NETWORK_LOOK_SEC = 60,
};

typedef struct Network {
        char *unit;   // "front-network.service"
        char *file;   // "front.network"
        char *podman; // "systemd-front"
        Hash of;      // of which file it is to be
        bool due;     // it is made anew
} Network;

typedef enum NetworkPhase {
        NETWORK_LOOK,
        NETWORK_SURVEY,
        NETWORK_STOP,
        NETWORK_REMOVE,
        NETWORK_GONE,
} NetworkPhase;

// One look, or the change that is under way on this host.
typedef struct NetworkLook {
        ListNode link; // in Agent.networks.looks; unlinked: it is the change
        Agent *agent;
        AgentStepCall *call;
        TransientCommand *command;
        Network list[NETWORKS_MAX];
        size_t n, at;
        NetworkPhase phase;
        char unit[];
} NetworkLook;

// Of a unit whose content was made: *ret, to be freed by agent_network_look_free(). 0 or -ENOMEM.
int agent_network_look_new(const AgentUnit *u, NetworkLook **ret) _warn_unused_;
void agent_network_look_free(NetworkLook *look);
// Runs the script with the networks' names (`all`: or those alone that are due); `done` ends it, with the
// look as its userdata. 0 or a negative errno.
int agent_network_look_ask(NetworkLook *look, const char *script, unsigned limit_sec, bool all,
                           TransientDone *done) _warn_unused_;
// It was made of another file than the one that is wanted, as far as that is known.
bool agent_network_is_other(const Network *w, const NetworkSeen *seen);
// 0, and of the first container of somebody else that has it *ret_why, the caller's; -ENOMEM.
int agent_network_find_others(const AgentUnit *u, const Network *w, const NetworkSeen *seen,
                              char **ret_why) _warn_unused_;
// The step has failed: "WHATNAME: WHY".
void agent_network_fail(AgentUnit *u, const char *what, const char *name, const char *why);
