// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Clients that wait for units.

#include "leader-core.h"

int wait_start(Leader *l, Ticket *t);
void wait_free(Leader *l, Wait *w);
void waits_on_unit(Leader *l, Unit *u); // whoever waits for it looks at it again
void waits_drain(Leader *l);
