// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// What systemd says by itself.

#include "agent-core.h"

extern const SystemdOps agent_systemd_ops; // userdata: the AgentNode
