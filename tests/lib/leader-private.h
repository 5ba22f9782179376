// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// What most tests need who look inside a leader: its tables, and who may have been heard. Whoever asks more
// of it includes the header of whom he asks.

#include "clock.h"
#include "host-marks.h"
#include "leader-core.h"
#include "leader.h"
#include "lease.h"
#include "registry.h"
#include "sessions.h"
#include "tables.h"
#include "unit-on-node.h"
