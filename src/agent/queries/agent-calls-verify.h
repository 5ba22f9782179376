// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Questions whether unit files would be accepted.

#include "call.h"

int call_start_verify(Agent *a, AgentNode *node, const Argosy__Request__Verify *q, AgentReply reply,
                      void *userdata, uint64_t *ret);
