// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Clients that wait for a manager to be attached or detached.

#include "leader-core.h"

int manager_waiter_start(Leader *l, Ticket *t);
void manager_waiters_notify(Leader *l);
