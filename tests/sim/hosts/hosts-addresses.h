// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Addresses of a story's machines: how each finds its own, when it gets another one or has none for a while,
// and what somebody does where hosts cannot find each other any more.

#include "hosts-faults.h"
#include "plan.h"
#include "sim-host.h"

// Of each machine, from the plan.
void hosts_addresses_settings(const StoryPlan *plan, SimSettings ret[SIM_CLUSTER_MAX]);
void hosts_addresses_begin(const StoryPlan *plan);
// HOSTS_FAULT_address, HOSTS_FAULT_no_network. Says how long it lasts.
uint64_t hosts_addresses_trouble(HostsFault fault, uint32_t number, Draw *d);
// That is over: the machine has an address, and its configuration says which, if it says one.
void hosts_addresses_end_trouble(uint32_t number);
void hosts_addresses_mend(void);
// Behind that: hosts that know no place of a voter any more are told, by `cluster peers`.
void hosts_addresses_tell(void);
// Whether that voter is at the address, or by the name, that is known.
bool hosts_addresses_is_at(const Argosy__Voter *v);
// Whether it finds a voter, itself or by others that it finds. True: it has no list of them.
bool hosts_addresses_knows_place(uint32_t number);
