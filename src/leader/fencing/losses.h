// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// The brake on moving when many hosts are lost.

#include "leader-core.h"

// After anything that the brake depends on has changed (Leader.brake_due).
void losses_judge(Leader *l);
// Why a unit of a lost host is not moved. NULL: no such reason.
const char *unit_braked(const Leader *l, const Unit *u);
