// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Leases of hosts: online -> suspect after half a lease -> lost after a whole one, unless a beat renews it.
//
//      lease_beat() -> lease_table_next() arms the timer -> lease_table_expire() until NULL
//
// Two lists, oldest beat first, so only their heads are looked at. A leader that wakes up late by a quarter
// of a lease renews all leases, since it may have been silent itself. Times are microseconds; nothing
// allocates or fails.

#include "lease.h"

void lease_table_init(LeaseTable *t, uint64_t lease_us) {
        *t = (LeaseTable){.lease_us = lease_us};
        list_init(&t->online);
        list_init(&t->suspect);
}

bool lease_beat(LeaseTable *t, Lease *l, uint64_t now_us) {
        bool was_online = list_is_linked(&l->list) && l->state == LEASE_ONLINE;

        list_unlink(&l->list);
        l->renewed_us = now_us;
        l->state = LEASE_ONLINE;
        list_append(&t->online, &l->list);
        return !was_online;
}

void lease_end(Lease *l) {
        list_unlink(&l->list);
        l->state = LEASE_LOST;
}

void lease_forget(Lease *l) {
        list_unlink(&l->list);
}

static Lease *oldest(ListNode *head) {
        return list_is_empty(head) ? NULL : CONTAINER_OF(head->next, Lease, list);
}

void lease_table_renew(LeaseTable *t, uint64_t now_us) {
        list_foreach (n, &t->online)
                CONTAINER_OF(n, Lease, list)->renewed_us = now_us;
        list_foreach (n, &t->suspect)
                CONTAINER_OF(n, Lease, list)->renewed_us = now_us;
}

void lease_table_go_on(LeaseTable *t) {
        t->due_us = 0;
}

Lease *lease_table_expire(LeaseTable *t, uint64_t now_us) {
        Lease *l;

        if (t->due_us && now_us > t->due_us + t->lease_us / 4)
                lease_table_renew(t, now_us);
        t->due_us = 0;

        // Lost hosts first, or a host that goes from online to lost in one step would be returned twice.
        l = oldest(&t->suspect);
        if (l && now_us >= l->renewed_us + t->lease_us) {
                lease_end(l);
                return l;
        }
        l = oldest(&t->online);
        if (l && now_us >= l->renewed_us + t->lease_us / 2) {
                list_unlink(&l->list);
                l->state = LEASE_SUSPECT;
                list_append(&t->suspect, &l->list);
                return l;
        }
        return NULL;
}

uint64_t lease_table_next(LeaseTable *t) {
        Lease *online = oldest(&t->online), *suspect = oldest(&t->suspect);
        uint64_t next = 0;

        if (online)
                next = online->renewed_us + t->lease_us / 2;
        if (suspect && (!next || suspect->renewed_us + t->lease_us < next))
                next = suspect->renewed_us + t->lease_us;
        t->due_us = next;
        return next;
}
