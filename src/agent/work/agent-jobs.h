// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Ends of jobs, pins, loads and reloads.

#include "agent-core.h"
#include "agent-step.h"

#define AGENT_RELOAD_FAILED_TEXT "its files have changed and it runs on with those of before"

void agent_on_job_done(const char *name, SystemdJobKind kind, SystemdJobResult result, const char *error,
                       void *userdata);
void agent_on_pin_done(const char *pin, SystemdJobKind kind, SystemdJobResult result, const char *error,
                       void *userdata);
void agent_on_loaded(const char *name, Argosy__LoadState load, const char *error, void *userdata);
// Reloads for the step under way, if that still has a reason; owns `call` unless it fails.
int agent_reload(AgentUnit *u, AgentStepCall *call);
// systemd's state is known: what of the record is not known to have been read.
void agent_unread_suspect(AgentUnit *u);
// Its start goes without a pin.
void agent_pin_failed(AgentUnit *u);
