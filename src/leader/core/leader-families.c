// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The table of what a leader counts by state, verb, role and resource, for all storeys that do.
#include "leader.h"

#define FAMILY(name, help) [LEADER_FAMILY_##name] = {#name, help, false},
#define FAMILY_GAUGE(name, help) [LEADER_FAMILY_##name] = {#name, help, true},
const CounterFamily leader_families[LEADER_FAMILY_END] = {LEADER_FAMILIES(FAMILY, FAMILY_GAUGE)};
