// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Secrets of this host's units, in the files of secret-files.h. Only those of the system's own manager have
// any.

#include "agent-core.h"
#include "secret-bytes.h"

void agent_secrets_open(Agent *a, const AgentConfig *config);
void agent_secrets_done(Agent *a);
// Values that came with orders, before these.
void agent_secrets_take(Agent *a, Argosy__SecretValue *const *values, size_t n);
// What the unit is to start with; NULL: it is to go.
void agent_secrets_ordered(AgentNode *node, const char *unit, const Argosy__UnitOrder *order);
// Right before it starts. 0; -ENOENT and others, and a clause in `why`.
int agent_secrets_place(const AgentUnit *u, char why[AGENT_ERROR_MAX]);
// Whether this host has a place for secrets: 0, or a negative errno and a clause in `why`.
int agent_secrets_ready(Agent *a, char why[AGENT_ERROR_MAX]);
// What its registry is to see (RegistryAuth=). The same.
int agent_secrets_registry_auth(const AgentUnit *u, SecretBytes *ret, char why[AGENT_ERROR_MAX]);
// What it runs with is not what the last order said: it started before that.
bool agent_secrets_differ(const AgentUnit *u);
// Its file is there, or it is not held any more, and it may have had secrets before.
void agent_secrets_placed(const AgentUnit *u);
void agent_secrets_gone(const AgentUnit *u);
// It is as it is to be: so is what it has.
void agent_secrets_settled(const AgentUnit *u);
// The whole wanted set is known from now on.
void agent_secrets_welcomed(Agent *a);
void agent_secrets_drain(Agent *a); // once per turn
