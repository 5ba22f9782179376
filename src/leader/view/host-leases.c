// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Leases of hosts in the leader's clock (host-leases.h); rules/lease.c has the rule. host_lease_begin() ->
// host_lease_renew() per beat -> host_lease_expire() on time: a host that became suspect or lost. The
// leader's own host is in no list: it is online while it leads. Nothing allocates or fails.

#include "host-leases.h"

#include "lease.h"
#include "tables.h"
#include "turn.h"

void host_lease_begin(Leader *l, Host *h) {
        if (h->number != l->config.self)
                lease_beat(&l->leases, &h->lease, leader_now(l));
}

bool host_lease_renew(Leader *l, Host *h) {
        bool was_online = h->lease.state == LEASE_ONLINE;

        if (h->number != l->config.self)
                return lease_beat(&l->leases, &h->lease, leader_now(l));
        h->lease.state = LEASE_ONLINE;
        return !was_online;
}

void host_lease_end(Leader *l, Host *h) {
        lease_end(&h->lease);
        h->lost_us = leader_now(l);
}

Host *host_lease_expire(Leader *l, uint64_t now_us, bool again) {
        Lease *lease;

        if (again)
                lease_table_go_on(&l->leases);
        lease = lease_table_expire(&l->leases, now_us);
        return lease ? CONTAINER_OF(lease, Host, lease) : NULL;
}

void host_leases_renew(Leader *l) {
        lease_table_renew(&l->leases, leader_now(l));
}

uint64_t host_leases_next(Leader *l) {
        return lease_table_next(&l->leases);
}
