// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Template files beside units (companion-file.h), of the managers whose directory this process writes.

#include "agent-core.h"

// The leader says which there are to be, all of them.
void agent_companions_obey(Agent *a, const Argosy__Companions *m);
// After a batch of files, which may have taken one away with the last instance; or when they wait for its
// end.
void agent_companions_look(AgentNode *node);
// Nothing of them is to stay.
void agent_companions_clear(Agent *a);
void agent_companions_done(AgentNode *node);
