// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Clients that wait for a drain, a manager or a rollout.

#include "leader-core.h"

int wait_start(Leader *l, PendingRequest *t);
void waits_turn(Leader *l);
