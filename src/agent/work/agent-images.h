// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Images of containers on this host: what is missing is pulled before a unit is started, or stopped for new
// content. See agent-images.c.

#include "agent-core.h"

#define AGENT_REGISTRY_SILENT_TEXT "the registry does not answer"

// Whether its image is to be looked for before the wanted content is written (PLAN_FETCH), or before it is
// started (PLAN_PLACES).
bool agent_images_is_due(const AgentUnit *u);
bool agent_images_is_unseen(const AgentUnit *u);
// The step has begun, and ends when the image is here, or with the reason why not.
void agent_images_fetch(AgentUnit *u);
void agent_images_see(AgentUnit *u);
// The step ends when podman has said where its lists are, or cannot.
void agent_images_list(AgentUnit *u);
// A Call with an image that this host is to have. Answered in any case, unless it is cancelled; call 0: all
// are.
void agent_images_on_call(Agent *a, const Argosy__ToHost__Call *call);
void agent_images_on_cancel(Agent *a, uint64_t call);
void agent_images_answer(Agent *a, uint64_t call, const char *digest, const char *why, bool here);
// Whether the image is being pulled for the unit: then which, which attempt that is, and what podman has
// said last, in a new string (NULL: out of memory). *ret_since_us: boot time, 0: it waits for other pulls.
bool agent_images_pulls(const AgentUnit *u, char **ret, uint64_t *ret_since_us);
// It is being removed: who needs it pulls it again.
void agent_images_forget(Agent *a, const char *image);
// Ends pulls that no unit waits for any more.
void agent_images_turn(Agent *a);
void agent_images_drop(Agent *a); // all of them
void agent_images_done(Agent *a);
