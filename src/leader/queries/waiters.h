// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Clients that wait for units.

#include "leader-core.h"

int waiter_start(Leader *l, Ticket *t);
void waiter_free(Leader *l, Waiter *w);
void waiters_on_unit(Leader *l, Unit *u); // whoever waits for it looks at it again
void waiters_drain(Leader *l);
