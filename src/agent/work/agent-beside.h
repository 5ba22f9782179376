// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// What makes a container's volumes and networks stays active when the container stops. When the last unit
// that needs such a one has left the node, and with it the file, systemd forgets it only if it is stopped:
// else the next one of that name would be taken for made. What podman has made stays.

#include "agent-core.h"

// `names`: each with its NUL. One that somebody who is up needs is left as it is: a stop would take that
// along.
void agent_beside_gone(AgentNode *node, const Buf *names);
