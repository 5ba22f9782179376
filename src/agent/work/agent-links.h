// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Links of [Install] that systemd has not seen.

#include "agent-core.h"

// Links below these units came or went (`names` is a sequence of NUL-terminated words): what of them is ours
// and in systemd's memory has not seen that.
// After the last call for a batch of files: agent_links_taken(), which finds the instances of templates.
void agent_links_touched(AgentNode *node, const char *names, size_t len);
void agent_links_taken(AgentNode *node);
// The same for all links that the unit's content asks for: what happened to them before we started is not
// known.
void agent_links_suspect(AgentUnit *u);
