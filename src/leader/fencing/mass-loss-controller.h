// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Nothing is moved when many hosts are lost at once.

#include "leader-core.h"

// After anything that the mass-loss policy depends on has changed (DUE_MASS_LOSS).
void mass_loss_controller_judge(Leader *l);
// Why a unit of a lost host is not moved. NULL: no such reason.
const char *unit_held_by_mass_loss(const Leader *l, const Unit *u);
void mass_loss_controller_retire(Leader *l); // a term is over
