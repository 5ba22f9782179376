// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Leases of hosts in the leader's clock (host-leases.h); rules/lease.c has the rule. host_lease_begin() ->
// host_lease_renew() per beat -> host_lease_expire() on time: a host that became suspect or lost. The
// leader's own host is in no list: it is online while it leads. Nothing allocates or fails.

#include "host-leases.h"
#include "clock.h"

#include <errno.h>

#include "clock.h"
#include "lease-length.h"
#include "lease.h"
#include "log.h"
#include "tables.h"
#include "turn.h"

static uint32_t logged_ms(const Leader *l) {
        const Argosy__ClusterRecord *cluster = cluster_state_cluster(l->state);

        return cluster ? cluster->lease_ms : 0;
}

uint64_t host_leases_us(const Leader *l) {
        return lease_length_counted_ms(l->config.lease_ms, logged_ms(l)) * USEC_PER_MSEC;
}

uint32_t host_lease_tell(const Leader *l, Host *h) {
        uint32_t before_ms = h->lease_reported_ms;

        return host_lease_tell_again(l, h) == before_ms ? 0 : h->lease_reported_ms;
}

uint32_t host_lease_tell_again(const Leader *l, Host *h) {
        h->lease_reported_ms = lease_length_given_ms(l->config.lease_ms, logged_ms(l));
        return h->lease_reported_ms;
}

void host_lease_forget_reported(Host *h) {
        h->lease_reported_ms = 0;
}

void host_leases_follow(Leader *l) {
        l->leases.lease_us = host_leases_us(l);
        l->lease_change_us = cluster_state_cluster(l->state)
                                     ? lease_length_log_at_us(l->config.lease_ms, logged_ms(l), l->leads_us)
                                     : 0;
}

int host_leases_decide(Leader *l, BatchBuilder *b) {
        Argosy__ClusterRecord cluster;

        if (l->lease_change_us == 0 || leader_now(l) < l->lease_change_us || batch_builder_has_cluster(b))
                return 0;
        cluster = *cluster_state_cluster(l->state);
        cluster.lease_ms = l->config.lease_ms;
        log_notice("Leases of hosts are %u ms long from now on, as LeaseSec= of this host says.",
                   l->config.lease_ms);
        return batch_builder_put_cluster(b, &cluster);
}

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

void host_leases_retire(Leader *l) {
        map_foreach (slot, &l->hosts) {
                Host *h = slot->value;

                lease_forget(&h->lease);
                h->lease = (Lease){};
                host_lease_forget_reported(h);
        }
        lease_table_init(&l->leases, host_leases_us(l));
}
