// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// How a host and a node stand, in one word. Pure, but for what the tables say.

#include "leader-core.h"

const char *node_state_to_string(NodeState state);
NodeState host_state(const Host *h);
NodeState node_state(const Node *n);
