// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Units of a node as its ledger has them.

#include "agent-core.h"

// 0; -EBADMSG: it is no ledger; others of the file system.
int agent_node_adopt(AgentNode *node, const char *ledger_path);
// A leader has sent this content: of the unit whose file was found in place it is known from now on.
void agent_adopt_content(AgentUnit *u, const AgentSpec *content);
