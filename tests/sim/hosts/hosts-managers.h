// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// What the hosts' systemd does in a story, to argosyd and to its units (fake-pid1.h): it reads its files
// again or executes itself again because somebody at the machine wants it to, it loses signals until the
// rolling check finds that, it is slow. All of it outlives argosyd, and ends with the machine.

#include <stdint.h>

#include "choices.h"
#include "hosts-faults.h"

void hosts_managers_begin(void);
// One of HOSTS_FAULT_manager_*. Says how long it lasts; 0: there is nothing there that it could happen to.
uint64_t hosts_managers_trouble(HostsFault fault, uint32_t number, Draw *d);
void hosts_managers_end_trouble(HostsFault fault, uint32_t number);
// All of them, of all machines.
void hosts_managers_mend(void);
