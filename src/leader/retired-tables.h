// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Tables of a term that is over, freed by the pool.

#include "leader-core.h"

// The leader has tables (Leader.places), and everybody who was to hear of their end has: clients are
// answered, rollouts and a rebalance are no more. They are gone when it returns; what is left is
// registry_retire()'s. leader_outside_done() follows when the pool is done.
void retired_tables_take(Leader *l);
