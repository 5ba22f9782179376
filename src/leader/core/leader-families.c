// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The table of the leader's figures that have labels (by state, verb, role, resource), made from
// LEADER_FAMILIES. leader-figures.c and all folders that count look their family up by its number. A
// constant table: nothing fails, and a row there is a row here.

#include "leader.h"

#define FAMILY(name, help) [LEADER_FAMILY_##name] = {#name, help, false},
#define FAMILY_GAUGE(name, help) [LEADER_FAMILY_##name] = {#name, help, true},
const CounterFamily leader_families[LEADER_FAMILY_END] = {LEADER_FAMILIES(FAMILY, FAMILY_GAUGE)};
