// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Leases of hosts, as rules/lease.h counts them. Our own host has none: its agent lives and dies with us.
// How long they are rules/lease-length.h says, by our own configuration and the log.

#include "batch-builder.h"
#include "leader-core.h"

void host_lease_begin(Leader *l, Host *h); // the log knows it now: a full one
bool host_lease_renew(Leader *l, Host *h); // it was heard. true: it was not online before
void host_lease_end(Leader *l, Host *h);   // it is lost from now on
// The next host that is suspect or lost by that time, which is so from now on; NULL: no other one is.
// `again`: it is asked on from before, so the leader did not wake late.
Host *host_lease_expire(Leader *l, uint64_t now_us, bool again);
void host_leases_renew(Leader *l);         // all: nobody could be heard

uint64_t host_leases_us(const Leader *l); // how long a host may hold the one that it has
// How long the host's leases are from now on, which it is about to be told. 0: as it was told before in this
// session.
uint32_t host_lease_tell(const Leader *l, Host *h);
uint32_t host_lease_tell_again(const Leader *l, Host *h); // likewise, and never 0
void host_lease_forget_reported(Host *h);                      // its session has ended
void host_leases_follow(Leader *l);       // the log may say another length
// Puts into the entry how long they are for this leader, if the log says otherwise and
// Leader.lease_change_us has come. 0 or -ENOMEM.
int host_leases_decide(Leader *l, BatchBuilder *b);
void host_leases_retire(Leader *l);        // a term is over: nobody has one
