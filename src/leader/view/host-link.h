// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Sending to a host.

#include "leader-core.h"

// What to_host() returned. A host to which it cannot be told is dropped, unless it is the message that is
// too long (-EMSGSIZE): whoever sends what may be says so to somebody.
int leader_to_host(Leader *l, Host *h, Argosy__ToHost *message);
// The same of what the host does without: if it does not hear that, nothing follows. It may have no record any more.
void leader_to_host_in_passing(Leader *l, uint32_t host, Argosy__ToHost *message);
