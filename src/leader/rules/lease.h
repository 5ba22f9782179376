// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Which hosts are alive, judged by beats alone. Pure: the time (boot clock, microseconds) is always an
// argument.
//
// A lease runs from the receipt of a beat. Half of it later the host is `suspect` (nothing new is placed
// there), all of it later `lost`. The table is two lists in the order of the last beat, one for hosts that
// are online and one for suspects, so that a beat, an expiry and the question when to look again cost the
// same with three hosts as with a thousand, and a host is found lost just as soon.
//
// A leader that was itself asleep (stopped, suspended, starved) cannot tell its own silence from the
// others': when it looks much later than it meant to, every host that was not lost gets a full lease again.

#include "list.h"

typedef enum LeaseState {
        LEASE_ONLINE,
        LEASE_SUSPECT,
        LEASE_LOST,
} LeaseState;

typedef struct Lease {
        ListNode list; // in LeaseTable.online or .suspect; unlinked when lost
        uint64_t renewed_us;
        LeaseState state;
} Lease;

typedef struct LeaseTable {
        ListNode online, suspect; // oldest beat first
        uint64_t lease_us;
        uint64_t due_us; // when we last said that we would look again; 0: never
} LeaseTable;

void lease_table_init(LeaseTable *t, uint64_t lease_us);

// A beat arrived, or the host gets a full lease for another reason (it joined; the leader is new). Says
// whether the host was not online before. A zero-initialised Lease is valid here; `now_us` must not be
// smaller than at the call before.
bool lease_beat(LeaseTable *t, Lease *l, uint64_t now_us);
// The host is known to be down (it said goodbye).
void lease_end(Lease *l);
// Takes the host out of the table.
void lease_forget(Lease *l);

// Every host in the table gets a full lease again, and keeps its state.
void lease_table_renew(LeaseTable *t, uint64_t now_us);

// The next lease_table_expire() belongs to the one before, whatever time has passed since: nobody woke late.
void lease_table_go_on(LeaseTable *t);
// Moves the next host whose time has come, and returns it with its new state; NULL when no more is due. Call
// until NULL, then arm the timer with lease_table_next().
Lease *lease_table_expire(LeaseTable *t, uint64_t now_us);
// When the next host would change its state without a beat; 0 when none can. Remembered, to notice an
// oversleeping leader.
uint64_t lease_table_next(LeaseTable *t);
