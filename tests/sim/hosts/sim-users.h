// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// The user of a machine: his service manager (`systemd --user`), which runs while he is logged in or
// lingers, and what argosyd's helpers (helper-link.h) do for him. It is a systemd in memory like PID 1's
// (tests/lib/fake-pid1.h), with a directory of its own in the place of /run/user/UID, which comes and goes
// with it. PID 1 has user@UID.service.
//
//      argosyd -> helper_link_new() -> played here, after a while: connects to the manager, or answers about
//      unit files by the product's own code (helper-files.h, unit-search.h) -> frames back
//
// What a helper has been asked when argosyd is killed it does, or not.

#include "sim-host.h"

#define SIM_USER_MANAGER "user@1000"

// A machine of SimSettings.has_user has one, who is logged in.
void sim_user_make(SimMachine *m);
void sim_user_free(SimMachine *m);
// The machine has been switched on: his manager begins after a while, if he lingers.
void sim_user_boot(SimMachine *m);
void sim_user_log_in(SimMachine *m);
// His manager ends: in order, or it is killed.
void sim_user_log_out(SimMachine *m, bool in_order);
// argosyd of the machine is gone.
void sim_user_abandon(SimMachine *m);
// Each systemd_manager_new() of a machine's argosyd finds its own.
void sim_users_begin(void);
// The directory of his unit files. The caller's.
char *sim_user_unit_dir(const SimMachine *m);

// sim-helper.c
// Nobody waits for the helpers of a host any more.
void sim_helpers_abandon(SimHost *h);
// That connections go to while a helper hands one over; NULL: none does.
extern const SimMachine *sim_helper_connects;
