// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Units that systemd runs from the directory of fleet: which there are, and which of them are up. The leader
// is told, and starts none of them elsewhere. nodes/agent-fleet.c finds them and tells; this is what is kept
// of them. Only the system's manager has any.
//
// A name is watched here as long as it is no unit of argosy's (agent_fleet_release()); while it is one, that
// is what says whether it is up.

#include "list.h"
#include "map.h"
#include "systemd-manager.h"

#define AGENT_FLEET_PROGRAM "fleet.service"

enum { AGENT_FLEET_LATE_MS = 2000 }; // the leader is not kept waiting longer for a search that hangs

struct Agent;
struct AgentNode;

typedef struct AgentFleetUnit {
        SystemdUnit watch;
        ListNode link; // AgentFleet.list
        bool listed;   // by the search that has ended last
        bool up;       // as the leader was told, or is to be
        char name[];
} AgentFleetUnit;

typedef struct AgentFleet {
        Map units; // AgentFleetUnit by name, and
        ListNode list;
        SystemdUnit program; // fleet.service, as long as fleetd runs
        char *directory;  // in which they are; NULL: not searched yet
        bool runs;        // fleetd does
        bool search_due, searching;
        uint64_t late_us; // when that has taken too long; 0: nothing is searched for
        bool unsaid;      // the leader was told that it is not known
        bool news; // the leader is to be told
} AgentFleet;

// argosy is about to watch a unit of that name itself.
void agent_fleet_release(struct AgentNode *node, const char *name);
// It does not any more, or has made the name its own: what is there is to be looked for again.
void agent_fleet_search(struct Agent *a);
void agent_fleet_watch_program(struct Agent *a, bool watch);
void agent_fleet_drop(struct AgentNode *node, AgentFleetUnit *f);
