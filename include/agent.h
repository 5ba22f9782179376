// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// This host's units: compares what the leader wants with what systemd does, acts, and reports. Decisions are in src/agent/plan.c
// (pure); this object drives them. It talks to the leader only by messages.

#include <stdbool.h>
#include <uv.h>

#include "argosy.pb-c.h"
#include "systemd-manager.h"

typedef struct Agent Agent;

typedef struct AgentOps {
        // Hands a message to the leader (mesh_to_leader()). Negative errno: no link, the agent waits for agent_on_leader().
        int (*send)(const Argosy__ToVoter *message, void *userdata);
        // Something that the daemon must know: fence refused (generation newer), fatal disk error on the fence record.
        void (*fatal)(const char *why, void *userdata);
        // First Welcome obeyed since the start or since the link was lost: role line for sd_notify.
        void (*attached)(bool attached, void *userdata);
        // The machine is shutting down.
        void (*stopping)(void *userdata);
} AgentOps;

typedef struct AgentConfig {
        uv_loop_t *loop;
        const char *state_dir;    // /var/lib/argosy: fence
        const char *runtime_dir;  // /run/argosy: ledger
        const char *unit_dir;     // /run/systemd/system
        const char *const *foreign_dirs; // NULL: systemd's
        SystemdConfig systemd;
        const char *host_name, *address;
        uint16_t port;
        const Argosy__Label *const *labels;
        size_t n_labels;
} AgentConfig;

int agent_new(const AgentConfig *config, const AgentOps *ops, void *userdata, Agent **ret, char **ret_why);
void agent_close(Agent *a, void (*closed)(void *userdata), void *userdata);

// From the mesh: who leads now (0: nobody), and its messages.
void agent_on_leader(Agent *a, uint32_t leader, uint64_t term);
void agent_on_message(Agent *a, const Argosy__ToHost *message);

// The labels of the configuration have changed: told to the leader with a new Attach. Copied.
void agent_set_labels(Agent *a, const Argosy__Label *const *labels, size_t n);
void agent_systemd_stats(const Agent *a, SystemdStats *ret);

// Local answers that need no leader: rows of this host's units; stop of local units; status and journal of one unit.
void agent_local_units(Agent *a, Argosy__Response *ret);
typedef void (*AgentReply)(const Argosy__Response *response, void *userdata); // response->final on the last one
// Handles Request.local_stop, .status, .journal for this host. *ret_cancel is passed to agent_cancel(); 0 if already done.
int agent_call(Agent *a, uint32_t node, const Argosy__Request *request, AgentReply reply, void *userdata, uint64_t *ret_cancel);
void agent_cancel(Agent *a, uint64_t cancel);
// Before exec or exit. why SHUTDOWN only if the machine is going down.
void agent_goodbye(Agent *a, bool shutdown);
// Removed from the cluster: stop and remove everything that is owned, then call `done`.
void agent_clear(Agent *a, void (*done)(void *userdata), void *userdata);
bool agent_is_stopping(const Agent *a);
size_t agent_n_units(const Agent *a);
