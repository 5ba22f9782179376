// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// What this daemon answers itself.

#include <stdbool.h>

#include "route-types.h"

// Answers it, or lets somebody answer it later (LOCAL). False: it is none of this daemon's requests.
bool route_answer_local(Route *route);
