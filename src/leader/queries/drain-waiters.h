// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Clients that wait for a drain.

#include "leader-core.h"

int drain_waiter_start(Leader *l, Ticket *t);
void drains_notify(Leader *l);
