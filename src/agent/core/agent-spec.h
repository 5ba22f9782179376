// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Contents of units, shared by all that have the same.

#include "unit-core.h"

// A reference to the spec of that hash, made from `content` if that was not known. -EBADMSG: the content has
// another hash.
int agent_spec_get(Agent *a, const Hash *hash, const void *content, size_t len, const char *name,
                   AgentSpec **ret);
// A reference to the spec of that hash, known or not. NULL: out of memory.
AgentSpec *agent_spec_name(Agent *a, const Hash *hash);
AgentSpec *agent_spec_find(Agent *a, const Hash *hash); // only if it is known
AgentSpec *agent_spec_ref(AgentSpec *s);
void agent_spec_unref(Agent *a, AgentSpec *s);
