// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Clients that wait for a manager to be attached or detached.

#include "leader-core.h"

void manager_wait_judge(Leader *l, PendingRequest *t);
