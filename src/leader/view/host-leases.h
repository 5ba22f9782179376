// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Leases of hosts, as rules/lease.h counts them. Our own host has none: its agent lives and dies with us.

#include "leader-core.h"

void host_lease_begin(Leader *l, Host *h); // the log knows it now: a full one
bool host_lease_renew(Leader *l, Host *h); // it was heard. true: it was not online before
void host_lease_end(Leader *l, Host *h);   // it is lost from now on
// The next host that is suspect or lost by that time, which is so from now on; NULL: no other one is.
// `again`: it is asked on from before, so the leader did not wake late.
Host *host_lease_expire(Leader *l, uint64_t now_us, bool again);
void host_leases_renew(Leader *l);         // all: nobody could be heard
uint64_t host_leases_next(Leader *l);      // when to ask for the next one; 0: never
