// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Units of a node as its ledger has them.

#include "agent-core.h"

// 0; -EBADMSG: it is no ledger; others of the file system.
int agent_node_adopt(AgentNode *node, const char *ledger_path);
