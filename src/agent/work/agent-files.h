// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Batches of unit files.

#include "agent-core.h"

typedef enum AgentFileJob {
        AGENT_FILE_LOOK, // whether others have left it behind, and it may become ours; nothing is changed
        AGENT_FILE_WRITE,
        AGENT_FILE_LINK,
        AGENT_FILE_REMOVE
} AgentFileJob;
int agent_files_queue(AgentUnit *u, AgentFileJob job);
// When agent_files_start() will have something to do (boot time); 0: nothing is queued, or a batch is under
// way.
uint64_t agent_files_due(const AgentNode *node);
void agent_files_start(AgentNode *node);
// what is said of a name that is somebody else's there; NULL: out of memory
char *agent_file_foreign_text(const char *path);
#define AGENT_ACTIVE_TEXT "a unit of that name that is not the cluster's is already active on this node"
// What was queued and has not left yet fails with this error.
void agent_files_fail(AgentNode *node, int error);
