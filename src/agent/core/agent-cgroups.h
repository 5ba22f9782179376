// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Where the control groups of units are.

#include "agent-core.h"

const char *agent_cgroup_root(AgentNode *node); // of the manager, while it runs; NULL: not known
// Where the unit's control group should be, below that root. -ENOENT: nobody knows; -ENAMETOOLONG, -EINVAL.
int agent_unit_cgroup(const AgentUnit *u, const char *root, char *ret, size_t size);
void agent_cgroup_missed(AgentUnit *u); // it was not there: systemd is asked, once for each run of the unit
void agent_cgroup_forget(AgentUnit *u); // its name is not used any more
void agent_cgroups_done(AgentNode *node);
// Where the unit's control group is, from its property. NULL: it has none, the manager's root is not known,
// or out of memory.
char *agent_cgroup_resolve(AgentNode *node, const char *control_group);
