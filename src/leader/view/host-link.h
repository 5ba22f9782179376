// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Sending to a host.

#include "leader-core.h"

// Returns what to_host() returned. The link of a host that cannot take the message is dropped, unless the
// message is too long (-EMSGSIZE): callers whose messages may be too long report that.
int leader_to_host(Leader *l, Host *h, Argosy__ToHost *message);
// The same of what the host does without: if it does not hear that, nothing follows. It may have no record
// any more.
void leader_to_host_in_passing(Leader *l, uint32_t host, Argosy__ToHost *message);
