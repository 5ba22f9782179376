// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Whether what a unit's files are bound over (File=SOURCE:DESTINATION) is there.

#include "agent-core.h"

// after which a file system is said not to answer; a plan waits longer for what a node says
enum { AGENT_PLACES_MS = 3000 };

typedef struct AgentPlaces {
        struct AgentPlace {
                char *path, *source;
                bool is_file;
        } *list;
        size_t n;
} AgentPlaces;

// Those of a unit of that name. 0 or -ENOMEM.
int agent_places_of(const CarriedFiles *files, const FileSource *sources, size_t n_sources, const char *unit,
                    AgentPlaces *ret);
int agent_places_copy(const AgentPlaces *p, AgentPlaces *ret); // 0 or -ENOMEM
void agent_places_done(AgentPlaces *p);

// Takes `places` over, and calls back once, never before it returns: why the unit cannot have its files
// there, a clause; NULL: it can. At the agent's end it calls back, too. 0 or -ENOMEM: then it is not called,
// and `places` are the caller's.
int agent_places_look(Agent *a, AgentPlaces *places, void (*done)(const char *why, void *userdata),
                      void *userdata);

void agent_places_turn(Agent *a);
void agent_places_wake(Agent *a, uint64_t now_us);
uint64_t agent_places_next_wake(const Agent *a); // boot time, 0: nobody waits
void agent_places_drop(Agent *a);                // at the end
