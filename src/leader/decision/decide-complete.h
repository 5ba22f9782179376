// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// What is said of units when the log has what was planned for them.

#include "pending-requests.h"

// When the log has them: what is known of them only then.
void decide_complete(Leader *l, PendingRequest *t, Argosy__Response *response);
// NULL: there is no such node. `userdata` is the leader.
const char *decide_node_name(uint32_t node, void *userdata);
