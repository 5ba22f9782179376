// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// What goes into the next batch.

#include "leader-core.h"

void decide(Leader *l);
void decide_done(Leader *l, StoreOutcome outcome);
