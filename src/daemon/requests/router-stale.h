// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Requests that have waited for a leader long enough.

#include "route-types.h"

void route_on_deadline(Route *route); // of one that is WAITING; it may be gone afterwards
