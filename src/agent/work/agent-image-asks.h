// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Questions of the leader about images: which digest a registry has for a tag. See agent-image-asks.c.

#include "agent-core.h"

// A Call with an image. Answered in any case, unless the agent has dropped it.
void agent_image_asks_on_call(Agent *a, const Argosy__ToHost__Call *call);
void agent_image_asks_on_cancel(Agent *a, uint64_t id);
void agent_image_asks_drop(Agent *a); // their leader hears no more
