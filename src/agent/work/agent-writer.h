// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Unit files of managers that are not the system's, written by a helper.

#include "agent-core.h"

// One batch at a time. `look`: for which items to look whether the name is somebody else's. `done` fires
// once, later.
int agent_writer_apply(AgentNode *node, const UnitDirItem *items, const bool *look, size_t n,
                       void (*done)(int error, const Argosy__HelperReply *reply, void *userdata),
                       void *userdata);
void agent_writer_close(AgentNode *node);
