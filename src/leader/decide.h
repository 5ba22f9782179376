// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// What goes into the next batch.

#include "pending-requests.h"

void decide_next(Leader *l);
void decide_done(Leader *l, StoreOutcome outcome);
