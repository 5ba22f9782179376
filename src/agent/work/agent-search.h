// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Units that systemd has dropped from its memory: what the directories say of their files.

#include "agent-core.h"

int agent_search_open(AgentNode *node, const char *const *dirs); // 0 or -ENOMEM
void agent_search_close(AgentNode *node);
void agent_search_done(AgentNode *node);
void agent_search_all(AgentNode *node); // any file may be another one now
void agent_search_name(AgentNode *node, const char *name); // this one
void agent_search_written(AgentNode *node, const char *name, bool from_template); // by us
// When agent_search_drain() will have something to do (boot time); 0: nothing is to be looked for, or with
// an event only.
uint64_t agent_search_due(const AgentNode *node);
void agent_search_drain(AgentNode *node); // lets the pool, or a helper, look for what was touched
