// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// What somebody at a host does to its argosyd: the manager of the host's user is attached and detached, and
// argosy.conf is written anew, and read by a reload or by a restart.

#include "hosts-faults.h"
#include "plan.h"
#include "sim-host.h"

// A story begins: what each host's argosy.conf has beside its name and address.
void hosts_at_settings(const StoryPlan *plan, SimSettings settings[SIM_CLUSTER_MAX]);
void hosts_at_step(Draw *d);
// All is mended: users are logged in, and every argosyd has read its argosy.conf.
void hosts_at_mend(void);
// Faults of users. Says how long it lasts; 0: it is over.
uint64_t hosts_at_trouble(HostsFault fault, uint32_t number, Draw *d);
void hosts_at_end_trouble(HostsFault fault, uint32_t number);
// What a host's argosyd says.
void hosts_at_on_log(uint32_t number, const char *message);

// Checks.
void configured_on_calm(void);
void users_on_calm(void);
void labelled_begin(void);
void labelled_on_entry(const Argosy__LogBatch *batch);
