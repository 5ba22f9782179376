// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Clients that wait for a drain.

#include "leader-core.h"

void drain_wait_judge(Leader *l, PendingRequest *t);
